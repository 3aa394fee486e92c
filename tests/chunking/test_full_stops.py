from __future__ import annotations

import pytest

from chunking.full_stops import full_stop_ends, is_listed
from chunking.language_rules import rules_for


@pytest.mark.parametrize(
    ("language", "before", "following", "ends"),
    [
        ("en", "It rained", "The", True),
        ("en", "He met Dr", "Smith", False),
        ("en", "nuts, etc", "The", True),
        ("en", "in Ohio, approx", "5 men", False),
        ("en", "Section 4", "General Terms", False),
        ("en", "It was section 4", "General terms apply", True),
        ("en", "5 kg", "Boxes", True),
        ("da", "den 1", "januar", False),
        ("da", "stk. 2, litra a", "Loven", True),
        ("da", "bl. a", "Hansen", False),
        ("de", "z. B", "Berlin", False),
        ("de", "Katzen u. v. m", "Ausnahmen", True),
        ("de", "3,5 Mio", "Euro", False),
        ("de", "im Bundesgesetzbl", "I S. 5", False),
        ("el", "63 π.Χ", "Πέθανε", True),
        ("el", "έτσι, π.χ", "Αθήνα", False),
        ("ru", "А", "С. Пушкин", False),
        ("he", "א", "ב. יהושע", False),
        ("ar", "قال وأ", "علي", False),
        (None, "Das ist z. B", "Berlin", False),
    ],
)
def test_a_full_stop_is_read_by_what_stands_around_it(
    language: str | None, before: str, following: str, *, ends: bool
) -> None:
    """Abbreviations, initials, numbers, labels and units, one of each kind."""
    text = f"{before}. {following}"
    rules = rules_for(language)
    assert full_stop_ends(text, 0, len(before), following, rules, noted=False) is ends


def test_a_note_ends_a_word_but_no_abbreviation() -> None:
    """The digits of a note follow the full stop of a sentence, and numbers abbreviations."""
    rules = rules_for("en")
    for before, ends in (("a large effect", True), ("in vol", False), ("so it is", True)):
        assert full_stop_ends(f"{before}.1 The", 0, len(before), "The", rules, noted=True) is ends


def test_lists_are_asked_as_one() -> None:
    """An abbreviation of any list is one."""
    rules = rules_for("en")
    assert all(is_listed(word, rules) for word in ("mr", "fig", "jan", "etc"))
    assert not is_listed("harbour", rules)
