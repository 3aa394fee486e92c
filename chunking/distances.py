"""Distances between adjacent units, and the thresholds that make boundaries of them.

All arithmetic is in float64 on the vectors as stored; distances are rounded to
1e-6, so that noise below that never moves a boundary. Legend: n units, D
dimensions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chunking.errors import AlignmentError
from chunking.settings import ThresholdType

__all__ = ["RESOLUTION", "distances", "exceeds", "row_lengths", "threshold"]

RESOLUTION = 1e-6
"""Distances that differ by less are equal."""

_DECIMALS = 6
_BLOCK_ROWS = 4_096


def distances(
    vectors: NDArray[np.floating], n_tokens: NDArray[np.integer], buffer: int = 0
) -> NDArray[np.float64]:
    """Return the n - 1 cosine distances (in [0, 2]) of adjacent units.

    ``vectors``: n x D. With ``buffer`` b the distance at a boundary is between the
    token-weighted means of the b + 1 units on either side (fewer at the ends). A zero
    vector has distance 0 from everything. Raises :class:`AlignmentError` when the
    shapes differ or a value is not finite.
    """
    n = len(vectors)
    if len(n_tokens) != n:
        msg = f"{n} vectors for {len(n_tokens)} units"
        raise AlignmentError(msg)
    if n < 2:  # noqa: PLR2004 - no pair, no distance
        return np.zeros(0, dtype=np.float64)
    if not np.isfinite(vectors).all():
        msg = "unit vectors hold a value that is not finite"
        raise AlignmentError(msg)
    result = np.empty(n - 1, dtype=np.float64)
    for start in range(0, n - 1, _BLOCK_ROWS):
        stop = min(n - 1, start + _BLOCK_ROWS)
        result[start:stop] = _block(vectors, n_tokens, buffer, start, stop)
    return result


def _block(
    vectors: NDArray[np.floating],
    n_tokens: NDArray[np.integer],
    buffer: int,
    start: int,
    stop: int,
) -> NDArray[np.float64]:
    """Return the distances of boundaries ``[start, stop)``; boundary i follows unit i."""
    low, high = max(0, start - buffer), min(len(vectors), stop + buffer + 1)
    vectors_nD = np.asarray(vectors[low:high], dtype=np.float64)
    if buffer == 0:
        lengths_n = row_lengths(vectors_nD)
        return _cosine(vectors_nD[:-1], vectors_nD[1:], lengths_n[:-1] * lengths_n[1:])
    # Sums, not differences of running sums: cancellation would depend on the block.
    weights = np.maximum(np.asarray(n_tokens[low:high], dtype=np.float64), 1.0)[:, None]
    weighted_nD = vectors_nD * weights
    n = stop - start
    left_nD = np.zeros((n, vectors_nD.shape[1]))
    right_nD = np.zeros_like(left_nD)
    at = np.arange(start, stop) - low
    for offset in range(buffer + 1):
        inside = at - offset >= 0
        left_nD[inside] += weighted_nD[at[inside] - offset]
        inside = at + 1 + offset < len(weighted_nD)
        right_nD[inside] += weighted_nD[at[inside] + 1 + offset]
    return _cosine(left_nD, right_nD, row_lengths(left_nD) * row_lengths(right_nD))


def row_lengths(vectors_nD: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the n Euclidean lengths of n x D vectors."""
    lengths_n: NDArray[np.float64] = np.sqrt(np.einsum("nd,nd->n", vectors_nD, vectors_nD))
    return lengths_n


def _cosine(
    left_nD: NDArray[np.float64], right_nD: NDArray[np.float64], norms_n: NDArray[np.float64]
) -> NDArray[np.float64]:
    dots_n = np.einsum("nd,nd->n", left_nD, right_nD)
    similar = np.divide(dots_n, norms_n, out=np.ones_like(dots_n), where=norms_n > 0)
    # Adding 0.0 turns the -0.0 of a rounded tiny negative into 0.0.
    result: NDArray[np.float64] = np.clip(np.round(1.0 - similar, _DECIMALS), 0.0, 2.0) + 0.0
    return result


def threshold(values: NDArray[np.float64], threshold_type: ThresholdType, amount: float) -> float:
    """Return the distance above which a boundary is placed, rounded like the distances.

    ``percentile``: linear between order statistics; ``absolute``: ``amount``;
    ``stddev``: mean + amount * standard deviation; ``interquartile``: mean + amount *
    interquartile range; ``gradient``: the percentile ``amount`` of the gradient
    of the distances, to be compared with that gradient (see :func:`exceeds`). Without
    distances it is ``amount`` for ``absolute`` and 0 elsewhere.
    """
    if threshold_type == "absolute":
        return round(float(amount), _DECIMALS)
    if not len(values):
        return 0.0
    if threshold_type == "percentile":
        result = float(np.percentile(values, amount))
    elif threshold_type == "stddev":
        result = float(values.mean() + amount * values.std())
    elif threshold_type == "interquartile":
        first, third = np.percentile(values, [25, 75])
        result = float(values.mean() + amount * (third - first))
    else:
        result = float(np.percentile(_gradient(values), min(max(amount, 0.0), 100.0)))
    return round(result, _DECIMALS)


def exceeds(
    values: NDArray[np.float64], threshold_type: ThresholdType, limit: float
) -> NDArray[np.bool_]:
    """Return which distances lie above ``limit`` by at least the resolution."""
    compared = _gradient(values) if threshold_type == "gradient" else values
    result: NDArray[np.bool_] = np.round(compared - limit, _DECIMALS) >= RESOLUTION
    return result


def _gradient(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rise into each distance: central differences, as in numpy.gradient."""
    if len(values) < 2:  # noqa: PLR2004 - no slope in one value
        return np.zeros_like(values)
    return np.round(np.gradient(values), _DECIMALS)
