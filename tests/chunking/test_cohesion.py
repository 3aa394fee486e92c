from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from chunking.atoms import Atoms, build_atoms
from chunking.cohesion import WEIGHT, cohesion_of
from chunking.layout import Layout, read_layout
from chunking.settings import ChunkingSettings
from chunking.units import split_units
from tests.chunking.making import built
from tests.chunking.strategies import ADDITIVE


def read(n_sentences: int = 30) -> tuple[Layout, Atoms]:
    """Return the facts and atoms of a paragraph of sentences of different lengths."""
    text = " ".join(f"Ship {'and ship ' * (i % 5)}left." for i in range(n_sentences))
    document = built(("paragraph", text))
    tokens = ADDITIVE(document.text)
    units = split_units(document, tokens)
    layout = read_layout(document, units, tokens, ChunkingSettings(), ADDITIVE.count)
    return layout, build_atoms(layout)


def scatter(layout: Layout, vectors: NDArray[np.float64], first: int, end: int) -> float:
    """Return the summed squared distance of a chunk's tokens from their mean, by definition."""
    norms = np.linalg.norm(vectors, axis=1)
    rows = [
        vectors[i] / norms[i]
        for i in range(first, end)
        if norms[i] > 0
        for _ in range(layout.units[i].n_tokens)
    ]
    if not rows:
        return 0.0
    return float(((np.asarray(rows) - np.mean(rows, axis=0)) ** 2).sum())


def test_costs_are_the_scatter_by_definition() -> None:
    """Each chunk costs its token-weighted scatter per target, and one constant."""
    layout, atoms = read()
    vectors = np.random.default_rng(1).normal(size=(len(layout.units), 6))
    vectors[4] = 0.0
    firsts = [max(0, end - 7) for end in range(1, 21)]
    rows = list(cohesion_of(layout, atoms, vectors)(5, firsts))
    constant = rows[0][0]
    assert constant > 0
    for end, (first, row) in enumerate(zip(firsts, rows, strict=True), start=1):
        assert len(row) == end - first
        for back, cost in enumerate(row):
            found = scatter(layout, vectors, 5 + end - 1 - back, 5 + end)
            expected = WEIGHT * found / layout.settings.target_tokens + constant
            assert cost == pytest.approx(expected, abs=2e-6)


def test_what_says_the_same_has_no_scatter() -> None:
    """Equal directions cost nothing beyond the chunk itself, whatever their lengths."""
    layout, atoms = read()
    n = len(layout.units)
    vectors = np.ones((n, 3)) * np.arange(1, n + 1)[:, None]
    rows = list(cohesion_of(layout, atoms, vectors)(0, [0] * n))
    assert len({cost for row in rows for cost in row}) == 1
