from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as profile
from hypothesis import strategies as st
from numpy.typing import NDArray

from chunking.chunker import chunk_document
from chunking.errors import AlignmentError
from chunking.model import Boundary, Chunk, Document, Sentence, TokenWindow
from chunking.pooling import (
    chunk_vectors,
    cut_ranges,
    normalized,
    range_means,
    unit_ranges,
    window_ranges,
)
from chunking.settings import ChunkingSettings
from chunking.units import split_units
from chunking.windows import plan_windows
from tests.chunking.strategies import ADDITIVE, documents

QUIET = profile(
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    derandomize=True,
)
DIMENSION = 6


def token_vectors(n: int) -> NDArray[np.float32]:
    """Return one seeded vector per token of a document."""
    return np.random.default_rng(n).normal(size=(n, DIMENSION)).astype(np.float32)


def unit(index: int, start: int, end: int) -> Sentence:
    """Return a unit of these tokens; where its text stands does not matter here."""
    return Sentence(index=index, block=0, start=0, end=0, token_start=start, token_end=end)


def chunk(start: int, end: int, header_units: tuple[int, ...] = ()) -> Chunk:
    """Return a chunk of these tokens."""
    return Chunk(
        index=0, start=0, end=0, prefix="", n_tokens=0, kind="paragraph", heading_path=(),
        token_start=start, token_end=end, header_units=header_units,
        boundary=Boundary(position=0, reason="document_end"), boundaries="fixed",
    )  # fmt: skip


@QUIET
@given(
    documents(max_blocks=20),
    st.sampled_from(["fixed", "structural"]),
    st.sampled_from([16, 40, 200]),
    st.sampled_from([64, 100]),
)
def test_pooled_units_equal_the_mean_of_the_tokens(
    document: Document, boundaries: str, cap: int, window_tokens: int
) -> None:
    """A chunk's vector is the mean of its own token vectors, whatever the cuts and windows."""
    tokens = ADDITIVE(document.text)
    vectors = token_vectors(len(tokens.ids))
    units = split_units(document, tokens)
    windows = plan_windows(document, units, window_tokens=window_tokens, overlap=9)
    means = np.zeros((len(units), DIMENSION), np.float32)
    for window in windows:
        read = vectors[window.start : window.end]
        ranges = unit_ranges(window, units)
        means[window.first_unit : window.last_unit] = range_means(read, ranges)
    settings = ChunkingSettings(
        boundaries=boundaries, max_tokens=cap, target_tokens=cap // 2, min_tokens=cap // 8
    )
    chunks = chunk_document(document, units, tokens, None, settings, ADDITIVE.count)
    cuts = list(cut_ranges(chunks, units))
    parts = dict(zip(cuts, range_means(vectors, cuts), strict=True))
    pooled = chunk_vectors(chunks, units, means, parts)
    for row, one in enumerate(chunks):
        own = list(range(one.token_start, one.token_end))
        for header in one.header_units:
            own += range(units[header].token_start, units[header].token_end)
        expected = vectors[own].astype(np.float64).mean(axis=0) if own else np.zeros(DIMENSION)
        np.testing.assert_allclose(pooled[row], expected, atol=1e-6)


def test_header_units_are_weighted_by_their_tokens() -> None:
    """A repeated table header counts like tokens of the chunk."""
    units = [unit(0, 0, 1), unit(1, 1, 4)]
    vectors = np.array([[4.0, 0.0], [0.0, 4.0]], np.float32)
    pooled = chunk_vectors([chunk(1, 4, header_units=(0,))], units, vectors, {})
    np.testing.assert_array_equal(pooled, [[1.0, 3.0]])


def test_cut_ranges_name_each_part_once() -> None:
    """Overlapping chunks that cut the same unit alike ask for its part once."""
    units = [unit(0, 0, 10), unit(1, 10, 20)]
    chunks = [chunk(0, 15), chunk(10, 15), chunk(15, 20), chunk(0, 20)]
    assert cut_ranges(chunks, units) == {(10, 15): 1, (15, 20): 1}


def test_stored_vectors_are_what_is_pooled() -> None:
    """Pooling sees the rounded vectors, not the token vectors behind them."""
    units = [unit(0, 0, 2)]
    stored = np.array([[0.125, 1.0]], np.float32)
    np.testing.assert_array_equal(chunk_vectors([chunk(0, 2)], units, stored, {}), stored)


def test_a_chunk_without_tokens_has_a_zero_vector() -> None:
    """No token, no mean, and no NaN."""
    pooled = chunk_vectors([chunk(0, 0)], [unit(0, 0, 2)], np.ones((1, 3), np.float32), {})
    np.testing.assert_array_equal(pooled, np.zeros((1, 3)))


def test_sums_are_taken_in_float64() -> None:
    """A small value beside large ones is not lost."""
    vectors = np.array([[1e8], [1.0], [-1e8]], np.float32)
    assert range_means(vectors, [(0, 3)])[0, 0] == pytest.approx(1 / 3)


@pytest.mark.parametrize("tokens", [(4, 6), (9, 11), (6, 6)])
def test_ranges_outside_the_window_are_refused(tokens: tuple[int, int]) -> None:
    """A span that the window does not hold is an error, never shortened."""
    window = TokenWindow(start=5, end=10, first_unit=0, last_unit=1)
    with pytest.raises(AlignmentError):
        window_ranges(window, [tokens])


@pytest.mark.parametrize("tokens", [(-1, 2), (3, 5), (2, 2), (3, 1)])
def test_ranges_outside_the_vectors_are_refused(tokens: tuple[int, int]) -> None:
    """One vector too few for a range, or none in it, is an error."""
    with pytest.raises(AlignmentError, match="do not lie in the 4 of a window"):
        range_means(np.zeros((4, 2), np.float32), [tokens])


def test_normalized_rows_have_unit_length_and_zeros_stay() -> None:
    """Length one, except for a row of zeros, which has no direction."""
    rows = normalized(np.array([[3.0, 4.0], [0.0, 0.0], [1e-30, 0.0]], np.float32))
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0.0, 0.0], [1.0, 0.0]])
