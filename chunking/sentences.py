"""Sentence boundaries as exact spans, in linear time, without a model.

One regular expression finds every place where a sentence may end; constant-time rules
decide. What a full stop means depends on the language (:mod:`chunking.full_stops`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from heapq import merge

from chunking.clauses import clause_cuts
from chunking.full_stops import (
    OPENING_MARKS,
    full_stop_ends,
    is_listed,
    is_unspaced_letter,
)
from chunking.language_rules import LanguageRules, rules_for
from chunking.splitting import joins, span_of
from chunking.unspaced import WordBreaks, word_starts

__all__ = ["MAX_SENTENCE_CHARS", "sentence_spans", "split_sentences"]

MAX_SENTENCE_CHARS = 1000
"""A longer stretch without a sentence end is cut at its best inner places."""

_PIECE_CHARS = 500
_FOLLOWING = 64
_SKIPPED = OPENING_MARKS + " \u00a0\u202f"
_MARGIN = 8

_CLOSERS = (
    "\"'\u2019\u201d\u00bb\u203a)\\]}\u300d\u300f\uff09\u3011\u300b\u3009"
    "\u201c\u2018\u00ab*_\u00b9\u00b2\u00b3\u2070-\u2079\u2020\u2021"
)
_QUOTES = frozenset("\"'\u2018\u2019\u201c\u201d\u00ab\u00bb\u2039\u203a\u300d\u300f*_")
_WIDE_CLOSERS = "\"'\u2019\u201d)\\]\u00bb\u300d\u300f\uff09\u3011\u300b\u3009"
# Marks that end a sentence whatever follows: no blank is written after them.
_WIDE = (
    "\u3002\uff61\uff01\uff1f\uff0e\u0964\u0965\u06d4\u061f"
    "\u1362\u1367\u104b\u17d4\u0589\u2e2e\u037e"
)
_STOPS = ".!?\u2026\u203c\u203d\u2047-\u2049"
_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_FACES = "\U0001f300-\U0001faff\u2639-\u263b\u2764\u2665"
_FACE_PARTS = _FACES + "\ufe0f\u200d\U0001f1e6-\U0001f1ff"
# A word that begins no sentence, as is seen at once.
_PLAIN = "[a-z\u00df-\u00f6\u00f8-\u00ff]{2,}[ ,]"
_BLANK = r"[^\S\n]"
_BULLET = rf"{_BLANK}*(?:[-*\u2022\u2023\u25aa\u2013\u2014]|\(?(?:\d{{1,3}}|[a-z])[.)]){_BLANK}"
# Lines of a transcript: a time of day to the second, or a name in capitals.
_CAPITAL = r"[A-Z\u00c0-\u00de\u0391-\u03a9\u0410-\u042f]"
_NAME = rf"{_CAPITAL}(?:{_CAPITAL}|['.-]){{1,24}}"
_TURN = rf">>|\[?\d{{1,2}}:\d\d:\d\d|\[\d{{1,2}}:\d\d\]|{_NAME}(?:{_BLANK}{_NAME}){{0,2}}:{_BLANK}"
_PART = r"[\w.'\u2019-]"
_NAMED = rf"{_CAPITAL}{_PART}{{0,24}}(?:{_BLANK}{_PART}{{1,24}}){{0,2}}:{_BLANK}"


_REFERENCE = r"(?:\[\d{1,3}\])"


def _places(stops: str) -> re.Pattern[str]:
    """Return the pattern of places where a sentence may end, for these terminators.

    It begins with the set of all marks, which is searched for fastest. Runs are taken
    whole and never given back, so that each is read once. Nothing but a single character
    is repeated possessively: before 3.11.5, Python does not end on a repeated group.
    """
    return re.compile(
        rf"[{stops}{_WIDE}{_FACES}\n](?:"
        rf"(?<=[{_WIDE}])(?P<wide>[{_WIDE}!?]*+[{_WIDE_CLOSERS}]*+)"
        rf"|(?<=[{stops}])(?<![{stops}][{stops}])(?P<stop>[{stops}]*+)"
        rf"(?P<close>{_REFERENCE}*(?!{_REFERENCE})[{_CLOSERS}]*+)"
        rf"(?P<note>(?<=[^\W\d_A-Z][^\W\d_A-Z]\.)\d\d?(?:[,\u2013-]\d\d?)*(?=\s+{_CAPITAL}))?"
        rf"(?=\s|\Z|[{_CJK}])(?! {_PLAIN})"
        rf"|(?<=\n)(?P<line>{_BLANK}*+\n\s*+|(?={_BULLET}|{_TURN}|{_NAMED}))"
        rf"|(?<=[{_FACES}])(?<![{_FACE_PARTS}][{_FACES}])(?P<face>[{_FACE_PARTS}]*+)(?=\s)"
        r")"
    )


_ANY_PLACE = _places(_STOPS)
_GREEK_PLACE = _places(_STOPS + ";")
_FIRST_TURN = re.compile(rf"\s*(?:{_TURN}|{_NAMED}|\[?\d{{1,2}}:\d\d)")
_LATER_TURN = re.compile(rf"(?:{_NAMED}|\d{{1,2}}:\d\d{_BLANK})")
_SURE_LINE = re.compile(rf"{_BULLET}|{_TURN}")
_LINE_NUMBER = re.compile(rf"{_BLANK}*\d{{1,3}}\.{_BLANK}+(\w+)?")
_LAST_WORD = re.compile(r"(\w+)\s*\Z")
# A name of a program or product begins a sentence in small letters, too, and so does
# whatever a typist has set off by two blanks.
_IDENTIFIER = re.compile(r"[a-z]+(?:[A-Z]|\d*_|\d+[\s,]|\()|__\w")
_WIDE_BLANK = re.compile(r"[ \u00a0]{2}")
_PLAIN_WORD = re.compile(r"[^\W\d_]{3,}\)?\Z")
_DUTCH_CAPITAL = re.compile(r"['\u2018\u2019][stn] [A-Z]")
# What still belongs to the sentence, set off by a blank: a French closing mark, an emoji.
_SPACED_END = re.compile(rf"[ \u00a0\u202f](?:[\u00bb\u203a]|[{_FACES}][{_FACE_PARTS}]*+)(?=\s|\Z)")
_SOFT_BREAKS = (
    re.compile(r"\n"),
    re.compile(r"[;:\u2014\u3001\uff0c\u060c\u061b,](?=\s|[\u3000-\u9fff])"),
)


def split_sentences(
    text: str,
    start: int,
    end: int,
    language: str | None,
    word_breaks: WordBreaks | None = None,
) -> list[tuple[int, int]]:
    """Return :func:`sentence_spans`, stretches above :data:`MAX_SENTENCE_CHARS` in pieces.

    Such a stretch (a transcript without marks) is cut at line ends and clauses, else
    between words; ``word_breaks`` finds those of scripts without blanks.
    """
    spans: list[tuple[int, int]] = []
    for span in sentence_spans(text, start, end, language):
        spans.extend(_bounded(text, *span, language, word_breaks))
    return spans


def sentence_spans(text: str, start: int, end: int, language: str | None) -> list[tuple[int, int]]:
    """Return the sentence spans of ``text[start:end]``, absolute and in order.

    Spans are trimmed of blanks at both ends, disjoint, never empty, and cover every
    non-blank code point of the range. ``language`` is an ISO 639 code or None.
    """
    rules = rules_for(language)
    cuts: Iterator[int] = iter(_cuts(text, start, end, rules))
    if rules.clauses_at_blanks:
        cuts = merge(cuts, clause_cuts(text, start, end))
    spans: list[tuple[int, int]] = []
    position = start
    for cut in (*cuts, end):
        if cut > position:
            first, last = span_of(text, position, cut)
            if first < last:
                spans.append((first, last))
            position = cut
    return spans


def _cuts(text: str, start: int, end: int, rules: LanguageRules) -> list[int]:
    cuts = []
    turns = _FIRST_TURN.match(text, start, end) is not None
    pattern = _GREEK_PLACE if rules.greek else _ANY_PLACE
    for match in pattern.finditer(text, start, end):
        kind = match.lastgroup
        if match.start() < start:
            continue
        if kind == "line":
            ends = bool(match["line"]) or _line_ends(text, start, match.end(), rules, turns=turns)
        elif kind == "face":
            ends = _face_ends(text, start, end, match)
        elif kind == "wide":
            ends = _wide_ends(text, end, match, rules)
        else:
            ends = _stop_ends(text, start, end, match, rules)
        if ends:
            spaced = _SPACED_END.match(text, match.end(), end) if kind != "line" else None
            start = spaced.end() if spaced else match.end()
            cuts.append(start)
    return cuts


def _stop_ends(text: str, start: int, end: int, match: re.Match[str], rules: LanguageRules) -> bool:
    at, after = match.span()
    piece = text[after : min(end, after + _FOLLOWING)].lstrip()
    # Only blanks follow for so long that no sentence goes on; or Spanish opens one.
    if not piece or piece[0] in "\u00bf\u00a1":
        return True
    following = piece if piece[0].isalnum() else piece.lstrip(_SKIPPED) or piece
    if after < end and not text[after].isspace():
        return at > start and is_unspaced_letter(text[at - 1]) and not match["close"]
    first = following[0]
    if first in ".!?\u2026" and not following[1:2].isalnum():
        return False
    if first.islower() and following[1:2] != ")":
        return _opens_small(text, match, piece, following, rules)
    close = match["close"]
    if close and close[-1] in _QUOTES:
        return not (rules.reporting and rules.reporting.match(following))
    if match["stop"] or text[at] != ".":
        return True
    return full_stop_ends(text, start, at, following, rules, noted=match["note"] is not None)


def _opens_small(
    text: str, match: re.Match[str], piece: str, following: str, rules: LanguageRules
) -> bool:
    """Return whether a sentence begins here in spite of its small letter."""
    if rules.code == "nl" and _DUTCH_CAPITAL.match(piece):
        return True
    at = match.start()
    wide = _WIDE_BLANK.match(text, match.end()) is not None
    if match["close"] or match["stop"] or not (wide or _IDENTIFIER.match(following)):
        return False
    word = _PLAIN_WORD.search(text, max(0, at - _FOLLOWING), at)
    return word is not None and not is_listed(word[0].lower(), rules)


def _wide_ends(text: str, end: int, match: re.Match[str], rules: LanguageRules) -> bool:
    """Decide for a mark that no blank follows: no end where a quotation is only reported."""
    at, after = match.span()
    if text[at] == "\uff0e" and after == at + 1 and at and text[at - 1].isdigit():
        return False
    last = text[after - 1]
    if after == end:
        return True
    if last in "\u300d\u300f\uff09" and "\u3040" <= text[after] <= "\u309f":
        return False
    quoted = last in _QUOTES or (rules.code == "ja" and last in "\uff01\uff1f")
    if not quoted or rules.reporting is None:
        return True
    after += text[after].isspace()
    return rules.reporting.match(text, after, end) is None


def _face_ends(text: str, start: int, end: int, match: re.Match[str]) -> bool:
    """Decide for an emoji with a blank after it: an end before a capital or another script."""
    following = text[match.end() : min(end, match.end() + _FOLLOWING)].lstrip()[:1]
    before = text[max(start, match.start() - _FOLLOWING) : match.start()]
    if not before or before.isspace():
        return False
    return following.isalpha() and not following.islower()


def _line_ends(text: str, start: int, at: int, rules: LanguageRules, *, turns: bool) -> bool:
    """Decide for a line end before what looks like a list item or a speaker's turn.

    ``turns``: the paragraph begins as a transcript or a list of names and values does.
    """
    # A scan breaks lines inside brackets and dates, too: "(annex" / "2) and", "den" / "12. maj".
    before = text[max(start, at - _FOLLOWING) : at]
    if before.count("(") > before.count(")"):
        return False
    number = _LINE_NUMBER.match(text, at)
    if number is not None:
        word = _LAST_WORD.search(before)
        article = word is not None and word[1] in rules.openers
        return not article and (number[1] or "").lower() not in rules.months
    if _SURE_LINE.match(text, at):
        return True
    return turns and _LATER_TURN.match(text, at) is not None


def _bounded(
    text: str, start: int, end: int, language: str | None, word_breaks: WordBreaks | None
) -> Iterator[tuple[int, int]]:
    """Yield a span, in pieces where it is too long."""
    while end - start > MAX_SENTENCE_CHARS:
        limit = start + _PIECE_CHARS
        words = word_starts(text, start, limit + _MARGIN, language, word_breaks)
        cut = _inner_cut(text, start, limit, words)
        yield span_of(text, start, cut)
        # Step by step: the rest of a long text is not copied for each piece.
        start = cut
        while text[start].isspace():
            start += 1
    if start < end:
        yield start, end


def _inner_cut(text: str, start: int, limit: int, words: frozenset[int]) -> int:
    """Return the best place to cut in the second half of ``text[start:limit]``."""
    half = (start + limit) // 2
    for pattern in _SOFT_BREAKS:
        last = None
        for match in pattern.finditer(text, half, limit):
            last = match.end()
        if last is not None:
            return last
    for at in range(limit, half, -1):
        if text[at].isspace():
            return at
    inner = [at for at in words if half < at <= limit]
    if inner:
        return max(inner)
    for at in range(limit, half, -1):
        if not joins(text, at):
            return at
    return limit
