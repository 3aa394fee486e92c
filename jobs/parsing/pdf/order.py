"""Reading order: a page's pieces of text become columns of whole lines, and tables.

A page is cut into bands, runs of rows that leave the same gutter free (after the
whitespace covers of Breuel, "Two geometric algorithms for layout analysis", 2002). A band
with text on both sides of a gutter is two columns, read one after the other, if its
columns hold running text, and a table, read row by row, if they hold short cells.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from jobs.parsing.pdf.lines import Line

__all__ = ["Region", "read_in_order"]

_Interval = tuple[float, float]

_MIN_GUTTER_EM = 0.9
_MIN_SIDE_ROWS = 3
_MAX_DEPTH = 6
_MIN_COLUMN_CHARS = 18
_MIN_TABLE_ROWS = 3
_MAX_TABLE_CELL_CHARS = 60
_MARKER_CHARS = 6
_WORD_GAP_EM = 0.12


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """Lines of one column from top to bottom, or the rows of a table.

    ``rows``: for a table, its cells, each the pieces in it; empty for a column.
    """

    lines: tuple[Line, ...] = ()
    rows: tuple[tuple[tuple[Line, ...], ...], ...] = ()


def read_in_order(pieces: Sequence[Line], depth: int = 0) -> list[Region]:
    """Return the regions of a page in reading order."""
    if not pieces:
        return []
    regions: list[Region] = []
    for rows in _bands(_rows(pieces)):
        regions += _read_band(rows, depth)
    return _merged(regions)


def _rows(pieces: Sequence[Line]) -> list[list[Line]]:
    """Group pieces that stand on one line of the page, from top to bottom."""
    rows: list[list[Line]] = []
    bottom = 0.0
    for piece in sorted(pieces, key=lambda p: (p.frame.middle, p.frame.left)):
        if rows and piece.frame.middle < bottom:
            rows[-1].append(piece)
        else:
            rows.append([piece])
            bottom = piece.frame.middle + piece.size * 0.5
    return [sorted(row, key=lambda p: p.frame.left) for row in rows]


def _bands(rows: list[list[Line]]) -> list[list[list[Line]]]:
    """Cut rows where no gutter stays free: each band has one, or is a single column."""
    em = statistics.median(piece.size for row in rows for piece in row)
    left = min(piece.frame.left for row in rows for piece in row)
    right = max(piece.frame.right for row in rows for piece in row)
    bands: list[list[list[Line]]] = []
    free: list[_Interval] = []
    for row in rows:
        gaps = _gaps(row, left, right, em * _MIN_GUTTER_EM)
        common = _intersect(free, gaps, em * _MIN_GUTTER_EM) if bands else []
        if common or (bands and not free and not gaps):
            bands[-1].append(row)
            free = common
        else:
            bands.append([row])
            free = gaps
    return bands


def _gaps(row: list[Line], left: float, right: float, narrowest: float) -> list[_Interval]:
    gaps = []
    position = left
    for piece in row:
        if piece.frame.left - position >= narrowest:
            gaps.append((position, piece.frame.left))
        position = max(position, piece.frame.right)
    if right - position >= narrowest:
        gaps.append((position, right))
    return gaps


def _intersect(a: list[_Interval], b: list[_Interval], narrowest: float) -> list[_Interval]:
    common = []
    for a_left, a_right in a:
        for b_left, b_right in b:
            left, right = max(a_left, b_left), min(a_right, b_right)
            if right - left >= narrowest:
                common.append((left, right))
    return common


def _read_band(rows: list[list[Line]], depth: int) -> list[Region]:
    gutters = _gutters(rows)
    if not gutters or depth >= _MAX_DEPTH:
        return [Region(lines=tuple(_join(row) for row in rows))]
    columns = _split(rows, gutters)
    if _is_table(columns):
        return [Region(rows=_table_rows(rows, gutters))]
    if not all(_is_column(column) for column in columns):
        return [Region(lines=tuple(_join(row) for row in rows))]
    if sum(piece.right_to_left for row in rows for piece in row) * 2 > sum(map(len, rows)):
        columns = columns[::-1]
    return [
        region
        for column in columns
        for region in read_in_order([piece for row in column for piece in row], depth + 1)
    ]


def _gutters(rows: list[list[Line]]) -> list[float]:
    """Return the middles of the gaps that all rows leave free, with rows enough on each side."""
    pieces = [piece for row in rows for piece in row]
    em = statistics.median(piece.size for piece in pieces)
    covered = sorted((piece.frame.left, piece.frame.right) for piece in pieces)
    gutters = []
    reach = covered[0][1]
    for left, right in covered[1:]:
        if left - reach >= em * _MIN_GUTTER_EM:
            gutters.append((left + reach) / 2)
        reach = max(reach, right)
    return [
        gutter
        for gutter in gutters
        if min(
            sum(any(p.frame.right <= gutter for p in row) for row in rows),
            sum(any(p.frame.left >= gutter for p in row) for row in rows),
        )
        >= _MIN_SIDE_ROWS
    ]


def _split(rows: list[list[Line]], gutters: list[float]) -> list[list[list[Line]]]:
    edges = [float("-inf"), *gutters, float("inf")]
    columns = []
    for left, right in itertools.pairwise(edges):
        column = [[p for p in row if left < p.frame.left < right] for row in rows]
        columns.append([row for row in column if row])
    return columns


def _is_column(rows: list[list[Line]]) -> bool:
    """Tell whether a column holds running text rather than markers, numbers or labels."""
    return statistics.median(sum(len(p.text) for p in row) for row in rows) >= _MIN_COLUMN_CHARS


def _is_table(columns: list[list[list[Line]]]) -> bool:
    """Tell whether columns are those of a table: short cells, in rows that line up."""
    lengths = [[sum(len(p.text) for p in row) for row in column] for column in columns]
    if statistics.median(lengths[0]) <= _MARKER_CHARS and len(columns) == 2:  # noqa: PLR2004
        return False  # list markers or line numbers before their text
    if max(statistics.median(each) for each in lengths) > _MAX_TABLE_CELL_CHARS:
        return False
    if len(columns) == 2 and all(map(_is_column, columns)):  # noqa: PLR2004 - two text columns
        return False
    return min(map(len, columns)) >= _MIN_TABLE_ROWS and not all(map(_is_column, columns))


def _table_rows(
    rows: list[list[Line]], gutters: list[float]
) -> tuple[tuple[tuple[Line, ...], ...], ...]:
    edges = [float("-inf"), *gutters, float("inf")]
    return tuple(
        tuple(
            tuple(p for p in row if left < p.frame.left < right)
            for left, right in itertools.pairwise(edges)
        )
        for row in rows
    )


def _join(row: list[Line]) -> Line:
    """Join the pieces of a line, with a blank wherever there is one to be seen."""
    right_to_left = sum(piece.right_to_left for piece in row) * 2 > len(row)
    line, *rest = row[::-1] if right_to_left else row
    for piece in rest:
        gap = max(piece.frame.left - line.frame.right, line.frame.left - piece.frame.right)
        blank = " " if gap > _WORD_GAP_EM * min(line.size, piece.size) else ""
        longer = max(line, piece, key=lambda p: len(p.text))
        line = replace(
            line,
            text=line.text + blank + piece.text,
            frame=line.frame.union(piece.frame),
            size=longer.size,
            bold=line.bold and piece.bold,
            monospaced=line.monospaced and piece.monospaced,
            cells=line.cells + piece.cells,
        )
    return line


def _merged(regions: list[Region]) -> list[Region]:
    """Join neighbouring single-column regions: one paragraph may run through several bands."""
    merged: list[Region] = []
    for region in regions:
        last = merged[-1] if merged else None
        if last and last.lines and region.lines and _below(last.lines, region.lines):
            merged[-1] = Region(lines=last.lines + region.lines)
        else:
            merged.append(region)
    return merged


def _below(above: tuple[Line, ...], lines: tuple[Line, ...]) -> bool:
    overlap = min(above[-1].frame.right, lines[0].frame.right) - max(
        above[-1].frame.left, lines[0].frame.left
    )
    return lines[0].frame.top >= above[-1].frame.top and overlap > 0
