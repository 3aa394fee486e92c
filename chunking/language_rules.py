"""How to read a full stop in one language, gathered from the word lists once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from chunking import languages

__all__ = ["LanguageRules", "rules_for", "words"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageRules:
    """The word lists of :mod:`chunking.languages` for one language.

    ``listed``: the words of all four lists. ``ordinals``: a number with a full stop
    counts as an ordinal. ``nouns``: nouns have capitals, so that a capital says little.
    ``letters``: small letters that abbreviate, None for all. ``endings``: abbreviations
    that end longer words, before a number. ``reporting``: what goes on after a quotation.
    """

    code: str
    open_words: frozenset[str]
    numbered: frozenset[str]
    either_words: frozenset[str]
    closing: frozenset[str]
    listed: frozenset[str]
    openers: frozenset[str]
    months: frozenset[str]
    ordinals: bool
    nouns: bool
    letters: frozenset[str] | None
    endings: tuple[str, ...]
    reporting: re.Pattern[str] | None

    @property
    def greek(self) -> bool:
        """Whether a semicolon is a question mark."""
        return self.code == "el"

    @property
    def clauses_at_blanks(self) -> bool:
        """Whether blanks stand between clauses and sentences have no mark at their end."""
        return self.code in ("th", "lo")


def rules_for(language: str | None) -> LanguageRules:
    """Return the rules for an ISO 639 code or BCP 47 tag; None means unknown."""
    code = (language or "").replace("_", "-").split("-")[0].lower()
    return _rules(languages.ALIASES.get(code, code))


def words(text: str) -> frozenset[str]:
    """Return the words of a list."""
    return frozenset(text.split())


# Those English and shared entries that are no common words in other languages.
_EVERYWHERE = {
    "open": words("mr mrs ms dr prof vs cf e.g i.e"),
    "numbered": words("fig eq vol nr art ca"),
    "either": words("inc ltd corp u.s u.k u.n e.u u.s.a ph.d"),
    "closing": words("etc"),
}
_UNKNOWN_OPEN = "f.eks z.b d.h bl.a p.ex p.ej p.es bijv bzw vgl hr dhr sr sra np"
_UNKNOWN_CLOSING = "etc osv usw enz ecc m.m itd atd"


@cache
def _rules(code: str) -> LanguageRules:
    known = code in languages.LANGUAGES
    own = _own_lists(code) if known else _lists_of_unknown()
    letters = languages.LETTERS.get(code)
    reporting = languages.REPORTING.get(code)
    return LanguageRules(
        code=code,
        open_words=own["open"],
        numbered=own["numbered"],
        either_words=own["either"],
        closing=own["closing"],
        listed=frozenset().union(*own.values()),
        openers=_openers(code),
        months=_months(code, known=known),
        ordinals=code in words(languages.ORDINALS),
        nouns=code == "de",
        letters=None if letters is None else words(letters),
        endings=tuple(languages.ENDINGS.get(code, "").split()),
        reporting=None if reporting is None else re.compile(reporting),
    )


def _openers(code: str) -> frozenset[str]:
    if code in languages.OPENERS:
        return words(languages.OPENERS[code])
    return frozenset().union(*(words(languages.OPENERS[one]) for one in ("en", "da", "de", "sv")))


def _months(code: str, *, known: bool) -> frozenset[str]:
    if known:
        return words(languages.MONTHS["en"]) | words(languages.MONTHS.get(code, ""))
    return frozenset().union(*map(words, languages.MONTHS.values()))


def _own_lists(code: str) -> dict[str, frozenset[str]]:
    """Return the lists of a language; its own reading of a word beats the shared one."""
    tables = {
        "open": languages.OPEN,
        "numbered": languages.NUMBERED,
        "either": languages.EITHER,
        "closing": languages.CLOSING,
    }
    lists = {name: words(table.get(code, "")) for name, table in tables.items()}
    listed = frozenset().union(*lists.values())
    return {name: own | (_EVERYWHERE[name] - listed) for name, own in lists.items()}


def _lists_of_unknown() -> dict[str, frozenset[str]]:
    lists = _own_lists("en")
    lists["open"] |= words(_UNKNOWN_OPEN)
    lists["closing"] |= words(_UNKNOWN_CLOSING)
    return lists
