"""The facts about a document that packing asks for again and again, gathered once."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from chunking.errors import AlignmentError, ConfigError
from chunking.measuring import exact_sizes as exact_sizes_of
from chunking.model import Block, Document, Sentence, Tokens
from chunking.separators import find_separators
from chunking.settings import ChunkingSettings
from chunking.splitting import line_starts, span_of

__all__ = [
    "Count",
    "Layout",
    "header_end",
    "is_heading",
    "one_line",
    "read_layout",
    "row_bounds",
]

Count = Callable[[Sequence[str]], list[int]]
"""Exact model-input sizes of texts: task prompt and special tokens included."""

_DELIMITER = re.compile(r"[ \t]*\|?[ \t]*:?-[ \t:|-]*\s*")

_BAND = 2
"""Spans whose estimate is within this factor of the cap are counted exactly."""


def is_heading(block: Block) -> bool:
    """Return whether the block is a heading or a title."""
    return block.kind in ("heading", "title")


def one_line(text: str) -> str:
    """Return the text with every run of blanks as one space."""
    return " ".join(text.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A document with its tokens and units, and what is known of exact sizes.

    ``special``: the size of an empty text (task prompt and special tokens).
    ``whole``: tables and code blocks that fit under the cap.
    ``exact_sizes``: of those near the cap, without special tokens.
    ``unfit``: starts of rows and lines that exceed the cap alone.
    ``headings``: indices of heading blocks, ascending. ``marks``: places where plain
    text may be cut by a named hierarchy, with what a cut costs beyond one between blocks
    (``mark_starts``: ascending); ``closed``: bounds, in pairs, of the spans that it opens
    to no other cut.
    """

    document: Document
    units: Sequence[Sentence] = field(repr=False)
    tokens: Tokens = field(repr=False)
    settings: ChunkingSettings
    count: Count = field(repr=False)
    special: int
    unit_starts: list[int] = field(repr=False)
    headings: list[int] = field(repr=False)
    whole: frozenset[int] = field(repr=False, default=frozenset())
    exact_sizes: dict[int, int] = field(repr=False, default_factory=dict)
    unfit: frozenset[int] = field(repr=False, default=frozenset())
    marks: dict[int, float] = field(repr=False, default_factory=dict)
    mark_starts: list[int] = field(repr=False, default_factory=list)
    closed: list[int] = field(repr=False, default_factory=list)

    @property
    def cap(self) -> int:
        """The hard cap on the exact model input of a chunk."""
        return self.settings.max_tokens

    def divisible(self, block: Block) -> bool:
        """Return whether the first piece of a block may be cut to stay with its heading."""
        return block.kind not in ("table", "code") or block.start in self.unfit

    def estimate(self, start: int, end: int) -> int:
        """Return the number of tokens that start in ``[start, end)``."""
        low, high = np.searchsorted(self.tokens.starts, (start, end))
        return int(high - low)

    def units_between(self, start: int, end: int) -> list[int]:
        """Return the starts of units strictly inside a span."""
        low = bisect_right(self.unit_starts, start)
        return self.unit_starts[low : bisect_left(self.unit_starts, end)]

    def first_unit_at(self, position: int) -> int:
        """Return the first unit that starts at or after a position."""
        return bisect_left(self.unit_starts, position)

    def headings_between(self, first: int, last: int) -> list[int]:
        """Return the heading blocks among blocks ``[first, last]``."""
        low = bisect_left(self.headings, first)
        return self.headings[low : bisect_right(self.headings, last)]


def read_layout(
    document: Document,
    units: Sequence[Sentence],
    tokens: Tokens,
    settings: ChunkingSettings,
    count: Count,
) -> Layout:
    """Gather the facts; raises :class:`ConfigError` where the prompt alone fills the cap."""
    special = count([""])[0]
    if special >= settings.max_tokens:
        msg = (
            f"the task prompt and special tokens take {special} tokens, which leaves no "
            f"room for text under chunking.max_tokens ({settings.max_tokens})"
        )
        raise ConfigError(msg)
    unit_starts = [unit.start for unit in units]
    if any(b < a for a, b in pairwise(unit_starts)):
        msg = "units do not stand in order"
        raise AlignmentError(msg)
    marks: dict[int, float] = {}
    closed: list[int] = []
    if settings.boundaries == "recursive":
        marks, closed = find_separators(document.text, settings.separators)
    bare = Layout(
        document=document,
        units=units,
        tokens=tokens,
        settings=settings,
        count=count,
        special=special,
        unit_starts=unit_starts,
        headings=[block.index for block in document.blocks if is_heading(block)],
        marks=marks,
        mark_starts=sorted(marks),
        closed=closed,
    )
    return _with_exact_sizes(bare)


def row_bounds(text: str, block: Block) -> list[int]:
    """Return the starts of a table's rows or of a code block's lines, and the block's end.

    Where the parser named no rows, they are the table's lines.
    """
    if block.kind == "table" and block.row_starts:
        inner = [start for start in block.row_starts if block.start < start < block.end]
        return [block.start, *inner, block.end]
    starts = line_starts(text, block.start, block.end)
    if block.kind == "table" and len(starts) > 1:
        second_end = starts[2] if len(starts) > 2 else block.end  # noqa: PLR2004 - the third line
        if _DELIMITER.fullmatch(text, starts[1], second_end):
            del starts[1]
    return [*starts, block.end]


def header_end(text: str, block: Block) -> int | None:
    """Return where the header of a table ends and its rows begin; None where it has no rows."""
    if len(block.row_starts) > 1:
        return block.row_starts[1]
    if block.row_starts or block.kind != "table":
        return None
    bounds = row_bounds(text, block)
    return bounds[1] if len(bounds) > 2 else None  # noqa: PLR2004 - header, row, end


def _with_exact_sizes(layout: Layout) -> Layout:
    """Count tables, code blocks, rows and lines whose estimates are near the cap."""
    text = layout.document.text
    low, high = layout.cap // _BAND, layout.cap * _BAND
    whole: set[int] = set()
    unfit: set[int] = set()
    spans: list[tuple[int, int, int | None]] = []
    for block in layout.document.blocks:
        if block.kind not in ("table", "code"):
            continue
        bounds = np.asarray(row_bounds(text, block), dtype=np.int64)
        at = np.searchsorted(layout.tokens.starts, bounds, side="left")
        size = int(at[-1] - at[0]) + layout.special
        if size <= low:
            whole.add(block.index)
            continue
        if size <= high:
            spans.append((block.start, block.end, block.index))
        rows = np.diff(at) + layout.special
        for i in np.flatnonzero(rows > low).tolist():
            if rows[i] > high:
                unfit.add(int(bounds[i]))
            else:
                spans.append((int(bounds[i]), int(bounds[i + 1]), None))
    exact_sizes: dict[int, int] = {}
    counts = exact_sizes_of(layout, [span_of(text, start, end) for start, end, _ in spans])
    for (start, _, index), n in zip(spans, counts, strict=True):
        if index is None:
            if n > layout.cap:
                unfit.add(start)
        else:
            exact_sizes[index] = n - layout.special
            if n <= layout.cap:
                whole.add(index)
    return replace(layout, whole=frozenset(whole), exact_sizes=exact_sizes, unfit=frozenset(unfit))
