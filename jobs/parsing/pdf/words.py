"""Where the words of a line stand: lines are cut at wide gaps, which may part columns.

docling-parse joins pieces of text on one line across gaps of several letters, as between
the columns of a table. Its words are the same letters in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jobs.parsing.pdf.geometry import Frame

__all__ = ["Blank", "Placed", "place_words"]

Placed = tuple[str, Frame]
"""A text and where it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blank:
    """The blank at ``offset`` in a line's text, from the word before to the word after."""

    offset: int
    left: float
    right: float


def place_words(lines: Iterable[str], words: Sequence[Placed]) -> list[tuple[Frame, ...]]:
    """Return, per line, the frames of its words as ``str.split`` cuts them.

    Both come in the order of the parser. A line whose words cannot be told, such as one
    from right to left, gets none.
    """
    tokens = [(token, frame) for text, frame in words for token in text.split()]
    placed: list[tuple[Frame, ...]] = []
    position = 0
    for line in lines:
        wanted = line.split()
        found = tokens[position : position + len(wanted)]
        same = len(found) == len(wanted) and all(
            token == word for (token, _), word in zip(found, wanted, strict=True)
        )
        placed.append(tuple(frame for _, frame in found) if same else ())
        # As many words as lines hold come in the same order, whichever way each is written.
        position += len(wanted)
    return placed
