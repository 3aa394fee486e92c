"""The tables of a page that can be told by their rules, before the page is read in order."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.parsing.pdf.drawn import Drawn
from jobs.parsing.pdf.grid import joined_rules
from jobs.parsing.pdf.lines import Line
from jobs.parsing.pdf.ruled import ruled_tables
from jobs.parsing.pdf.tables import Table

__all__ = ["find_tables"]


def find_tables(pieces: Sequence[Line], drawn: Drawn) -> tuple[list[Table], list[Line]]:
    """Return the tables between rules, from the top, and the pieces that are in none."""
    if not drawn.horizontal or not pieces:
        return [], list(pieces)
    horizontal = joined_rules(drawn.horizontal, horizontal=True)
    vertical = joined_rules(drawn.vertical, horizontal=False)
    return ruled_tables(pieces, horizontal, vertical, drawn.shaded)
