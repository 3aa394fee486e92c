"""Worksheets whose few cells lie far apart, drawn together.

A reader that walks the used range of a sheet with cells in A1 and XFD1048576 visits
17 thousand million cells. Runs of blank rows and columns become one blank one; only
sheets that are nearly empty are touched, so ordinary ones keep their places.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable

from lxml import etree

__all__ = ["Ranks", "close_gaps", "is_scattered", "is_vast"]

_CELL = re.compile(rb'<(?:\w+:)?c\s[^>]*?\br="([A-Z]{1,3})(\d{1,7})"')
_REFERENCE = re.compile(r"([A-Z]{1,3})(\d{1,7})")
_MOST_BLANK = 2_000_000
"""Blank cells in the used range that a sheet may have whatever else is there."""
_MOST_PER_CELL = 50
_DROPPED = frozenset(
    (
        *("dimension", "cols", "conditionalFormatting", "dataValidations"),
        *("hyperlinks", "autoFilter"),
    )
)
_LETTERS = 26


def is_scattered(data: bytes) -> bool:
    """Return whether a worksheet's range is vast for the cells that are in it."""
    rows, columns, n_cells = 1, 1, 0
    for found in _CELL.finditer(data):
        n_cells += 1
        rows = max(rows, int(found[2]))
        columns = max(columns, _column(found[1].decode()))
    return is_vast(rows, columns, n_cells)


def is_vast(rows: int, columns: int, n_cells: int) -> bool:
    """Return whether a range is vast for the number of cells that are in it."""
    return rows * columns > max(_MOST_BLANK, _MOST_PER_CELL * n_cells)


def close_gaps(root: etree._Element) -> None:
    """Move the cells of a worksheet together, in place."""
    cells = [cell for cell in root.iter("{*}c") if _REFERENCE.fullmatch(cell.get("r") or "")]
    full = [cell for cell in cells if len(cell)]
    for cell in cells:
        if not len(cell):
            cell.getparent().remove(cell)
    places = [_REFERENCE.fullmatch(cell.get("r")) for cell in full]
    rows = Ranks(int(p[2]) for p in places if p)
    columns = Ranks(_column(p[1]) for p in places if p)
    for row in list(root.iter("{*}row")):
        if not len(row):
            row.getparent().remove(row)
        elif row.get("r"):
            row.set("r", str(rows[int(row.get("r"))]))
            row.attrib.pop("spans", None)
    for cell in full:
        cell.set("r", _moved(cell.get("r"), rows, columns))
    for merged in root.iter("{*}mergeCell"):
        merged.set("ref", _moved(merged.get("ref") or "", rows, columns))
    for element in list(root):
        if isinstance(element.tag, str) and etree.QName(element).localname in _DROPPED:
            root.remove(element)


class Ranks:
    """New indices of the used ones: neighbours stay so, any gap becomes one blank."""

    def __init__(self, used: Iterable[int]) -> None:
        self._used = sorted(set(used))
        self._new: list[int] = []
        last_old = last_new = 0
        for old in self._used:
            last_new += min(old - last_old, 2)
            last_old = old
            self._new.append(last_new)

    def __getitem__(self, old: int) -> int:
        position = bisect_left(self._used, old)
        if position == len(self._used):
            return (self._new[-1] if self._new else 0) + 1
        exact = self._used[position] == old
        return self._new[position] if exact else max(self._new[position] - 1, 1)


def _moved(reference: str, rows: Ranks, columns: Ranks) -> str:
    return _REFERENCE.sub(
        lambda found: f"{_letters(columns[_column(found[1])])}{rows[int(found[2])]}", reference
    )


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * _LETTERS + ord(letter) - ord("A") + 1
    return number


def _letters(column: int) -> str:
    text = ""
    while column:
        column, rest = divmod(column - 1, _LETTERS)
        text = chr(ord("A") + rest) + text
    return text
