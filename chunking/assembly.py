"""From drafts to chunks: spans, kinds, pages, heading paths and reasons."""

from __future__ import annotations

from collections.abc import Sequence

from chunking.atoms import BLOCK, SECTION, Atoms
from chunking.costs import Signal
from chunking.fitting import Draft, text_span
from chunking.layout import Layout, is_heading, one_line
from chunking.model import Block, Boundary, Box, Chunk, SplitReason

__all__ = ["assemble"]


def assemble(
    layout: Layout,
    atoms: Atoms,
    drafts: Sequence[Draft],
    strategy: str,
    signal: Signal | None,
) -> list[Chunk]:
    """Return the chunks of drafts that are final."""
    chunks = []
    for index, draft in enumerate(drafts):
        following = drafts[index + 1] if index + 1 < len(drafts) else None
        start, end = text_span(layout.document.text, atoms, draft.start, draft.end)
        blocks = layout.document.blocks[atoms.blocks[draft.start] : atoms.blocks[draft.end - 1] + 1]
        pages = _pages(blocks)
        chunks.append(
            Chunk(
                index=index,
                start=start,
                end=end,
                prefix=draft.prefix,
                n_tokens=draft.n_tokens,
                kind=_kind(blocks),
                heading_path=_heading_path(layout, blocks),
                token_start=atoms.tokens[draft.start],
                token_end=atoms.tokens[draft.end],
                boundary=_boundary(layout, atoms, draft, following, end, strategy, signal),
                boundaries=strategy,
                header_units=_header_units(layout, draft, blocks[0]),
                page_start=min(pages, default=None),
                page_end=max(pages, default=None),
                boxes=_boxes(blocks),
                language=layout.document.language,
                code_language=_code_language(blocks),
            )
        )
    return chunks


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


def _boundary(  # noqa: PLR0913 - both sides of a cut and what decided it
    layout: Layout,
    atoms: Atoms,
    draft: Draft,
    following: Draft | None,
    position: int,
    strategy: str,
    signal: Signal | None,
) -> Boundary:
    """Return why a draft ends: the first reason of the contract's order that holds."""
    if following is None:
        return Boundary(position=position, reason="document_end")
    at = draft.end
    distance, over = None, False
    unit = atoms.units[at] - 1
    if signal is not None and atoms.aligned[at] and 0 <= unit < len(signal.values):
        distance, over = float(signal.values[unit]), bool(signal.over[unit])
    level = atoms.levels[at]
    reason: SplitReason
    if level == SECTION:
        reason = "heading"
    elif over:
        reason = "semantic"
    elif _together(layout, atoms, draft, following) > layout.cap:
        reason = "max_tokens"
    elif strategy == "optimal":
        reason = "semantic"
    else:
        reason = "block" if level == BLOCK else "separator"
    limit = signal.limit if signal is not None and distance is not None else None
    return Boundary(position=position, reason=reason, distance=distance, threshold=limit)


def _together(layout: Layout, atoms: Atoms, draft: Draft, following: Draft) -> int:
    """Return about how large both drafts were as one."""
    return draft.n_tokens + atoms.sizes[following.end] - atoms.sizes[draft.end]
