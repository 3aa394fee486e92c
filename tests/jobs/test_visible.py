from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.visible import visible, visible_line
from tests.inspected import HOSTILE


@given(st.text())
def test_nothing_that_acts_is_left(text: str) -> None:
    """Of controls only tabs and line feeds stay, and no text is shortened."""
    shown = visible(text)
    assert [c for c in shown if unicodedata.category(c) in ("Cc", "Cs") and c not in "\t\n"] == []
    assert len(shown) >= len(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_signs_take_the_place_of_what_is_hidden(text: str) -> None:
    """Control pictures and numbers in brackets stand for what would not be seen."""
    shown = visible(text)
    assert shown.isprintable()
    assert "\u27e8U+" in shown or "\u2400" in shown


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "r\u00f8dgr\u00f8d e\u0301",
        "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "a\tb\nc",
        "so\u00adft",
    ],
)
def test_writing_stays_as_it_is(text: str) -> None:
    """Letters, marks, joiners, emoji and soft hyphens are not touched."""
    assert visible(text) == text


def test_a_line_is_one_and_short() -> None:
    """Runs of blanks are one, and a long line says that it was cut."""
    assert visible_line(" a\n\n b\t c ") == "a b c"
    assert visible_line("abcdef", 4) == "abc\u2026"
    assert visible_line("abcd", 4) == "abcd"
