"""How well a chunk holds together: the scatter of its units' vectors around their mean.

Cutting a text where the summed scatter is least is kernel change-point detection
with the cosine kernel (Arlot, Celisse and Harchaoui, 2019, "A Kernel Multiple
Change-point Algorithm via Model Selection", section 2); the size costs of packing
take the place of its penalty. Legend: U units, A atoms, D dimensions, E ends and J
starts of chunks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from chunking.atoms import Atoms
from chunking.distances import row_lengths
from chunking.layout import Layout
from chunking.packing import Cohesion

__all__ = ["cohesion_of"]

WEIGHT = 1.5
"""Cost of a target's worth of tokens that have nothing in common."""

_CHUNK = 0.2
"""Cost of one chunk more: what its cut saves of scatter however the text goes on.

Without it chunks would be smaller than the target on average.
"""

_DECIMALS = 6
_ENDS = 32
"""Ends of chunks looked at together: few, as the products of their vectors grow with them."""
_ROWS = 4096
"""Vectors that are scaled together: few enough to stay in the cache."""


def cohesion_of(layout: Layout, atoms: Atoms, vectors_UD: NDArray[np.floating]) -> Cohesion:
    """Return the function that gives the scatter costs of the chunks of a run."""
    sums_AD, weights_A = _atom_sums(layout, atoms, vectors_UD)
    before_A = np.append(0.0, np.cumsum(weights_A))
    scale = WEIGHT / max(1, layout.settings.target_tokens)

    def cohesion(start: int, firsts: Sequence[int]) -> Iterator[Sequence[float]]:
        squares_J = np.zeros(0)
        for low in range(0, len(firsts), _ENDS):
            part = firsts[low : low + _ENDS]
            first, middle, end = start + part[0], start + low, start + low + len(part)
            squares_EJ = _squares(sums_AD[first:end], squares_J)
            weights_EJ = before_A[middle + 1 : end + 1, None] - before_A[first:end]
            costs_EJ = weights_EJ - np.divide(
                squares_EJ, weights_EJ, out=np.zeros_like(weights_EJ), where=weights_EJ > 0
            )
            rows = np.round(costs_EJ * scale + _CHUNK, _DECIMALS)[:, ::-1].tolist()
            for i, (row, own) in enumerate(zip(rows, part, strict=True)):
                yield row[len(part) - 1 - i : end - start - own]
            following = firsts[low + _ENDS] if low + _ENDS < len(firsts) else end - start
            squares_J = squares_EJ[-1, following - part[0] :]

    return cohesion


def _squares(sums_JD: NDArray[np.floating], before_J: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared lengths of the sums of atoms ``[j, e]`` for each e and j (E x J).

    The last E of the J atoms are the ends; ``before_J`` holds the squared lengths of the
    sums from each of the others up to the first end. All is summed from j on, or from e
    back, so that a number does not depend on where a block of ends begins.
    """
    n_before = len(before_J)
    exact_JD = sums_JD.astype(np.float64)
    products_EJ = exact_JD[n_before:] @ exact_JD.T
    own_E = np.diagonal(products_EJ, n_before)
    crossed_EJ = np.cumsum(np.tril(products_EJ, n_before - 1)[:, ::-1], axis=1)[:, ::-1]
    steps_EJ = np.tril(2.0 * crossed_EJ + own_E[:, None], n_before)
    steps_EJ[0, :n_before] += before_J
    return np.cumsum(steps_EJ, axis=0)


def _atom_sums(
    layout: Layout, atoms: Atoms, vectors_UD: NDArray[np.floating]
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return the sum of each atom's unit vectors, scaled to unit length, and their weights."""
    norms_U = _norms(vectors_UD)
    weights_U = np.asarray([unit.n_tokens for unit in layout.units], dtype=np.float64)
    weights_U[norms_U == 0] = 0.0
    factors_U = weights_U / np.where(norms_U > 0, norms_U, 1.0)
    bounds = np.asarray(atoms.units, dtype=np.int64)
    n_units = np.diff(bounds)
    sums_AD = np.zeros((len(atoms), vectors_UD.shape[1]), dtype=np.float32)
    weights_A = np.zeros(len(atoms), dtype=np.float64)
    single = np.flatnonzero(n_units == 1)
    weights_A[single] = weights_U[bounds[single]]
    for low in range(0, len(single), _ROWS):
        part = single[low : low + _ROWS]
        rows = bounds[part]
        sums_AD[part] = vectors_UD[rows] * factors_U[rows, None]
    for atom in np.flatnonzero(n_units > 1).tolist():
        own = slice(bounds[atom], bounds[atom + 1])
        weighted_UD = (vectors_UD[own] * factors_U[own, None]).astype(np.float32)
        sums_AD[atom] = weighted_UD.sum(axis=0)
        weights_A[atom] = weights_U[own].sum()
    return sums_AD, weights_A


def _norms(vectors_UD: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the lengths of vectors; in float64 no square of a float32 overflows or vanishes."""
    norms_U = np.empty(len(vectors_UD))
    for low in range(0, len(vectors_UD), _ROWS):
        rows_UD = vectors_UD[low : low + _ROWS].astype(np.float64)
        norms_U[low : low + _ROWS] = row_lengths(rows_UD)
    return norms_U
