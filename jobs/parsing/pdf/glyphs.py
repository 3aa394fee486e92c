"""The letters of a page, cleaned: what each means, how tall its line is, each drawn once."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from jobs.parsing.pdf.fonts import meant

__all__ = ["Glyph", "cleaned", "on_one_line"]

_TWICE = 0.1
"""Of a letter's height: the same letter this near is drawn again, to look bold."""
_SAME_LINE = 0.3
_SAME_BASE = 0.12
_OTHER_SIZE = 1.2
_LOW, _HIGH = frozenset("acemnorsuvwxz"), frozenset("bdfhklABCDEFGHIKLMNOPRSTUVWXYZ")
_LOWER = 0.9
_DESCENDING = frozenset("gjpqyQ")
_HIGH_SHARE = 0.72
"""Of a letter's height with what hangs below the line: capitals, and letters like d and l."""
_PRIMES = (4_099, 65_537)
"""Farther apart than the cells of a page, to number letter and cell at once."""
_BELOW = 0.22
"""Of a letter's height: what hangs below the line."""


@dataclass(slots=True)
class Glyph:
    """One letter, or one blank, and where it stands on the page as it is read."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    font: str

    @property
    def height(self) -> float:
        """Extent across the text."""
        return self.bottom - self.top

    @property
    def center(self) -> float:
        """Horizontal middle."""
        return (self.left + self.right) / 2

    @property
    def middle(self) -> float:
        """Vertical middle."""
        return (self.top + self.bottom) / 2


def cleaned(glyphs: Iterable[Glyph]) -> list[Glyph]:
    """Return the letters and blanks that mean something, in their order."""
    return list(_once(_evened(list(_meant(glyphs)))))


def on_one_line(a: Glyph, b: Glyph) -> bool:
    """Tell whether two letters stand on one line; small ones may be raised or lowered."""
    # Called for every letter: no properties, no lists.
    small, large = a.bottom - a.top, b.bottom - b.top
    if small > large:
        small, large = large, small
    if large > small * _OTHER_SIZE:
        return abs(a.bottom - b.bottom) < _SAME_BASE * large
    return abs((a.top + a.bottom) / 2 - (b.top + b.bottom) / 2) < _SAME_LINE * small


def _meant(glyphs: Iterable[Glyph]) -> Iterator[Glyph]:
    for glyph in glyphs:
        text = meant(glyph.text, glyph.font)
        if text:
            glyph.text = text
            yield glyph


def _evened(glyphs: list[Glyph]) -> list[Glyph]:
    """Give letters of one font one height where boxes are drawn around their ink.

    So it is in fonts of pictures (Type 3): each letter has a height and a bottom of its own.
    """
    inked = _inked(glyphs)
    bases: dict[str, float] = {}
    for glyph in glyphs:
        em = inked.get(glyph.font)
        if em is None or glyph.text == " ":
            continue
        base = glyph.bottom
        before = bases.get(glyph.font, base)
        if glyph.text.isalnum() and glyph.text not in _DESCENDING:
            bases[glyph.font] = base
        elif abs(before - base) < em:
            base = before
        glyph.top, glyph.bottom = base - em * (1 - _BELOW), base + em * _BELOW
    return glyphs


def _inked(glyphs: Sequence[Glyph]) -> dict[str, float]:
    """Return the size of each font in which low letters have lower boxes than high ones."""
    last: dict[str, Glyph] = {}
    high: dict[str, list[float]] = {}
    evidence: Counter[str] = Counter()
    for glyph in glyphs:
        if glyph.text == " ":
            continue
        font = glyph.font
        before = last.get(font)
        last[font] = glyph
        if glyph.text in _HIGH:
            high.setdefault(font, []).append(glyph.height)
        if before is None:
            continue
        pair = (glyph, before) if glyph.text in _LOW else (before, glyph)
        if pair[0].text in _LOW and pair[1].text in _HIGH:
            evidence[font] += 1 if pair[0].height < pair[1].height * _LOWER else -1
    return {
        font: statistics.median(high[font]) / _HIGH_SHARE for font, n in evidence.items() if n > 0
    }


def _once(glyphs: Sequence[Glyph]) -> Iterator[Glyph]:
    """Leave out what is drawn again in the same place."""
    seen: dict[tuple[str, int, int], list[Glyph]] = {}
    for glyph, suspect in zip(glyphs, _near_their_like(glyphs), strict=True):
        if not suspect or glyph.text == " " or not _is_drawn_again(glyph, seen):
            yield glyph


def _near_their_like(glyphs: Sequence[Glyph]) -> list[bool]:
    """Tell which letters stand near an equal one, at far less cost than how near.

    Two that are less than half a cell apart share a cell in at least one of four grids,
    each half a cell further than the other.
    """
    codes: dict[str, int] = {}
    code = np.array([codes.setdefault(glyph.text, len(codes)) for glyph in glyphs], np.int64)
    top = np.array([glyph.top for glyph in glyphs])
    bottom = np.array([glyph.bottom for glyph in glyphs])
    size = np.maximum(bottom - top, 1.0)
    x, y = np.array([glyph.left for glyph in glyphs]) / size, bottom / size
    near = np.zeros(len(glyphs), np.bool_)
    for right in (0.0, 0.5):
        for low in (0.0, 0.5):
            # Another letter with the same number is tested in vain, nothing more.
            cells = (code * _PRIMES[0] + (x + right) // 1) * _PRIMES[1] + (y + low) // 1
            order = cells.argsort()
            equal = cells[order[1:]] == cells[order[:-1]]
            near[order[1:][equal]] = True
            near[order[:-1][equal]] = True
    found: list[bool] = (near & np.isfinite(x + y)).tolist()
    return found


def _is_drawn_again(glyph: Glyph, seen: dict[tuple[str, int, int], list[Glyph]]) -> bool:
    """Tell whether the same letter was seen nearby, and remember it if not."""
    text = glyph.text
    size = max(glyph.bottom - glyph.top, 1.0)
    near = size * _TWICE
    x, y = glyph.left / size, glyph.bottom / size
    left, right = int(x - _TWICE), int(x + _TWICE)
    low, high = int(y - _TWICE), int(y + _TWICE)
    for column in (left,) if left == right else (left, right):
        for row in (low,) if low == high else (low, high):
            for twin in seen.get((text, column, row), ()):
                if abs(twin.left - glyph.left) <= near and abs(twin.bottom - glyph.bottom) <= near:
                    return True
    seen.setdefault((text, int(x), int(y)), []).append(glyph)
    return False
