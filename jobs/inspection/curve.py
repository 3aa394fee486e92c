"""The geometry of the two drawings: the distance curve and the histogram of sizes.

A drawing has a bounded number of points whatever the document's length: of each
stretch of the curve its lowest and highest distance are kept, in their order, so that
no peak is lost; of many boundaries the one with the greatest distance in each stretch
is marked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from jobs.notebook.values import Chunks, ChunkView

__all__ = [
    "BARS_HEIGHT",
    "HEIGHT",
    "LEFT",
    "RIGHT",
    "WIDTH",
    "Bin",
    "Curve",
    "Mark",
    "decimated",
    "draw_curve",
    "histogram",
]

WIDTH, HEIGHT, BARS_HEIGHT = 1000, 260, 180
LEFT, RIGHT, TOP, BOTTOM = 44, 80, 12, 34
_LABEL = 18
"""Room above the tallest bar for its count."""
_STRETCHES = 500
_MARKS = 300
_DENSE = 80
_BINS = 20
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
_MOST_TICKS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A boundary on the curve; ``y`` is the base line where its distance is not known."""

    x: float
    y: float
    view: ChunkView


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The drawing in its own units; ``threshold_y`` is None where no line can be drawn.

    The threshold of ``gradient`` is one of the rise from distance to distance, so it has
    no place among the distances. ``scale``: the size of the marks.
    """

    path: str
    marks: tuple[Mark, ...]
    threshold: float | None
    threshold_y: float | None
    ticks: tuple[tuple[float, str], ...]
    scale: float
    n_distances: int
    n_drawn: int
    lowest: float
    highest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Chunks of ``first`` to ``last`` tokens, with the bar that shows how many."""

    first: int
    last: int
    count: int
    x: float
    width: float
    y: float
    height: float


def decimated(values: NDArray[np.float64], stretches: int = _STRETCHES) -> list[int]:
    """Return the indices to draw: all of a short curve, else each stretch's extremes."""
    n = len(values)
    if n <= 2 * stretches:
        return list(range(n))
    kept: set[int] = {0, n - 1}
    for start, end in _stretches(n, stretches):
        part = values[start:end]
        kept |= {start + int(part.argmin()), start + int(part.argmax())}
    return sorted(kept)


def draw_curve(chunks: Chunks) -> Curve | None:
    """Return the curve of a document's distances; None where there are none."""
    values = chunks.distances
    if values is None or not len(values):
        return None
    comparable = chunks.settings.threshold_type != "gradient"
    threshold = chunks.threshold
    line = threshold if comparable and threshold is not None else None
    top = max(float(values.max()), line or 0.0, 0.05) * 1.05
    xs = _scale(len(values))
    ys = HEIGHT - BOTTOM - values / top * (HEIGHT - TOP - BOTTOM)
    drawn = decimated(values)
    points = " ".join(f"{xs[i]:.1f},{ys[i]:.1f}" for i in drawn)
    marks = tuple(_marks(chunks, xs, ys))
    return Curve(
        path=f"M{points}",
        marks=marks,
        scale=1.0 if len(marks) <= _DENSE else 0.6,
        threshold=threshold,
        threshold_y=None if line is None else _height(line, top),
        ticks=tuple((_height(tick, top), f"{tick:.2f}") for tick in _ticks(top)),
        n_distances=len(values),
        n_drawn=len(drawn),
        lowest=float(values.min()),
        highest=float(values.max()),
    )


def histogram(sizes: Sequence[int], cap: int) -> tuple[Bin, ...]:
    """Return the bars of chunk sizes in tokens, from 1 to the cap."""
    width = max(1, -(-cap // _BINS))
    n_bins = -(-cap // width)
    found = np.clip(np.asarray(sizes, np.int64), 1, cap) - 1
    counts = np.bincount(found // width, minlength=n_bins).tolist()
    step = (WIDTH - LEFT - RIGHT) / n_bins
    base = BARS_HEIGHT - BOTTOM
    room, tallest = base - _LABEL, max(*counts, 1)
    return tuple(
        Bin(
            first=i * width + 1,
            last=min((i + 1) * width, cap),
            count=count,
            x=LEFT + i * step,
            width=step - 2,
            y=base - room * count / tallest,
            height=room * count / tallest,
        )
        for i, count in enumerate(counts)
    )


def _stretches(n: int, count: int) -> Iterator[tuple[int, int]]:
    bounds = np.linspace(0, n, min(count, n) + 1).astype(int).tolist()
    return pairwise(bounds)


def _scale(n: int) -> NDArray[np.float64]:
    """Return the x of each distance; one alone stands in the middle."""
    room = WIDTH - LEFT - RIGHT
    scaled: NDArray[np.float64] = LEFT + (np.arange(n) + 0.5) * room / n
    return scaled


def _height(value: float, top: float) -> float:
    return HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM)


def _ticks(top: float) -> list[float]:
    """Return round distances from 0 to ``top``, six at most."""
    step = next((step for step in _STEPS if top / step <= _MOST_TICKS), _STEPS[-1])
    return [i * step for i in range(int(top / step + 1e-9) + 1)]


def _marks(chunks: Chunks, xs: NDArray[np.float64], ys: NDArray[np.float64]) -> Iterator[Mark]:
    """Yield the boundaries to mark, in order: all, or the highest in each stretch."""
    ends = np.asarray([unit.token_end for unit in chunks.units], np.int64)
    best: dict[int, tuple[float, int, ChunkView]] = {}
    for view in chunks[:-1]:
        # A boundary inside a unit stands at the distance before it, of which it has none.
        unit = int(np.searchsorted(ends, view.chunk.token_end))
        unit = min(max(unit, 0), len(xs) - 1)
        key = view.index if len(chunks) <= _MARKS else unit * _MARKS // len(xs)
        height = -1.0 if view.distance is None else view.distance
        if key not in best or height > best[key][0]:
            best[key] = (height, unit, view)
    for _, (height, unit, view) in sorted(best.items()):
        y = float(ys[unit]) if height >= 0 else float(HEIGHT - BOTTOM)
        yield Mark(x=float(xs[unit]), y=y, view=view)
