"""Letters become pieces of lines: which stand together, and where there are blanks.

docling-parse's own words and lines part letter-spaced words, glue words that stand close,
and keep what is drawn twice to look bold; so lines are made here. Blanks come from drawn
blanks and from gaps, judged by the other gaps of the line.
"""

from __future__ import annotations

import statistics
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from jobs.parsing.pdf.bidi import is_right_to_left
from jobs.parsing.pdf.fonts import is_bold, is_monospaced
from jobs.parsing.pdf.geometry import Frame
from jobs.parsing.pdf.glyphs import Glyph, cleaned, on_one_line
from jobs.parsing.pdf.right_to_left import BACK, WIDE_GAP, read_both_ways
from jobs.parsing.pdf.words import Blank

__all__ = ["Run", "runs_of"]

_WORD_GAP = 0.13
_WORD_GAP_BESIDE_BLANKS = 0.2
"""Gaps are rarely blanks in a line that draws its blanks."""
_MAX_LETTER_SPACE = 0.2
_MIN_SPACED_GAPS = 5
_SAME_SIZE = 1.05
_LOWERED = 0.4
_ACCENTS = {
    "\u00a8": "\u0308",
    "\u00b4": "\u0301",
    "`": "\u0300",
    "\u02c6": "\u0302",
    "^": "\u0302",
    "\u02dc": "\u0303",
    "~": "\u0303",
    "\u02c7": "\u030c",
    "\u02d8": "\u0306",
    "\u02d9": "\u0307",
    "\u02da": "\u030a",
    "\u02dd": "\u030b",
    "\u00b8": "\u0327",
    "\u02db": "\u0328",
    "\u00af": "\u0304",
}
"""Accents that some fonts draw on their own, and what combines them with a letter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Letters that make a piece of a line: its text, and where its blanks stand.

    ``size``: the height of most of its letters. ``bold``, ``monospaced``: all of them.
    ``blanks``: none for text from right to left.
    """

    text: str
    frame: Frame
    size: float
    bold: bool
    monospaced: bool
    blanks: tuple[Blank, ...]


def runs_of(glyphs: Iterable[Glyph]) -> list[Run]:
    """Return the pieces of lines of glyphs that are given in the order they are drawn."""
    kept = cleaned(glyphs)
    turned = _any_right_to_left(kept)
    runs = list(_runs(kept, both_ways=turned))
    if turned:
        runs = list(read_both_ways(runs))
    return [made for run in runs if (made := _made(run)) is not None]


def _any_right_to_left(glyphs: Iterable[Glyph]) -> bool:
    return any(map(is_right_to_left, {glyph.text for glyph in glyphs}))


def _runs(glyphs: Iterable[Glyph], *, both_ways: bool) -> Iterator[list[Glyph]]:
    """Cut glyphs where the next does not stand beside the one before it."""
    run: list[Glyph] = []
    last: Glyph | None = None
    for glyph in glyphs:
        if glyph.text == " ":
            run.append(glyph)
            continue
        if last is not None and not _follows(last, glyph, both_ways=both_ways):
            yield run
            run = []
        run.append(glyph)
        last = glyph
    yield run


def _follows(last: Glyph, glyph: Glyph, *, both_ways: bool) -> bool:
    # Called for every letter: no properties, no lists.
    small, large = last.bottom - last.top, glyph.bottom - glyph.top
    if small > large:
        small, large = large, small
    back = large * (1.0 if last.text in _ACCENTS or glyph.text in _ACCENTS else BACK)
    beside = -back < glyph.left - last.right < WIDE_GAP * small
    if both_ways and not beside:
        beside = -BACK * large < last.left - glyph.right < WIDE_GAP * small
    if not beside:
        return False
    # TeX's logo: a letter set lower, drawn into the one before it.
    lowered = glyph.left < last.right and large <= small * _SAME_SIZE
    return on_one_line(last, glyph) or (
        lowered and abs(last.middle - glyph.middle) < _LOWERED * small
    )


def _made(run: Sequence[Glyph]) -> Run | None:
    letters = [glyph for glyph in run if glyph.text != " "]
    if not letters:
        return None
    turned = _any_right_to_left(letters)
    blanks_drawn = len(letters) < len(run) and not turned
    parts, blanks = _text_of(run, _word_gap(run, blanks_drawn=blanks_drawn))
    fonts = {glyph.font for glyph in letters}
    heights = [glyph.bottom - glyph.top for glyph in letters]
    usual = letters[0]
    if heights.count(heights[0]) < len(heights):
        heights = [round(height, 1) for height in heights]
        usual = letters[heights.index(statistics.mode(heights))]
    return Run(
        text="".join(parts),
        frame=Frame(
            left=min([glyph.left for glyph in letters]),
            top=usual.top,
            right=max([glyph.right for glyph in letters]),
            bottom=usual.bottom,
        ),
        size=usual.height,
        bold=all(map(is_bold, fonts)),
        monospaced=all(map(is_monospaced, fonts)),
        blanks=() if turned else tuple(blanks),
    )


def _word_gap(run: Sequence[Glyph], *, blanks_drawn: bool) -> float:
    """Return from which gap on, of a letter's height, there is a blank between letters.

    Letter-spaced text has gaps between all letters: there, only wider ones are blanks.
    """
    heights = [glyph.bottom - glyph.top for glyph in run]
    worded = [glyph.text.isalnum() for glyph in run]
    gaps = [
        max(run[i].left - run[i - 1].right, run[i - 1].left - run[i].right)
        / max(min(heights[i - 1], heights[i]), 1.0)
        for i in range(1, len(run))
        if worded[i] and worded[i - 1]
    ]
    least = _WORD_GAP_BESIDE_BLANKS if blanks_drawn else _WORD_GAP
    if len(gaps) < _MIN_SPACED_GAPS:
        return least
    usual = statistics.median_low(gaps)
    return least + (usual if 0 < usual <= _MAX_LETTER_SPACE else 0.0)


def _text_of(run: Sequence[Glyph], word_gap: float) -> tuple[list[str], list[Blank]]:
    parts: list[str] = []
    blanks: list[Blank] = []
    length = 0
    last: Glyph | None = None
    drawn = False
    for glyph in run:
        if glyph.text == " ":
            drawn = last is not None
            continue
        if last is not None:
            gap = max(glyph.left - last.right, last.left - glyph.right)
            if drawn or (gap > 0 and gap > word_gap * min(last.height, glyph.height)):
                blanks.append(Blank(offset=length, left=last.right, right=glyph.left))
                parts.append(" ")
                length += 1
            elif _combines(last, glyph, parts):
                length = sum(map(len, parts))
                last = glyph
                continue
        parts.append(glyph.text)
        length += len(glyph.text)
        last = glyph
        drawn = False
    return parts, blanks


def _combines(last: Glyph, glyph: Glyph, parts: list[str]) -> bool:
    """Put an accent that is drawn over the letter after or before it into that letter."""
    if last.text not in _ACCENTS and glyph.text not in _ACCENTS:
        return False
    for accent, letter in ((last, glyph), (glyph, last)):
        mark = _ACCENTS.get(accent.text)
        if mark and letter.text.isalpha() and letter.left <= accent.center <= letter.right:
            parts[-1] = unicodedata.normalize("NFC", letter.text + mark)
            return True
    return False
