"""Which tables of a web page only place things, and hold no rows and columns of facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from lxml import etree

__all__ = ["layout_tables"]

_HEADERS = ("{*}th", "{*}thead", "{*}caption")
_HEADINGS = tuple(f"{{*}}h{level}" for level in range(1, 7))
_PROSE = ("{*}p", "{*}ul", "{*}ol", "{*}pre", "{*}blockquote", "{*}dl")
_MIN_PARAGRAPHS = 3
"""Paragraphs and lists in one cell that make it a part of the page, not a fact."""


def layout_tables(root: etree._Element) -> set[etree._Element]:
    """Return the tables of one cell, those around a table, those said so, and those of prose.

    A table with a header is never one of prose.
    """
    found: set[etree._Element] = set()
    for table in root.iter("{*}table"):
        if table.get("role") in ("presentation", "none") or _one_cell(table):
            found.add(table)
        for outer in table.iterancestors("{*}table"):
            if outer in found:
                break
            found.add(outer)
    if next(root.iter("{*}table"), None) is not None:
        found |= _of_prose(root)
    return found


def _of_prose(root: etree._Element) -> set[etree._Element]:
    cells = {cell for heading in root.iter(*_HEADINGS) for cell in _nearest(heading, "{*}td")}
    parents = Counter(paragraph.getparent() for paragraph in root.iter(*_PROSE))
    cells |= {
        element
        for element, count in parents.items()
        if count >= _MIN_PARAGRAPHS and element is not None and _is_cell(element)
    }
    with_header = {t for header in root.iter(*_HEADERS) for t in _nearest(header, "{*}table")}
    return {t for cell in cells for t in _nearest(cell, "{*}table")} - with_header


def _nearest(element: etree._Element, name: str) -> Iterator[etree._Element]:
    ancestor = next(element.iterancestors(name), None)
    if ancestor is not None:
        yield ancestor


def _is_cell(element: etree._Element) -> bool:
    return isinstance(element.tag, str) and etree.QName(element).localname.lower() == "td"


def _one_cell(table: etree._Element) -> bool:
    cells: Iterator[etree._Element] = table.iter("{*}td", "{*}th")
    return next(cells, None) is not None and next(cells, None) is None
