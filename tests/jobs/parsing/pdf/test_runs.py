from __future__ import annotations

from collections.abc import Iterable

import pytest

from jobs.parsing.pdf.glyphs import Glyph
from jobs.parsing.pdf.runs import runs_of

WIDTH = 5.0


def drawn(
    text: str, *, gap: float = 0.0, word: float = 3.0, left: float = 0.0, bottom: float = 10.0
) -> list[Glyph]:
    """Return letters 10 points high, each ``gap`` after the one before; blanks are not drawn."""
    glyphs = []
    for letter in text:
        if letter == " ":
            left += word
            continue
        glyphs.append(Glyph(letter, left, bottom - 10, left + WIDTH, bottom, "Font"))
        left += WIDTH + gap
    return glyphs


def texts(glyphs: Iterable[Glyph]) -> list[str]:
    """Return the texts of the runs that glyphs make."""
    return [run.text for run in runs_of(glyphs)]


def test_puts_blanks_in_gaps() -> None:
    """A gap is a blank where none is drawn; kerned letters are no words of their own."""
    assert texts(drawn("of the lemma", gap=-0.3)) == ["of the lemma"]


def test_reads_spaced_letters_as_words() -> None:
    """Letters that are all set apart make words; only wider gaps are blanks."""
    assert texts(drawn("letter spaced words", gap=1.6)) == ["letter spaced words"]


def test_keeps_figures_apart() -> None:
    """Figures at even distances, as below an axis, are not taken for one number."""
    assert texts(drawn("1 2 3 4 5 6 7")) == ["1 2 3 4 5 6 7"]


def test_cuts_at_wide_gaps() -> None:
    """A gap as wide as a letter is high ends a piece: columns may part there."""
    assert texts(drawn("left", left=0) + drawn("right", left=60)) == ["left", "right"]


def test_takes_drawn_blanks() -> None:
    """A drawn blank parts words, also a narrow one; small gaps beside drawn blanks do not."""
    glyphs = drawn("two")
    glyphs.append(Glyph("\u00a0", 15, 0, 15.5, 10, "Font"))
    glyphs += drawn("words", left=15.5)
    assert texts(glyphs) == ["two words"]


def test_reads_bold_by_overprinting_once() -> None:
    """What is drawn again with a small shift stands once; twin letters of a word stay."""
    assert texts(drawn("hello") + drawn("hello", left=0.4)) == ["hello"]
    assert texts(
        g for pair in zip(drawn("hello"), drawn("hello", left=0.4), strict=True) for g in pair
    ) == ["hello"]


@pytest.mark.parametrize("place", [0.0, 4.6, 5.3, 9.6, 14.9, -0.4, 612.2])
def test_knows_the_same_letter_wherever_it_stands(place: float) -> None:
    """A letter drawn again within a tenth of its height is one; further off it is another."""
    for shift in (-0.9, 0.9):
        again = drawn("x", left=place + shift, bottom=10 + place - shift)
        assert texts(drawn("x", left=place, bottom=10 + place) + again) == ["x"]
    apart = drawn("x", left=place + 5, bottom=10 + place)
    assert texts(drawn("x", left=place, bottom=10 + place) + apart) == ["xx"]


def test_puts_accents_on_their_letters() -> None:
    """An accent that is drawn before or after its letter becomes part of it."""
    before = [*drawn("L"), Glyph("\u00a8", 5, 0, 10, 10, "Font"), *drawn("uck", left=5)]
    after = [*drawn("caf"), *drawn("e", left=15), Glyph("\u00b4", 15, 0, 20, 10, "Font")]
    assert texts(before) == ["L\u00fcck"]
    assert texts(after) == ["caf\u00e9"]


def test_parts_raised_letters_and_keeps_lowered_ones() -> None:
    """A small raised figure is a piece of its own; the lowered E of a logo is not."""
    raised = [*drawn("word"), Glyph("1", 20, -2, 23, 4, "Font")]
    logo = [*drawn("T"), *drawn("E", left=4, bottom=13.4), *drawn("X", left=8)]
    assert texts(raised) == ["word", "1"]
    assert texts(logo) == ["TEX"]


def test_levels_boxes_of_ink() -> None:
    """In fonts whose boxes are as high as their ink, letters still make one line of words."""
    high, low = frozenset("bdfhklt"), 6.0
    glyphs = drawn("the dull hall on the hill", gap=0.5, word=3.0)
    for glyph in glyphs:
        glyph.top = glyph.bottom - (9.0 if glyph.text in high else low)
    assert texts(glyphs) == ["the dull hall on the hill"]
    assert len({run.size for run in runs_of(glyphs)}) == 1


def test_dissolves_ligatures_and_marks_unnamed_glyphs() -> None:
    """A ligature is its letters; the name of a glyph in place of a character is no text."""
    glyphs = [*drawn("\ufb01n"), Glyph("c31", 10, 0, 15, 10, "Font")]
    assert texts(glyphs) == ["fin\ufffd"]
    assert runs_of([Glyph("h", 0, 0, 5, 10, "ABCDEF+CMSY10")])[0].text == "\u27e8"
