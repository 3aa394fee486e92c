"""Word tables: the grid of their cells, and which of them only place things."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

from jobs.parsing.formats.docx_styles import W, value_of

__all__ = ["Cell", "is_layout", "rows_of"]

_WRAPPERS = frozenset(
    f"{W}{name}" for name in ("sdt", "sdtContent", "customXml", "ins", "moveTo", "smartTag")
)
_MOST_COLUMNS = 1_000


@dataclass(slots=True, kw_only=True)
class Cell:
    """A cell with the columns and rows that it covers; one without an element is a gap."""

    element: etree._Element | None
    columns: int
    rows: int = 1


def is_layout(table: etree._Element) -> bool:
    """Tell whether a table only places things: it has one cell, or a table stands in it."""
    cells = table.iter(f"{W}tc")
    next(cells, None)
    if next(cells, None) is None:
        return True
    inner = table.iter(f"{W}tbl")
    next(inner, None)
    return any(not _one_cell(other) for other in inner)


def rows_of(table: etree._Element) -> list[list[Cell]]:
    """Return the cells of each row; one that a cell above runs down into is part of that one."""
    grid: list[list[Cell]] = []
    above: dict[int, Cell] = {}
    for row in _inside(table, "tr"):
        if row.find(f"{W}trPr/{W}del") is not None:
            continue
        column = _integer(value_of(row, "trPr/gridBefore"), 0)
        cells = [Cell(element=None, columns=min(column, _MOST_COLUMNS))] if column else []
        merged: dict[int, Cell] = {}
        for element in _inside(row, "tc"):
            columns = max(1, min(_integer(value_of(element, "tcPr/gridSpan"), 1), _MOST_COLUMNS))
            merge = element.find(f"{W}tcPr/{W}vMerge")
            goes_on = merge is not None and merge.get(f"{W}val") != "restart"
            if goes_on and column in above:
                above[column].rows += 1
                merged[column] = above[column]
            else:
                cell = Cell(element=element, columns=columns)
                cells.append(cell)
                if merge is not None:
                    merged[column] = cell
            column += columns
        grid.append(cells)
        above = merged
    return grid


def _inside(element: etree._Element, name: str) -> Iterator[etree._Element]:
    """Yield the rows of a table or the cells of a row, whatever wraps them."""
    stack = list(element)[::-1]
    while stack:
        node = stack.pop()
        if node.tag == W + name:
            yield node
        elif node.tag in _WRAPPERS:
            stack += list(node)[::-1]


def _one_cell(table: etree._Element) -> bool:
    cells = table.iter(f"{W}tc")
    return next(cells, None) is not None and next(cells, None) is None


def _integer(text: str | None, default: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() else default
