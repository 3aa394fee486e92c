from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from chunking import sentences
from chunking.full_stops import full_stop_ends
from chunking.sentences import MAX_SENTENCE_CHARS, split_sentences
from tests.chunking.sentence_cases import CASES, KNOWN_WRONG
from tests.chunking.strategies import ODD, WORDS

ALL = [(language, marked) for language, cases in CASES.items() for marked in cases]
MARKS = [". ", "? ", "。", "\n", "\n\n", " ", "3.", "z. B. ", "...", "»", " »", "\nANNA: ", "\n2. "]
MARKS += [
    "; ",
    " \U0001f600 ",
    "」と",
    "．",
    "a) ",
    "¿",
    "א. ",
    "ครับ ",
    "arg0",
    "[1]",
    "etc. ",
    "।",
    "؟",
]
REQUIRED = "en da de fr es it nl sv no pt pl ru el tr zh ja ko ar he hi th"


def parts(marked: str, language: str | None) -> tuple[list[str], list[str]]:
    """Return what a marked text is split into, and what it should be split into."""
    text = marked.replace("|", "")
    spans = split_sentences(text, 0, len(text), language or None)
    return [text[start:end] for start, end in spans], [part.strip() for part in marked.split("|")]


@pytest.mark.parametrize(("language", "marked"), ALL)
def test_hand_made_cases(language: str, marked: str) -> None:
    """Each case splits exactly where it is marked."""
    found, wanted = parts(marked, language)
    assert found == wanted


@pytest.mark.parametrize(
    ("language", "marked"),
    [
        pytest.param(*case, marks=pytest.mark.xfail(reason=reason))
        for case, reason in KNOWN_WRONG.items()
    ],
)
def test_known_wrong_cases(language: str, marked: str) -> None:
    """Cases beyond rules; one that comes right must be moved to the others."""
    found, wanted = parts(marked, language)
    assert found == wanted


def test_every_language_has_cases() -> None:
    """There are enough cases, of each language at least six."""
    assert len(ALL) >= 220
    assert all(len(CASES[language]) >= 6 for language in REQUIRED.split())


@pytest.mark.parametrize("language", ["en-GB", "EN", "en_US", "eng-x"])
def test_tags_are_read(language: str) -> None:
    """A BCP 47 tag means its language; a tag of none, an unknown one."""
    text = "Dr. Smith came. He left."
    assert len(split_sentences(text, 0, len(text), language)) == 2


def test_terminators_without_a_blank() -> None:
    """Scripts that need no blank after a terminator are split where none stands."""
    for language, text in (("hi", "बारिश हुई।हम रहे।"), ("ar", "هل أنت؟نعم؟"), ("zh", "好。你呢？")):
        assert len(split_sentences(text, 0, len(text), language)) == 2


def test_lists_and_blank_lines_end_sentences() -> None:
    """A bullet, a number at a line's start and a blank line begin a new sentence."""
    text = "Bring\n- bread\n- wine\n\nand go\nhome\n2. now"
    spans = split_sentences(text, 0, len(text), "en")
    assert [text[a:b] for a, b in spans] == ["Bring", "- bread", "- wine", "and go\nhome", "2. now"]


def test_line_breaks_inside_a_sentence_stay() -> None:
    """A line end alone, as from a scan, ends no sentence."""
    text = "The harbour was\nclosed on Sunday. The ferry\nwaited."
    assert len(split_sentences(text, 0, len(text), "en")) == 2


def test_line_breaks_inside_dates_and_brackets_stay() -> None:
    """What a scan has broken looks like a list number, and is none."""
    for language, text in (
        ("da", "Mødet er den\n12. maj i år."),
        ("de", "Er starb im\n19. Jahrhundert."),
        ("de", "Die Stoffe (Anhang\n2) sind giftig."),
        ("en", "It took place on the\n3. floor."),
    ):
        assert len(split_sentences(text, 0, len(text), language)) == 1


def test_a_transcript_without_marks_is_cut_at_blanks() -> None:
    """Text without any sentence end is cut between words, at bounded length."""
    text = "and then we went on " * 3000
    spans = split_sentences(text, 0, len(text), "en")
    assert max(b - a for a, b in spans) <= MAX_SENTENCE_CHARS
    assert all(b == len(text.rstrip()) or text[b] == " " for a, b in spans)


def test_a_range_is_split_within_its_bounds() -> None:
    """Only the given range is split, in offsets of the whole text."""
    text = "No. Yes. One two. Three. No."
    assert split_sentences(text, 9, 24, "en") == [(9, 17), (18, 24)]


def test_blank_and_empty_ranges_have_no_sentence() -> None:
    """Nothing visible, no span."""
    for text in ("", " \n\t \u00a0"):
        assert split_sentences(text, 0, len(text), None) == []


@pytest.mark.timeout(60)  # one repeat read again from each of its places takes minutes
@pytest.mark.parametrize(
    "piece",
    [
        *[".", " ", "\n", ". ", "a. ", "?!", ")", ".)", "1. ", "\n- ", "x", '"', '. "', "(", "[1]"],
        *[".[1]", "1.", "1.1 ", "z. B. ", "...x", "\n ", "\nA: ", "\nAB CD: ", "\U0001f600"],
        *[
            "\U0001f600 ",
            "! \U0001f600",
            ".1,2",
            "。",
            "「",
            "。」",
            "；",
            "ก ",
            "ก",
            "word.\n",
            "א. ",
            "' ",
            "§ 1. ",
        ],
    ],
)
def test_runs_of_marks_take_linear_time(piece: str) -> None:
    """A long run of any mark ends in one pass, and loses nothing; else it would not end."""
    text = "Begin " + piece * (300_000 // len(piece)) + " end"
    spans = split_sentences(text, 0, len(text), "th" if "ก" in piece else "en")
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)


def test_the_rules_look_at_a_bounded_stretch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each full stop is decided once, from a text around it that does not grow with the text."""
    asked = []

    def counting(*arguments: Any, **options: Any) -> bool:
        asked.append(len(arguments[3]))
        return full_stop_ends(*arguments, **options)

    monkeypatch.setattr(sentences, "full_stop_ends", counting)
    for n in (100, 200):
        asked.clear()
        split_sentences("See Fig. 3 of z. B. Dr. No. " * n, 0, 28 * n, "de")
        assert len(asked) <= 5 * n
        assert max(asked) <= 64


@profile(deadline=None, max_examples=200, derandomize=True)
@given(
    text=st.lists(
        st.one_of(
            st.sampled_from([*WORDS, *MARKS]),
            st.text(alphabet=ODD, max_size=3),
            st.text(max_size=4),
        ),
        max_size=40,
    ).map("".join),
    language=st.sampled_from([None, *REQUIRED.split(), "xx", "pt-BR"]),
)
def test_spans_are_exact(text: str, language: str | None) -> None:
    """Spans are in order, trimmed, not blank, and cover all visible text."""
    spans = split_sentences(text, 0, len(text), language)
    position = 0
    for start, end in spans:
        assert not text[position:start].strip()
        assert text[start:end] == text[start:end].strip() != ""
        position = end
    assert not text[position:].strip()
