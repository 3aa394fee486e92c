"""Overlap: a chunk of prose begins with the end of the chunk before it.

Only where both sides are prose of one kind under one heading, by whole units, and
never so far that a chunk starts where the one before starts.
"""

from __future__ import annotations

from dataclasses import replace

from chunking.atoms import PIECE, Atoms
from chunking.fitting import Draft, new_draft, text_span
from chunking.layout import Layout, is_heading
from chunking.prefixes import Prefixes

__all__ = ["add_overlap"]

_UNBROKEN = frozenset({"table", "code", "formula"})


def add_overlap(
    layout: Layout, prefixes: Prefixes, atoms: Atoms, drafts: list[Draft]
) -> list[Draft]:
    """Return drafts whose starts reach back by the overlap, as far as the cap allows.

    In sentences: that many. In tokens: the units whose sum is nearest to the amount.
    """
    result = list(drafts)
    pending = {}
    for i in range(1, len(drafts)):
        start = _reach(layout, atoms, drafts[i - 1], drafts[i])
        if start < drafts[i].start:
            pending[i] = start
    text = layout.document.text
    while pending:
        trials = {
            i: new_draft(layout, prefixes, atoms, start, drafts[i].end)
            for i, start in pending.items()
        }
        inputs = []
        for draft in trials.values():
            first, last = text_span(text, atoms, draft.start, draft.end)
            inputs.append(draft.prefix + text[first:last])
        again = {}
        for (i, draft), n in zip(trials.items(), layout.count(inputs), strict=True):
            if n <= layout.cap and len(draft.parts) >= len(drafts[i].parts):
                result[i] = replace(draft, n_tokens=n)
            elif draft.start + 1 < drafts[i].start:
                again[i] = (draft.start + drafts[i].start + 1) // 2
        pending = again
    return result


def _reach(layout: Layout, atoms: Atoms, before: Draft, draft: Draft) -> int:
    """Return the atom at which the draft starts with its overlap."""
    settings = layout.settings
    kind = layout.document.blocks[atoms.blocks[draft.start]].kind
    start = best = draft.start
    room = layout.cap - draft.n_tokens
    sentences = 0
    while start - 1 > before.start and _continues(layout, atoms, start - 1, start, kind):
        start -= 1
        size = atoms.sizes[draft.start] - atoms.sizes[start]
        if size > room:
            break
        if settings.overlap_unit == "sentences":
            sentences += atoms.levels[start] < PIECE
            if sentences > settings.overlap:
                break
            best = start if atoms.levels[start] < PIECE else best
            continue
        previous = atoms.sizes[draft.start] - atoms.sizes[best]
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
