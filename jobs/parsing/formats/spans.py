"""Cells that span rows and columns, laid out in a grid of bounded size."""

from __future__ import annotations

__all__ = ["SpanGrid"]

_MOST_COLUMNS = 1_000
"""The HTML standard's bound on a column span."""
_REPEATED_CHARS = 100
"""A longer text of a cell that spans rows stands in the first row only."""


class SpanGrid:
    """Rows of cell texts; a span over rows is repeated down, one over columns left blank."""

    def __init__(self) -> None:
        self._rows: list[list[str]] = []
        self._hanging: dict[int, tuple[int, str]] = {}
        self._next: dict[int, tuple[int, str]] = {}
        self._header_cells = 0
        self._cells = 0
        self._in_head = False

    @property
    def has_header(self) -> bool:
        """Whether the first row is said to be a header: in a head, or of header cells only."""
        return self._in_head or 0 < self._cells == self._header_cells

    def next_row(self, *, header: bool = False) -> None:
        """Begin a row."""
        if self._rows:
            self._end_row()
        else:
            self._in_head = header
        self._rows.append([])

    def add(self, text: str, *, columns: int = 1, rows: int = 1, header: bool = False) -> None:
        """Add the next cell of the current row."""
        if not self._rows:
            self._rows.append([])
        row = self._rows[-1]
        while len(row) in self._hanging:
            self._hang_on(row)
        column = len(row)
        cells = [text, *[""] * (max(1, min(columns, _MOST_COLUMNS)) - 1)]
        row += cells
        if rows > 1:
            repeated = text if len(text) <= _REPEATED_CHARS else ""
            self._next[column] = (rows - 1, repeated)
            self._next.update((column + i, (rows - 1, "")) for i in range(1, len(cells)))
        if len(self._rows) == 1 and text:
            self._cells += 1
            self._header_cells += header

    def rows(self) -> list[list[str]]:
        """Return the rows, columns that are blank in every row left out."""
        if self._rows:
            self._end_row()
        used = {i for row in self._rows for i, cell in enumerate(row) if cell}
        return [[cell for i, cell in enumerate(row) if i in used] for row in self._rows]

    def _end_row(self) -> None:
        row = self._rows[-1]
        for column in sorted(self._hanging):
            row += [""] * (column - len(row))
            self._hang_on(row)
        self._hanging, self._next = self._next, {}

    def _hang_on(self, row: list[str]) -> None:
        """Put the cell that hangs down from the row above at the row's end."""
        column = len(row)
        left, text = self._hanging.pop(column)
        row.append(text)
        if left > 1:
            self._next[column] = (left - 1, text)
