"""Which rows of a table name its columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from jobs.parsing.pdf.geometry import Frame
from jobs.parsing.pdf.tables import Cell

__all__ = ["header_rows", "is_numeric"]

_NUMERIC = re.compile(
    r"[\d\s.,:%()/+*\u2212\u2013\u2014$\u20ac\u00a3<>=~\u00b1-]+(?:[A-Za-z%]{1,3})?"
)
_YEAR = re.compile(r"(?:19|20)\d\d(?:\s?[/\u2013-]\s?\d{2,4})?|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}")
"""A year, two, or a date: what often names a column."""
_MAX_ROWS = 4
_MAX_HEADER_CHARS = 120


def is_numeric(text: str) -> bool:
    """Tell whether a cell holds a number, an amount or a dash for none."""
    return bool(text) and bool(_NUMERIC.fullmatch(text)) and not text.isalpha()


def header_rows(cells: Sequence[Cell], shaded: Iterable[Frame] = ()) -> int:
    """Return how many rows from the first are a header, told by spans, letters and shading.

    ``cells`` come row by row. Without any sign, the first row is taken for one unless it
    holds numbers as the rows below do.
    """
    rows: dict[int, list[Cell]] = {}
    for cell in cells:
        rows.setdefault(cell.row, []).append(cell)
    order = sorted(rows)
    if len(order) < 2:  # noqa: PLR2004 - a header alone says nothing
        return 0
    top = [order[0], *_below_spans(rows, order)]
    marked = _marked(rows, order, tuple(shaded))
    if not marked and len(top) == 1 and _holds_values(rows[order[0]]):
        return 0
    count = min(max(len(top), marked), _MAX_ROWS, len(order) - 1)
    while count > 1 and _holds_values(rows[order[count - 1]]):
        count -= 1
    return count


def _below_spans(rows: Mapping[int, list[Cell]], order: Sequence[int]) -> list[int]:
    """Return the rows under cells of the first row that span columns or rows."""
    first = rows[order[0]]
    deepest = max((cell.n_rows for cell in first if cell.n_rows < _MAX_ROWS), default=1)
    if any(cell.n_columns > 1 for cell in first) and len(first) > 1:
        deepest = max(deepest, 2)
    return [row for row in order[1:] if row < order[0] + deepest]


def _marked(rows: Mapping[int, list[Cell]], order: Sequence[int], shaded: tuple[Frame, ...]) -> int:
    """Return how many rows from the first are bold or shaded where the rest is not."""
    for sign in (_is_bold, lambda row: _is_shaded(row, shaded)):
        count = 0
        for row in order[: _MAX_ROWS + 1]:
            if not sign(rows[row]):
                break
            count += 1
        striped = any(sign(rows[row]) for row in order[count + 1 :])
        if 0 < count <= _MAX_ROWS and count < len(order) and not striped:
            return count
    return 0


def _is_bold(row: Sequence[Cell]) -> bool:
    return all(line.bold for cell in row for line in cell.lines)


def _is_shaded(row: Sequence[Cell], shaded: tuple[Frame, ...]) -> bool:
    lines = [line for cell in row for line in cell.lines]
    return bool(shaded) and all(
        any(area.holds(line.frame) and area.height < line.size * 8 for area in shaded)
        for line in lines
    )


def _holds_values(row: Sequence[Cell]) -> bool:
    """Tell whether a row holds numbers, other than years, or a long text."""
    texts = [_text(cell) for cell in row]
    if any(len(text) > _MAX_HEADER_CHARS for text in texts):
        return True
    values = [text for text in texts if is_numeric(text) and not _YEAR.fullmatch(text)]
    return sum(any(map(str.isdigit, text)) for text in values) * 2 >= len(texts)


def _text(cell: Cell) -> str:
    return " ".join(line.text for line in cell.lines)
