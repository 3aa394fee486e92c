"""How well a chunk holds together: the scatter of its units' vectors around their mean.

Cutting a text where the summed scatter is least is kernel change-point detection
with the cosine kernel (Arlot, Celisse and Harchaoui, 2019, "A Kernel Multiple
Change-point Algorithm via Model Selection", section 2); the size costs of packing
take the place of its penalty. Legend: U units, A atoms, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from chunking.atoms import Atoms
from chunking.layout import Layout

__all__ = ["cohesion_of"]

WEIGHT = 4.0
"""Cost of a target's worth of tokens that have nothing in common."""

_DECIMALS = 6


def cohesion_of(
    layout: Layout, atoms: Atoms, vectors_UD: NDArray[np.floating]
) -> Callable[[int, int], Sequence[float]]:
    """Return the function that gives the scatter costs of all chunks with one end."""
    sums_AD, weights_A = _atom_sums(layout, atoms, vectors_UD)
    scale = WEIGHT / max(1, layout.settings.target_tokens)

    def cohesion(first: int, end: int) -> Sequence[float]:
        sums = np.cumsum(sums_AD[first:end][::-1], axis=0, dtype=np.float64)
        weights = np.cumsum(weights_A[first:end][::-1])
        squares = np.einsum("ad,ad->a", sums, sums)
        inside = np.divide(squares, weights, out=np.zeros_like(weights), where=weights > 0)
        costs: list[float] = np.round((weights - inside) * scale, _DECIMALS).tolist()
        return costs

    return cohesion


def _atom_sums(
    layout: Layout, atoms: Atoms, vectors_UD: NDArray[np.floating]
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return the sum of each atom's unit vectors, scaled to unit length, and their weights."""
    norms_U = np.linalg.norm(vectors_UD.astype(np.float32), axis=1)
    weights_U = np.asarray([unit.n_tokens for unit in layout.units], dtype=np.float64)
    weights_U[norms_U == 0] = 0.0
    factors_U = weights_U / np.where(norms_U > 0, norms_U, 1.0)
    bounds = np.asarray(atoms.units, dtype=np.int64)
    full = np.flatnonzero(np.diff(bounds))
    sums_AD = np.zeros((len(atoms), vectors_UD.shape[1]), dtype=np.float32)
    weights_A = np.zeros(len(atoms), dtype=np.float64)
    if len(full):
        weighted_UD = (vectors_UD * factors_U[:, None]).astype(np.float32)
        sums_AD[full] = np.add.reduceat(weighted_UD, bounds[full], axis=0)
        weights_A[full] = np.add.reduceat(weights_U, bounds[full])
    return sums_AD, weights_A
