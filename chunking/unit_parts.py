"""Where a unit above the limit is cut: at line ends and clauses, then words, then characters.

Shapes: N tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from chunking.model import Tokens
from chunking.splitting import joins
from chunking.unspaced import WordBreaks, has_unspaced, word_starts

__all__ = ["MAX_UNIT_TOKENS", "UnitCutter"]

MAX_UNIT_TOKENS = 64
"""Longer sentences, rows, lines and items are cut into parts of about equal size."""

_STRONG = frozenset(";:|\u2014\u2013\u037e\u0387\u061b\uff1b\uff1a\u2026\u3002\uff01\uff1f")
_WEAK = frozenset(",)]\u060c\u3001\uff0c\u00bb\u201d")
# After these no blank is written.
_WIDE = frozenset("\uff1b\uff1a\u3001\uff0c\u3002\uff01\uff1f\u2026")
_CLAUSE, _COMMA, _LINE, _WORD, _CHARACTER, _ANY = range(6)
_BLANKS = 8


class UnitCutter:
    """Cuts spans above the limit into parts of about equal numbers of tokens.

    Every token is looked at a constant number of times.
    """

    def __init__(
        self,
        text: str,
        tokens: Tokens,
        anchors_N: NDArray[np.int64],
        word_breaks: WordBreaks | None = None,
    ) -> None:
        self._text = text
        self._anchors = anchors_N
        self._word_breaks = word_breaks
        before = np.maximum.accumulate(np.append(0, tokens.ends[:-1].astype(np.int64)))
        # A token may begin a part where it shares no code point with those before it;
        # best where a blank stands between, which is inside its offsets or outside.
        self._free = tokens.starts >= before
        self._free[1:] &= anchors_N[1:] > anchors_N[:-1]
        self._word = self._free & (anchors_N > before)

    def cut(
        self, start: int, end: int, first: int, last: int, language: str | None
    ) -> Iterator[tuple[int, int, int, int]]:
        """Yield ``(start, end, token_start, token_end)`` of the parts of one span."""
        if last - first <= MAX_UNIT_TOKENS:
            yield start, end, first, last
            return
        unspaced = has_unspaced(self._text, start, end)
        words: frozenset[int] = frozenset()
        if unspaced:
            words = word_starts(self._text, start, end, language, self._word_breaks)
        while last - first > MAX_UNIT_TOKENS:
            cut = self._place(first, last, words, unspaced=unspaced)
            position = min(max(int(self._anchors[cut]), start), end)
            yield start, start + len(self._text[start:position].rstrip()), first, cut
            start, first = self._visible(position, end), cut
        yield start, end, first, last

    def _place(self, first: int, last: int, words: frozenset[int], *, unspaced: bool) -> int:
        """Return the token that begins the next part: the best kind of place, near the share."""
        n = last - first
        share = -(-n // -(-n // MAX_UNIT_TOKENS))
        low, high = first + max(share // 2, 1), first + MAX_UNIT_TOKENS
        places: Iterable[int] = (np.flatnonzero(self._word[low : high + 1]) + low).tolist()
        if unspaced or not places:
            places = range(low, high + 1)
        return min((self._rank(at, words), abs(at - first - share), at) for at in places)[2]

    def _rank(self, at: int, words: frozenset[int]) -> int:
        """Return how good a place is for a cut, 0 the best."""
        if not self._free[at]:
            return _ANY
        position, spaced = int(self._anchors[at]), bool(self._word[at])
        mark, line = self._mark_before(position)
        if spaced or mark in _WIDE:
            if mark in _STRONG:
                return _CLAUSE
            if mark in _WEAK:
                return _COMMA
        if line:
            return _LINE
        if spaced or position in words:
            return _WORD
        return (
            _ANY if 0 < position < len(self._text) and joins(self._text, position) else _CHARACTER
        )

    def _mark_before(self, position: int) -> tuple[str, bool]:
        """Return the last visible code point before a place, and whether a line ends between."""
        line = False
        for at in range(position - 1, max(position - _BLANKS, 0) - 1, -1):
            character = self._text[at]
            if not character.isspace():
                return character, line
            line = line or character == "\n"
        return "", line

    def _visible(self, position: int, end: int) -> int:
        while position < end and self._text[position].isspace():
            position += 1
        return position
