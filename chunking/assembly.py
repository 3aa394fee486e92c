"""From drafts to chunks: spans, kinds, pages, heading paths and reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chunking.atoms import BLOCK, SECTION, Atoms
from chunking.costs import Signal
from chunking.fitting import Draft, text_span
from chunking.layout import Layout, is_heading, one_line
from chunking.model import Block, Boundary, Box, Chunk, SplitReason

__all__ = ["assemble"]


def assemble(
    layout: Layout, atoms: Atoms, drafts: Sequence[Draft], strategy: str, signal: Signal | None
) -> list[Chunk]:
    """Return the chunks of drafts that are final."""
    ends = _Ends(layout=layout, atoms=atoms, strategy=strategy, signal=signal)
    following: list[Draft | None] = [*drafts[1:], None]
    return [
        _chunk(ends, index, draft, after)
        for index, (draft, after) in enumerate(zip(drafts, following, strict=True))
    ]


def _chunk(ends: _Ends, index: int, draft: Draft, following: Draft | None) -> Chunk:
    layout, atoms = ends.layout, ends.atoms
    start, end = text_span(layout.document.text, atoms, draft.start, draft.end)
    blocks = layout.document.blocks[atoms.blocks[draft.start] : atoms.blocks[draft.end - 1] + 1]
    pages = _pages(blocks)
    return Chunk(
        index=index,
        start=start,
        end=end,
        prefix=draft.prefix,
        n_tokens=draft.n_tokens,
        kind=_kind(blocks),
        heading_path=_heading_path(layout, blocks),
        token_start=atoms.tokens[draft.start],
        token_end=atoms.tokens[draft.end],
        boundary=ends.boundary(draft, following, end),
        boundaries=ends.strategy,
        header_units=_header_units(layout, draft, blocks[0]),
        page_start=min(pages, default=None),
        page_end=max(pages, default=None),
        boxes=_boxes(blocks),
        language=layout.document.language,
        code_language=_code_language(blocks),
    )


def _kind(blocks: Sequence[Block]) -> str:
    kinds = {block.kind for block in blocks if not is_heading(block)}
    if not kinds:
        kinds = {block.kind for block in blocks}
        return kinds.pop() if len(kinds) == 1 else "heading"
    return kinds.pop() if len(kinds) == 1 else "mixed"


def _heading_path(layout: Layout, blocks: Sequence[Block]) -> tuple[str, ...]:
    for block in blocks:
        if not is_heading(block):
            return block.heading_path
    first = blocks[0]
    return (*first.heading_path, one_line(layout.document.text[first.start : first.end]))


def _code_language(blocks: Sequence[Block]) -> str | None:
    languages = {block.code_language for block in blocks if block.kind == "code"}
    return languages.pop() if len(languages) == 1 else None


def _pages(blocks: Sequence[Block]) -> set[int]:
    pages = {block.page_start for block in blocks} | {block.page_end for block in blocks}
    return {page for page in pages if page is not None}


def _boxes(blocks: Sequence[Block]) -> tuple[Box, ...]:
    return tuple(box for block in blocks for box in block.boxes)


def _header_units(layout: Layout, draft: Draft, block: Block) -> tuple[int, ...]:
    """Return the units of the table header that the prefix repeats."""
    if not any(part.header for part in draft.parts):
        return ()
    first = layout.first_unit_at(block.start)
    return tuple(range(first, layout.first_unit_at(block.row_starts[1])))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ends:
    """Says why chunks end where they do."""

    layout: Layout
    atoms: Atoms
    strategy: str
    signal: Signal | None

    def boundary(self, draft: Draft, following: Draft | None, position: int) -> Boundary:
        """Return why a draft ends at ``position``, with distance and threshold where known."""
        if following is None:
            return Boundary(position=position, reason="document_end")
        signal, at = self.signal, draft.end
        unit = self.atoms.units[at] - 1
        known = self.atoms.aligned[at] and signal is not None and 0 <= unit < len(signal.values)
        if signal is None or not known:
            reason = self._reason(draft, following, over=False)
            return Boundary(position=position, reason=reason)
        return Boundary(
            position=position,
            reason=self._reason(draft, following, over=bool(signal.over[unit])),
            distance=float(signal.values[unit]),
            threshold=signal.limit,
        )

    def _reason(self, draft: Draft, following: Draft, *, over: bool) -> SplitReason:
        """Return the first reason that holds; ``max_tokens``: both together exceed the cap."""
        level = self.atoms.levels[draft.end]
        sizes = self.atoms.sizes
        if level == SECTION:
            return "heading"
        if over:
            return "semantic"
        if draft.n_tokens + sizes[following.end] - sizes[draft.end] > self.layout.cap:
            return "max_tokens"
        if self.strategy == "optimal":
            return "semantic"
        return "block" if level == BLOCK else "separator"
