"""What begins a list item: bullets and counters, and which of them go together."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jobs.parsing.pdf.lines import Line

__all__ = ["BULLET", "NUMBER", "SURE", "are_kin", "item_lines"]

SURE = frozenset("\u2022\u2023\u25aa\u25ab\u25cf\u25cb\u25a0\u25e6\u2043\u2219\u00b7")
"""Bullets that are nothing else at the beginning of a line."""
_BULLETS = "".join(sorted(SURE))
BULLET = re.compile(rf"([{_BULLETS}*\u2013-])\s+(?=\S)")
NUMBER = re.compile(r"(\(?(?:\d{1,3}|[A-Za-z]|[ivxlIVXL]{1,5})[.)])\s+(?=\S)")
_COUNTER = re.compile(r"\(?(\w+)[.)]")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50}
_NEAR = 4
"""Items that lie between two of one list, at most: those of lists within it."""
_SAME_EDGE_EM = 0.8


def item_lines(lines: Sequence[Line]) -> set[int]:
    """Return the lines of a column that begin an item, as another with the next marker shows."""
    marked = [
        (i, match[1])
        for i, line in enumerate(lines)
        if (match := BULLET.match(line.text) or NUMBER.match(line.text))
    ]
    found = {i for i, marker in marked if marker in SURE}
    for at, (i, marker) in enumerate(marked):
        for j, after in marked[at + 1 : at + 2 + _NEAR]:
            apart = abs(lines[i].frame.left - lines[j].frame.left)
            if apart < lines[i].size * _SAME_EDGE_EM and are_kin(marker, after):
                found |= {i, j}
                break
    return found


def are_kin(before: str, after: str) -> bool:
    """Tell whether two markers may follow each other in a list."""
    first, second = _COUNTER.fullmatch(before), _COUNTER.fullmatch(after)
    if first is None or second is None:
        return before == after
    pairs = zip(_values(first[1]), _values(second[1]), strict=True)
    return any(a and b - a == 1 for a, b in pairs)


def _values(counter: str) -> tuple[int, int, int]:
    """Return what a counter counts as figures, as a letter, as a Roman numeral; 0 if it is none."""
    lower = counter.lower()
    figures = int(lower) if lower.isdecimal() else 0
    letter = ord(lower) - ord("a") + 1 if len(lower) == 1 and "a" <= lower <= "z" else 0
    roman = 0
    if all(each in _ROMAN for each in lower):
        values = [_ROMAN[each] for each in lower]
        roman = sum(
            -value if value < max(values[i:], default=0) else value
            for i, value in enumerate(values)
        )
    return figures, letter, roman
