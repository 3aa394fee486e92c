"""Which pages are worth docling's layout network: those where our own rules are unsure.

The measure is cheap: it looks at the pieces of text only, before anything is rendered.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from jobs.parsing.pdf.lines import Line, PageText

__all__ = ["complexity"]

_PIECES_OF_A_ROW = 3
_FEW_ROWS = 4
_ROW_SHARE = 0.3
"""Of a page's pieces, that must stand in rows of several, for the page to be tabular."""
_GRID = 3
"""Rules each way from which a table is certain, and our own finder reads it by them."""
_MANY_PIECES = 60
_SHORT_PIECE = 10
"""Characters of the median piece of a drawing, form or map."""


def complexity(page: PageText) -> str | None:
    """Return why a page's layout is uncertain, None if it is plain.

    Tabular without rules: rows of three and more pieces, at least four rows with three
    tenths of all pieces (two columns of prose make rows of two). Scattered: at least sixty
    pieces of ten characters or less in the median.
    """
    drawn = page.drawn
    if len(drawn.horizontal) >= _GRID and len(drawn.vertical) >= _GRID:
        return None
    wide = [n for n in _row_sizes(page.lines) if n >= _PIECES_OF_A_ROW]
    if len(wide) >= _FEW_ROWS and sum(wide) >= _ROW_SHARE * len(page.lines):
        return "columns without rules"
    many = len(page.lines) >= _MANY_PIECES
    if many and statistics.median(len(line.text) for line in page.lines) <= _SHORT_PIECE:
        return "many short pieces of text"
    return None


def _row_sizes(lines: Iterable[Line]) -> list[int]:
    """Return how many pieces stand side by side, per row, from the top."""
    sizes: list[int] = []
    bottom = float("-inf")
    for line in sorted(lines, key=lambda line: line.frame.middle):
        if line.frame.middle > bottom:
            sizes.append(0)
            bottom = line.frame.middle + line.size / 2
        sizes[-1] += 1
    return sizes
