"""Tables in ruling lines: the text of a page goes into the cells of its grids."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from jobs.parsing.pdf.geometry import Frame
from jobs.parsing.pdf.grid import Grid, GridCell, grids_of
from jobs.parsing.pdf.headers import header_rows
from jobs.parsing.pdf.inner import with_inner_columns
from jobs.parsing.pdf.lines import Line, cut_at
from jobs.parsing.pdf.tables import Cell, Table, around, text_rows

__all__ = ["ruled_tables"]

_MARGIN = 2.0
_MIN_FILLED = 4
_MIN_LETTERS = 12
_MIN_LETTERS_OF_CELL = 6
_MIN_FILLED_SHARE = 0.25
_MAX_CELL_SHARE = 0.75
"""Of a table's letters, in one cell: more is a box around text."""
_MAX_CELL_LINES = 8
_MIN_SPLIT_ROWS = 3
_MIN_OWN_BREAKS = 0.6
_MIN_EVEN = 0.8


def ruled_tables(
    pieces: Sequence[Line],
    horizontal: Sequence[Frame],
    vertical: Sequence[Frame],
    shaded: Sequence[Frame],
    across: Sequence[Line] = (),
) -> tuple[list[Table], list[Line]]:
    """Return the tables between joined rules, and the pieces that are in none.

    ``across``: lines turned against the page, as heads of narrow columns are; they go into
    the cells that they stand in, and say nothing of where a table is.
    """
    tables = []
    rest = list(pieces)
    for grid in grids_of(horizontal, vertical) if pieces else ():
        inside = [piece for piece in rest if _holds(grid.frame, piece)]
        filled = _without_boxes(grid, _filled(grid, inside))
        if not _is_table(grid, filled):
            continue
        for cell, line in _in_cells(grid, _turned_within(grid.frame, across)):
            filled[cell] = [*filled.get(cell, ()), line]
        cells, edges = with_inner_columns(_with_own_rows(grid, filled), grid.xs[:-1])
        tables.append(
            Table(
                frame=around(line for cell in cells for line in cell.lines),
                cells=cells,
                header_rows=header_rows(cells, shaded),
                edges=edges,
            )
        )
        taken = {line.cells for cell in cells for line in cell.lines}
        rest = [piece for piece in rest if piece not in inside or piece.cells not in taken]
    return tables, rest


def _holds(frame: Frame, piece: Line) -> bool:
    return (
        frame.top - _MARGIN <= piece.frame.middle <= frame.bottom + _MARGIN
        and frame.left - _MARGIN <= piece.frame.left
        and piece.frame.right <= frame.right + piece.size
    )


def _turned_within(frame: Frame, across: Iterable[Line]) -> list[Line]:
    """Return the turned lines in a frame; where their words part is of no use here."""
    return [
        replace(line, blanks=())
        for line in across
        if frame.left <= line.frame.left
        and line.frame.right <= frame.right
        and frame.top - _MARGIN <= line.frame.top
        and line.frame.bottom <= frame.bottom + _MARGIN
    ]


def _filled(grid: Grid, pieces: Iterable[Line]) -> dict[GridCell, list[Line]]:
    filled: dict[GridCell, list[Line]] = defaultdict(list)
    for cell, piece in _in_cells(grid, pieces):
        filled[cell].append(piece)
    return filled


def _without_boxes(grid: Grid, filled: Mapping[GridCell, list[Line]]) -> dict[GridCell, list[Line]]:
    """Leave out cells across the whole table at its ends: titles and notes in a box."""
    kept = sorted(filled, key=lambda cell: cell.row)
    n_columns = len(grid.xs) - 1
    while kept and kept[0].n_columns == n_columns:
        kept.pop(0)
    while kept and kept[-1].n_columns == n_columns:
        kept.pop()
    return {cell: filled[cell] for cell in kept}


def _in_cells(grid: Grid, pieces: Iterable[Line]) -> Iterable[tuple[GridCell, Line]]:
    """Yield the pieces with their cells, cut where words stand in different ones."""
    n_columns = len(grid.xs) - 1
    cell_at = {
        row * n_columns + column: cell
        for cell in grid.cells
        for row in range(cell.row, cell.row + cell.n_rows)
        for column in range(cell.column, cell.column + cell.n_columns)
    }

    def cell_of(x: float, y: float) -> GridCell:
        column = min(max(bisect_right(grid.xs, x) - 1, 0), n_columns - 1)
        row = min(max(bisect_right(grid.ys, y) - 1, 0), len(grid.ys) - 2)
        return cell_at[row * n_columns + column]

    for piece in pieces:
        lefts = [piece.frame.left, *(blank.right for blank in piece.blanks)]
        rights = [*(blank.left for blank in piece.blanks), piece.frame.right]
        cells = [
            cell_of((left + right) / 2, piece.frame.middle)
            for left, right in zip(lefts, rights, strict=True)
        ]
        cuts = [
            blank
            for blank, (before, after) in zip(piece.blanks, itertools.pairwise(cells), strict=True)
            if before != after
        ]
        for part in cut_at(piece, cuts):
            yield cell_of((part.frame.left + _first_right(part)) / 2, part.frame.middle), part


def _first_right(piece: Line) -> float:
    return piece.blanks[0].left if piece.blanks else piece.frame.right


def _is_table(grid: Grid, filled: Mapping[GridCell, list[Line]]) -> bool:
    """Tell a table from boxes around text and from drawings with labels."""
    rows = {cell.row for cell in filled}
    columns = {cell.column for cell in filled}
    if min(len(rows), len(columns)) < 2 or len(filled) < _MIN_FILLED:  # noqa: PLR2004
        return False
    if len(filled) < _MIN_FILLED_SHARE * len(grid.cells):
        return False
    letters = sum(map(str.isalnum, (c for lines in filled.values() for p in lines for c in p.text)))
    if letters < _MIN_LETTERS:
        return False
    counts = Counter(cell.row for cell in filled)
    single = sum(n == 1 for n in counts.values())
    if single * 2 >= len(counts) and letters < _MIN_LETTERS_OF_CELL * len(filled):
        return False
    lengths = {cell: sum(len(line.text) for line in lines) for cell, lines in filled.items()}
    largest = max(filled, key=lambda cell: lengths[cell])
    boxed = lengths[largest] > _MAX_CELL_SHARE * sum(lengths.values())
    return not (boxed and len(text_rows(filled[largest])) > _MAX_CELL_LINES)


def _with_own_rows(grid: Grid, filled: Mapping[GridCell, list[Line]]) -> tuple[Cell, ...]:
    """Return the cells, where a ruled row that holds several rows of text was cut into them."""
    by_row: dict[int, list[GridCell]] = defaultdict(list)
    for cell in filled:
        by_row[cell.row].append(cell)
    spanned = {
        row for cell in filled for row in range(cell.row, cell.row + cell.n_rows) if cell.n_rows > 1
    }
    cells: list[Cell] = []
    offset = 0
    for row in sorted(by_row):
        inside = by_row[row]
        bands = [] if row in spanned else _own_rows(grid, filled, inside)
        for cell in inside:
            cells += _cut_cell(cell, filled[cell], bands, row + offset)
        offset += max(len(bands) - 1, 0)
    spread = [part for cell in cells for part in _spread(grid, cell)]
    return tuple(sorted(spread, key=lambda cell: (cell.row, cell.column)))


def _spread(grid: Grid, cell: Cell) -> list[Cell]:
    """Cut a merged cell whose pieces each stand over as many columns: rules were left out."""
    n_parts = len(cell.lines)
    share, odd = divmod(cell.n_columns, n_parts)
    if n_parts < 2 or odd or len(text_rows(cell.lines)) > 1:  # noqa: PLR2004 - one text
        return [cell]
    parts = []
    for i, line in enumerate(cell.lines):
        column = cell.column + i * share
        if not grid.xs[column] <= line.frame.center <= grid.xs[column + share]:
            return [cell]
        parts.append(replace(cell, column=column, n_columns=share, lines=(line,)))
    return parts


def _cut_cell(
    cell: GridCell, lines: Sequence[Line], bands: Sequence[float], row: int
) -> list[Cell]:
    parts: dict[int, list[Line]] = defaultdict(list)
    for text_row in text_rows(lines):
        index = max(bisect_right(bands, text_row[0].frame.middle) - 1, 0) if bands else 0
        parts[index] += text_row
    return [
        Cell(
            row=row + index,
            column=cell.column,
            n_rows=cell.n_rows,
            n_columns=cell.n_columns,
            lines=tuple(inside),
        )
        for index, inside in sorted(parts.items())
    ]


def _own_rows(
    grid: Grid, filled: Mapping[GridCell, list[Line]], cells: Sequence[GridCell]
) -> list[float]:
    """Return where the text rows of a ruled row begin, if they are rows of the table.

    They are if lines end although the next word would have fitted, in two columns or
    more: text that is only wrapped fills its cell.
    """
    columns = [text_rows(filled[cell]) for cell in cells]
    tall = [column for column in columns if len(column) > 1]
    bands = text_rows(line for cell in cells for line in filled[cell])
    if len(bands) < _MIN_SPLIT_ROWS or len(tall) < 2:  # noqa: PLR2004 - wrapped in one cell
        return []
    even = min(map(len, columns)) >= _MIN_EVEN * len(bands)
    if even and len(columns) > 2:  # noqa: PLR2004 - two texts may be as long by chance
        return [min(line.frame.top for line in band) for band in bands]
    own = pairs = 0
    for cell, rows in zip(cells, columns, strict=True):
        right = grid.xs[cell.column + cell.n_columns]
        for above, below in itertools.pairwise(rows):
            first = below[0]
            room = right - above[-1].frame.right - above[-1].size * 0.5
            own += room > _first_right(first) - first.frame.left
            pairs += 1
    n_cells = sum(map(len, columns))
    if own < _MIN_OWN_BREAKS * pairs or n_cells < 1.5 * len(bands):
        return []
    return [min(line.frame.top for line in band) for band in bands]
