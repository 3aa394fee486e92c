"""The minimum: chunks below it join a neighbour, where the cap allows by exact count."""

from __future__ import annotations

from dataclasses import dataclass, field

from chunking.atoms import SECTION, Atoms
from chunking.fitting import Draft, estimate, new_draft, text_span
from chunking.layout import Layout, is_heading
from chunking.measuring import exact_sizes
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
    sizes = [draft.n_tokens for draft in drafts]
    merger = _Merger(layout=layout, prefixes=prefixes, atoms=atoms, drafts=drafts, sizes=sizes)
    while pairs := merger.pairs():
        merger.merge(pairs)
    return merger.drafts


@dataclass(slots=True, kw_only=True)
class _Merger:
    """Merges in rounds; each round tries disjoint pairs in one batch of counts.

    ``sizes``: exact for drafts that were never merged, else an estimate. ``failed``:
    pairs that were counted above the cap.
    """

    layout: Layout
    prefixes: Prefixes
    atoms: Atoms
    drafts: list[Draft]
    sizes: list[int]
    failed: set[tuple[int, int, int]] = field(default_factory=set)

    def pairs(self) -> list[int]:
        """Return the left members of the pairs to be tried in this round."""
        pairs: list[int] = []
        free = 0
        minimum = self.layout.settings.min_tokens
        for i, size in enumerate(self.sizes):
            small = size < minimum or self._only_headings(self.drafts[i])
            left = self._choice(i) if small else None
            if left is not None and left >= free:
                pairs.append(left)
                free = left + 2
        return pairs

    def _only_headings(self, draft: Draft) -> bool:
        """Return whether a chunk has no body: the headings that end a document, at the most."""
        blocks, at = self.layout.document.blocks, self.atoms.blocks
        return all(
            is_heading(blocks[at[atom]]) for atom in range(draft.end - 1, draft.start - 1, -1)
        )

    def _choice(self, i: int) -> int | None:
        """Return the left member of the best pair that chunk i may still join."""
        for left in self._neighbours(i):
            a, b = self.drafts[left], self.drafts[left + 1]
            if (a.start, a.end, b.end) not in self.failed and self._near(a.start, b.end):
                return left
        return None

    def _near(self, start: int, end: int) -> bool:
        """Return whether atoms may fit into a chunk, blanks at their ends left out."""
        layout = self.layout
        most = layout.cap * _SLACK[0] // _SLACK[1]
        if estimate(layout, self.atoms, start, end) <= most:
            return True
        span = text_span(layout.document.text, self.atoms, start, end)
        return layout.estimate(*span) + layout.special <= most

    def _neighbours(self, i: int) -> list[int]:
        """Return the left members of the pairs of chunk i, the best first."""
        levels = self.atoms.levels
        pairs = []
        if i + 1 < len(self.drafts):
            pairs.append((levels[self.drafts[i + 1].start] == SECTION, i))
        if i > 0:
            pairs.append((levels[self.drafts[i].start] == SECTION, i - 1))
        if len(pairs) > 1 and all(across for across, _ in pairs) and self._next_is_outer(i):
            pairs.reverse()
        pairs.sort(key=lambda pair: pair[0])
        return [left for _, left in pairs]

    def _next_is_outer(self, i: int) -> bool:
        """Return whether the section after chunk i lies higher in the hierarchy than its own."""
        blocks, at = self.layout.document.blocks, self.atoms.blocks
        own, following = (blocks[at[self.drafts[k].start]].heading_path for k in (i, i + 1))
        return len(following) < len(own)

    def merge(self, pairs: list[int]) -> None:
        """Merge those pairs whose text holds the cap together."""
        text = self.layout.document.text
        spans = [
            text_span(text, self.atoms, self.drafts[left].start, self.drafts[left + 1].end)
            for left in pairs
        ]
        counts = exact_sizes(self.layout, spans)
        merged: list[Draft] = []
        sizes: list[int] = []
        position = 0
        for left, n in zip(pairs, counts, strict=True):
            a, b = self.drafts[left], self.drafts[left + 1]
            if n > self.layout.cap:
                self.failed.add((a.start, a.end, b.end))
                continue
            draft = new_draft(self.layout, self.prefixes, self.atoms, a.start, b.end)
            merged += [*self.drafts[position:left], draft]
            with_prefix = n + sum(part.size for part in draft.parts)
            sizes += [*self.sizes[position:left], min(with_prefix, self.layout.cap)]
            position = left + 2
        self.drafts = merged + self.drafts[position:]
        self.sizes = sizes + self.sizes[position:]
