"""The values that the core works on: frozen, and checked when they are made.

Offsets are half-open ``[start, end)`` in Unicode code points of
``Document.text``; text is always derived by slicing, never stored twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from chunking.errors import AlignmentError

__all__ = [
    "BLOCK_KINDS",
    "BOUNDARY_METHODS",
    "SPLIT_REASONS",
    "VECTOR_METHODS",
    "Block",
    "BlockKind",
    "Boundary",
    "Box",
    "Chunk",
    "Document",
    "Sentence",
    "Span",
    "SplitReason",
    "TokenWindow",
    "Tokens",
]

BlockKind = Literal[
    "title",
    "heading",
    "paragraph",
    "list_item",
    "table",
    "code",
    "formula",
    "caption",
    "footnote",
    "picture",
    "other",
]
BLOCK_KINDS: frozenset[str] = frozenset(get_args(BlockKind))

SplitReason = Literal["semantic", "heading", "max_tokens", "block", "separator", "document_end"]
SPLIT_REASONS: frozenset[str] = frozenset(get_args(SplitReason))
BOUNDARY_METHODS = frozenset({"fixed", "recursive", "structural", "semantic", "optimal", "whole"})
"""Values of ``chunks.boundaries``."""
VECTOR_METHODS = frozenset({"late", "late_windowed", "chunk", "blend", "none"})
"""Values of ``chunks.vectors``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A half-open range of code points."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            msg = f"not a span: [{self.start}, {self.end})"
            raise AlignmentError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A rectangle on a page, in points from the page's top left; pages count from 1."""

    page: int
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Block(Span):
    """One structural piece of a document: ``text[start:end]``, never blank.

    ``level``: 1 is the outermost heading; for a list item its nesting depth, from 1;
    None elsewhere. ``heading_path``: the headings above the block, outermost first;
    a heading's own text is not in its own path. ``row_starts``: for a table, the
    absolute offsets of its row lines, header first; the Markdown delimiter line
    belongs to the header. ``boxes``: where the block stands on its pages, in order.
    ``language``: an ISO 639 code where it differs from the document's.
    """

    index: int
    kind: BlockKind
    level: int | None = None
    heading_path: tuple[str, ...] = ()
    page_start: int | None = None
    page_end: int | None = None
    code_language: str | None = None
    row_starts: tuple[int, ...] = ()
    boxes: tuple[Box, ...] = ()
    language: str | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            msg = f"block {self.index} has an empty or negative span [{self.start}, {self.end})"
            raise AlignmentError(msg)
        if self.kind not in BLOCK_KINDS:
            msg = f"block {self.index} has the unknown kind {self.kind!r}"
            raise AlignmentError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    r"""A parsed document: its canonical text and the blocks that tile it.

    Blocks are separated by exactly ``"\n\n"``, or by ``"\n"`` between items of one
    list; nothing else stands between them, before the first or after the last.
    """

    text: str
    blocks: tuple[Block, ...]
    title: str | None = None
    language: str | None = None
    n_pages: int | None = None
    furniture: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        position = 0
        for i, block in enumerate(self.blocks):
            gap = self.text[position : block.start]
            allowed = ("",) if i == 0 else ("\n\n", "\n")
            if block.index != i or gap not in allowed:
                msg = f"block {i} does not follow its predecessor: gap {gap[:20]!r}"
                raise AlignmentError(msg)
            position = block.end
        if position != len(self.text):
            msg = f"text goes on after the last block: {position} of {len(self.text)}"
            raise AlignmentError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence(Span):
    """A unit of embedding: a sentence, table row, code line or list item, or a piece of one.

    ``token_start:token_end`` is its range in the document's tokens; the ranges of
    all units partition them. ``block`` is the index of its block. ``piece``: it goes on
    with the sentence, row or line of the unit before, which was too long for one unit.
    """

    index: int
    block: int
    token_start: int
    token_end: int
    piece: bool = False

    @property
    def n_tokens(self) -> int:
        """Number of tokens, special ones not counted."""
        return self.token_end - self.token_start


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenWindow:
    """One model input: document tokens ``[start, end)``, of which it owns some units.

    Units ``[first_unit, last_unit)`` take their vectors from this window; all their
    tokens lie inside it.
    """

    start: int
    end: int
    first_unit: int
    last_unit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """Why a chunk ends at ``position``, with the distance and threshold that decided it."""

    position: int
    reason: SplitReason
    distance: float | None = None
    threshold: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk(Span):
    """One retrieval chunk: ``text[start:end]`` and what is said about it.

    ``n_tokens`` counts task prompt + ``prefix`` + text, special tokens included.
    ``token_start:token_end`` is the chunk's range in the document's tokens;
    ``header_units`` are units outside the range that are pooled too (the repeated
    header of a table continuation).
    """

    index: int
    prefix: str
    n_tokens: int
    kind: str
    heading_path: tuple[str, ...]
    token_start: int
    token_end: int
    boundary: Boundary
    boundaries: str
    header_units: tuple[int, ...] = ()
    page_start: int | None = None
    page_end: int | None = None
    boxes: tuple[Box, ...] = ()
    language: str | None = None
    code_language: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """A document's tokens, special ones left out.

    ``ids``: N; ``starts``, ``ends``: N offsets in code points of the text, monotone.
    ``separators``: characters that the tokenizer is known to cut at whatever stands
    around them: with c one of them, the tokens of ``x + c + y`` are those of x and then
    those of y, c lies in none of them, and the model inputs add up likewise. Sizes are
    then sums of tokens; where none is known, each is counted.
    """

    ids: NDArray[np.uint32] = field(repr=False)
    starts: NDArray[np.int64] = field(repr=False)
    ends: NDArray[np.int64] = field(repr=False)
    separators: str = ""
