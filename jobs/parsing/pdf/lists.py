"""List items: those that stand alone are dates, initials or dashes; nesting is told by indent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jobs.parsing.pdf.blocks import Block
from jobs.parsing.pdf.markers import SURE, are_kin

__all__ = ["checked_items"]

_NEAR = 4
"""Blocks between two items of one list, at most: an item may have paragraphs of its own."""
_INDENT_EM = 0.6


def checked_items(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks, items without another one near as text, the rest with their depth."""
    places = [i for i, block in enumerate(blocks) if block.kind == "list_item"]
    refuted = {
        i
        for at, i in enumerate(places)
        if blocks[i].marker not in SURE and not _has_kin(blocks, places, at)
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
        are_kin(blocks[min(here, i)].marker, blocks[max(here, i)].marker)
        for i in window
        if abs(here - i) <= _NEAR * 2
    )


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
