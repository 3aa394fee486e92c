"""What a table is: cells with spans over rows and columns, and the lines of text in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from jobs.parsing.pdf.geometry import Frame
from jobs.parsing.pdf.lines import Line

__all__ = ["Cell", "CellText", "Table", "around", "place_holders", "text_rows"]

_SAME_ROW = 0.55
"""Of a line's height: how far middles may be apart in one row of text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell at a row and a column, from 0, with the lines in it from top to bottom."""

    row: int
    column: int
    n_rows: int = 1
    n_columns: int = 1
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CellText:
    """What a cell says, where it stands, and whether it names columns."""

    text: str
    row: int
    column: int
    n_rows: int = 1
    n_columns: int = 1
    header: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The cells of a table, row by row, those without text left out.

    ``header_rows``: how many rows from the first name the columns. ``edges``: the left
    edges of its columns, to know the table again on the next page.
    """

    frame: Frame
    cells: tuple[Cell, ...]
    header_rows: int
    edges: tuple[float, ...]

    @property
    def lines(self) -> tuple[Line, ...]:
        """All lines of text in it."""
        return tuple(line for cell in self.cells for line in cell.lines)


def around(lines: Iterable[Line]) -> Frame:
    """Return the frame around lines, of which there is one at least."""
    first, *rest = (line.frame for line in lines)
    for frame in rest:
        first = first.union(frame)
    return first


def text_rows(pieces: Iterable[Line]) -> list[list[Line]]:
    """Group pieces that stand on one line, from top to bottom and from left to right."""
    rows: list[list[Line]] = []
    reach = 0.0
    for piece in sorted(pieces, key=lambda p: (p.frame.middle, p.frame.left)):
        if rows and piece.frame.middle < reach:
            rows[-1].append(piece)
            reach = max(reach, piece.frame.middle + piece.size * _SAME_ROW)
        else:
            rows.append([piece])
            reach = piece.frame.middle + piece.size * _SAME_ROW
    return [sorted(row, key=lambda p: p.frame.left) for row in rows]


def place_holders(tables: Sequence[Table]) -> list[Line]:
    """Return lines to be put in reading order in place of the text of tables, row by row."""
    holders = []
    for number, table in enumerate(tables):
        frame = table.frame
        for row in text_rows(table.lines):
            text = " ".join(piece.text for piece in row)
            middle = row[0].frame.middle
            half = max(row[0].size, 1.0) / 2
            holders.append(
                replace(
                    row[0],
                    text=text,
                    frame=replace(frame, top=middle - half, bottom=middle + half),
                    blanks=(),
                    table=number,
                )
            )
    return holders
