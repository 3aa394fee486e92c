"""Tables told by how their words line up, with or without horizontal rules."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Sequence

from jobs.parsing.pdf.columns import (
    River,
    TextRow,
    cells_of,
    in_columns,
    logical_rows,
    rivers,
)
from jobs.parsing.pdf.evidence import is_convincing
from jobs.parsing.pdf.geometry import Frame
from jobs.parsing.pdf.headers import header_rows
from jobs.parsing.pdf.lines import Line
from jobs.parsing.pdf.tables import Table, around

__all__ = ["aligned_runs", "tabulate"]

Row = Sequence[Line]

_MIN_GAP_EM = 0.8
_MAX_STEP_EM = 1.9
"""White above a row of text, in letters' heights, that ends a table."""
_MAX_HEADING_CHARS = 90
_MIN_RULE_SHARE = 0.8
_MAX_RULE_SHARE = 1.3
"""Of the width of a table: what its own rules measure."""
_MAX_HEADER_LINES = 6


def tabulate(
    rows: Sequence[Row],
    rules: Sequence[Frame] = (),
    shaded: Sequence[Frame] = (),
    extent: Frame | None = None,
) -> Table | None:
    """Return the table that rows of pieces are, from the top; None if they are none.

    ``extent``: its width, where rules tell it.
    """
    between = rivers(rows)
    if not between:
        return None
    frame = around(piece for row in rows for piece in row)
    ys = _rules_across(frame.union(extent) if extent else frame, rules)
    placed = in_columns(rows, between)
    groups = logical_rows(placed, ys)
    cells = cells_of(groups)
    first, last = (min(piece.frame.middle for piece in row) for row in (rows[0], rows[-1]))
    inner = [y for y in ys if first < y < last]
    ruled = len(ys) > 1
    if not is_convincing(cells, len(between) + 1, ruled=ruled, between=extent is not None):
        return None
    edges = (frame.left, *(right for _, right in between))
    return Table(
        frame=frame,
        cells=tuple(cells),
        header_rows=_above_rule(groups, inner) or header_rows(cells, shaded),
        edges=edges,
    )


def _rules_across(frame: Frame, rules: Sequence[Frame]) -> list[float]:
    """Return where rules run over most of the width of a frame, near it or in it."""
    near = frame.height / 2 + 20
    ys = [
        rule.middle
        for rule in rules
        if min(rule.right, frame.right) - max(rule.left, frame.left)
        >= _MIN_RULE_SHARE * frame.width
        and abs(rule.middle - frame.middle) <= near
        and rule.width <= _MAX_RULE_SHARE * frame.width
    ]
    return sorted(ys)


def _above_rule(groups: Sequence[Sequence[TextRow]], inner: Sequence[float]) -> int:
    """Return how many rows stand above the first rule between rows, if few enough."""
    tops = [
        min(p.frame.middle for row in group for pieces in row.values() for p in pieces)
        for group in groups
    ]
    for y in inner:
        above = sum(top < y for top in tops)
        n_lines = sum(map(len, groups[:above]))
        if 0 < above < len(groups):
            return above if n_lines <= _MAX_HEADER_LINES else 0
    return 0


def aligned_runs(
    rows: Sequence[Row], rules: Sequence[Frame] = (), shaded: Sequence[Frame] = ()
) -> Iterator[tuple[int, int, Table]]:
    """Yield the tables among the rows of one column, each with its first row and its end."""
    start = 0
    while start < len(rows):
        if len(rows[start]) < 2:  # noqa: PLR2004 - one piece
            start += 1
            continue
        end = _run_end(rows, start)
        first = _with_rows_above(rows, start, end)
        table = tabulate(rows[first:end], rules, shaded) if end - first > 1 else None
        if table is not None:
            yield first, end, table
        start = end


def _run_end(rows: Sequence[Row], start: int) -> int:
    """Return the end of the rows that leave a common gap free, single pieces among them."""
    free = _gaps(rows[start])
    if not free:
        return start + 1
    end = start + 1
    waiting = 0
    for i in range(start + 1, len(rows)):
        row = rows[i]
        if _white_above(rows, i) > _MAX_STEP_EM * _size(rows[i - 1]):
            break
        if len(row) > 1:
            common = _common(free, _gaps(row))
            if not common:
                break
            free, waiting, end = common, 0, i + 1
        elif not _may_stand_between(row[0], free, waiting):
            break
        else:
            waiting += 1
    return _with_last_lines(rows, free, end)


def _may_stand_between(piece: Line, free: Sequence[River], waiting: int) -> bool:
    """Tell whether a row of one piece may go on a cell or head some rows."""
    crosses = any(piece.frame.left < left and piece.frame.right > right for left, right in free)
    return waiting < (1 if crosses else 4) and (
        not crosses or len(piece.text) <= _MAX_HEADING_CHARS
    )


def _with_last_lines(rows: Sequence[Row], free: Sequence[River], end: int) -> int:
    """Take in the last lines of a cell beyond the first column that goes on below."""
    first_gap = min(left for left, _ in free)
    while (
        end < len(rows)
        and len(rows[end]) == 1
        and rows[end][0].frame.left > first_gap
        and _white_above(rows, end) < _size(rows[end]) * 0.5
        and not any(
            rows[end][0].frame.left < left and rows[end][0].frame.right > right
            for left, right in free
        )
    ):
        end += 1
    return end


def _with_rows_above(rows: Sequence[Row], start: int, end: int) -> int:
    """Take in lines above that head one column alone."""
    frame = around(piece for row in rows[start:end] for piece in row)
    between = rivers(rows[start:end])
    while (
        start > 0
        and len(rows[start - 1]) == 1
        and between
        and rows[start - 1][0].frame.left > between[0][0]
        and rows[start - 1][0].frame.right <= frame.right + 1
        and _white_above(rows, start) < _size(rows[start]) * 0.5
    ):
        start -= 1
    return start


def _white_above(rows: Sequence[Row], i: int) -> float:
    return min(p.frame.top for p in rows[i]) - max(p.frame.bottom for p in rows[i - 1])


def _size(row: Row) -> float:
    return statistics.median(piece.size for piece in row)


def _gaps(row: Row) -> list[River]:
    return [
        (before.frame.right, after.frame.left)
        for before, after in itertools.pairwise(row)
        if after.frame.left - before.frame.right >= _MIN_GAP_EM * min(before.size, after.size)
    ]


def _common(a: Sequence[River], b: Sequence[River]) -> list[River]:
    common = []
    for a_left, a_right in a:
        for b_left, b_right in b:
            left, right = max(a_left, b_left), min(a_right, b_right)
            if right - left >= _MIN_GAP_EM:
                common.append((left, right))
    return common
