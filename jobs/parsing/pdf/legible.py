"""Whether the letters of a text layer mean what they show.

A font without a (sound) map to Unicode gives characters without a meaning, glyph names,
or letters that are others than the page shows. All measures are shares of the text, so
that stray signs in a sound text count for little.
"""

from __future__ import annotations

import re
from collections import Counter

__all__ = ["MAX_ILLEGIBLE", "illegible_share"]

MAX_ILLEGIBLE = 0.02
"""Share above which a text layer is broken."""

_MEANINGLESS = re.compile(
    "[\ufffd\ue000-\uf01f\uf100-\uf8ff\x01-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufdd0-\ufdef\ufffe\uffff]"
)
_SYMBOLS = re.compile("[\uf020-\uf0ff]")
"""Characters of symbol fonts: bullets and arrows in a sound text, or a text set in one."""
_MANY_SYMBOLS = 0.1
_GLYPH_NAMES = re.compile(
    r"\(cid:\d{1,6}\)|GLYPH<[^<>]{1,80}>|GLYPH&lt;[^<>]{1,80}&gt;|/(?:[gGcC]|cid|glyph|uni)\d{1,6}\b"
)
_LEAD_BYTES = re.compile("[\u00c2-\u00f4][\u0080-\u00bf\u0152-\u0192\u02c6-\u2122]")
"""What UTF-8 looks like where its bytes were taken for characters of cp1252."""

_FREQUENCIES = dict(
    zip(
        "abcdefghijklmnopqrstuvwxyz",
        (
            *(80, 15, 30, 43, 140, 15, 19, 32, 75, 3, 9, 40, 26),
            *(80, 65, 22, 3, 66, 65, 70, 33, 13, 12, 2, 11, 5),
        ),
        strict=True,
    )
)
"""Letters per thousand, about, in prose of the Western European languages together."""
_TOTAL = sum(_FREQUENCIES.values())
_VOWELS = frozenset("aeiouy")
_FEW_LETTERS = 200
_LATIN_SHARE = 0.8
_LANGUAGE_LIKE = 0.053
"""Index of coincidence (Friedman, 1922) from which letters are as uneven as a language's;
0.038 where all are alike, 0.065 to 0.078 in European languages."""
_FEW_VOWELS = 0.22
"""European languages have 0.36 to 0.48; substituted letters have what chance gives."""
_CLEAR = 0.35
"""A shift must fit so much better than the letters as they are."""
_UNLIKELY = 0.5
"""Chi-squared per letter of prose is about 0.1; tables and code reach some 0.4."""

_MARKS_OF_A_WORD = 2
_MEAN_WORD = 3.7


def illegible_share(text: str) -> float:
    """Return which share of a text, 0 to 1, has no meaning; 1 where its letters are others."""
    if not text:
        return 0.0
    broken = len(_MEANINGLESS.findall(text)) + sum(map(len, _GLYPH_NAMES.findall(text)))
    broken += sum(2 for pair in _LEAD_BYTES.findall(text) if _is_misread(pair))
    symbols = len(_SYMBOLS.findall(text))
    share = (broken + (symbols if symbols > _MANY_SYMBOLS * len(text) else 0)) / len(text)
    return 1.0 if share <= MAX_ILLEGIBLE and _is_substituted(text) else min(share, 1.0)


def _is_misread(pair: str) -> bool:
    """Tell whether two characters are the start of one that was written in UTF-8."""
    try:
        data = b"".join(_byte(character) for character in pair)
        data.decode("utf-8")
    except UnicodeEncodeError:
        return False
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True


def _byte(character: str) -> bytes:
    return character.encode("latin-1" if character < "\u0100" else "cp1252")


def _is_substituted(text: str) -> bool:
    """Tell whether Latin letters are distributed as in a language, but are not its letters.

    Either some shift of the alphabet fits far better (as where glyph numbers were taken
    for character codes), or there are too few vowels for letters so uneven.
    """
    letters = Counter(filter(str.isalpha, text.casefold()))
    n_letters = letters.total()
    latin = {c: n for c, n in letters.items() if c in _FREQUENCIES}
    n_latin = sum(latin.values())
    if n_latin < _FEW_LETTERS or n_latin < _LATIN_SHARE * n_letters:
        return False
    coincidence = sum(n * (n - 1) for n in latin.values()) / (n_latin * (n_latin - 1))
    if coincidence < _LANGUAGE_LIKE or len(latin) < len(_FREQUENCIES) // 2:
        return False
    if sum(latin.get(vowel, 0) for vowel in _VOWELS) / n_latin < _FEW_VOWELS:
        return _has_words(text)
    fits = [_misfit(latin, n_latin, shift) for shift in range(len(_FREQUENCIES))]
    return fits[0] > _UNLIKELY and min(fits[1:]) < _CLEAR * fits[0] and _has_words(text)


def _misfit(latin: dict[str, int], n_letters: int, shift: int) -> float:
    """Return chi-squared per letter of the letters, shifted back, against the language's."""
    n_alphabet = len(_FREQUENCIES)
    total = 0.0
    for i, (_, frequency) in enumerate(_FREQUENCIES.items()):
        letter = chr(ord("a") + (i + shift) % n_alphabet)
        expected = n_letters * frequency / _TOTAL
        total += (latin.get(letter, 0) - expected) ** 2 / expected
    return total / n_letters


def _has_words(text: str) -> bool:
    """Tell whether most signs stand in words of prose: not in numbers, abbreviations, code."""
    words = text.split()
    wordlike = [
        len(word) for word in words if sum(map(str.isalpha, word)) >= len(word) - _MARKS_OF_A_WORD
    ]
    letters = sum(wordlike)
    return letters * 2 > sum(map(len, words)) and letters > _MEAN_WORD * len(wordlike)
