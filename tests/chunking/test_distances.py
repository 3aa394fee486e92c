from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st
from numpy.typing import NDArray

from chunking.distances import distances, exceeds, threshold
from chunking.errors import AlignmentError
from chunking.settings import ThresholdType

TYPES: tuple[ThresholdType, ...] = (
    "percentile",
    "absolute",
    "stddev",
    "interquartile",
    "gradient",
)


def ones(n: int) -> NDArray[np.int64]:
    """Return n units of one token."""
    return np.ones(n, dtype=np.int64)


def test_known_angles() -> None:
    """Equal, orthogonal and opposite vectors are 0, 1 and 2 apart, whatever their length."""
    vectors = np.asarray([[1, 0], [5, 0], [0, 2], [0, -3]], dtype=np.float32)
    assert distances(vectors, ones(4)).tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_units_have_no_distance(n: int) -> None:
    """Without a pair there is nothing to measure."""
    assert distances(np.ones((n, 3), dtype=np.float32), ones(n)).shape == (0,)


def test_zero_vectors_have_distance_zero() -> None:
    """A zero vector is at no distance from anything, never NaN."""
    vectors = np.asarray([[0, 0], [1, 1], [0, 0], [0, 0]], dtype=np.float32)
    assert distances(vectors, ones(4)).tolist() == [0.0, 0.0, 0.0]


def test_equal_units_place_no_boundary() -> None:
    """Where all distances are equal none lies above any percentile of them."""
    values = distances(np.ones((50, 8), dtype=np.float32), ones(50))
    for amount in (0.0, 50.0, 95.0):
        assert not exceeds(values, "percentile", threshold(values, "percentile", amount)).any()


def test_a_percentile_of_three_distances_finds_the_largest() -> None:
    """Few distances still have a largest one above their 95th percentile."""
    values = np.asarray([0.2, 0.9, 0.3])
    limit = threshold(values, "percentile", 95.0)
    assert exceeds(values, "percentile", limit).tolist() == [False, True, False]


def test_thresholds_by_hand() -> None:
    """Each type gives what its formula says."""
    values = np.asarray([0.1, 0.2, 0.3, 0.4])
    assert threshold(values, "absolute", 0.25) == 0.25
    assert threshold(values, "percentile", 50.0) == 0.25
    assert threshold(values, "stddev", 1.0) == pytest.approx(0.25 + values.std(), abs=1e-6)
    assert threshold(values, "interquartile", 1.0) == pytest.approx(0.25 + 0.15, abs=1e-6)
    assert exceeds(values, "absolute", 0.25).tolist() == [False, False, True, True]


def test_a_gradient_finds_the_rise_and_not_the_level() -> None:
    """On a slope the gradient marks where distances rise fastest."""
    values = np.asarray([0.1, 0.1, 0.1, 0.5, 0.9, 0.9, 0.9])
    limit = threshold(values, "gradient", 80.0)
    assert exceeds(values, "gradient", limit).tolist() == [
        False,
        False,
        False,
        True,
        False,
        False,
        False,
    ]


def test_noise_below_the_resolution_decides_nothing() -> None:
    """A distance above the threshold by less than 1e-6 is not above it."""
    values = np.asarray([0.5, 0.5000004])
    assert not exceeds(values, "absolute", 0.5).any()


def test_a_buffer_pools_the_neighbours_by_their_tokens() -> None:
    """With a buffer each side is the token-weighted mean of its units."""
    vectors = np.asarray([[1, 0], [0, 1], [1, 0], [0, 1]], dtype=np.float32)
    sizes = np.asarray([3, 1, 1, 1])
    left, right = np.asarray([3.0, 1.0]), np.asarray([1.0, 1.0])
    cosine = left @ right / np.linalg.norm(left) / np.linalg.norm(right)
    assert distances(vectors, sizes, 1)[1] == pytest.approx(1 - cosine, abs=1e-6)


def test_a_buffer_gives_the_same_across_internal_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many rows are computed at a time changes nothing."""
    vectors = np.random.default_rng(3).normal(size=(40, 5)).astype(np.float32)
    sizes = np.arange(1, 41)
    whole = distances(vectors, sizes, 2)
    monkeypatch.setattr("chunking.distances._BLOCK_ROWS", 7)
    assert distances(vectors, sizes, 2).tolist() == whole.tolist()


def test_values_that_are_not_finite_are_refused() -> None:
    """A NaN from the model is a defect, not a distance."""
    with pytest.raises(AlignmentError, match="finite"):
        distances(np.asarray([[np.nan], [1.0]]), ones(2))
    with pytest.raises(AlignmentError, match="2 vectors for 3 units"):
        distances(np.ones((2, 1)), ones(3))


@profile(deadline=None, max_examples=100, derandomize=True)
@given(
    data=st.lists(
        st.lists(st.floats(-1e3, 1e3, width=32), min_size=4, max_size=4), min_size=2, max_size=30
    ),
    buffer=st.integers(0, 3),
    kind=st.sampled_from(TYPES),
    amount=st.floats(0, 100),
)
def test_distances_and_thresholds_are_always_numbers(
    data: list[list[float]], buffer: int, kind: ThresholdType, amount: float
) -> None:
    """Distances lie in [0, 2], on the 1e-6 grid; thresholds are finite."""
    vectors = np.asarray(data, dtype=np.float32)
    values = distances(vectors, ones(len(vectors)), buffer)
    assert ((values >= 0) & (values <= 2)).all()
    assert values.tolist() == np.round(values, 6).tolist()
    assert np.isfinite(threshold(values, kind, amount))
