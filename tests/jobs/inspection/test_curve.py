from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.inspection.curve import HEIGHT, WIDTH, decimated, draw_curve, histogram
from tests.chunking.strategies import DocumentBuilder
from tests.inspected import chunked, prose


@given(st.lists(st.floats(0, 2), min_size=1, max_size=300), st.integers(1, 40))
def test_no_peak_is_lost(values: list[float], stretches: int) -> None:
    """Highest, lowest, first and last stay; the indices rise; their number is bounded."""
    array = np.array(values)
    kept = decimated(array, stretches)
    assert kept == sorted(set(kept))
    assert len(kept) <= max(2 * stretches + 2, 1)
    assert array[kept].max() == array.max()
    assert array[kept].min() == array.min()
    assert {0, len(values) - 1} <= set(kept)


def test_a_short_curve_is_drawn_whole() -> None:
    """Every distance is a point, every chunk end but the last a mark at its own distance."""
    chunks = chunked(prose(6, 20), boundaries="semantic", max_tokens=80)
    curve = draw_curve(chunks)
    assert curve is not None
    assert chunks.distances is not None
    points = re.findall(r"([\d.]+),([\d.]+)", curve.path)
    assert len(points) == curve.n_drawn == curve.n_distances == len(chunks.distances)
    assert [mark.view.index for mark in curve.marks] == list(range(len(chunks) - 1))
    heights = {float(x): float(y) for x, y in points}
    for mark in curve.marks:
        assert 0 <= mark.x <= WIDTH
        assert 0 <= mark.y <= HEIGHT
        if mark.view.distance is not None:
            assert heights[round(mark.x, 1)] == pytest.approx(mark.y, abs=0.06)
    assert curve.threshold == chunks.threshold
    above = [mark for mark in curve.marks if mark.view.reason == "semantic"]
    assert above
    assert curve.threshold_y is not None
    assert all(mark.y < curve.threshold_y for mark in above)


def test_a_long_curve_is_bounded() -> None:
    """Points and marks have a limit, and the greatest distance of all is among the marks."""
    chunks = chunked(prose(300, 20), max_tokens=60)
    curve = draw_curve(chunks)
    assert curve is not None
    assert curve.n_distances > 5000
    assert curve.n_drawn <= 1002
    assert len(curve.marks) <= 300 < len(chunks)
    known = [view.distance for view in chunks if view.distance is not None]
    assert max(known) in {mark.view.distance for mark in curve.marks}
    xs = [mark.x for mark in curve.marks]
    assert xs == sorted(xs)


def test_few_boundaries_are_all_marked() -> None:
    """However long the curve is, and also where two end in one sentence."""
    builder = DocumentBuilder()
    builder.add("paragraph", "word " * 400)
    builder.add("paragraph", " ".join(f"Ship {i} moors." for i in range(1500)))
    chunks = chunked(builder.build(), max_tokens=100)
    curve = draw_curve(chunks)
    assert curve is not None
    assert curve.n_distances > 1000
    assert [mark.view.index for mark in curve.marks] == list(range(len(chunks) - 1))


def test_one_distance_and_none() -> None:
    """Two sentences make one point; without a model pass there is no curve."""
    chunks = chunked(prose(1, 1))
    curve = draw_curve(chunks)
    assert curve is not None
    assert curve.n_distances == len(chunks.units) - 1
    assert draw_curve(chunked(prose(), boundaries="fixed", vectors="none")) is None


def test_equal_distances_are_drawn() -> None:
    """A document of equal sentences has a flat curve, not a division by zero."""
    chunks = chunked(prose(), max_tokens=80)
    assert chunks.distances is not None
    flat = dataclasses.replace(chunks, distances=np.zeros_like(chunks.distances))
    curve = draw_curve(flat)
    assert curve is not None
    assert (curve.lowest, curve.highest) == (0, 0)


def test_a_threshold_of_the_gradient_is_no_line() -> None:
    """It is said, but has no place among the distances."""
    curve = draw_curve(
        chunked(prose(6, 20), boundaries="semantic", max_tokens=80, threshold_type="gradient")
    )
    assert curve is not None
    assert curve.threshold is not None
    assert curve.threshold_y is None


@given(st.lists(st.integers(1, 400), max_size=60), st.integers(16, 400))
def test_bars_hold_every_chunk(sizes: list[int], cap: int) -> None:
    """Each size falls into the bar of its range; the bars reach the cap and stay inside."""
    sizes = [min(size, cap) for size in sizes]
    bars = histogram(sizes, cap)
    assert bars[-1].last == cap
    assert bars[0].first == 1
    for bar in bars:
        assert bar.count == sum(bar.first <= size <= bar.last for size in sizes)
        assert 0 <= bar.y <= HEIGHT
        assert bar.height >= 0
        assert bar.x + bar.width <= WIDTH
