"""Sheets of OpenDocument spreadsheets, written out so that their range is what is used.

A sheet ends in repeats of blank rows and columns, up to the far corner (ODF 1.3 part 3,
9.1.3 and 9.1.4), which a reader that expands them never comes to the end of. Rules: blank
repeats at the end are dropped and, where a sheet is nearly empty, those between closed to
one; repeats of a filled cell or row are written out within bounds; a cell is what it
shows, and its comment stands at the end of the document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy

from lxml import etree

from jobs.parsing.formats.sheet_gaps import Ranks, is_vast

__all__ = ["write_out"]

_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_ROW = f"{_TABLE}table-row"
_GROUPS = frozenset(
    f"{_TABLE}{name}" for name in ("table-row-group", "table-header-rows", "table-rows")
)
_CELLS = frozenset({f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"})
_COLUMNS_REPEATED = f"{_TABLE}number-columns-repeated"
_ROWS_REPEATED = f"{_TABLE}number-rows-repeated"
_TYPE = f"{_OFFICE}value-type"
_VALUES = (f"{_OFFICE}value", f"{_OFFICE}date-value", f"{_OFFICE}time-value")
_MOST_COPIES = 1_000
_MOST_COPIED_CELLS = 500_000

_Row = list[tuple[int, etree._Element]]  # noqa: SLF001 - the library's type


def write_out(root: etree._Element, warn: Callable[[str], None]) -> list[str]:
    """Change every sheet of a spreadsheet's content in place; return its comments."""
    hidden = {
        style.get(f"{_STYLE}name")
        for style in root.iter(f"{_STYLE}style")
        if any(
            properties.get(f"{_TABLE}display") == "false"
            for properties in style.iter(f"{_STYLE}table-properties")
        )
    }
    comments: list[str] = []
    for sheet in root.findall(f"{_OFFICE}body/{_OFFICE}spreadsheet/{_TABLE}table"):
        # docling compares the flag, which odfdo has made a boolean, with a text.
        if sheet.get(f"{_TABLE}style-name") in hidden or sheet.get(f"{_TABLE}display") == "false":
            warn(f"the hidden sheet {sheet.get(f'{_TABLE}name')!r} was left out")
            sheet.getparent().remove(sheet)
            continue
        comments += _comments(sheet)
        rows = list(_rows(sheet, warn))
        _show_cells(cell for _, row in rows for _, cell in row)
        columns = [column for _, row in rows for column, _ in row]
        if columns and is_vast(rows[-1][0], max(columns), len(columns)):
            warn("blank rows and columns between far cells were left out")
            row_ranks, column_ranks = Ranks(index for index, _ in rows), Ranks(columns)
            rows = [
                (row_ranks[index], [(column_ranks[column], cell) for column, cell in row])
                for index, row in rows
            ]
        _rebuild(sheet, rows)
    return comments


def _comments(sheet: etree._Element) -> list[str]:
    """Take the comments of cells out and return them."""
    comments = []
    for note in list(sheet.iter(f"{_OFFICE}annotation")):
        text = "\n".join("".join(line.itertext()) for line in note.iter(f"{_TEXT}p")).strip()
        author = " ".join((note.findtext(f"{_DC}creator") or "unknown").split())
        if text:
            comments.append(f"Comment by {author}: {text}")
        parent = note.getparent()
        if parent is not None:
            parent.remove(note)
    return comments


def _rows(sheet: etree._Element, warn: Callable[[str], None]) -> Iterator[tuple[int, _Row]]:
    """Yield the index, from 1, of each row that holds anything, with its cells."""
    index = copied = 0
    for element in _row_elements(sheet):
        repeats = _repeats(element, _ROWS_REPEATED)
        cells = _filled(element, warn)
        copies = min(repeats, _MOST_COPIES)
        if cells and copied + copies * len(cells) > _MOST_COPIED_CELLS:
            copies = 1
        if cells and copies < repeats:
            warn("repeated rows or cells were left out")
        for offset in range(copies if cells else 0):
            copied += len(cells)
            own = cells if not offset else [(column, deepcopy(cell)) for column, cell in cells]
            yield index + offset + 1, own
        index += repeats


def _row_elements(sheet: etree._Element) -> Iterator[etree._Element]:
    stack = list(sheet)[::-1]
    while stack:
        node = stack.pop()
        if node.tag == _ROW:
            yield node
        elif node.tag in _GROUPS:
            stack += list(node)[::-1]


def _filled(row: etree._Element, warn: Callable[[str], None]) -> _Row:
    """Return the filled cells of a row with their columns, from 1."""
    column, cells = 0, []
    for cell in row:
        if cell.tag not in _CELLS:
            continue
        repeats = _repeats(cell, _COLUMNS_REPEATED)
        cell.attrib.pop(_COLUMNS_REPEATED, None)
        if len(cell) or any(cell.get(name) for name in _VALUES):
            copies = min(repeats, _MOST_COPIES)
            if copies < repeats:
                warn("repeated rows or cells were left out")
            cells.append((column + 1, cell))
            cells += [(column + 1 + i, deepcopy(cell)) for i in range(1, copies)]
        column += repeats
    return cells


def _show_cells(cells: Iterator[etree._Element]) -> None:
    """Make every cell one of text: what it shows, else its value."""
    for cell in cells:
        if cell.find(f"{_TEXT}p") is None:
            value = next((cell.get(name) for name in _VALUES if cell.get(name)), None)
            if value is not None:
                etree.SubElement(cell, f"{_TEXT}p").text = value
        for name in (*_VALUES, f"{_OFFICE}boolean-value", f"{_OFFICE}string-value"):
            cell.attrib.pop(name, None)
        cell.set(_TYPE, "string")


def _rebuild(sheet: etree._Element, rows: list[tuple[int, _Row]]) -> None:
    for child in list(sheet):
        if child.tag == _ROW or child.tag in _GROUPS:
            sheet.remove(child)
    last = 0
    for index, cells in rows:
        if index > last + 1:
            blank = etree.SubElement(sheet, _ROW)
            blank.set(_ROWS_REPEATED, str(index - last - 1))
            etree.SubElement(blank, f"{_TABLE}table-cell")
        row, column = etree.SubElement(sheet, _ROW), 0
        for own, cell in cells:
            if own > column + 1:
                gap = etree.SubElement(row, f"{_TABLE}table-cell")
                gap.set(_COLUMNS_REPEATED, str(own - column - 1))
            row.append(cell)
            column = own
        last = index


def _repeats(element: etree._Element, name: str) -> int:
    text = element.get(name) or ""
    return max(int(text), 1) if text.isascii() and text.isdigit() else 1
