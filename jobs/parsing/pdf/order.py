"""Reading order: a page's pieces of text become columns of whole lines.

A page is cut into bands, runs of rows that leave the same gutter free (after the
whitespace covers of Breuel, "Two geometric algorithms for layout analysis", 2002). A band
with running text on both sides of a gutter is two columns, read one after the other.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from jobs.parsing.pdf.lines import Line
from jobs.parsing.pdf.tables import Table

__all__ = ["Region", "join_pieces", "read_in_order", "with_tables"]

_Interval = tuple[float, float]

_MIN_GUTTER_EM = 0.9
_MIN_SIDE_ROWS = 3
_MAX_DEPTH = 6
_MIN_COLUMN_CHARS = 18
_WORD_GAP_EM = 0.12


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """Lines of one column from top to bottom, or a table.

    ``rows``: the pieces of each line, from left to right.
    """

    lines: tuple[Line, ...] = ()
    rows: tuple[tuple[Line, ...], ...] = ()
    table: Table | None = None


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
    columns = _split(rows, gutters) if depth < _MAX_DEPTH else [rows]
    if len(columns) == 1 or not all(map(_is_column, columns)):
        return [_region(rows)]
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


def _region(rows: list[list[Line]]) -> Region:
    parts = [part for row in rows for part in _beside_tables(row)]
    return Region(lines=tuple(map(join_pieces, parts)), rows=tuple(map(tuple, parts)))


def _beside_tables(row: list[Line]) -> list[list[Line]]:
    """Keep what stands for a table apart from text beside it."""
    parts: list[list[Line]] = []
    for piece in row:
        if parts and piece.table is None and parts[-1][-1].table is None:
            parts[-1].append(piece)
        else:
            parts.append([piece])
    return parts


def with_tables(regions: Sequence[Region], tables: Sequence[Table]) -> list[Region]:
    """Put each table where the first of the lines that stand for its rows is."""
    placed: list[Region] = []
    seen: set[int] = set()
    for region in regions:
        lines = zip(region.lines, region.rows, strict=True)
        for number, group in itertools.groupby(lines, key=lambda pair: pair[0].table):
            if number is None:
                kept = list(group)
                placed.append(
                    Region(
                        lines=tuple(line for line, _ in kept), rows=tuple(row for _, row in kept)
                    )
                )
            elif number not in seen:
                seen.add(number)
                placed.append(Region(table=tables[number]))
    return placed


def join_pieces(row: Sequence[Line]) -> Line:
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
            merged[-1] = Region(lines=last.lines + region.lines, rows=last.rows + region.rows)
        else:
            merged.append(region)
    return merged


def _below(above: tuple[Line, ...], lines: tuple[Line, ...]) -> bool:
    overlap = min(above[-1].frame.right, lines[0].frame.right) - max(
        above[-1].frame.left, lines[0].frame.left
    )
    return lines[0].frame.top >= above[-1].frame.top and overlap > 0
