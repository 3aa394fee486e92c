"""Text from right to left: its letters and blanks, however they are drawn, in reading order."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from jobs.parsing.pdf.bidi import is_right_to_left, reading_order
from jobs.parsing.pdf.glyphs import Glyph, on_one_line

__all__ = ["BACK", "WIDE_GAP", "read_both_ways"]

WIDE_GAP = 0.8
"""Of a letter's height, from which a gap ends a piece of a line: columns may part there."""
BACK = 0.5
"""How far a letter may begin before the end of the one before it: kerning, accents."""
_WITHIN = 0.5
"""Of a blank's width: one that shares so much with a letter parts nothing."""


def read_both_ways(runs: Sequence[list[Glyph]]) -> Iterator[list[Glyph]]:
    """Put runs that go from right to left in reading order, joined where words are drawn singly.

    Their blanks may be drawn before or after their words: those that stand between count.
    """
    for row in _rows([run for run in runs if any(glyph.text != " " for glyph in run)]):
        blanks = [glyph for run in row for glyph in run if glyph.text == " "]
        for run in _side_by_side(row):
            if any(is_right_to_left(glyph.text) for glyph in run):
                yield _in_reading_order(run, blanks)
            else:
                yield run


def _side_by_side(row: Sequence[list[Glyph]]) -> list[list[Glyph]]:
    """Join neighbouring runs of a line, one of which goes from right to left."""
    joined: list[list[Glyph]] = []
    before_turned = False
    for run in sorted(row, key=_left):
        turned = any(is_right_to_left(glyph.text) for glyph in run)
        if joined and (turned or before_turned) and _adjoins(joined[-1], run):
            joined[-1] += run
            before_turned = True
        else:
            joined.append(list(run))
            before_turned = turned
    return joined


def _rows(runs: Sequence[list[Glyph]]) -> Iterator[list[list[Glyph]]]:
    row: list[list[Glyph]] = []
    for run in sorted(runs, key=lambda run: _first(run).middle):
        if row and not on_one_line(_first(row[0]), _first(run)):
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
    return on_one_line(a, b) and -BACK * small < gap < WIDE_GAP * small


def _in_reading_order(run: Sequence[Glyph], blanks: Iterable[Glyph]) -> list[Glyph]:
    letters: list[Glyph] = []
    marks: list[Glyph] = []
    for glyph in sorted((g for g in run if g.text != " "), key=lambda glyph: glyph.center):
        (marks if _is_mark(glyph.text) else letters).append(glyph)
    letters = letters or marks
    centers = [glyph.center for glyph in letters]
    if letters is not marks:
        for mark in marks:
            letters[_nearest(centers, mark.center)].text += mark.text
    between = [
        blank
        for blank in blanks
        if centers[0] < blank.center < centers[-1] and _is_free(blank, letters, centers)
    ]
    placed = sorted([*letters, *between], key=lambda glyph: glyph.center)
    return [placed[i] for i in reading_order([glyph.text for glyph in placed])]


def _is_free(blank: Glyph, letters: Sequence[Glyph], centers: Sequence[float]) -> bool:
    """Tell whether a blank stands between letters, not in the place of one."""
    at = bisect_left(centers, blank.center)
    width = blank.right - blank.left
    return all(
        min(blank.right, near.right) - max(blank.left, near.left) < _WITHIN * width
        for near in letters[max(at - 1, 0) : at + 1]
    )


def _nearest(centers: Sequence[float], center: float) -> int:
    at = bisect_left(centers, center)
    return min(
        (i for i in (at - 1, at) if 0 <= i < len(centers)), key=lambda i: abs(centers[i] - center)
    )


def _is_mark(text: str) -> bool:
    return all(unicodedata.combining(character) for character in text)
