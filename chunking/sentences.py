"""Sentence boundaries as exact spans, in linear time, without a model.

One regular expression finds every candidate terminator; for a full stop followed
by a blank a few constant-time rules decide (word before, word after, language).
The rules follow the usual rule-based order (Kiss and Strunk, 2006, section 2:
abbreviations, initials, ordinals), with word lists instead of statistics.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from chunking.languages import LanguageRules, rules_for
from chunking.splitting import joins, span_of
from chunking.unspaced import WordBreaks, word_starts

__all__ = ["MAX_SENTENCE_CHARS", "sentence_spans", "split_sentences"]

MAX_SENTENCE_CHARS = 1000
"""A longer stretch without a sentence end is cut at its best inner places."""

_PIECE_CHARS = 500
_LOOK_BACK = 48
_FOLLOWING = 64
_LIST_DIGITS = 3
_LONGEST_LISTED = 8
_MARGIN = 8

_CLOSERS = (
    "\"'\u2019\u201d\u00bb\u203a)\\]}\u300d\u300f\uff09\u3011\u300b\u3009\u201c\u2018\u00ab*_"
)
_WIDE_CLOSERS = "\"'\u2019\u201d)\\]\u300d\u300f\uff09\u3011\u300b\u3009"
_OPENERS = (
    "\"'\u2018\u201c\u201e\u201a\u00ab\u00bb\u2039\u203a([{\u00bf\u00a1\u300c\u300e*_-\u2013\u2014"
)
# Marks that end a sentence whatever follows: no blank is written after them.
_NO_BLANK_NEEDED = (
    "\u3002\uff61\uff01\uff1f\uff0e\u0964\u0965\u06d4\u061f"
    "\u1362\u1367\u104b\u17d4\u0589\u2e2e\u037e"
)
_BULLET = r"[^\S\n]*(?:[-*\u2022\u2023\u25aa\u2013\u2014]|\(?(?:\d{1,3}|[a-z])[.)])[^\S\n]"

_STOPS = r".!?\u2026\u203c\u203d\u2047-\u2049"

# Every repeat starts where its run starts, never inside it: a run of dots, blanks or
# brackets is read once, whatever its length.
_CANDIDATE = re.compile(
    rf"(?P<wide>[{_NO_BLANK_NEEDED}][{_NO_BLANK_NEEDED}!?]*[{_WIDE_CLOSERS}]*)"
    rf"|(?<![{_STOPS}])(?P<stop>[{_STOPS}]+)"
    rf"(?P<close>(?:\[\d{{1,3}}\])*[{_CLOSERS}]*)"
    r"(?=\s|\Z|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])"
    rf"|(?P<line>\n(?:[^\S\n]*\n\s*|(?={_BULLET})))"
)
_GREEK_QUESTION = re.compile(r";(?=\s)")
_DOTTED = re.compile(r"(?:[^\W\d_]{1,3}\.)+[^\W\d_]{1,3}\Z")
_ORDINAL = re.compile(r"(?:\d{1,3}|\d{1,2}\.\d{1,2}|[ivxlcIVXLC]{1,6})\Z")
# Short words without a vowel are abbreviations in most languages; "ff." closes a reference.
_VOWELLESS = re.compile(r"(?!ff\Z)[bcdfghjklmnpqrstvwxz]{2,5}\Z")
_WORD = re.compile(r"\w[\w'\u2019-]*")
_SOFT_BREAKS = (
    re.compile(r"\n"),
    re.compile(r"[;:\u2014\u3001\uff0c\u060c,](?=\s|[\u3000-\u9fff])"),
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
    greek = (language or "").lower().startswith("el")
    spans: list[tuple[int, int]] = []
    position = start
    for cut in [*_cuts(text, start, end, rules, greek=greek), end]:
        if cut > position:
            first, last = span_of(text, position, cut)
            if first < last:
                spans.append((first, last))
            position = cut
    return spans


def _cuts(text: str, start: int, end: int, rules: LanguageRules, *, greek: bool) -> list[int]:
    cuts = []
    first = start
    for match in _CANDIDATE.finditer(text, start, end):
        if match.lastgroup == "line" or _ends_here(text, start, end, match, rules):
            start = _after_spaced_closer(text, match.end(), end)
            cuts.append(start)
    if greek:
        cuts.extend(match.end() for match in _GREEK_QUESTION.finditer(text, first, end))
        cuts.sort()
    return cuts


def _ends_here(text: str, start: int, end: int, match: re.Match[str], rules: LanguageRules) -> bool:
    if match.lastgroup == "wide":
        return not _quoted_clause(text, match, end)
    at = match.start("stop")
    following = _following(text, match.end(), end)
    if not following:
        return True
    if match.end() < end and not text[match.end()].isspace():
        return at > start and _is_cjk(text[at - 1])
    if following[0].islower():
        return False
    quoted = match.group("close")[-1:] not in (")", "]", "}", "")
    if quoted or match.group("stop") != ".":
        return True
    return _full_stop_ends(text, start, at, following, rules)


def _full_stop_ends(text: str, start: int, at: int, following: str, rules: LanguageRules) -> bool:
    """Decide for a full stop at ``at`` that is followed by a blank and no small letter."""
    before = text[max(start, at - _LOOK_BACK) : at]
    words = before.rsplit(None, 1)
    word = words[-1].lstrip(_OPENERS) if words and not before[-1:].isspace() else ""
    # The usual case first: a long lower-case word is no abbreviation in any list.
    if not word or (len(word) > _LONGEST_LISTED and word.isalpha()):
        return True
    next_word = _next_word(following)
    key = word.lower()
    if key in rules.open_words:
        return False
    if key.isdigit() or _ORDINAL.match(word):
        if len(word) <= _LIST_DIGITS and _opens_line(text, start, at - len(word)):
            return False
        return _number_ends(word, next_word, rules)
    if len(word) == 1:
        return _single_letter_ends(word, next_word, rules)
    if key in rules.either_words or _DOTTED.match(word):
        return next_word in rules.openers
    if _VOWELLESS.match(word) or key.rsplit("/", 1)[-1] in rules.open_words:
        return next_word in rules.openers
    tail = key.rsplit("-", 1)[-1].rsplit("(", 1)[-1]
    return tail not in rules.open_words


def _number_ends(word: str, next_word: str, rules: LanguageRules) -> bool:
    if next_word in rules.months and len(word) < _LIST_DIGITS:
        return False
    if not word[0].isdigit():
        if word.islower() and len(word) > 1:
            return True
        if len(word) == 1 and not rules.ordinals:
            return _single_letter_ends(word, next_word, rules)
    if rules.ordinals and _ORDINAL.match(word):
        return next_word in rules.openers
    return True


def _single_letter_ends(word: str, next_word: str, rules: LanguageRules) -> bool:
    if unicodedata.category(word) == "Lo" or not word.isalpha():
        return True
    if word == "I" and "i" in rules.openers and "the" in rules.openers:
        return True
    return next_word in rules.openers


def _opens_line(text: str, start: int, at: int) -> bool:
    """Return whether only blanks and brackets stand between the line's start and ``at``."""
    head = text[max(start, at - _MARGIN) : at].rstrip(" \t(")
    return head.endswith("\n") or (not head and at - start <= _MARGIN)


def _following(text: str, at: int, end: int) -> str:
    """Return a few words after ``at``, leading blanks and opening marks left out.

    Empty where only blanks follow for so long that no sentence can go on.
    """
    piece = text[at : min(end, at + _FOLLOWING)].lstrip()
    return piece.lstrip(_OPENERS + " ") or piece


def _next_word(following: str) -> str:
    match = _WORD.match(following)
    return match.group().lower() if match else ""


def _quoted_clause(text: str, match: re.Match[str], end: int) -> bool:
    """Return whether Japanese goes on after a closing bracket, as in a quotation with to."""
    after = match.end()
    closer = text[after - 1]
    return closer in "\u300d\u300f\uff09" and after < end and "\u3040" <= text[after] <= "\u309f"


def _after_spaced_closer(text: str, at: int, end: int) -> int:
    """Take a French closing mark, set off by a non-breaking blank, into the sentence."""
    if at + 1 < end and text[at] in "\u00a0\u202f" and text[at + 1] in "\u00bb\u203a":
        return at + 2
    return at


def _is_cjk(character: str) -> bool:
    return "\u3040" <= character <= "\u9fff" or "\uac00" <= character <= "\ud7af"


def _bounded(
    text: str, start: int, end: int, language: str | None, word_breaks: WordBreaks | None
) -> Iterator[tuple[int, int]]:
    """Yield a span, in pieces where it is too long."""
    while end - start > MAX_SENTENCE_CHARS:
        limit = start + _PIECE_CHARS
        words = word_starts(text, start, limit + _MARGIN, language, word_breaks)
        cut = _inner_cut(text, start, limit, words)
        yield span_of(text, start, cut)
        start, end = span_of(text, cut, end)
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
