"""From drafts to chunks: spans, kinds, pages, heading paths and reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chunking.atoms import BLOCK, SECTION, Atoms
from chunking.code import code_file
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
        header_units=_header_units(layout, draft),
        page_start=min(pages, default=None),
        page_end=max(pages, default=None),
        boxes=_boxes(blocks),
        language=_language(layout, blocks, start, end),
        code_language=_code_language(blocks),
        metadata=_metadata(layout, blocks),
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


def _language(layout: Layout, blocks: Sequence[Block], start: int, end: int) -> str | None:
    """Return the language of most of a chunk's code points, the earlier one where two tie."""
    own = layout.document.language
    sizes: dict[str | None, int] = {}
    for block in blocks:
        language = block.language or own
        size = min(block.end, end) - max(block.start, start)
        sizes[language] = sizes.get(language, 0) + size
    return max(sizes, key=lambda language: sizes[language])


def _code_language(blocks: Sequence[Block]) -> str | None:
    languages = {block.code_language for block in blocks if block.kind == "code"}
    return languages.pop() if len(languages) == 1 else None


def _metadata(layout: Layout, blocks: Sequence[Block]) -> dict[str, str]:
    """Return the file that the chunk's code is from, where it is said to be from one."""
    document = layout.document
    names = {
        code_file(document.text, document.blocks, block) for block in blocks if block.kind == "code"
    }
    name = names.pop() if len(names) == 1 else None
    return {"file_name": name} if name else {}


def _pages(blocks: Sequence[Block]) -> set[int]:
    pages = {block.page_start for block in blocks} | {block.page_end for block in blocks}
    return {page for page in pages if page is not None}


def _boxes(blocks: Sequence[Block]) -> tuple[Box, ...]:
    return tuple(box for block in blocks for box in block.boxes)


def _header_units(layout: Layout, draft: Draft) -> tuple[int, ...]:
    """Return the units of the table header that the prefix repeats, or of its cells there."""
    for part in draft.parts:
        if part.span is not None:
            start, end = part.span
            first = layout.first_unit_at(start)
            while first and layout.units[first - 1].end > start:
                first -= 1
            return tuple(range(first, layout.first_unit_at(end)))
    return ()


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
