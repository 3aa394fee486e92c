"""The tables of a page: first those between rules, then those among the lines of a column.

Tables between rules are looked for on the whole page, before it is read in order; what
only lines up is looked for where a column of text has been told from its neighbours.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jobs.parsing.pdf.aligned import aligned_runs, tabulate
from jobs.parsing.pdf.geometry import Frame
from jobs.parsing.pdf.grid import joined_rules
from jobs.parsing.pdf.lines import Line, PageText
from jobs.parsing.pdf.order import Region
from jobs.parsing.pdf.ruled import ruled_tables
from jobs.parsing.pdf.tables import Table, text_rows

__all__ = ["Rules", "find_tables", "rules_of", "split_region"]

_SAME_END = 4.0
"""Points by which the ends of the rules of one table may differ."""
_MARGIN = 3.0
_MIN_WIDTH = 60.0
_WHOLE_LINE = 0.85
_MAX_RULES_ALL_WAYS = 6
"""Of one width, up to which any two may be the first and last of a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The joined rules of a page, and its shaded areas."""

    horizontal: tuple[Frame, ...] = ()
    vertical: tuple[Frame, ...] = ()
    shaded: tuple[Frame, ...] = ()


def rules_of(page: PageText) -> Rules:
    """Return the rules of a page."""
    return Rules(
        horizontal=tuple(joined_rules(page.drawn.horizontal, horizontal=True)),
        vertical=tuple(joined_rules(page.drawn.vertical, horizontal=False)),
        shaded=page.drawn.shaded,
    )


def find_tables(
    pieces: Sequence[Line], rules: Rules, across: Sequence[Line] = ()
) -> tuple[list[Table], list[Line]]:
    """Return the tables between rules, from the top, and the pieces that are in none.

    ``across``: lines turned against the page, which may be in tables, too.
    """
    rest = list(pieces)
    if not rules.horizontal or not rest:
        return [], rest
    tables, rest = ruled_tables(rest, rules.horizontal, rules.vertical, rules.shaded, across)
    for first, last in _between_rules(rules.horizontal):
        if any(_is_between(table.frame, first, last) for table in tables):
            continue
        inside = [piece for piece in rest if _is_between(piece.frame, first, last)]
        rows = _without_ends(text_rows(inside))
        if not rows or _is_prose(rows, last.width):
            continue
        table = tabulate(rows, rules.horizontal, rules.shaded, first.union(last))
        if table is not None:
            tables.append(table)
            taken = {piece for row in rows for piece in row}
            rest = [piece for piece in rest if piece not in taken]
    return sorted(tables, key=lambda table: table.frame.top), rest


def _between_rules(rules: Sequence[Frame]) -> Iterator[tuple[Frame, Frame]]:
    """Yield the first and last of rules of one width: the longest stretch first."""
    groups: dict[tuple[int, int], list[Frame]] = defaultdict(list)
    for rule in sorted(rules, key=lambda rule: (rule.left, rule.right)):
        if rule.width < _MIN_WIDTH:
            continue
        key = (round(rule.left / _SAME_END), round(rule.right / _SAME_END))
        groups[key].append(rule)
    for group in groups.values():
        ordered = sorted(group, key=lambda rule: rule.middle)
        n_rules = len(ordered)
        few = n_rules <= _MAX_RULES_ALL_WAYS
        for size in range(n_rules, 1, -1) if few else (n_rules, 3, 2):
            for i in range(len(ordered) - size + 1):
                yield ordered[i], ordered[i + size - 1]


def _is_between(frame: Frame, first: Frame, last: Frame) -> bool:
    return (
        first.middle - _MARGIN <= frame.middle <= last.middle + _MARGIN
        and first.left - _MARGIN <= frame.left
        and frame.right <= first.right + _MARGIN
    )


def _without_ends(rows: list[list[Line]]) -> list[list[Line]]:
    """Leave out rows of one piece at the ends: titles and notes, but for heads of a column."""
    left = min((piece.frame.left for row in rows for piece in row), default=0.0)

    def is_apart(row: list[Line]) -> bool:
        return len(row) == 1 and row[0].frame.left < left + row[0].size

    first, last = 0, len(rows)
    while first < last and is_apart(rows[first]):
        first += 1
    while first < last and is_apart(rows[last - 1]) and not _wraps(rows, last - 1):
        last -= 1
    return rows[first:last]


def _wraps(rows: list[list[Line]], i: int) -> bool:
    return bool(i) and rows[i][0].text[:1].islower() and len(rows[i - 1]) > 1


def _is_prose(rows: Sequence[Sequence[Line]], width: float) -> bool:
    """Tell whether lines of running text stand among rows."""
    whole = [len(row) == 1 and row[0].frame.width > _WHOLE_LINE * width for row in rows]
    return any(above and below for above, below in itertools.pairwise(whole))


def split_region(region: Region, rules: Rules) -> list[Region]:
    """Cut the tables that line up out of a column of text."""
    if region.table is not None:
        return [region]
    parts = []
    position = 0
    for first, end, table in aligned_runs(region.rows, rules.horizontal, rules.shaded):
        parts.append(_lines(region, position, first))
        parts.append(Region(table=table))
        position = end
    parts.append(_lines(region, position, len(region.lines)))
    return [part for part in parts if part.lines or part.table is not None]


def _lines(region: Region, start: int, end: int) -> Region:
    return Region(lines=region.lines[start:end], rows=region.rows[start:end])
