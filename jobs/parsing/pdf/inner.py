"""Columns of numbers that stand in one ruled column without a rule between them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from jobs.parsing.pdf.columns import River, in_columns, rivers
from jobs.parsing.pdf.headers import is_numeric
from jobs.parsing.pdf.lines import Line, cut_at
from jobs.parsing.pdf.tables import Cell, text_rows

__all__ = ["with_inner_columns"]

_MIN_ROWS = 3
_MIN_SHARE = 0.6


def with_inner_columns(
    cells: Sequence[Cell], edges: Sequence[float]
) -> tuple[tuple[Cell, ...], tuple[float, ...]]:
    """Cut columns whose rows hold as many numbers each; return cells and left edges."""
    by_column: dict[int, list[Cell]] = defaultdict(list)
    for cell in cells:
        if cell.n_columns == 1:
            by_column[cell.column].append(cell)
    parted = {column: _rivers(by_column[column]) for column in range(len(edges))}
    if not any(parted.values()):
        return tuple(cells), tuple(edges)
    first = [0]
    for column in range(len(edges)):
        first.append(first[-1] + 1 + len(parted[column]))
    cut: list[Cell] = []
    for cell in cells:
        end = first[cell.column + cell.n_columns]
        moved = replace(cell, column=first[cell.column], n_columns=end - first[cell.column])
        between = parted[cell.column] if cell.n_columns == 1 else []
        cut += _cut(moved, between) if between else [moved]
    lefts = [
        left
        for column, edge in enumerate(edges)
        for left in (edge, *(right for _, right in parted[column]))
    ]
    return tuple(sorted(cut, key=lambda cell: (cell.row, cell.column))), tuple(lefts)


def _rivers(cells: Sequence[Cell]) -> list[River]:
    rows = [_numbers(row) for cell in cells for row in text_rows(cell.lines)]
    numbers = [row for row in rows if len(row) > 1]
    if len(numbers) < max(_MIN_ROWS, _MIN_SHARE * len(cells)):
        return []
    width, count = Counter(map(len, numbers)).most_common(1)[0]
    between = rivers(numbers)
    return between if count >= _MIN_SHARE * len(numbers) and len(between) == width - 1 else []


def _numbers(row: Sequence[Line]) -> list[Line]:
    """Return the numbers of a line of text, nothing if it holds anything else."""
    parts = [part for piece in row for part in cut_at(piece, piece.blanks)]
    return parts if all(is_numeric(part.text) for part in parts) else []


def _cut(cell: Cell, between: Sequence[River]) -> list[Cell]:
    rows = text_rows(cell.lines)
    numbers = [_numbers(row) or row for row in rows]
    parts: dict[tuple[int, int], list[Line]] = defaultdict(list)
    for columns in in_columns(numbers, between):
        for span, pieces in columns.items():
            parts[span] += pieces
    return [
        replace(cell, column=cell.column + start, n_columns=end - start + 1, lines=tuple(pieces))
        for (start, end), pieces in sorted(parts.items(), key=lambda item: item[0])
    ]
