"""List items: those that stand alone are dates, initials or dashes; nesting is told by indent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from jobs.parsing.pdf.blocks import Block

__all__ = ["checked_items"]

_SURE = frozenset("\u2022\u2023\u25aa\u25ab\u25cf\u25cb\u25a0\u25e6\u2043\u2219\u00b7")
_COUNTER = re.compile(r"\(?(\w+)[.)]")
_NEAR = 4
"""Blocks between two items of one list, at most: an item may have paragraphs of its own."""
_INDENT_EM = 0.6
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50}


def checked_items(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks, items without another one near as text, the rest with their depth."""
    places = [i for i, block in enumerate(blocks) if block.kind == "list_item"]
    refuted = {
        i
        for at, i in enumerate(places)
        if blocks[i].marker not in _SURE and not _has_kin(blocks, places, at)
    }
    checked = [
        replace(block, kind="text", text=f"{block.marker} {block.text}", marker="")
        if i in refuted
        else block
        for i, block in enumerate(blocks)
    ]
    return _nested(checked)


def _has_kin(blocks: Sequence[Block], places: Sequence[int], at: int) -> bool:
    here = places[at]
    window = [*places[max(at - _NEAR, 0) : at], *places[at + 1 : at + 1 + _NEAR]]
    return any(
        _are_kin(blocks[min(here, i)].marker, blocks[max(here, i)].marker)
        for i in window
        if abs(here - i) <= _NEAR * 2
    )


def _are_kin(before: str, after: str) -> bool:
    """Tell whether two markers may follow each other in a list."""
    first, second = _COUNTER.fullmatch(before), _COUNTER.fullmatch(after)
    if first is None or second is None:
        return before == after
    return any(
        b - a == 1 for a, b in zip(_values(first[1]), _values(second[1]), strict=True) if a and b
    )


def _values(counter: str) -> tuple[int, int, int]:
    """Return what a counter may count as figures, as a letter, as a Roman numeral; 0 if not."""
    lower = counter.lower()
    figures = int(lower) if lower.isdecimal() else 0
    letter = ord(lower) - ord("a") + 1 if len(lower) == 1 and lower.isascii() else 0
    total = 0
    if lower and all(each in _ROMAN for each in lower):
        values = [_ROMAN[each] for each in lower]
        total = sum(
            -value if value < max(values[i:], default=0) else value
            for i, value in enumerate(values)
        )
    return figures, letter if lower.isalpha() else 0, total


def _nested(blocks: Sequence[Block]) -> list[Block]:
    nested: list[Block] = []
    lefts: list[float] = []
    for block in blocks:
        if block.kind in ("header", "footer"):
            nested.append(block)
            continue
        if block.kind != "list_item":
            lefts = []
            nested.append(block)
            continue
        left, em = block.lines[0].frame.left, block.size * _INDENT_EM
        while len(lefts) > 1 and left < lefts[-1] - em:
            lefts.pop()
        if not lefts or left > lefts[-1] + em:
            lefts.append(left)
        else:
            lefts[-1] = left
        nested.append(replace(block, depth=len(lefts)))
    return nested
