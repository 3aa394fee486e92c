"""Glyphs become pieces of lines: which letters stand together, and where blanks are.

docling-parse gives each letter with its place. Its own words and lines part letter-spaced
words, glue words that stand close, and keep what is drawn twice to look bold; so lines are
made here. Blanks come from drawn blanks and from gaps, judged by the other gaps of the
line; text from right to left is put in the order in which it is read (see ``bidi.py``).
"""

from __future__ import annotations

import itertools
import statistics
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from jobs.parsing.pdf.bidi import is_right_to_left, reading_order
from jobs.parsing.pdf.fonts import is_bold, is_monospaced, meant
from jobs.parsing.pdf.geometry import Frame
from jobs.parsing.pdf.words import Blank

__all__ = ["Glyph", "Run", "runs_of"]

_WIDE_GAP = 0.8
"""Of a letter's height, from which a gap ends a piece of a line: columns may part there."""
_BACK = 0.5
"""How far a letter may begin before the end of the one before it: kerning, accents."""
_WORD_GAP = 0.13
_WORD_GAP_BESIDE_BLANKS = 0.2
"""Gaps are rarely blanks in a line that draws its blanks."""
_MAX_LETTER_SPACE = 0.2
_MIN_SPACED_GAPS = 5
_TWICE = 0.1
"""Of a letter's height: the same letter this near is drawn again, to look bold."""
_SAME_LINE = 0.3
_SAME_BASE = 0.12
_OTHER_SIZE = 1.2
_MIN_HEIGHTS = 2
_INKED_SHARE = 0.25
_DESCENDING = frozenset("gjpqyQ")
_BELOW = 0.25
"""Of a letter's height: what hangs below the line."""
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
    kept = list(_once(_evened(list(_meant(glyphs)))))
    turned = any(is_right_to_left(glyph.text) for glyph in kept)
    runs = list(_runs(kept, both_ways=turned))
    if turned:
        runs = [_in_reading_order(run) for run in _side_by_side(runs)]
    return [made for run in runs if (made := _made(run)) is not None]


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
    heights: dict[str, dict[str, float]] = {}
    for glyph in glyphs:
        if glyph.text != " ":
            heights.setdefault(glyph.font, {})[glyph.text] = glyph.height
    inked = {
        font: max(by_letter.values())
        for font, by_letter in heights.items()
        if len({round(height, 1) for height in by_letter.values()})
        > max(_MIN_HEIGHTS, len(by_letter) * _INKED_SHARE)
    }
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
        glyph.top, glyph.bottom = base - em, base + em * _BELOW
    return glyphs


def _once(glyphs: Iterable[Glyph]) -> Iterator[Glyph]:
    """Leave out what is drawn again in the same place."""
    seen: dict[tuple[str, int, int], list[Glyph]] = {}
    for glyph in glyphs:
        if glyph.text == " ":
            yield glyph
            continue
        size = max(glyph.height, 1.0)
        near = size * _TWICE
        keys = {
            (glyph.text, int((glyph.left + dx) / size), int((glyph.bottom + dy) / size))
            for dx in (-near, near)
            for dy in (-near, near)
        }
        twins = [twin for key in keys for twin in seen.get(key, ())]
        if any(
            abs(twin.left - glyph.left) <= near and abs(twin.bottom - glyph.bottom) <= near
            for twin in twins
        ):
            continue
        own = (glyph.text, int(glyph.left / size), int(glyph.bottom / size))
        seen.setdefault(own, []).append(glyph)
        yield glyph


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
    small, large = sorted((last.height, glyph.height))
    back = large * (1.0 if last.text in _ACCENTS or glyph.text in _ACCENTS else _BACK)
    beside = -back < glyph.left - last.right < _WIDE_GAP * small
    if both_ways and not beside:
        beside = -_BACK * large < last.left - glyph.right < _WIDE_GAP * small
    return beside and _on_one_line(last, glyph)


def _on_one_line(a: Glyph, b: Glyph) -> bool:
    small, large = sorted((a.height, b.height))
    if large > small * _OTHER_SIZE:
        return abs(a.bottom - b.bottom) < _SAME_BASE * large
    return abs(a.middle - b.middle) < _SAME_LINE * small


def _side_by_side(runs: Sequence[list[Glyph]]) -> list[list[Glyph]]:
    """Join runs on one line, one of which goes from right to left: words drawn one by one."""
    joined: list[tuple[list[Glyph], bool]] = []
    for row in _rows(runs):
        before: list[Glyph] = []
        for run in sorted(row, key=_left):
            turned = any(is_right_to_left(glyph.text) for glyph in run)
            if before and (turned or joined[-1][1]) and _adjoins(before, run):
                before = [*before, *run]
                joined[-1] = (before, True)
            else:
                before = run
                joined.append((run, turned))
    return [run for run, _ in joined]


def _rows(runs: Sequence[list[Glyph]]) -> Iterator[list[list[Glyph]]]:
    row: list[list[Glyph]] = []
    for run in sorted(runs, key=lambda run: _first(run).middle):
        if row and not _on_one_line(_first(row[0]), _first(run)):
            yield row
            row = []
        row.append(run)
    if row:
        yield row


def _first(run: Sequence[Glyph]) -> Glyph:
    return next((glyph for glyph in run if glyph.text != " "), run[0])


def _left(run: Sequence[Glyph]) -> float:
    return min((glyph.left for glyph in run if glyph.text != " "), default=0.0)


def _adjoins(before: Sequence[Glyph], run: Sequence[Glyph]) -> bool:
    a, b = _first(before), _first(run)
    gap = _left(run) - max(glyph.right for glyph in before if glyph.text != " ")
    small = min(a.height, b.height)
    return _on_one_line(a, b) and -_BACK * small < gap < _WIDE_GAP * small


def _in_reading_order(run: list[Glyph]) -> list[Glyph]:
    if not any(is_right_to_left(glyph.text) for glyph in run):
        return run
    letters: list[Glyph] = []
    marks: list[Glyph] = []
    # Blanks are drawn before or after their words: here gaps alone tell.
    for glyph in sorted((g for g in run if g.text != " "), key=lambda glyph: glyph.center):
        (marks if _is_mark(glyph.text) else letters).append(glyph)
    centers = [glyph.center for glyph in letters]
    for mark in marks:
        letters[_nearest(centers, mark.center)].text += mark.text
    order = reading_order([glyph.text for glyph in letters])
    return [letters[i] for i in order]


def _nearest(centers: Sequence[float], center: float) -> int:
    at = bisect_left(centers, center)
    return min(
        (i for i in (at - 1, at) if 0 <= i < len(centers)), key=lambda i: abs(centers[i] - center)
    )


def _is_mark(text: str) -> bool:
    return all(unicodedata.combining(character) for character in text)


def _made(run: Sequence[Glyph]) -> Run | None:
    letters = [glyph for glyph in run if glyph.text != " "]
    if not letters:
        return None
    parts, blanks = _text_of(run, _word_gap(run, letters))
    if any(is_right_to_left(glyph.text) for glyph in letters):
        blanks = []  # they count from the left
    fonts = {glyph.font for glyph in letters}
    size = statistics.mode(round(glyph.height, 1) for glyph in letters)
    usual = next(glyph for glyph in letters if round(glyph.height, 1) == size)
    return Run(
        text="".join(parts),
        frame=Frame(
            left=min(glyph.left for glyph in letters),
            top=usual.top,
            right=max(glyph.right for glyph in letters),
            bottom=usual.bottom,
        ),
        size=usual.height,
        bold=all(map(is_bold, fonts)),
        monospaced=all(map(is_monospaced, fonts)),
        blanks=tuple(blanks),
    )


def _word_gap(run: Sequence[Glyph], letters: Sequence[Glyph]) -> float:
    """Return from which gap on, of a letter's height, there is a blank between letters.

    Letter-spaced text has gaps between all letters: there, only wider ones are blanks.
    """
    gaps = [
        _gap(before, after) / max(min(before.height, after.height), 1.0)
        for before, after in itertools.pairwise(run)
        if before.text.isalnum() and after.text.isalnum()
    ]
    least = _WORD_GAP if len(letters) == len(run) else _WORD_GAP_BESIDE_BLANKS
    if len(gaps) < _MIN_SPACED_GAPS:
        return least
    usual = statistics.median_low(gaps)
    return least + (usual if 0 < usual <= _MAX_LETTER_SPACE else 0.0)


def _gap(before: Glyph, after: Glyph) -> float:
    return max(after.left - before.right, before.left - after.right)


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
            gap = _gap(last, glyph)
            if drawn or gap > word_gap * min(last.height, glyph.height):
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
    for accent, letter in ((last, glyph), (glyph, last)):
        mark = _ACCENTS.get(accent.text)
        if mark and letter.text.isalpha() and letter.left <= accent.center <= letter.right:
            parts[-1] = unicodedata.normalize("NFC", letter.text + mark)
            return True
    return False
