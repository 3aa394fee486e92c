"""Pooling: from token vectors to the vectors of units, and from those to chunks.

The mean of a chunk's token vectors is the token-weighted mean of the means of its
units (late chunking: Guenther et al., 2024, "Late Chunking: Contextual Chunk
Embeddings Using Long-Context Embedding Models", section 3), so token vectors are
needed only once, per window, and are then forgotten.

Shapes: T tokens of a window, U units, C chunks, R token ranges, D dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from chunking.errors import AlignmentError
from chunking.model import Chunk, Sentence, TokenWindow

__all__ = [
    "TokenRange",
    "chunk_vectors",
    "cut_ranges",
    "normalized",
    "range_means",
    "unit_ranges",
    "window_ranges",
]

TokenRange = tuple[int, int]
"""Half-open range of a document's tokens."""


def unit_ranges(window: TokenWindow, units: Sequence[Sentence]) -> list[TokenRange]:
    """Return the token range of each unit that a window owns, counted from its start."""
    owned = units[window.first_unit : window.last_unit]
    return window_ranges(window, [(unit.token_start, unit.token_end) for unit in owned])


def window_ranges(window: TokenWindow, ranges: Sequence[TokenRange]) -> list[TokenRange]:
    """Return ranges of a document's tokens, counted from a window's start.

    Raises:
        AlignmentError: a range is empty or leaves the window.
    """
    for start, end in ranges:
        if not window.start <= start < end <= window.end:
            msg = f"tokens [{start}, {end}) do not lie in [{window.start}, {window.end})"
            raise AlignmentError(msg)
    return [(start - window.start, end - window.start) for start, end in ranges]


def range_means(
    vectors_TD: NDArray[np.floating], ranges: Sequence[TokenRange]
) -> NDArray[np.float32]:
    """Return the un-normalised mean vector of each range of rows (R x D).

    ``vectors_TD`` are a window's token vectors, without special tokens and prompt.
    Summed in float64, then rounded.

    Raises:
        AlignmentError: a range is empty or leaves the rows.
    """
    means_RD = np.empty((len(ranges), vectors_TD.shape[1]), np.float32)
    for row, (start, end) in enumerate(ranges):
        if not 0 <= start < end <= len(vectors_TD):
            msg = f"tokens [{start}, {end}) do not lie in the {len(vectors_TD)} of a window"
            raise AlignmentError(msg)
        means_RD[row] = vectors_TD[start:end].sum(axis=0, dtype=np.float64) / (end - start)
    return means_RD


def cut_ranges(chunks: Sequence[Chunk], units: Sequence[Sentence]) -> dict[TokenRange, int]:
    """Return the token ranges that chunks cut out of units, each with its unit's index.

    Their means are not in the unit vectors; the windows that own these units must be
    run again (:func:`window_ranges`).
    """
    starts = _starts(units)
    return {
        (start, end): unit
        for chunk in chunks
        for unit, start, end in _parts(chunk, units, starts)
        if end - start != units[unit].n_tokens
    }


def chunk_vectors(
    chunks: Sequence[Chunk],
    units: Sequence[Sentence],
    vectors_UD: NDArray[np.floating],
    parts: Mapping[TokenRange, NDArray[np.floating]],
) -> NDArray[np.float64]:
    """Return the un-normalised vector of each chunk (C x D).

    The token-weighted mean of its units' vectors as they are stored, and of
    ``header_units``; ``parts`` holds the means of :func:`cut_ranges`. A chunk without
    tokens gets zeros.
    """
    starts = _starts(units)
    pooled_CD = np.zeros((len(chunks), vectors_UD.shape[1]), np.float64)
    for row, chunk in enumerate(chunks):
        total = 0
        for unit, start, end in _parts(chunk, units, starts):
            n = end - start
            vector = vectors_UD[unit] if n == units[unit].n_tokens else parts[start, end]
            pooled_CD[row] += vector.astype(np.float64) * n
            total += n
        pooled_CD[row] /= max(total, 1)
    return pooled_CD


def normalized(vectors_nD: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return the rows scaled to unit length; a row of zeros stays as it is."""
    exact = vectors_nD.astype(np.float64)
    norms = np.linalg.norm(exact, axis=1, keepdims=True)
    return (exact / np.where(norms > 0, norms, 1.0)).astype(np.float32)


def _starts(units: Sequence[Sentence]) -> NDArray[np.int64]:
    return np.fromiter((unit.token_start for unit in units), np.int64, len(units))


def _parts(
    chunk: Chunk, units: Sequence[Sentence], starts: NDArray[np.int64]
) -> Iterator[tuple[int, int, int]]:
    """Yield ``(unit, token_start, token_end)`` of what a chunk pools, header units first."""
    for unit in chunk.header_units:
        yield unit, units[unit].token_start, units[unit].token_end
    if chunk.token_start >= chunk.token_end:
        return
    unit = max(int(np.searchsorted(starts, chunk.token_start, side="right")) - 1, 0)
    while unit < len(units) and units[unit].token_start < chunk.token_end:
        start = max(chunk.token_start, units[unit].token_start)
        end = min(chunk.token_end, units[unit].token_end)
        if start < end:
            yield unit, start, end
        unit += 1
