from __future__ import annotations

import pytest

from chunking import languages
from chunking.language_rules import rules_for

TABLES = {
    "open": languages.OPEN,
    "numbered": languages.NUMBERED,
    "either": languages.EITHER,
    "closing": languages.CLOSING,
}


@pytest.mark.parametrize("name", TABLES)
def test_words_are_written_as_they_are_looked_up(name: str) -> None:
    """Small letters but for those told apart by a capital, no last full stop, each once."""
    for language, listed in TABLES[name].items():
        found = listed.split()
        assert len(found) == len(set(found)), language
        assert not any(word.endswith(".") for word in found), language
        assert [word for word in found if word != word.lower()] in ([], ["π.Χ", "μ.Χ"]), language


def test_a_word_has_one_meaning() -> None:
    """What never ends a sentence neither may nor does."""
    for language in languages.LANGUAGES:
        meanings = [set(TABLES[name].get(language, "").split()) for name in TABLES]
        never, numbered, either, closing = meanings
        assert not never & numbered, language
        assert not never & either, language
        assert not never & closing, language
        assert not either & closing, language


def test_tables_speak_of_languages_that_have_rules() -> None:
    """No entry stands under a code that is never looked up."""
    others = (languages.OPENERS, languages.MONTHS, languages.LETTERS, languages.REPORTING)
    for table in (*TABLES.values(), *others, languages.ENDINGS):
        assert set(table) <= languages.LANGUAGES


@pytest.mark.parametrize(
    ("tag", "code"),
    [("nb-NO", "no"), ("DE_at", "de"), ("iw", "he"), ("pt-BR", "pt"), ("", ""), (None, "")],
)
def test_tags_lead_to_their_language(tag: str | None, code: str) -> None:
    """A region, an older code and capitals do not matter; no language is one of its own."""
    assert rules_for(tag).code == code


def test_own_words_go_before_shared_ones() -> None:
    """A word that all languages share is read as the language's own lists say."""
    assert "ca" in rules_for("da").numbered
    assert "etc" in rules_for("tr").closing
    assert "st" in rules_for("en").either_words
    assert "st" in rules_for("de").open_words
    assert "dr" in rules_for("xx").open_words
    assert "z.b" in rules_for(None).open_words
