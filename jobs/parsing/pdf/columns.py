"""Columns and rows of a table from where its words stand, without vertical rules.

Columns lie between rivers, strips of white that most rows leave free; a line of text
that only goes on what stands above it belongs to the row above.
"""

from __future__ import annotations

import itertools
import statistics
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence

from jobs.parsing.pdf.geometry import Frame
from jobs.parsing.pdf.headers import is_numeric
from jobs.parsing.pdf.lines import Line, cut_at
from jobs.parsing.pdf.tables import Cell
from jobs.parsing.pdf.words import Blank

__all__ = ["River", "TextRow", "cells_of", "in_columns", "logical_rows", "rivers"]

River = tuple[float, float]
TextRow = dict[tuple[int, int], list[Line]]
"""The pieces of one line of text by their first and last column."""

_MIN_RIVER_EM = 0.6
_MIN_SHARED = 0.9
"""Of a river that a blank must cover for a line to be cut there."""
_MAX_CROSSING = 0.15
_MIN_TOLERANT_ROWS = 5
_MIN_CELLS = 2
_SENTENCE_ENDS = ".!?:;"
_OWN_GAP_EM = 0.35
_MAX_ROWS_IN_RULES = 6


def rivers(rows: Sequence[Sequence[Line]]) -> list[River]:
    """Return the strips between columns, from the left.

    A few rows may cross one, where that makes more columns: headings over several.
    """
    parted = [row for row in rows if len(row) > 1]
    if not parted:
        return []
    strict = _free(parted, 0)
    if len(parted) < _MIN_TOLERANT_ROWS:
        return strict
    tolerant = _with_cells(_free(parted, max(1, int(len(parted) * _MAX_CROSSING))), parted)
    return tolerant if len(tolerant) > len(strict) else strict


def _with_cells(between: Sequence[River], rows: Sequence[Sequence[Line]]) -> list[River]:
    """Leave out rivers beside a column in which hardly any piece stands."""
    middles = [(left + right) / 2 for left, right in between]
    counts: Counter[int] = Counter()
    for row in rows:
        for piece in row:
            column = bisect_right(middles, piece.frame.left)
            counts[column] += column == bisect_right(middles, piece.frame.right)
    kept: list[River] = []
    for column, river in enumerate(between):
        if counts[column] >= _MIN_CELLS or not kept:
            kept.append(river)
        elif river[1] - river[0] > kept[-1][1] - kept[-1][0]:
            kept[-1] = river
    return kept


def _free(rows: Sequence[Sequence[Line]], n_crossing: int) -> list[River]:
    em = statistics.median(piece.size for row in rows for piece in row)
    events = sorted(
        event for row in rows for left, right in _covered(row) for event in ((left, 1), (right, -1))
    )
    found: list[River] = []
    covering = 0
    start: float | None = None
    seen = False
    for at, step in events:
        before, covering = covering, covering + step
        seen = seen or covering > n_crossing
        if before > n_crossing >= covering:
            start = at
        elif before <= n_crossing < covering and start is not None:
            if seen and at - start >= em * _MIN_RIVER_EM:
                found.append((start, at))
            start = None
    return found


def _covered(row: Sequence[Line]) -> list[River]:
    """Return the stretches of a row that hold text, pieces side by side as one."""
    covered: list[list[float]] = []
    for piece in row:
        if covered and piece.frame.left <= covered[-1][1] + piece.size * 0.25:
            covered[-1][1] = max(covered[-1][1], piece.frame.right)
        else:
            covered.append([piece.frame.left, piece.frame.right])
    return [(left, right) for left, right in covered]


def in_columns(rows: Iterable[Sequence[Line]], between: Sequence[River]) -> list[TextRow]:
    """Put the pieces of each row in columns; those across a river are cut at a blank in it."""
    middles = [(left + right) / 2 for left, right in between]
    placed = []
    for row in rows:
        columns: TextRow = {}
        for piece in row:
            for part in cut_at(piece, _blanks_in(piece, between)):
                first, last = _span(part.frame, between, middles)
                columns.setdefault((first, last), []).append(part)
        placed.append(columns)
    return placed


def _blanks_in(piece: Line, between: Sequence[River]) -> list[Blank]:
    """Return the blanks that fill a river, or, over three columns or more, one in each."""
    crossed = [
        (left, right)
        for left, right in between
        if piece.frame.left < left and right < piece.frame.right
    ]
    filling = [blank for blank in piece.blanks if any(_fills(blank, r) for r in crossed)]
    if len(filling) == len(crossed) or len(crossed) < 2:  # noqa: PLR2004 - a heading of two
        return filling
    inside = [
        max(piece.blanks, key=lambda blank: _shared(blank, river), default=None)
        for river in crossed
    ]
    found = [blank for blank, r in zip(inside, crossed, strict=True) if blank and _shared(blank, r)]
    distinct = list(dict.fromkeys(found))
    return distinct if len(distinct) == len(crossed) else filling


def _shared(blank: Blank, river: River) -> float:
    return max(min(blank.right, river[1]) - max(blank.left, river[0]), 0.0)


def _fills(blank: Blank, river: River) -> bool:
    return _shared(blank, river) >= _MIN_SHARED * (river[1] - river[0])


def _span(frame: Frame, between: Sequence[River], middles: Sequence[float]) -> tuple[int, int]:
    """Return the first and last column that a frame reaches into, past the river before."""
    first = bisect_right(middles, frame.left)
    last = bisect_right(middles, frame.right)
    while first < last and frame.left > between[first][0] - 0.1 * frame.height:
        first += 1
    while first < last and frame.right < between[last - 1][1] + 0.1 * frame.height:
        last -= 1
    return first, max(first, last)


def logical_rows(rows: Sequence[TextRow], rules: Sequence[float]) -> list[list[TextRow]]:
    """Group lines of text to rows of the table.

    ``rules``: where horizontal rules run; where most lines have one between, each stretch
    between rules is a row.
    """
    frames = [_frame(row) for row in rows]
    inner = [y for y in rules if frames[0].middle < y < frames[-1].middle]
    by_rule = _grouped(rows, [bisect_right(inner, frame.middle) for frame in frames])
    if (
        len(inner) >= 3  # noqa: PLR2004 - more than those of a header and a sum
        and len(by_rule) * 2 >= len(rows)
        and max(map(len, by_rule)) <= _MAX_ROWS_IN_RULES
    ):
        return by_rule
    by_gap = _by_gap(rows, frames)
    if by_gap is not None:
        return by_gap
    rights = _rights(rows)
    grouped: list[list[TextRow]] = []
    for row in rows:
        if grouped and _goes_on(grouped[-1], row, rights):
            grouped[-1].append(row)
        else:
            grouped.append([row])
    return grouped


def _grouped(rows: Sequence[TextRow], keys: Sequence[int]) -> list[list[TextRow]]:
    pairs = zip(keys, rows, strict=True)
    return [
        [row for _, row in group] for _, group in itertools.groupby(pairs, key=lambda pair: pair[0])
    ]


def _by_gap(rows: Sequence[TextRow], frames: Sequence[Frame]) -> list[list[TextRow]] | None:
    """Group rows by the gaps between them, if those are of two kinds and say so clearly."""
    size = statistics.median(frame.height for frame in frames)
    gaps = [below.top - above.bottom for above, below in itertools.pairwise(frames)]
    if len(gaps) < 3:  # noqa: PLR2004 - no two kinds
        return None
    limit = min(gaps) + size * _OWN_GAP_EM
    wide = [gap > limit for gap in gaps]
    if not 0.2 * len(gaps) <= sum(wide) <= 0.8 * len(gaps):
        return None
    keys = [0, *itertools.accumulate(wide)]
    groups = _grouped(rows, keys)
    # Lines of one row: below the first, the first column is blank or only goes on.
    firsts = [sum(_filled(row, 0) for row in group) for group in groups]
    full = [len(group[0]) for group in groups if len(group) > 1]
    if not full or sum(n <= 1 for n in firsts) < 0.8 * len(groups):
        return None
    return groups


def _filled(row: TextRow, column: int) -> bool:
    return any(first <= column <= last for first, last in row)


def _frame(row: TextRow) -> Frame:
    first, *rest = (piece.frame for pieces in row.values() for piece in pieces)
    for frame in rest:
        first = first.union(frame)
    return first


def _rights(rows: Sequence[TextRow]) -> dict[int, float]:
    rights: dict[int, float] = {}
    for row in rows:
        for (first, last), pieces in row.items():
            if first == last:
                right = max(piece.frame.right for piece in pieces)
                rights[first] = max(rights.get(first, right), right)
    return rights


def _goes_on(above: Sequence[TextRow], row: TextRow, rights: dict[int, float]) -> bool:
    """Tell whether a line of text goes on the row above it rather than beginning one."""
    if any(first != last for first, last in row):
        return False
    last = above[-1]
    gap = _frame(row).top - _frame(last).bottom
    if gap > _frame(row).height:
        return False
    columns = {first for first, _ in row}
    before = {first for part in above for first, end in part if first == end}
    if before == {0} and 0 in columns and (len(above) == 1 or columns == {0}):
        return row[0, 0][0].text[:1].islower()
    if 0 in columns and len(columns) > 1:
        return False
    if not columns <= before:
        return False
    return all(_wraps(above, row, column, rights) for column in columns)


def _wraps(above: Sequence[TextRow], row: TextRow, column: int, rights: dict[int, float]) -> bool:
    """Tell whether the first word of a cell would not have fitted in the line above."""
    here = row[column, column][0]
    earlier = [part[column, column][-1] for part in above if (column, column) in part]
    last = earlier[-1]
    if is_numeric(here.text) or not last.text:
        return False
    if here.text[:1].islower() and last.text[-1] not in _SENTENCE_ENDS:
        return True
    if last.text[-1] in "-\u00ad\u2010,/(":
        return True
    end = here.blanks[0].left if here.blanks else here.frame.right
    return last.frame.right + here.size * 0.25 + end - here.frame.left > rights[column]


def cells_of(groups: Sequence[Sequence[TextRow]]) -> list[Cell]:
    """Return the cells of grouped rows."""
    cells = []
    for number, group in enumerate(groups):
        spans: dict[tuple[int, int], list[Line]] = {}
        for row in group:
            for span, pieces in row.items():
                spans.setdefault(span, []).extend(pieces)
        for (first, last), lines in sorted(spans.items(), key=lambda item: item[0]):
            cells.append(
                Cell(row=number, column=first, n_columns=last - first + 1, lines=tuple(lines))
            )
    return cells
