"""Macro-windows: how a document beyond the model's window is put through it.

Every unit is owned by exactly one window, which reads some context on either side.

Where windows begin is decided by content alone, in two steps. First the document is
split at its strongest unit boundary, again and again, until a piece (a *segment*) has at most
:data:`SEGMENT_WINDOWS` windows' worth of tokens. The strength of a boundary is a
function of what stands there (a heading's level, else the start of a block, else of
a unit) and a hash of the unit's text breaks ties. A segment is bounded by boundaries
stronger than any inside it, which an edit elsewhere does not change; it is a segment
as long as its union with its neighbour across the weaker end is too large, which only
an edit there changes. So an edit moves no window further away than one segment (local
maxima as cut points: Bjorner, Blass and Gurevich, 2010, "Content-dependent chunking
for differential compression, the local maximum approach"). Then each segment is filled
from its start: sections that fit are kept together, small ones share a window, and a
section above the window is divided evenly. Cutting at strong points alone would leave
windows half empty; filling alone would move every later window of the document.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from chunking.errors import AlignmentError
from chunking.model import Document, Sentence, TokenWindow
from chunking.units import MAX_UNIT_TOKENS

__all__ = ["SEGMENT_WINDOWS", "plan_windows"]

SEGMENT_WINDOWS = 8
"""Windows that one segment fills at most, and so the reach of an edit."""

_HASH_BITS = 56
_HEADINGS = frozenset({"title", "heading"})
_DEEPEST = 200
Range = tuple[int, int]
"""Half-open range of units."""


def plan_windows(
    document: Document, units: Sequence[Sentence], *, window_tokens: int, overlap: int
) -> list[TokenWindow]:
    """Return the windows of a document, in order; each unit is owned by exactly one.

    ``window_tokens`` is the most document tokens of one window, context included;
    ``overlap`` the most tokens of context on each side: whole units, across headings
    too, or the nearest part of one that is longer. A document that fits is one window.

    Raises:
        AlignmentError: the window is smaller than the largest unit.
    """
    if not units:
        return []
    if window_tokens < MAX_UNIT_TOKENS:
        msg = f"a window of {window_tokens} tokens cannot hold a unit of {MAX_UNIT_TOKENS}"
        raise AlignmentError(msg)
    edges = np.array([unit.token_start for unit in units] + [units[-1].token_end], np.int64)
    if edges[-1] - edges[0] <= window_tokens:
        return [_window((0, len(units)), edges, 0)]
    context = min(overlap, (window_tokens - MAX_UNIT_TOKENS) // 2)
    capacity = window_tokens - 2 * context
    strengths = _strengths(document, units)
    return [
        _window(owned, edges, context)
        for segment in _segments(strengths, edges, SEGMENT_WINDOWS * capacity)
        for owned in _fill(segment, strengths, edges, capacity)
    ]


def _window(owned: Range, edges: NDArray[np.int64], context: int) -> TokenWindow:
    first, last = owned
    low, high = int(edges[first]) - context, int(edges[last]) + context
    # Whole units where at least one fits, else the nearest part of a longer one.
    left = int(edges[np.searchsorted(edges, low, side="left")])
    right = int(edges[np.searchsorted(edges, high, side="right") - 1])
    if left == edges[first]:
        left = max(low, int(edges[0]))
    if right == edges[last]:
        right = min(high, int(edges[-1]))
    return TokenWindow(start=left, end=right, first_unit=first, last_unit=last)


def _strengths(document: Document, units: Sequence[Sentence]) -> NDArray[np.uint64]:
    """Return how strong the boundary before each unit is: its class, then a hash."""
    strengths = np.empty(len(units), np.uint64)
    previous = -1
    for row, unit in enumerate(units):
        text = document.text[unit.start : unit.end].encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(text, digest_size=_HASH_BITS // 8).digest()
        strength = _rank(document, unit.block, previous) << _HASH_BITS
        strengths[row] = strength | int.from_bytes(digest)
        previous = unit.block
    return strengths


def _rank(document: Document, block: int, previous: int) -> int:
    if block == previous:
        return 0
    kind = document.blocks[block].kind
    if previous >= 0 and document.blocks[previous].kind in _HEADINGS:
        return 0  # a heading is better read with what follows it
    if kind not in _HEADINGS:
        return 1
    level = 0 if kind == "title" else (document.blocks[block].level or 1)
    return 2 + _DEEPEST - min(level, _DEEPEST)


def _segments(
    strengths: NDArray[np.uint64], edges: NDArray[np.int64], limit: int
) -> Iterator[Range]:
    """Yield ranges of at most ``limit`` tokens (or one unit), split at the strongest first."""
    stack = [(0, len(strengths))]
    while stack:
        first, last = stack.pop()
        if edges[last] - edges[first] <= limit or last - first == 1:
            yield first, last
            continue
        inner = strengths[first + 1 : last]
        strongest = np.flatnonzero(inner == inner.max()) + first + 1
        # Equal texts, such as empty table rows: the one nearest the middle.
        middle = (int(edges[first]) + int(edges[last])) // 2
        cut = int(strongest[np.argmin(np.abs(edges[strongest] - middle))])
        stack.append((cut, last))
        stack.append((first, cut))


def _fill(
    segment: Range, strengths: NDArray[np.uint64], edges: NDArray[np.int64], capacity: int
) -> Iterator[Range]:
    """Yield the ranges that the windows of one segment own."""
    first, last = segment
    section_starts = np.flatnonzero(strengths[first + 1 : last] >> _HASH_BITS >= 2) + first + 1  # noqa: PLR2004
    start = first
    for section, end in pairwise([first, *section_starts.tolist(), last]):
        if edges[end] - edges[start] <= capacity:
            continue
        if start < section:
            yield start, section
        start = section
        if edges[end] - edges[section] > capacity:
            *done, (start, _) = _divide((section, end), strengths, edges, capacity)
            yield from done
    yield start, last


def _divide(
    section: Range, strengths: NDArray[np.uint64], edges: NDArray[np.int64], capacity: int
) -> Iterator[Range]:
    """Yield even parts of a section above the window, cut at blocks where one is near."""
    start, last = section
    while edges[last] - edges[start] > capacity:
        rest = int(edges[last] - edges[start])
        share = -(-rest // -(-rest // capacity))
        low = int(np.searchsorted(edges, edges[start] + share // 2, side="left"))
        high = int(np.searchsorted(edges, edges[start] + capacity, side="right")) - 1
        cuts = np.arange(max(min(low, high), start + 1), high + 1)
        cost = np.abs(edges[cuts] - edges[start] - share)
        # A block's start may lie an eighth of a window off the even share.
        cost = cost + np.where(strengths[cuts] >> _HASH_BITS >= 1, 0, capacity // 8)
        cut = int(cuts[np.argmin(cost)])
        yield start, cut
        start = cut
    yield start, last
