"""The rows of a docling table, its merged cells laid out by one rule."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable

from docling_core.types.doc import DoclingDocument, NodeItem, TableItem
from docling_core.types.doc.document import RichTableCell, TableCell

__all__ = ["cell_rows", "table_rows"]

_REPEATED_CHARS = 100
"""A longer text of a cell that spans rows stands in the first row only."""


def table_rows(
    document: DoclingDocument,
    table: TableItem,
    text_of: Callable[[DoclingDocument, NodeItem], str],
) -> tuple[list[list[str]], bool]:
    """Return the rows that hold text, and whether the first is a header.

    Columns without text are left out. The work is bounded by the cells that there
    are, not by the size that the table claims. ``text_of`` reads a cell's own tree.
    """
    return _grid((cell, _cell_text(document, cell, text_of)) for cell in table.data.table_cells)


def cell_rows(cells: Iterable[TableCell]) -> list[list[str]]:
    """Return the rows of cells that hold plain text."""
    return _grid((cell, cell.text) for cell in cells)[0]


def _grid(cells: Iterable[tuple[TableCell, str]]) -> tuple[list[list[str]], bool]:
    rows: dict[int, dict[int, str]] = {}
    spanning: list[tuple[TableCell, str]] = []
    header_row: set[int] = set()
    for cell, text in cells:
        if not text.strip():
            continue
        rows.setdefault(cell.start_row_offset_idx, {})[cell.start_col_offset_idx] = text
        if cell.column_header:
            header_row.add(cell.start_row_offset_idx)
        if cell.end_row_offset_idx - cell.start_row_offset_idx > 1:
            spanning.append((cell, text))
    order = sorted(rows)
    _repeat_down(rows, order, spanning)
    columns = sorted({column for row in rows.values() for column in row})
    grid = [[rows[index].get(column, "") for column in columns] for index in order]
    return grid, bool(order) and order[0] in header_row


def _repeat_down(
    rows: dict[int, dict[int, str]], order: list[int], spanning: list[tuple[TableCell, str]]
) -> None:
    for cell, text in spanning:
        if len(text) > _REPEATED_CHARS:
            continue
        first = bisect_left(order, cell.start_row_offset_idx + 1)
        for index in order[first : bisect_left(order, cell.end_row_offset_idx)]:
            rows[index].setdefault(cell.start_col_offset_idx, text)


def _cell_text(
    document: DoclingDocument,
    cell: TableCell,
    text_of: Callable[[DoclingDocument, NodeItem], str],
) -> str:
    if isinstance(cell, RichTableCell):
        return text_of(document, cell.ref.resolve(document)) or cell.text
    return cell.text
