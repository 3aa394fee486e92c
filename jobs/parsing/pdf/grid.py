"""Tables whose cells lie between ruling lines.

Rules become a grid of elementary cells, as in pdfplumber and camelot's lattice method;
cells with no rule between them are one merged cell.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jobs.parsing.pdf.geometry import Frame

__all__ = ["Grid", "GridCell", "grids_of", "joined_rules"]

_SNAP = 2.5
"""Points within which rules lie on one line, or end at one another."""
_MAX_RULES = 400
"""Of one direction, once joined: more are a drawing."""
_MAX_CELLS = 10_000
_STICKS_OUT = 8.0
_SHARE = 0.6
"""Of an edge of a cell that must be ruled for it to part two cells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GridCell:
    """A cell, merged or not, by its first row and column from 0."""

    row: int
    column: int
    n_rows: int
    n_columns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The lines of a grid, from the left and the top, and its cells row by row."""

    xs: tuple[float, ...]
    ys: tuple[float, ...]
    cells: tuple[GridCell, ...]

    @property
    def frame(self) -> Frame:
        """The outer edges."""
        return Frame(left=self.xs[0], top=self.ys[0], right=self.xs[-1], bottom=self.ys[-1])


def joined_rules(frames: Iterable[Frame], *, horizontal: bool) -> list[Frame]:
    """Join the pieces of rules that lie on one line; each becomes its own middle line."""
    rules = sorted(
        (frame.middle, frame.left, frame.right)
        if horizontal
        else (frame.center, frame.top, frame.bottom)
        for frame in frames
    )
    joined: list[Frame] = []
    for same in _clusters(rules):
        at = sum(rule[0] for rule in same) / len(same)
        spans: list[list[float]] = []
        for _, start, end in sorted(same, key=lambda rule: rule[1]):
            if spans and start <= spans[-1][1] + _SNAP:
                spans[-1][1] = max(spans[-1][1], end)
            else:
                spans.append([start, end])
        for start, end in spans:
            across = (start, at, end, at) if horizontal else (at, start, at, end)
            joined.append(Frame(left=across[0], top=across[1], right=across[2], bottom=across[3]))
    return joined


def grids_of(horizontal: Sequence[Frame], vertical: Sequence[Frame]) -> list[Grid]:
    """Return the grids that joined rules make, of two rows or two columns at least."""
    if max(len(horizontal), len(vertical)) > _MAX_RULES:
        return []
    grids = []
    for across, down in _connected(horizontal, vertical):
        grid = _grid(across, down)
        if grid is not None:
            grids.append(grid)
    return sorted(grids, key=lambda grid: (grid.ys[0], grid.xs[0]))


def _clusters(
    rules: Sequence[tuple[float, float, float]],
) -> list[list[tuple[float, float, float]]]:
    clusters: list[list[tuple[float, float, float]]] = []
    for rule in rules:
        if clusters and rule[0] - clusters[-1][0][0] <= _SNAP:
            clusters[-1].append(rule)
        else:
            clusters.append([rule])
    return clusters


def _connected(
    horizontal: Sequence[Frame], vertical: Sequence[Frame]
) -> list[tuple[list[Frame], list[Frame]]]:
    """Group the rules that meet, directly or through others."""
    columns = sorted(vertical, key=lambda rule: rule.left)
    places = [rule.left for rule in columns]
    parents = list(range(len(horizontal) + len(columns)))
    for i, rule in enumerate(horizontal):
        first = bisect_left(places, rule.left - _SNAP)
        for j in range(first, bisect_right(places, rule.right + _SNAP)):
            other = columns[j]
            if other.top - _SNAP <= rule.top <= other.bottom + _SNAP:
                _unite(parents, i, len(horizontal) + j)
    groups: dict[int, tuple[list[Frame], list[Frame]]] = defaultdict(lambda: ([], []))
    for i, rule in enumerate(horizontal):
        groups[_root(parents, i)][0].append(rule)
    for j, rule in enumerate(columns):
        groups[_root(parents, len(horizontal) + j)][1].append(rule)
    return [group for group in groups.values() if group[0] and group[1]]


def _root(parents: list[int], i: int) -> int:
    while parents[i] != i:
        parents[i] = parents[parents[i]]
        i = parents[i]
    return i


def _unite(parents: list[int], i: int, j: int) -> None:
    parents[_root(parents, i)] = _root(parents, j)


def _grid(across: list[Frame], down: list[Frame]) -> Grid | None:
    left, right = min(r.left for r in across), max(r.right for r in across)
    top, bottom = min(r.top for r in down), max(r.bottom for r in down)
    xs = _places([rule.left for rule in down], left, right)
    ys = _places([rule.top for rule in across], top, bottom)
    n_rows, n_columns = len(ys) - 1, len(xs) - 1
    if n_rows * n_columns < 2 or n_rows * n_columns > _MAX_CELLS:  # noqa: PLR2004 - no grid
        return None
    return Grid(xs=xs, ys=ys, cells=tuple(_cells(xs, ys, across, down)))


def _places(lines: Iterable[float], first: float, last: float) -> tuple[float, ...]:
    """Return the places of grid lines; open sides are closed where rules stick out."""
    places: list[float] = []
    for place in sorted(lines):
        if not places or place - places[-1] > _SNAP:
            places.append(place)
    if places[0] - first > _STICKS_OUT:
        places.insert(0, first)
    if last - places[-1] > _STICKS_OUT:
        places.append(last)
    return tuple(places)


def _cells(
    xs: Sequence[float], ys: Sequence[float], across: Sequence[Frame], down: Sequence[Frame]
) -> list[GridCell]:
    """Merge elementary cells with no rule between them, where they make a rectangle."""
    n_rows, n_columns = len(ys) - 1, len(xs) - 1
    below = _ruled(ys, xs, [(rule.top, rule.left, rule.right) for rule in across])
    beside = _ruled(xs, ys, [(rule.left, rule.top, rule.bottom) for rule in down])
    parents = list(range(n_rows * n_columns))
    for row in range(n_rows):
        for column in range(n_columns):
            here = row * n_columns + column
            if column + 1 < n_columns and (column + 1, row) not in beside:
                _unite(parents, here, here + 1)
            if row + 1 < n_rows and (row + 1, column) not in below:
                _unite(parents, here, here + n_columns)
    members: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for row in range(n_rows):
        for column in range(n_columns):
            members[_root(parents, row * n_columns + column)].append((row, column))
    cells: list[GridCell] = []
    for places in members.values():
        cells += _rectangles(places)
    return sorted(cells, key=lambda cell: (cell.row, cell.column))


def _ruled(
    places: Sequence[float], edges: Sequence[float], rules: Sequence[tuple[float, float, float]]
) -> set[tuple[int, int]]:
    """Return the pairs of line and interval between ``edges`` along which a rule runs."""
    covered: dict[tuple[int, int], float] = defaultdict(float)
    for at, start, end in rules:
        line = bisect_left(places, at - _SNAP)
        if line == len(places) or abs(places[line] - at) > _SNAP:
            continue
        first = max(bisect_right(edges, start) - 1, 0)
        for i in range(first, min(bisect_left(edges, end), len(edges) - 1)):
            covered[line, i] += min(end, edges[i + 1]) - max(start, edges[i])
    return {
        (line, i)
        for (line, i), length in covered.items()
        if length >= _SHARE * (edges[i + 1] - edges[i])
    }


def _rectangles(places: Sequence[tuple[int, int]]) -> list[GridCell]:
    rows = [row for row, _ in places]
    columns = [column for _, column in places]
    n_rows, n_columns = max(rows) - min(rows) + 1, max(columns) - min(columns) + 1
    if n_rows * n_columns == len(places):
        return [GridCell(row=min(rows), column=min(columns), n_rows=n_rows, n_columns=n_columns)]
    cells: list[GridCell] = []
    for row, column in sorted(places):
        last = cells[-1] if cells else None
        if last and last.row == row and last.column + last.n_columns == column:
            cells[-1] = GridCell(
                row=row, column=last.column, n_rows=1, n_columns=last.n_columns + 1
            )
        else:
            cells.append(GridCell(row=row, column=column, n_rows=1, n_columns=1))
    return cells
