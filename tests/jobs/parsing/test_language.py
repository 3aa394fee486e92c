from __future__ import annotations

import pytest

from chunking.model import Document
from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.language import detect_block_languages, paragraph_language

DANISH = "Havnen var lukket i går, fordi færgen havde mistet sit ror ude i bæltet."
GERMAN = "Der Hafen war gestern geschlossen, weil die Fähre ihr Ruder verloren hatte."
ENGLISH = "The harbour was closed yesterday because the ferry had lost its rudder."


def mixed() -> Document:
    """Return a Danish document with paragraphs in other languages."""
    builder = DocumentBuilder()
    builder.heading("Havnen", 1)
    builder.add("paragraph", f"{DANISH} Selskabet regner med at sejle igen i morgen tidlig.")
    builder.add("paragraph", GERMAN)
    builder.list_item(ENGLISH)
    builder.add("paragraph", "天気は雨です。")
    builder.code(GERMAN)
    builder.add("paragraph", "Ferry closed.")
    builder.add("paragraph", DANISH)
    return builder.build(language="da")


def test_paragraphs_that_leave_the_documents_language_say_so() -> None:
    """Another script or a clear other language is told; code and short lines stay."""
    found = [block.language for block in mixed().blocks]
    assert found == [None, None, "de", "en", "ja", None, None, None]


def test_detecting_again_changes_nothing() -> None:
    """Whoever has the text and blocks alone finds the same languages."""
    document = mixed()
    assert detect_block_languages(document) is document


@pytest.mark.parametrize(
    ("text", "own", "language"),
    [
        ("Сегодня идёт дождь.", "en", "ru"),
        ("Сегодня идёт дождь.", "bg", None),
        ("Сьогодні йде дощ, і ми нікуди не підемо, бо дуже холодно.", "ru", "uk"),
        ("東京", "en", None),
        ("東京都庁", "ja", None),
        ("東京都庁", None, "zh"),
        ("Καλημέρα σας", "da", "el"),
        (ENGLISH, "ru", "en"),
        (ENGLISH, None, "en"),
        (ENGLISH, "en", None),
        (DANISH, "no", "da"),
        ("SELECT a.name, b.name FROM a JOIN b ON a.id = b.id WHERE a.x > 3;", "da", None),
        ("Jensen, Hansen, Olsen, Nielsen, Pedersen, Larsen, Sørensen", "en", None),
        ("1 2 3", "en", None),
    ],
)
def test_a_paragraph_stays_unless_it_is_clear(
    text: str, own: str | None, language: str | None
) -> None:
    """Names, queries and few letters stay with the document; clear cases do not."""
    assert paragraph_language(text, own) == language
