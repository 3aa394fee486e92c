"""The minimum: chunks below it join a neighbour, where the cap allows by exact count."""

from __future__ import annotations

from collections.abc import Iterator

from chunking.atoms import SECTION, Atoms
from chunking.fitting import Draft, estimate, new_draft, text_span
from chunking.layout import Layout
from chunking.prefixes import Prefixes

__all__ = ["merge_small"]

_SLACK = 5, 4
"""Pairs whose estimate exceeds the cap by more than this ratio are not counted."""


def merge_small(
    layout: Layout, prefixes: Prefixes, atoms: Atoms, drafts: list[Draft]
) -> list[Draft]:
    """Return drafts in which none below the minimum could be merged with a neighbour.

    The next chunk of the section is tried first, then the previous one, then across
    the heading. Merged drafts have an unknown size (0): the prefix is still to be
    fitted; their text alone holds the cap.
    """
    minimum = layout.settings.min_tokens
    sizes = [draft.n_tokens for draft in drafts]
    failed: set[tuple[int, int, int]] = set()
    while True:
        pairs = _pairs(layout, atoms, drafts, sizes, failed, minimum)
        if not pairs:
            return drafts
        drafts, sizes = _merge(layout, prefixes, atoms, drafts, sizes, failed, pairs)


def _pairs(  # noqa: PLR0913 - one round's state
    layout: Layout,
    atoms: Atoms,
    drafts: list[Draft],
    sizes: list[int],
    failed: set[tuple[int, int, int]],
    minimum: int,
) -> list[int]:
    """Return the left members of disjoint pairs to be tried in this round."""
    pairs: list[int] = []
    free = 0
    for i, size in enumerate(sizes):
        if size >= minimum:
            continue
        for left in _choices(layout, atoms, drafts, i):
            a, b = drafts[left], drafts[left + 1]
            if (a.start, a.end, b.end) in failed:
                continue
            guess = estimate(layout, atoms, a.start, b.end)
            if guess * _SLACK[1] > layout.cap * _SLACK[0]:
                continue
            if left >= free:
                pairs.append(left)
                free = left + 2
            break
    return pairs


def _choices(layout: Layout, atoms: Atoms, drafts: list[Draft], i: int) -> Iterator[int]:
    """Yield the left members of the pairs that chunk i may join, the best first."""
    draft = drafts[i]
    has_next, has_previous = i + 1 < len(drafts), i > 0
    next_opens = has_next and atoms.levels[drafts[i + 1].start] == SECTION
    opens = atoms.levels[draft.start] == SECTION
    if has_next and not next_opens:
        yield i
    if has_previous and not opens:
        yield i - 1
    across = []
    if next_opens:
        across.append(i)
    if has_previous and opens:
        across.append(i - 1)
    if len(across) > 1 and _depth(layout, atoms, drafts[i + 1]) < _depth(layout, atoms, draft):
        across.reverse()
    yield from across


def _depth(layout: Layout, atoms: Atoms, draft: Draft) -> int:
    """Return how deep the section lies that the draft opens."""
    return len(layout.document.blocks[atoms.blocks[draft.start]].heading_path)


def _merge(  # noqa: PLR0913 - one round's state
    layout: Layout,
    prefixes: Prefixes,
    atoms: Atoms,
    drafts: list[Draft],
    sizes: list[int],
    failed: set[tuple[int, int, int]],
    pairs: list[int],
) -> tuple[list[Draft], list[int]]:
    text = layout.document.text
    inputs = []
    for left in pairs:
        start, end = text_span(text, atoms, drafts[left].start, drafts[left + 1].end)
        inputs.append(text[start:end])
    counts = dict(zip(pairs, layout.count(inputs), strict=True))
    merged: list[Draft] = []
    merged_sizes: list[int] = []
    i = 0
    while i < len(drafts):
        n = counts.get(i)
        if n is None:
            merged.append(drafts[i])
            merged_sizes.append(sizes[i])
            i += 1
            continue
        a, b = drafts[i], drafts[i + 1]
        if n <= layout.cap:
            draft = new_draft(layout, prefixes, atoms, a.start, b.end)
            merged.append(draft)
            merged_sizes.append(min(n + sum(part.size for part in draft.parts), layout.cap))
        else:
            failed.add((a.start, a.end, b.end))
            merged += (a, b)
            merged_sizes += sizes[i : i + 2]
        i += 2
    return merged, merged_sizes
