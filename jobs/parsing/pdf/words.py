"""Where the blanks of a line stand: tables are cut at them where columns part."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Blank"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blank:
    """The blank at ``offset`` in a line's text, from the word before to the word after."""

    offset: int
    left: float
    right: float
