"""Blended vectors: both parts count alike, neighbours in a share, nothing from further away."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from chunking.blending import blended, with_neighbours

DIMENSION = 5


def rows(n: int, seed: int = 0) -> NDArray[np.float32]:
    """Return n seeded vectors of unequal lengths."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n, DIMENSION)) * rng.uniform(0.1, 10, size=(n, 1))
    return vectors.astype(np.float32)


def unit(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the rows at unit length."""
    exact = vectors.astype(np.float64)
    scaled: NDArray[np.float64] = exact / np.linalg.norm(exact, axis=1, keepdims=True)
    return scaled


@given(st.integers(0, 12), st.sampled_from([0.0, 0.1, 0.2, 0.9]))
def test_each_row_is_itself_and_a_share_of_the_two_beside_it(n: int, weight: float) -> None:
    """The definition, row by row; the first and the last have one neighbour."""
    given_rows = rows(n)
    scaled = unit(given_rows)
    expected = [
        scaled[i]
        + weight * (scaled[i - 1] if i else 0)
        + weight * (scaled[i + 1] if i + 1 < n else 0)
        for i in range(n)
    ]
    found = with_neighbours(given_rows, weight)
    assert found.dtype == np.float32
    assert found.shape == (n, DIMENSION)
    if n:
        np.testing.assert_allclose(found, unit(np.array(expected)), atol=1e-6)


@given(st.integers(1, 12), st.data())
def test_a_change_reaches_the_next_rows_only(n: int, data: st.DataObject) -> None:
    """An edit of one chunk leaves all but its neighbours as they were, bit for bit."""
    changed = data.draw(st.integers(0, n - 1))
    before = rows(n)
    after = before.copy()
    after[changed] = rows(1, seed=1)
    moved = np.flatnonzero(
        (with_neighbours(before, 0.2) != with_neighbours(after, 0.2)).any(axis=1)
    )
    assert set(moved.tolist()) <= {changed - 1, changed, changed + 1}
    assert changed in moved


def test_both_parts_count_alike() -> None:
    """The lengths of late and own vectors do not matter."""
    late, own = rows(6), rows(6, seed=1)
    expected = unit(unit(late) + unit(own))
    np.testing.assert_allclose(blended(late, own), expected, atol=1e-6)
    np.testing.assert_allclose(blended(late * 100, own / 7), expected, atol=1e-6)


@pytest.mark.parametrize("weight", [0.0, 0.2])
def test_neighbours_are_mixed_into_the_blend(weight: float) -> None:
    """What is mixed in are the neighbours' blends, as they were before."""
    late, own = rows(6), rows(6, seed=1)
    expected = with_neighbours(blended(late, own), weight)
    np.testing.assert_allclose(blended(late, own, weight), expected, atol=1e-6)


def test_a_chunk_without_a_late_vector_keeps_its_own() -> None:
    """A row of zeros adds nothing to its blend, and nothing is divided by its length."""
    late, own = rows(3), rows(3, seed=1)
    late[1] = 0
    np.testing.assert_allclose(blended(late, own)[1], unit(own)[1], atol=1e-6)
    assert np.isfinite(with_neighbours(np.zeros((3, DIMENSION), np.float32), 0.2)).all()
