"""Overlap: a chunk of prose begins with the end of the chunk before it.

Only where both sides are prose of one kind under one heading, by whole sentences or
pieces of one, and never so far that a chunk starts where the one before starts. What
a chunk repeats depends on its start alone, so packing leaves the room for it.
"""

from __future__ import annotations

from dataclasses import replace

from chunking.atoms import PIECE, Atoms
from chunking.fitting import Draft, new_draft, text_span
from chunking.layout import Layout, is_heading
from chunking.measuring import exact_sizes
from chunking.prefixes import Prefixes

__all__ = ["add_overlap", "overlap_starts"]

_UNBROKEN = frozenset({"table", "code", "formula"})


def overlap_starts(layout: Layout, atoms: Atoms) -> list[int]:
    """Return, for a chunk that would begin at each atom, the atom its overlap begins at."""
    room = layout.cap - layout.special
    return [
        _reach(layout, atoms, i, -1, room - (atoms.sizes[i + 1] - atoms.sizes[i]))
        for i in range(len(atoms))
    ]


def add_overlap(
    layout: Layout, prefixes: Prefixes, atoms: Atoms, drafts: list[Draft]
) -> list[Draft]:
    """Return drafts whose starts reach back by the overlap, as far as the cap allows.

    In sentences: that many. In tokens: the units whose sum is nearest to the amount.
    """
    result = list(drafts)
    pending: dict[int, int] = {}
    for i in range(1, len(drafts)):
        room = layout.cap - drafts[i].n_tokens
        floor = pending.get(i - 1, drafts[i - 1].start)
        start = _reach(layout, atoms, drafts[i].start, floor, room)
        if start < drafts[i].start:
            pending[i] = start
    text = layout.document.text
    while pending:
        trials = {
            i: new_draft(layout, prefixes, atoms, start, drafts[i].end)
            for i, start in pending.items()
        }
        spans = [text_span(text, atoms, draft.start, draft.end) for draft in trials.values()]
        sizes = exact_sizes(layout, spans, [draft.front for draft in trials.values()])
        again = {}
        for (i, draft), n in zip(trials.items(), sizes, strict=True):
            if n <= layout.cap and len(draft.parts) >= len(drafts[i].parts):
                result[i] = replace(draft, n_tokens=n)
                continue
            start = _shorter(layout, atoms, draft.start, drafts[i].start, n - layout.cap)
            if start < drafts[i].start:
                again[i] = start
        pending = again
    for i in range(1, len(drafts)):
        # The one before may have given up more than was reckoned with.
        if result[i].start <= result[i - 1].start:
            result[i] = drafts[i]
    return result


def _shorter(layout: Layout, atoms: Atoms, start: int, end: int, excess: int) -> int:
    """Return a later start of an overlap: at a sentence, by ``excess`` tokens and at least half.

    At least half, so that a few rounds of counting are enough.
    """
    least = min(atoms.sizes[start] + max(1, excess), atoms.sizes[end])
    half = (atoms.sizes[start] + atoms.sizes[end]) // 2
    by_sentence = layout.settings.overlap_unit == "sentences"
    start += 1
    while start < end and (
        atoms.sizes[start] < (least if by_sentence else max(least, half))
        or (by_sentence and atoms.levels[start] >= PIECE)
    ):
        start += 1
    return start


def _reach(layout: Layout, atoms: Atoms, at: int, floor: int, room: int) -> int:
    """Return the atom after ``floor`` at which a chunk of atom ``at`` on starts with overlap."""
    settings = layout.settings
    kind = layout.document.blocks[atoms.blocks[at]].kind
    start = best = at
    sentences = 0
    while start - 1 > floor and _continues(layout, atoms, start - 1, start, kind):
        start -= 1
        size = atoms.sizes[at] - atoms.sizes[start]
        if size > room:
            break
        if settings.overlap_unit == "sentences":
            if atoms.levels[start] < PIECE:
                best = start
                sentences += 1
            if sentences == settings.overlap:
                break
            continue
        previous = atoms.sizes[at] - atoms.sizes[best]
        if abs(size - settings.overlap) >= abs(previous - settings.overlap):
            break
        best = start
    return best


def _continues(layout: Layout, atoms: Atoms, left: int, right: int, kind: str) -> bool:
    """Return whether text may be repeated from atom ``left`` on, before atom ``right``."""
    blocks = layout.document.blocks
    block, following = blocks[atoms.blocks[left]], blocks[atoms.blocks[right]]
    return (
        kind not in _UNBROKEN
        and not is_heading(block)
        and block.kind == following.kind == kind
        and block.heading_path == following.heading_path
    )
