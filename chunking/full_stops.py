"""Whether a full stop ends its sentence: abbreviations, initials, numbers and labels.

The order of the rules is the usual one (Kiss and Strunk, 2006, section 2), with word
lists instead of statistics. Each looks at a bounded stretch around the full stop.
"""

from __future__ import annotations

import re
import unicodedata

from chunking.language_rules import LanguageRules, words

__all__ = ["OPENING_MARKS", "full_stop_ends", "is_listed", "is_unspaced_letter"]

OPENING_MARKS = (
    "\"'\u2018\u2019\u201c\u201d\u201e\u201a\u00ab\u00bb\u2039\u203a([{\u00bf\u00a1"
    "\u300c\u300e*_-\u2013\u2014"
)

_LOOK_BACK = 48
_LABEL_CHARS = 24
_LIST_DIGITS = 3
_LONGEST_NUMBER = 6
_LAST_DAY = 31
_FEW = 3
_ARABIC_AND = "\u0648"

_WORD = re.compile(r"\w[\w'\u2019-]*")
_DOTTED = re.compile(r"(?:[^\W\d_]{1,3}\.)+[^\W\d_]{1,3}\Z")
_ORDINAL = re.compile(r"(?:\d{1,3}|\d{1,2}\.\d{1,2}|[ivxlcIVXLC]{1,6})\Z")
_LIST_NUMBER = re.compile(r"(?:\d{1,3}(?:\.\d{1,3})*|[^\W\d_]|[IVXLC]{1,6})\Z")
# Short words without a vowel are abbreviations in most languages.
_VOWELLESS = re.compile(r"[bcdfghjklmnpqrstvwxz]{2,5}\Z")
# No word of a Germanic language ends so.
_CODA = re.compile(r"[^\W\d_]*[bcdfgkpqtvxzn]l\Z")
_SPACED = re.compile(r"(?:[^\W\d_]{1,3}\.[ \u00a0\u202f]?){1,4}\Z")
_NUMBER_FOLLOWS = re.compile(r"\d|\u00a7|[IVXLC]{1,6}\b|[A-Z]\b(?!\.)|[a-z]\)")
_INITIAL_FOLLOWS = re.compile(r"[^\W\d_]\.")
_SHORT_FOLLOWS = re.compile(r"\S{1,3}\.")
_DATE_PART_FOLLOWS = re.compile(r"\d{1,2}\.(?:\s|\Z)")
# Codes of currencies and laws go on after an amount or a reference: "mio. EUR", "ff. StGB".
_CODE = re.compile(r"[^\W\d_]*[A-Z][^\W\d_]*[A-Z]")
_ORDINAL_BEFORE = re.compile(r"\d{1,3}\.\Z")
_TAIL = re.compile(r"[-\u2013(/'\u2019]")
_LABEL = re.compile(
    r"\W{0,3}(?:(?P<word>[^\W\d_]{1,12})\.?|\u00a7{1,2})\s?\d{1,4}(?:\.\d{1,3})*\s?[a-z]?\Z"
)
_LABEL_WORDS = words(
    "section chapter article figure table part step rule kapitel artikel artikkel figur tabel "
    "tabell tabelle abbildung teil schritt punkt trin afsnit del paragraf paragraph chapitre titre "
    "tableau capítulo artículo tabla sección capitolo articolo sezione tabella artigo tabela "
    "rozdział artykuł глава статья раздел рисунок таблица kapitola článek luku madde bölüm "
    "hoofdstuk fejezet άρθρο κεφάλαιο"
)
# What a letter may name: after it, the letter is the end of its name.
_LETTER_WORDS = words(
    "litra bokstav bogstav sub buchstabe lit letra lettera point punkt variant option type class "
    "plan vitamin group gruppe grupp klasse klass appendix annex bilag bilaga anhang anlage annexe "
    "anexo allegato groupe grupo gruppo hepatitis"
)
_AFTER_CLOCK = words(
    "monday tuesday wednesday thursday friday saturday sunday est edt cst cdt mst mdt pst pdt et "
    "ct pt gmt utc bst cet eastern central pacific"
)
_GERMANIC = frozenset({"en", "da", "de", "nl", "no", "sv"})
_UNITS = words("qm kg g mg km m cm mm l dl cl ml h t ha kwh mwh gb mb kb bn mn")
_ARTICLES = words("den det de der d denne dette")
_DOMAINS = words(
    "com org net edu gov int info dk de no se fi nl fr es it pt pl ru gr tr uk eu io us ch at be "
    "cz hu jp cn kr in il"
)


def full_stop_ends(
    text: str, start: int, at: int, following: str, rules: LanguageRules, *, noted: bool
) -> bool:
    """Decide for the full stop at ``at`` in the sentence that begins at ``start``.

    ``following``: the visible text after it, opening marks left out; it begins with no
    small letter. ``noted``: the digits of a note stand between.
    """
    low = max(start, at - _LOOK_BACK)
    # The usual case first: a plain word of some length that is in no list.
    plain = text[max(text.rfind(" ", low, at) + 1, low) : at]
    if len(plain) > _LIST_DIGITS and plain.isalpha() and not plain.isupper():
        key = plain.lower()
        if key not in rules.listed:
            return _word_ends(plain, key, following, rules)
    before = text[low:at]
    parts = before.rsplit(None, 2)
    raw = parts[-1] if parts and not before[-1:].isspace() else ""
    word = raw.lstrip(OPENING_MARKS)
    if not word:
        return True
    key = word.lower()
    if noted:
        return len(key) > _LIST_DIGITS or not is_listed(key, rules)
    previous = parts[-2] if len(parts) > 1 else ""
    if _numbers_item(word) and at - len(raw) <= start + len(before) - len(before.lstrip()):
        return False
    spaced = ""
    if previous[-1:] == "." and (len(word) == 1 or key not in rules.listed):
        spaced = _spaced(text, start, at, word, rules)
    known = _known_word((word, spaced, key), previous, following, rules)
    if known is not None:
        return known
    if len(word) <= _LONGEST_NUMBER and (key.isdigit() or _ORDINAL.match(word)):
        labels = at - start <= _LABEL_CHARS and _is_label(text[start:at], rules)
        return not labels and _number_ends(word, previous, following, rules)
    if _is_initial(word):
        return _initial_ends(word, previous, following, rules)
    return _word_ends(word, key, following, rules)


def _numbers_item(word: str) -> bool:
    """Return whether a word is a number or letter as items of lists have."""
    return (len(word) == 1 or not word[0].islower()) and _LIST_NUMBER.match(word) is not None


def _compound(word: str, rules: LanguageRules) -> bool:
    """Return whether an abbreviation stands at the end of another word, as of a street."""
    return word.lower().endswith(rules.endings) if rules.endings else False


def is_listed(key: str, rules: LanguageRules) -> bool:
    """Return whether a word is an abbreviation of any list."""
    return key in rules.listed


def _known_word(
    names: tuple[str, str, str], previous: str, following: str, rules: LanguageRules
) -> bool | None:
    """Decide for the words of the lists, None for all others.

    ``names``: the word as it is written, with the parts before it and without their
    blanks, and in small letters.
    """
    word, _, key = names
    if word in rules.closing or (key in _UNITS and previous[-1:].isdigit()):
        return _closing_ends(word, following, rules)
    if key[0] == _ARABIC_AND and key[1:] in rules.open_words:
        return False
    for name in names[1:]:
        if name not in rules.listed:
            continue
        if name in rules.closing:
            return _closing_ends(name, following, rules)
        if name in rules.open_words:
            return False
        if name in rules.numbered and _NUMBER_FOLLOWS.match(following):
            return False
        if name in rules.numbered and not rules.nouns and _ORDINAL_BEFORE.match(previous):
            return _closing_ends(name, following, rules)
        return _opens(following, rules) or name == "no"
    return None


def _spaced(text: str, start: int, at: int, word: str, rules: LanguageRules) -> str:
    """Return the listed abbreviation that ``word`` ends, without its blanks, or nothing."""
    low = max(start, at - _LABEL_CHARS)
    head = _SPACED.search(text, low, at - len(word))
    parts = head.group().replace(".", ". ").lower().split() if head else []
    for first in range(len(parts)):
        name = "".join(parts[first:]) + word.lower()
        if is_listed(name, rules):
            return name
    return ""


def _closing_ends(name: str, following: str, rules: LanguageRules) -> bool:
    if name in ("a.m", "p.m") and _next_word(following) in _AFTER_CLOCK:
        return False
    if _opens(following, rules):
        return True
    return following[0].isalpha() and not _CODE.match(following)


def _opens(following: str, rules: LanguageRules) -> bool:
    return _next_word(following) in rules.openers


def _next_word(following: str) -> str:
    match = _WORD.match(following)
    return match.group().lower() if match else ""


def _is_label(sentence: str, rules: LanguageRules) -> bool:
    """Return whether a sentence so far is only a label such as ``Art. 2`` or ``§ 1``."""
    match = _LABEL.match(sentence)
    if match is None:
        return False
    word = (match["word"] or "").lower()
    return not word or word in rules.numbered or word in _LABEL_WORDS


def _number_ends(word: str, previous: str, following: str, rules: LanguageRules) -> bool:
    next_word = _next_word(following)
    if next_word in rules.months and len(word) < _LIST_DIGITS:
        return False
    if not word[0].isdigit():
        if word.islower() and len(word) > 1:
            return True
        if len(word) == 1 and not rules.ordinals:
            return _initial_ends(word, previous, following, rules)
    if rules.code in ("ko", "hu") and _is_date_part(word, previous, following):
        return False
    if not rules.ordinals or not _ORDINAL.match(word):
        return True
    return _ordinal_ends(word, previous, following, rules) or next_word in rules.openers


def _is_date_part(word: str, previous: str, following: str) -> bool:
    """Return whether a number goes on with, or ends, a date such as ``2021. 5. 12.``."""
    if _DATE_PART_FOLLOWS.match(following):
        return True
    return previous[-1:] == "." and previous[:-1].isdigit() and len(word) < _LIST_DIGITS


def _ordinal_ends(word: str, previous: str, following: str, rules: LanguageRules) -> bool:
    """Return whether a number is no ordinal: a clause's, a page's, or no day of a month."""
    if following[0] == "\u00a7":
        return False
    before = previous.lower().lstrip(OPENING_MARKS)
    if before.rstrip(".") in rules.numbered or before[:1] == "\u00a7" or before.endswith("str."):
        return True
    if rules.nouns or not word[0].isdigit():
        return False
    if "." in word or int(word) > _LAST_DAY:
        return True
    # Where nouns have no capitals, one follows an ordinal in names only: of wars, of kings.
    return not (before in _ARTICLES or previous[:1].isupper() or int(word) <= _FEW)


def _is_initial(word: str) -> bool:
    """Return whether a word is one letter, marks aside."""
    if len(word) == 1:
        return word.isalpha()
    return word > "\u0300" and all(unicodedata.category(mark)[0] == "M" for mark in word[1:])


def _initial_ends(word: str, previous: str, following: str, rules: LanguageRules) -> bool:
    if is_unspaced_letter(word[0]):
        return True
    if "\u0e00" <= word[0] <= "\u0eff":
        return False
    if not (word[0].isupper() or word[0].islower()):
        chain = previous[-1:] == "." and len(previous) <= _LIST_DIGITS
        return not (chain or _SHORT_FOLLOWS.match(following))
    if _INITIAL_FOLLOWS.match(following):
        return False
    if previous.lower() in _LETTER_WORDS or (word == "I" and rules.code in ("en", "")):
        return True
    chain = previous[-1:] == "." and len(previous) <= _LIST_DIGITS + 1
    if word.islower() and rules.letters is not None and word not in rules.letters and not chain:
        return True
    return _opens(following, rules)


def is_unspaced_letter(character: str) -> bool:
    """Return whether a character is kana, a Han character or a syllable of Hangul."""
    return "\u3040" <= character <= "\u9fff" or "\uac00" <= character <= "\ud7af"


def _word_ends(word: str, key: str, following: str, rules: LanguageRules) -> bool:
    """Decide for words in no list by their shape, and by the part that is in a list."""
    if _looks_short(word, rules):
        return not _NUMBER_FOLLOWS.match(following) and _opens(following, rules)
    if "\u0e00" <= word[-1] <= "\u0eff":
        return len(word) > _LIST_DIGITS + 1 and "." not in word
    if _compound(word, rules):
        return not _NUMBER_FOLLOWS.match(following)
    return word.isalpha() or _joined_ends(word, key, following, rules)


def _looks_short(word: str, rules: LanguageRules) -> bool:
    """Return whether no word of the language is spelt so: without a vowel, or with such an end."""
    if _VOWELLESS.match(word):
        return True
    return word[-1] == "l" and rules.code in _GERMANIC and _CODA.match(word) is not None


def _joined_ends(word: str, key: str, following: str, rules: LanguageRules) -> bool:
    """Decide for words of several parts: domains, titles, initials, elided articles."""
    if "." in key:
        parts = key.split(".")
        if parts[-1] in _DOMAINS and any(len(part) > 1 for part in parts[:-1]):
            return True
        if parts[0] in rules.open_words and len(parts[0]) > 1:
            return False
        if _DOTTED.match(word):
            return _opens(following, rules)
    tail = _TAIL.split(key)[-1]
    if len(tail) == 1 and tail.isalpha() and key[-2:-1] == "-":
        return _opens(following, rules)
    if tail != key and tail in rules.numbered:
        return not _NUMBER_FOLLOWS.match(following)
    return tail == key or tail not in rules.open_words
