from __future__ import annotations

import pytest

from chunking.scripts import LANGUAGES_OF_SCRIPT, script_of


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("今天下雨，我们没有出去。", "han"),
        ("今日は雨なので出かけません。", "kana"),
        ("東京都は「トウキョウト」と読む", "kana"),
        ("오늘은 비가 옵니다.", "hangul"),
        ("วันนี้ฝนตก", "thai"),
        ("السماء تمطر اليوم", "arabic"),
        ("היום יורד גשם", "hebrew"),
        ("आज बारिश हो रही है।", "devanagari"),
        ("Σήμερα βρέχει.", "greek"),
        ("Сегодня идёт дождь.", "cyrillic"),
        ("ថ្ងៃនេះមានភ្លៀង", "khmer"),
        ("ມື້ນີ້ຝົນຕົກ", "lao"),
        ("ဒီနေ့ မိုးရွာတယ်", "burmese"),
        ("It rains today.", None),
        ("Det regner på øen i dag.", None),
        ("The word 雨 means rain.", None),
        ("дом house дом house home", None),
        ("12 345, 678", None),
        ("", None),
    ],
)
def test_the_script_of_most_letters_is_told(text: str, script: str | None) -> None:
    """Each script by its letters; Latin, mixed and letterless text has none."""
    assert script_of(text) == script


def test_every_script_has_a_language() -> None:
    """Whatever script is told, a language can be meant by it."""
    assert all(codes for codes in LANGUAGES_OF_SCRIPT.values())
