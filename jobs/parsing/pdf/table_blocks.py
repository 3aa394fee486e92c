"""Tables become blocks: the texts of their cells, one header row, and one table over pages."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence

from jobs.parsing.pdf.blocks import Block, Vocabulary
from jobs.parsing.pdf.order import join_pieces
from jobs.parsing.pdf.tables import Cell, CellText, Table, text_rows

__all__ = ["table_block"]


def table_block(table: Table, page: int, vocabulary: Vocabulary) -> Block:
    """Return the block of a table on one page."""
    cells = _numbered_anew(_with_one_header(table, vocabulary))
    lines = table.lines
    return Block(
        kind="table",
        lines=lines,
        pages=(page,) * len(lines),
        text="\n".join(cell.text for cell in cells),
        size=statistics.median(line.size for line in lines),
        cells=tuple(cells),
        edges=table.edges,
    )


def _with_one_header(table: Table, vocabulary: Vocabulary) -> list[CellText]:
    """Write the rows of a header into one, column by column: that row stays with its chunks."""
    order = sorted({cell.row for cell in table.cells})
    header = set(order[: table.header_rows])
    columns: dict[int, list[Cell]] = defaultdict(list)
    cells = []
    for cell in table.cells:
        if cell.row in header:
            columns[cell.column].append(cell)
        else:
            cells.append(_text(cell, cell.row, vocabulary))
    named = [
        CellText(
            text=" ".join(_joined(cell, vocabulary) for cell in parts),
            row=order[0],
            column=column,
            n_columns=min(cell.n_columns for cell in parts),
            header=True,
        )
        for column, parts in sorted(columns.items())
    ]
    return named + cells


def _text(cell: Cell, row: int, vocabulary: Vocabulary) -> CellText:
    return CellText(
        text=_joined(cell, vocabulary),
        row=row,
        column=cell.column,
        n_rows=cell.n_rows,
        n_columns=cell.n_columns,
    )


def _joined(cell: Cell, vocabulary: Vocabulary) -> str:
    first, *rest = (join_pieces(row).text for row in text_rows(cell.lines))
    for text in rest:
        first = vocabulary.join(first, text)
    return first


def _numbered_anew(cells: Sequence[CellText]) -> list[CellText]:
    """Leave no gaps in the numbers of the rows."""
    rows = sorted({cell.row for cell in cells})
    place = {row: i for i, row in enumerate(rows)}
    return [
        CellText(
            text=cell.text,
            row=place[cell.row],
            column=cell.column,
            n_rows=sum(cell.row <= row < cell.row + cell.n_rows for row in rows),
            n_columns=cell.n_columns,
            header=cell.header,
        )
        for cell in cells
    ]
