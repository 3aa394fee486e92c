"""The exact cap: counts what packing estimated, trims prefixes, splits what is too large.

Counts go to the tokenizer in batches; a draft is counted again only after its
prefix or its span has changed, and each change makes it smaller by what it was
over, so the text is counted a small number of times in all.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from chunking.atoms import Atoms, refine
from chunking.errors import DocumentError
from chunking.layout import Layout, is_heading
from chunking.measuring import Front, exact_sizes
from chunking.prefixes import Part, Prefixes
from chunking.splitting import middle_cut, span_of, token_cuts

__all__ = ["Draft", "Repack", "estimate", "fit", "new_draft", "text_span"]

Repack = Callable[[Atoms, int, int, int], list[int]]
"""``repack(atoms, start, end, cap)``: chunk ends of a range under a lower cap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A chunk to be: atoms ``[start, end)``, its prefix parts, its exact size (0: unknown)."""

    start: int
    end: int
    parts: tuple[Part, ...] = ()
    n_tokens: int = 0

    @property
    def prefix(self) -> str:
        """The prefix: each part on its own line, or empty."""
        return "".join(f"{part.text}\n" for part in self.parts)

    @property
    def front(self) -> Front:
        """The prefix with its number of tokens: each of its parts ends in a newline."""
        n_tokens = 0
        for part in self.parts:
            if part.n_tokens is None:
                return self.prefix, None
            n_tokens += part.n_tokens
        return self.prefix, n_tokens


def text_span(text: str, atoms: Atoms, start: int, end: int) -> tuple[int, int]:
    """Return the span of atoms ``[start, end)`` without blanks at its ends."""
    return span_of(text, atoms.starts[start], atoms.starts[end])


def estimate(layout: Layout, atoms: Atoms, start: int, end: int) -> int:
    """Return the estimated model input of atoms ``[start, end)`` without a prefix."""
    return atoms.sizes[end] - atoms.sizes[start] + layout.special


def new_draft(layout: Layout, prefixes: Prefixes, atoms: Atoms, start: int, end: int) -> Draft:
    """Return a draft whose prefix is trimmed as far as the estimates ask for."""
    parts = prefixes.parts(atoms, start, end)
    excess = estimate(layout, atoms, start, end) + sum(p.size for p in parts) - layout.cap
    return Draft(start=start, end=end, parts=_trimmed(parts, excess))


def _trimmed(parts: Sequence[Part], excess: int) -> tuple[Part, ...]:
    """Drop parts from the outermost on until ``excess`` tokens are gone."""
    drop = 0
    while excess > 0 and drop < len(parts):
        excess -= parts[drop].size
        drop += 1
    return tuple(parts[drop:])


def fit(
    layout: Layout, prefixes: Prefixes, atoms: Atoms, drafts: Sequence[Draft], repack: Repack
) -> tuple[Atoms, list[Draft]]:
    """Return drafts that hold the cap by exact count, and the atoms they refer to.

    Drafts with a known size are kept. Atoms change only where one of them had to be
    cut. Raises :class:`DocumentError` where one code point alone exceeds the cap.
    """
    done = list(drafts)
    while any(draft.n_tokens == 0 for draft in done):
        done = _counted(layout, atoms, done)
        while cuts := _all_cuts(layout, atoms, done, repack):
            atoms, done = _refined(layout, atoms, done, cuts)
        done = _reduced(layout, prefixes, atoms, done, repack)
    return atoms, done


def _all_cuts(
    layout: Layout, atoms: Atoms, drafts: list[Draft], repack: Repack
) -> dict[int, list[int]]:
    """Return the cuts inside atoms that drafts above the cap ask for, by atom."""
    cuts: dict[int, list[int]] = {}
    for draft in drafts:
        if draft.n_tokens <= layout.cap or draft.parts:
            continue
        if draft.end - draft.start == 1:
            cuts[draft.start] = _forced_cuts(layout, atoms, draft)
        else:
            cuts.update(_heading_cuts(layout, atoms, draft, repack))
    return cuts


def _heading_cuts(
    layout: Layout, atoms: Atoms, draft: Draft, repack: Repack
) -> dict[int, list[int]]:
    """Return cuts of those atoms that a heading would be parted from by the lower cap."""
    lower, blocks = _lower_cap(layout, atoms, draft), layout.document.blocks
    cuts = {}
    for end in repack(atoms, draft.start, draft.end, lower)[:-1]:
        first = at = end
        while at < draft.end - 1 and is_heading(blocks[atoms.blocks[at]]):
            at += 1
        while first > draft.start and is_heading(blocks[atoms.blocks[first - 1]]):
            first -= 1
        if atoms.sizes[at] - atoms.sizes[first] >= lower - layout.special:
            # Of headings in a row that exceed the cap, the last one keeps its text.
            first = bisect_left(atoms.blocks, atoms.blocks[at - 1], first, at)
        block = blocks[atoms.blocks[at]]
        room = lower - layout.special - (atoms.sizes[at] - atoms.sizes[first])
        if first == at or is_heading(block) or room < 1 or not layout.divisible(block):
            continue
        span = text_span(layout.document.text, atoms, at, at + 1)
        found = token_cuts(layout.document.text, layout.tokens, *span, limit=layout.cap, first=room)
        if found:
            cuts[at] = found[:1]
    return cuts


def _lower_cap(layout: Layout, atoms: Atoms, draft: Draft) -> int:
    """Return what a draft's estimates must not exceed, were they as far off everywhere."""
    guess = estimate(layout, atoms, draft.start, draft.end)
    return min(guess - 1, layout.cap * guess // max(draft.n_tokens, 1))


def _counted(layout: Layout, atoms: Atoms, drafts: list[Draft]) -> list[Draft]:
    text = layout.document.text
    unknown = [i for i, draft in enumerate(drafts) if draft.n_tokens == 0]
    spans = [text_span(text, atoms, drafts[i].start, drafts[i].end) for i in unknown]
    fronts = [drafts[i].front for i in unknown]
    for i, n in zip(unknown, exact_sizes(layout, spans, fronts), strict=True):
        drafts[i] = replace(drafts[i], n_tokens=max(1, n))
    return drafts


def _reduced(
    layout: Layout, prefixes: Prefixes, atoms: Atoms, drafts: list[Draft], repack: Repack
) -> list[Draft]:
    """Return drafts in which each one above the cap has lost prefix lines or was split."""
    reduced = []
    for draft in drafts:
        excess = draft.n_tokens - layout.cap
        if excess <= 0:
            reduced.append(draft)
        elif draft.parts:
            reduced.append(replace(draft, parts=_trimmed(draft.parts, excess), n_tokens=0))
        else:
            lower = _lower_cap(layout, atoms, draft)
            start = draft.start
            for end in repack(atoms, draft.start, draft.end, lower):
                reduced.append(new_draft(layout, prefixes, atoms, start, end))
                start = end
    return reduced


def _forced_cuts(layout: Layout, atoms: Atoms, draft: Draft) -> list[int]:
    """Return cuts inside the one atom of a draft that exceeds the cap by exact count."""
    text = layout.document.text
    start, end = text_span(text, atoms, draft.start, draft.end)
    size = atoms.sizes[draft.end] - atoms.sizes[draft.start]
    room = layout.cap - layout.special
    limit = min(size - 1, size * room // max(draft.n_tokens - layout.special, 1))
    cuts: list[int] = []
    if limit >= 1:
        cuts = token_cuts(text, layout.tokens, start, end, limit=limit)
    if not cuts:
        middle = middle_cut(text, start, end)
        if middle is None:
            msg = (
                f"the character at {start} takes {draft.n_tokens} tokens with the prompt; "
                f"chunking.max_tokens is {layout.cap}"
            )
            raise DocumentError(msg, kind="limit", stage="chunk")
        cuts = [middle]
    return cuts


def _refined(
    layout: Layout, atoms: Atoms, drafts: list[Draft], cuts: dict[int, list[int]]
) -> tuple[Atoms, list[Draft]]:
    """Cut atoms, and return the drafts with their indices in the new atoms."""
    finer = refine(layout, atoms, cuts)
    index = {start: i for i, start in enumerate(finer.starts)}
    moved = [
        replace(draft, start=index[atoms.starts[draft.start]], end=index[atoms.starts[draft.end]])
        for draft in drafts
    ]
    return finer, moved
