"""Tables become blocks: the texts of their cells, one header row, and one table over pages."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

from jobs.parsing.pdf.blocks import Block, Vocabulary
from jobs.parsing.pdf.captions import CONTINUED
from jobs.parsing.pdf.lines import Line
from jobs.parsing.pdf.order import join_pieces
from jobs.parsing.pdf.tables import Cell, CellText, Table, text_rows

__all__ = ["join_tables", "table_block"]

_SAME_COLUMN = 12.0
"""Points by which the columns of one table may differ from page to page."""
_MAX_GROUP_NAME = 40
"""Letters of a name over several columns, up to which it is repeated in each."""
_BETWEEN = frozenset({"header", "footer", "footnote"})


def table_block(table: Table, page: int, vocabulary: Vocabulary) -> Block:
    """Return the block of a table on one page."""
    lines = table.lines
    cells = _numbered_anew(_with_one_header(table, vocabulary))
    if _is_right_to_left(lines):
        cells = _mirrored(cells, len(table.edges))
    return Block(
        kind="table",
        lines=lines,
        pages=(page,) * len(lines),
        text="\n".join(cell.text for cell in cells),
        size=statistics.median(line.size for line in lines),
        cells=tuple(cells),
        edges=table.edges,
    )


def _with_one_header(table: Table, vocabulary: Vocabulary) -> list[CellText]:
    """Write the rows of a header into one, column by column: that row stays with its chunks.

    A short name over several columns that have names of their own is said in each.
    """
    order = sorted({cell.row for cell in table.cells})
    header = set(order[: table.header_rows])
    names = [cell for cell in table.cells if cell.row in header]
    cells = [_text(cell, cell.row, vocabulary) for cell in table.cells if cell.row not in header]
    texts = {(cell.row, cell.column): _joined(cell, vocabulary) for cell in names}
    n_columns = len(table.edges)
    over: list[tuple[int, list[Cell]]] = []
    for column in range(n_columns):
        above = [cell for cell in names if 0 <= column - cell.column < cell.n_columns]
        if over and above and over[-1][1] == above:
            continue
        over.append((column, above))
    named = []
    for i, (column, above) in enumerate(over):
        end = over[i + 1][0] if i + 1 < len(over) else n_columns
        said = [
            texts[cell.row, cell.column]
            for cell in above
            if cell.column == column or _is_group(texts[cell.row, cell.column], cell, n_columns)
        ]
        if said:
            text = " ".join(said)
            width = end - column
            named.append(
                CellText(text=text, row=order[0], column=column, n_columns=width, header=True)
            )
    return named + cells


def _is_group(text: str, cell: Cell, n_columns: int) -> bool:
    """Tell whether a name over columns is one of a group of them, not a title or note."""
    return len(text) <= _MAX_GROUP_NAME and cell.n_columns < n_columns


def _text(cell: Cell, row: int, vocabulary: Vocabulary) -> CellText:
    return CellText(
        text=_joined(cell, vocabulary),
        row=row,
        column=cell.column,
        n_rows=cell.n_rows,
        n_columns=cell.n_columns,
    )


def _joined(cell: Cell, vocabulary: Vocabulary) -> str:
    first, *rest = (join_pieces(row).text for row in text_rows(cell.lines))
    for text in rest:
        first = vocabulary.join(first, text)
    return first


def _is_right_to_left(lines: Sequence[Line]) -> bool:
    """Tell whether most lines with letters are read from the right."""
    words = [line for line in lines if any(map(str.isalpha, line.text))]
    return sum(line.right_to_left for line in words) * 2 > len(words)


def _mirrored(cells: Sequence[CellText], n_columns: int) -> list[CellText]:
    """Count the columns from the right."""
    mirrored = (replace(cell, column=n_columns - cell.column - cell.n_columns) for cell in cells)
    return sorted(mirrored, key=lambda cell: (cell.row, cell.column))


def _numbered_anew(cells: Sequence[CellText]) -> list[CellText]:
    """Leave no gaps in the numbers of the rows."""
    rows = sorted({cell.row for cell in cells})
    place = {row: i for i, row in enumerate(rows)}
    return [
        CellText(
            text=cell.text,
            row=place[cell.row],
            column=cell.column,
            n_rows=sum(cell.row <= row < cell.row + cell.n_rows for row in rows),
            n_columns=cell.n_columns,
            header=cell.header,
        )
        for cell in cells
    ]


def join_tables(blocks: Sequence[Block]) -> list[Block]:
    """Join tables that go on at the top of the next page with the same columns.

    A header that is said again there goes to the furniture.
    """
    kept: list[Block] = []
    parts: dict[int, list[Block]] = {}
    current: int | None = None
    for block in blocks:
        if block.kind != "table":
            kept.append(block)
            current = current if _may_stand_between(block) else None
        elif current is not None and _is_more(parts[current][-1], block):
            rest, repeated = _without_header(parts[current][0], block)
            kept += repeated
            parts[current].append(rest)
        else:
            current = len(kept)
            parts[current] = [block]
            kept.append(block)
    return [_joined_parts(parts[i]) if i in parts else block for i, block in enumerate(kept)]


def _may_stand_between(block: Block) -> bool:
    return block.kind in _BETWEEN or (
        block.kind == "caption" and bool(CONTINUED.search(block.text))
    )


def _is_more(before: Block, block: Block) -> bool:
    if block.pages[0] != before.pages[-1] + 1 or len(before.edges) != len(block.edges):
        return False
    shift = block.edges[0] - before.edges[0]
    return all(
        abs(b - a - shift) <= _SAME_COLUMN for a, b in zip(before.edges, block.edges, strict=True)
    )


def _without_header(before: Block, block: Block) -> tuple[Block, list[Block]]:
    """Return a table without the header of the one before it, and that as furniture."""
    names = [(cell.column, cell.text) for cell in before.cells if cell.row == 0]
    top = [(cell.column, cell.text) for cell in block.cells if cell.row == 0]
    if names != top or not any(cell.header for cell in before.cells):
        return block, []
    rest = tuple(cell for cell in block.cells if cell.row > 0)
    repeated = Block(
        kind="header",
        lines=block.lines[:1],
        pages=block.pages[:1],
        text=" ".join(text for _, text in top),
        size=block.size,
    )
    return replace(block, cells=rest), [repeated]


def _joined_parts(parts: Sequence[Block]) -> Block:
    if len(parts) == 1:
        return parts[0]
    cells: list[CellText] = []
    n_rows = 0
    for number, part in enumerate(parts):
        first = min((cell.row for cell in part.cells), default=0)
        cells += (
            replace(cell, row=cell.row - first + n_rows, header=cell.header and not number)
            for cell in part.cells
        )
        n_rows = 1 + max((cell.row for cell in cells[-len(part.cells) :]), default=n_rows - 1)
    return replace(
        parts[0],
        lines=tuple(line for part in parts for line in part.lines),
        pages=tuple(page for part in parts for page in part.pages),
        text="\n".join(part.text for part in parts),
        cells=tuple(cells),
    )
