"""How much of a text another reader's words cover, how many it has too many, in which order.

Both sides are normalised alike, so that differences of taste do not count: NFKC (which
also dissolves ligatures and Arabic presentation forms), case folded, format characters
dropped (soft hyphens, zero-width and bidirectional marks, the tatweel), a hyphen at a
line's end joined with the next line, hyphens between letters dropped (``well-known`` is
``wellknown``). A word is a run of letters or a run of digits, so that punctuation, markup
and the blank before a raised figure do not count either; of scripts written without
blanks (Chinese, Japanese) each character is a word. Where the other reader ends a line in
a hyphen, the two halves apart count as right, too, as a hyphen may belong there; so does
the whole word where that line is the last of a page or column, and the next one goes on
with another.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Coverage", "Words", "coverage", "order", "read_words"]

_HYPHENS = "-\u00ad\u2010\u2011"
_MARKS = "".join(chr(c) for c in range(0x10000) if unicodedata.category(chr(c)).startswith("M"))
_FORMAT = {
    c: None
    for c in range(0x110000)
    if chr(c) == "\u0640" or (unicodedata.category(chr(c)) == "Cf" and chr(c) not in _HYPHENS)
}
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[{_UNSPACED}]|\d+|[^\W\d_{_UNSPACED}][^\W\d_{_UNSPACED}{_MARKS}]*")
_BROKEN = re.compile(rf"(?<=[^\W\d_])[{_HYPHENS}][^\S\n]*\n\s*(?=[^\W\d_])")
_LETTERS = re.compile(r"[^\W\d_]+")
_INNER = re.compile(rf"(?<=[^\W\d_])[{_HYPHENS}](?=[^\W\d_])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The words of a text in order, and the halves of those broken at a line's end."""

    words: tuple[str, ...]
    halves: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Shares from 0 to 1, and the words behind them.

    ``recall``: of the other reader's words, those that ours has, as multisets.
    ``precision``: of our words, those that the other reader has.
    """

    n_words: int
    recall: float
    precision: float
    missing: tuple[str, ...]
    extra: tuple[str, ...]


def read_words(text: str) -> Words:
    """Return the normalised words of a text."""
    plain = unicodedata.normalize("NFKC", text).translate(_FORMAT).casefold()
    joined = _INNER.sub("", _BROKEN.sub("", plain)).replace("\u00ad", "")
    return Words(words=tuple(_WORD.findall(joined)), halves=tuple(_halves(plain)))


def _halves(text: str) -> Iterator[tuple[str, str]]:
    for match in _BROKEN.finditer(text):
        start = match.start()
        while start and text[start - 1].isalpha():
            start -= 1
        tail = _LETTERS.match(text, match.end())
        yield text[start : match.start()], tail[0] if tail else ""


def coverage(theirs: Words, text: Words, beside: Words) -> Coverage:
    """Compare ours with the other reader's words.

    ``text``: the words that are also asked for precision; ``beside``: title and metadata,
    which only fill in what the text lacks.
    """
    wanted, had = Counter(theirs.words), Counter(text.words)
    lacking, extra = wanted - had, had - wanted
    _match_halves(theirs.halves, lacking, extra)
    lacking -= Counter(beside.words)
    n_lacking, n_extra = lacking.total(), extra.total()
    return Coverage(
        n_words=len(theirs.words),
        recall=1 - n_lacking / max(len(theirs.words), 1),
        precision=1 - n_extra / max(len(text.words), 1),
        missing=tuple((+lacking).elements()),
        extra=tuple((+extra).elements()),
    )


def _match_halves(
    halves: Sequence[tuple[str, str]], lacking: Counter[str], extra: Counter[str]
) -> None:
    """Accept what ours makes of words that the other reader joined over the end of a line."""
    ours = sorted(extra)
    for head, after in halves:
        if not (lacking[head + after] and extra[after]):
            continue
        if extra[head]:
            for counter, word in ((lacking, head + after), (extra, head), (extra, after)):
                _take(counter, word)
            continue
        # Theirs goes on with what stands below; the word's real end is somewhere else.
        for word in _that_begin(ours, head):
            if extra[word] and lacking[word[len(head) :]]:
                _take(lacking, head + after)
                _take(lacking, word[len(head) :])
                _take(extra, word)
                _take(extra, after)
                break


def _that_begin(ordered: Sequence[str], head: str) -> Iterator[str]:
    for word in ordered[bisect_left(ordered, head) :]:
        if not word.startswith(head):
            return
        yield word


def _take(counter: Counter[str], word: str) -> None:
    counter[word] -= 1


def order(theirs: Words, ours: Words) -> float:
    """Return the share of words that stand in the same order in both texts.

    Anchors are the words that occur once in each text, and of the others those that do
    together with the word before them; the share is the length of the longest increasing
    run of their positions (M. Fredman, "On computing the length of longest increasing
    subsequences", 1975) over their number. 1 where there is nothing to compare.
    """
    places = dict(_anchors(ours.words))
    matched = [places[key] for key, _ in _anchors(theirs.words) if key in places]
    ends: list[int] = []
    for place in matched:
        at = bisect_left(ends, place)
        ends[at : at + 1] = [place]
    return len(ends) / len(matched) if matched else 1.0


def _anchors(words: Sequence[str]) -> Iterator[tuple[tuple[str, str], int]]:
    single = Counter(words)
    pairs = Counter(itertools.pairwise(words))
    before = ""
    for place, word in enumerate(words):
        if single[word] == 1:
            yield ("", word), place
        elif pairs[before, word] == 1:
            yield (before, word), place
        before = word
