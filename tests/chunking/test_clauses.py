from __future__ import annotations

from itertools import pairwise

from chunking.clauses import clause_cuts

LONG = "วันนี้ฝนตกหนักมากจนเราไม่สามารถออกไปข้างนอกได้"
OTHER = "พรุ่งนี้อากาศน่าจะดีขึ้นมาก"


def clauses(text: str) -> list[str]:
    """Return the text cut where clauses end."""
    edges = [0, *clause_cuts(text, 0, len(text)), len(text)]
    return [text[a:b] for a, b in pairwise(edges)]


def test_a_blank_between_two_clauses_ends_one() -> None:
    """Both sides must be long enough to be clauses."""
    assert clauses(f"{LONG} {OTHER}") == [f"{LONG} ", OTHER]
    assert clauses("ส้ม กล้วย มะม่วง") == ["ส้ม กล้วย มะม่วง"]


def test_a_connective_goes_on() -> None:
    """No clause ends before a word that joins the next one to it."""
    assert len(clauses(f"{LONG} และ{OTHER}")) == 1


def test_numbers_and_other_scripts_end_nothing() -> None:
    """Blanks around a number or a name in Latin letters are no ends."""
    assert len(clauses(f"{LONG} 250 {OTHER}")) == 1
    assert len(clauses(f"{LONG} Bangkok {OTHER}")) == 1


def test_a_polite_particle_ends_a_sentence() -> None:
    """However short the sentence is."""
    assert clauses("สวัสดีค่ะ ดี") == ["สวัสดีค่ะ ", "ดี"]


def test_the_length_is_bounded() -> None:
    """After enough text any blank will do."""
    text = "ส้ม " * 200
    assert max(map(len, clauses(text))) <= 210
