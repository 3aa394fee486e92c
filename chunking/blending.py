"""Blending: a chunk's late vector, the vector of its text alone, and what stands beside it.

The late vector knows what the text around the chunk is about, the model's own vector
of the chunk is nearer to how a question is embedded; their sum answers more questions
than either (measured by ``scripts/bench/vectors.py``). All is done within one document.

Shapes: C chunks of one document, D dimensions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chunking.pooling import normalized

__all__ = ["blended", "with_neighbours"]


def blended(
    late_CD: NDArray[np.floating], own_CD: NDArray[np.floating], neighbour_weight: float = 0.0
) -> NDArray[np.float32]:
    """Return the blend of both vectors of each chunk of one document (C x D), at unit length.

    Each is scaled to unit length first, so that both count alike; a row of zeros (a chunk
    without tokens) leaves the other as it is. Then neighbours are mixed in.
    """
    both_CD = normalized(late_CD).astype(np.float64) + normalized(own_CD)
    return with_neighbours(both_CD, neighbour_weight)


def with_neighbours(vectors_CD: NDArray[np.floating], weight: float) -> NDArray[np.float32]:
    """Return the rows at unit length, ``weight`` times the rows before and after added to each.

    ``weight`` in [0, 1) is the share of each neighbour, where a row itself counts 1; the
    rows are those of one document, in order. Neighbours enter as they were given, so that
    a row reaches no further than to the next.
    """
    unit_CD = normalized(vectors_CD)
    if not weight:
        return unit_CD
    mixed_CD = unit_CD.astype(np.float64)
    mixed_CD[1:] += weight * unit_CD[:-1]
    mixed_CD[:-1] += weight * unit_CD[1:]
    return normalized(mixed_CD)
