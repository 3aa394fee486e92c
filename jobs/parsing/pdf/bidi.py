"""From the order in which letters stand to the order in which they are read.

The reverse of the reordering of UAX #9 (rule L2) for one line, for what PDFs show: lines
that run from right to left hold numbers and foreign words that run from left to right,
and the other way round.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Sequence

__all__ = ["is_right_to_left", "reading_order"]

_RIGHT_TO_LEFT = frozenset({"R", "AL"})
_FIGURES = frozenset({"EN", "AN"})
_IN_FIGURES = frozenset({"ES", "CS", "ET"})


@functools.lru_cache(maxsize=16384)
def is_right_to_left(text: str) -> bool:
    """Tell whether a glyph's first strong letter is Hebrew, Arabic or the like."""
    return _class(text) == "R"


def reading_order(glyphs: Sequence[str]) -> list[int]:
    """Return the indices of glyphs, given from left to right, in the order they are read.

    The line runs to the side that its outer letters do; where those differ, most letters.
    """
    classes = _resolved([_class(text) for text in glyphs])
    strong = [each for each in classes if each in "RL"]
    n_right = strong.count("R")
    turned = n_right * 2 > len(strong)
    if strong and strong[0] == strong[-1]:
        turned = strong[0] == "R"
    if turned:
        return _turned_back(list(range(len(glyphs)))[::-1], classes, frozenset({"L", "F"}))
    return _turned_back(list(range(len(glyphs))), classes, frozenset({"R"}))


@functools.lru_cache(maxsize=16384)
def _class(text: str) -> str:
    """Return R or L for letters of that direction, F for figures, C for their marks, N, or B."""
    if text == " ":
        return "B"
    for character in text:
        direction = unicodedata.bidirectional(character)
        if direction in _RIGHT_TO_LEFT:
            return "R"
        if direction == "L":
            return "L"
        if direction in _FIGURES:
            return "F"
        if direction in _IN_FIGURES:
            return "C"
    return "N"


def _resolved(classes: Sequence[str]) -> list[str]:
    """Let what stands between two figures be part of the number."""
    resolved = list(classes)
    for i in range(1, len(classes) - 1):
        if classes[i] == "C" and classes[i - 1] == classes[i + 1] == "F":
            resolved[i] = "F"
    return resolved


def _turned_back(order: list[int], classes: Sequence[str], against: frozenset[str]) -> list[int]:
    """Reverse each stretch of letters that run against the line, what stands in it too."""
    result: list[int] = []
    position = 0
    while position < len(order):
        end = _stretch(order, classes, against, position)
        if end == position:
            result.append(order[position])
            position += 1
        else:
            stretch = order[position:end][::-1]
            if "R" in against:
                stretch = _turned_back(stretch, classes, frozenset({"F"}))
            result += stretch
            position = end
    return result


def _stretch(
    order: Sequence[int], classes: Sequence[str], against: frozenset[str], start: int
) -> int:
    """Return where the stretch that begins at ``start`` ends; there, if none begins."""
    if classes[order[start]] not in against:
        return start
    inner = {"N", "C", "B"} | ({"F"} if "R" in against else set())
    letters = against - {"F"}
    end = position = start + 1
    only_figures = classes[order[start]] == "F"
    while position < len(order):
        each = classes[order[position]]
        if each in against and not (only_figures and position != end and each == "F"):
            only_figures = only_figures and each not in letters
            end = position + 1
        elif each not in inner or (only_figures and each == "B"):
            break
        position += 1
    return end
