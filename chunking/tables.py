"""Rows that exceed the cap alone: which of their cells go together, under which columns.

Such a row is cut between cells into groups that hold the cap together with the header
cells of their own columns; a cell that is still too large is cut like prose.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from chunking.layout import Layout, header_end, row_bounds
from chunking.model import Block
from chunking.sentences import split_sentences
from chunking.splitting import cell_cuts, span_of, token_cuts

__all__ = ["WideRows", "read_wide_rows", "row_groups"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WideRows:
    """The rows of a table of which some exceed the cap.

    ``bounds``: the starts of its rows, and its end. ``header``: the starts of the cells
    of its first line, and the line's end; empty without a header. ``cells``: of each
    wide row, by its start, the starts of its cells. ``language``: of its sentences.
    """

    bounds: list[int] = field(repr=False)
    header: list[int] = field(repr=False)
    cells: dict[int, list[int]] = field(repr=False)
    language: str | None

    def header_span(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the span of the header cells above ``[start, end)``.

        None where the span is no part of a single wide row, or has no columns.
        """
        row = bisect_right(self.bounds, start) - 1
        if row < 1 or end > self.bounds[row + 1] or self.bounds[row] not in self.cells:
            return None
        cells = self.cells[self.bounds[row]]
        first = bisect_right(cells, start) - 1
        last = bisect_right(cells, end - 1) - 1
        return self.columns_span(first, last)

    def columns_span(self, first: int, last: int) -> tuple[int, int] | None:
        """Return the span of the header cells of columns ``[first, last]``."""
        if last + 1 >= len(self.header):
            return None
        closing = last + 2 < len(self.header)
        return self.header[first], self.header[last + 1] + closing


def read_wide_rows(layout: Layout, block: Block) -> WideRows | None:
    """Return the wide rows of a table, None where each of its rows fits under the cap."""
    if block.kind != "table":
        return None
    text = layout.document.text
    bounds = row_bounds(text, block)
    cells = {
        start: [start, *cell_cuts(text, start, end)]
        for start, end in pairwise(bounds)
        if start in layout.unfit
    }
    if not cells:
        return None
    header: list[int] = []
    if header_end(text, block) is not None:
        _, line_end = span_of(text, block.start, _line_end(text, block.start, bounds[1]))
        header = [block.start, *cell_cuts(text, block.start, line_end), line_end]
    language = block.language or layout.document.language
    return WideRows(bounds=bounds, header=header, cells=cells, language=language)


def _line_end(text: str, start: int, end: int) -> int:
    at = text.find("\n", start, end)
    return end if at == -1 else at


def row_groups(layout: Layout, wide: WideRows, start: int, end: int) -> list[int]:
    """Return the starts of the groups of cells of a wide row ``[start, end)``, in order.

    A group and its header cells take at most the room that the cap leaves, and groups
    are about equal, so that no small one is left; a header cell that takes more than
    half of the room is not reckoned with.
    """
    room = layout.cap - layout.special
    parts = [
        _Part(
            start=at,
            size=layout.estimate(at, part_end),
            head=_head_size(layout, wide, start, column, room),
            column=column,
        )
        for at, part_end, column in _pieces(layout, wide, start, end, room)
    ]
    groups = _grouped(parts, room)
    low, high = sum(part.size for part in parts) // len(groups), room
    while low < high:
        middle = (low + high) // 2
        even = _grouped(parts, middle)
        if len(even) == len(groups):
            groups, high = even, middle
        else:
            low = middle + 1
    return groups


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A cell or a part of one; ``head``: the size of the header cell of its column."""

    start: int
    size: int
    head: int
    column: int


def _grouped(parts: Sequence[_Part], limit: int) -> list[int]:
    """Return the starts of groups that are filled one after another up to a limit."""
    groups: list[int] = []
    column, size = -1, limit + 1
    for part in parts:
        more = part.size + (part.head if part.column != column else 0)
        if size + more > limit:
            groups.append(part.start)
            size = part.size + part.head
        else:
            size += more
        column = part.column
    return groups


def _pieces(
    layout: Layout, wide: WideRows, start: int, end: int, room: int
) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and column of each cell, or of the parts of one that is too large."""
    text = layout.document.text
    for column, (a, b) in enumerate(pairwise([*wide.cells[start], end])):
        limit = room - _head_size(layout, wide, start, column, room)
        if layout.estimate(a, b) <= room:
            yield a, b, column
            continue
        starts = [s for s, _ in split_sentences(text, a, b, wide.language)]
        for c, d in pairwise([a, *starts[1:], b]):
            cuts = token_cuts(text, layout.tokens, *span_of(text, c, d), limit=max(1, limit))
            for piece in pairwise([c, *cuts, d]):
                yield *piece, column


def _head_size(layout: Layout, wide: WideRows, row: int, column: int, room: int) -> int:
    span = None if row == wide.bounds[0] else wide.columns_span(column, column)
    size = layout.estimate(*span) if span else 0
    return size if size <= room // 2 else 0
