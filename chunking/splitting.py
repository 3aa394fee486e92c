"""Where to cut inside something too large: at cells, at lines, at words, at characters.

Everything here returns cut positions, absolute and strictly inside the span; the
cost of a cut is decided elsewhere.
"""

from __future__ import annotations

import re
import unicodedata

import numpy as np

from chunking.model import Tokens

__all__ = ["cell_cuts", "joins", "line_starts", "middle_cut", "span_of", "token_cuts"]

_CELL = re.compile(r"(?<!\\)\|")
_PUNCTUATION = frozenset(".;:,!?)]}|\u3002\uff0c\u3001\uff1b\uff1a\uff01\uff1f")
_NEAR = 64
_MARKS = frozenset({"Mn", "Me", "Mc"})
_VIRAMA = 9
"""Combining class of the sign that joins two consonants."""
# Joiners, tags and skin tones; Thai and Lao vowels written after their consonant; jamo.
_JOINING = re.compile(
    "[\u200c\u200d\U000e0020-\U000e007f\U0001f3fb-\U0001f3ff"
    "\u0e30\u0e32\u0e33\u0e45\u0e46\u0eb0\u0eb2\u0eb3\u0ec6\u1160-\u11ff\ud7b0-\ud7ff]"
)
# Thai and Lao vowels written before their consonant; flag letters.
_PAIRS = re.compile("[\u0e40-\u0e44\u0ec0-\u0ec4].|[\U0001f1e6-\U0001f1ff]{2}", re.DOTALL)


def span_of(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without blanks at its ends."""
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


def line_starts(text: str, start: int, end: int) -> list[int]:
    """Return the starts of the lines of ``text[start:end]``, blank lines left out.

    A blank line belongs to the line before it; the first start is always ``start``.
    """
    starts = [start]
    at = text.find("\n", start, end)
    while at != -1:
        following = text.find("\n", at + 1, end)
        line_end = end if following == -1 else following
        if at + 1 < line_end and not text[at + 1 : line_end].isspace():
            starts.append(at + 1)
        at = following
    return starts


def cell_cuts(text: str, start: int, end: int) -> list[int]:
    """Return the starts of the cells of a Markdown row, the first one left out."""
    while end > start and text[end - 1].isspace():
        end -= 1
    return [
        match.start()
        for match in _CELL.finditer(text, start + 1, end)
        if match.end() < end and text[match.end()] != "\n"
    ]


def token_cuts(
    text: str, tokens: Tokens, start: int, end: int, *, limit: int, first: int | None = None
) -> list[int]:
    """Return cuts that leave at most about ``limit`` tokens in each piece.

    ``first`` is the limit of the first piece. In the second half of each piece the
    last place after a line end, after punctuation, then after any blank is taken;
    where there is none, the last token start that parts no character.
    """
    cuts: list[int] = []
    # A token may begin with the blanks before the span.
    index = int(np.searchsorted(tokens.ends, start, side="right"))
    last = int(np.searchsorted(tokens.starts, end, side="left"))
    room = limit if first is None else first
    while last - index > room:
        index, cut = _next_cut(text, tokens, index, index + max(1, room), last)
        if index >= last or cut >= end:
            break
        if cut > (cuts[-1] if cuts else start):
            cuts.append(cut)
        room = limit
    return cuts


def _next_cut(text: str, tokens: Tokens, index: int, high: int, last: int) -> tuple[int, int]:
    """Return the token, and its start, at which the next piece begins."""
    low = index + max(1, (high - index) // 2)
    chosen, rank = -1, -1
    for at in range(high, low - 1, -1):
        found = _rank(text, int(tokens.starts[at]), int(tokens.starts[at - 1]))
        if found > rank:
            chosen, rank = at, found
    if rank < 0:
        chosen = low
        while (
            chosen < last
            and _rank(text, int(tokens.starts[chosen]), int(tokens.starts[chosen - 1])) < 0
        ):
            chosen += 1
    return chosen, int(tokens.starts[chosen]) if chosen < last else len(text)


def _rank(text: str, at: int, before: int) -> int:
    """Return how good a cut at ``at`` is; negative where it would part a character."""
    if at <= before or joins(text, at):
        return -1
    previous = text[at - 1]
    if previous == "\n":
        return 3
    if previous.isspace() or text[at].isspace():
        return 2 if at > 1 and text[at - 2] in _PUNCTUATION else 1
    return 1 if previous in _PUNCTUATION and previous not in ".,:" else 0


def middle_cut(text: str, start: int, end: int) -> int | None:
    """Return a cut near the middle that parts no character, None where there is none."""
    middle = (start + end) // 2
    for blank in (True, False):
        for distance in range(min(_NEAR, (end - start) // 2)):
            for at in (middle - distance, middle + distance):
                if not start < at < end:
                    continue
                if text[at - 1].isspace() if blank else not joins(text, at):
                    return at
    return middle if start < middle < end else None


def joins(text: str, at: int) -> bool:
    """Return whether a cut before ``at`` would part a character from its marks.

    Marks are those of a grapheme cluster (UAX 29) and, stricter, Thai and Lao vowels
    that are letters of their own, conjuncts, and any two flag letters in a row.
    """
    character, previous = text[at], text[at - 1]
    if previous == "\u200d":
        return True
    if character < "\u0300":
        return previous == "\r" and character == "\n"
    if unicodedata.category(character) in _MARKS or _JOINING.match(character) is not None:
        return True
    if previous < "\u0300":
        return False
    if _PAIRS.match(previous + character) is not None:
        return True
    conjunct = unicodedata.combining(previous) == _VIRAMA and previous != "\u103a"
    return conjunct and character.isalpha()
