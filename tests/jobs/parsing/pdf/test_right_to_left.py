from __future__ import annotations

import pytest

from jobs.parsing.pdf.bidi import reading_order
from jobs.parsing.pdf.glyphs import Glyph
from jobs.parsing.pdf.runs import runs_of

HELLO, WORLD = "\u05e9\u05dc\u05d5\u05dd", "\u05e2\u05d5\u05dc\u05dd"


def read(shown: str) -> str:
    """Return a line that stands as ``shown`` from left to right as it is read."""
    return "".join(shown[i] for i in reading_order(list(shown)))


def glyphs_of(shown: str) -> list[Glyph]:
    """Return letters from left to right, blanks not drawn."""
    return [
        Glyph(letter, 5.0 * i, 0, 5.0 * i + 5, 10, "Font")
        for i, letter in enumerate(shown)
        if letter != " "
    ]


@pytest.mark.parametrize(
    ("shown", "meant"),
    [
        (HELLO[::-1], HELLO),
        (f"{WORLD[::-1]} {HELLO[::-1]}", f"{HELLO} {WORLD}"),
        (f"{WORLD[::-1]} 1,234.5 {HELLO[::-1]}", f"{HELLO} 1,234.5 {WORLD}"),
        (f"{WORLD[::-1]} open source {HELLO[::-1]}", f"{HELLO} open source {WORLD}"),
        (f"{WORLD[::-1]} 20 10 {HELLO[::-1]}", f"{HELLO} 10 20 {WORLD}"),
        (f"say {WORLD[::-1]} {HELLO[::-1]} twice", f"say {HELLO} {WORLD} twice"),
        (f"say 12 {HELLO[::-1]} twice please", f"say 12 {HELLO} twice please"),
        ("plain words, 12 of them", "plain words, 12 of them"),
    ],
)
def test_reads_what_is_shown(shown: str, meant: str) -> None:
    """Letters are read from the right, numbers and foreign words within them from the left."""
    assert read(shown) == meant


def test_reads_letters_in_whatever_order_they_are_drawn() -> None:
    """A line drawn from the left, from the right or word by word reads the same."""
    shown = glyphs_of(f"{WORLD[::-1]} {HELLO[::-1]}")
    by_word = shown[4:] + shown[:4]
    for order in (shown, shown[::-1], by_word):
        fresh = [Glyph(g.text, g.left, g.top, g.right, g.bottom, g.font) for g in order]
        assert [run.text for run in runs_of(fresh)] == [f"{HELLO} {WORLD}"]


def test_keeps_blanks_by_their_place() -> None:
    """A blank counts where it stands, not when it is drawn, and not in the place of a letter."""
    shown = glyphs_of(HELLO[::-1] + WORLD[::-1])
    for glyph in shown[4:]:
        glyph.left += 1
        glyph.right += 1
    between, beneath = Glyph(" ", 20, 0, 21, 10, "Font"), Glyph(" ", 5, 0, 8, 10, "Font")
    assert [run.text for run in runs_of([between, beneath, *shown])] == [f"{WORLD} {HELLO}"]


def test_puts_marks_behind_their_letters() -> None:
    """A vowel sign drawn over a letter is read after it, wherever it comes in the drawing."""
    base = glyphs_of(HELLO[::-1])
    mark = Glyph("\u05b8", base[3].left + 1, 0, base[3].left + 2, 10, "Font")
    assert runs_of([mark, *base])[0].text == HELLO[0] + "\u05b8" + HELLO[1:]


def test_reads_arabic_forms_as_letters() -> None:
    """Presentation forms become the letters that they are forms of, the tatweel nothing."""
    forms = ["\ufe8e", "\ufe92", "\u0640", "\ufea3", "\ufeae", "\ufee3"]
    glyphs = [Glyph(form, 5.0 * i, 0, 5.0 * i + 5, 10, "Font") for i, form in enumerate(forms)]
    assert runs_of(glyphs)[0].text.replace(" ", "") == "\u0645\u0631\u062d\u0628\u0627"
