from __future__ import annotations

from pathlib import Path

import pytest

from chunking.model import Document
from jobs.config import ParserConfig
from jobs.parsing.pdf.engine import convert_pdf
from tests.jobs.parsing.pdf.test_tables import LEFTS, SHIPS
from tests.jobs.parsing.pdfs import Rule, Text, grid, paragraph, pdf, rows

BODY = [f"Line {i} of the text goes on about the harbour, its ships and" for i in range(10)]


def read(folder: Path, *pages: list[Text | Rule]) -> Document:
    """Return the document of pages."""
    path = folder / "document"
    path.write_bytes(pdf(pages))
    return convert_pdf(path, name="x", settings=ParserConfig()).document


def kinds(document: Document) -> list[tuple[str, str]]:
    """Return the kinds of all blocks with the first words of their texts."""
    return [(b.kind, document.text[b.start : b.end][:12]) for b in document.blocks]


@pytest.mark.parametrize(
    "caption",
    [
        "Table 3: Ships by berth",
        "Tabelle 2.1. Schiffe und Plätze",
        "Tableau IV \u2013 Navires par quai",
        "Tabel 1: Skibe ved kajen",
        "Tabla A.2: Barcos por muelle",
    ],
)
@pytest.mark.parametrize("top", [520, 410])
def test_puts_captions_before_their_tables(tmp_path: Path, caption: str, top: float) -> None:
    """A label in any of several languages, above or below its table, makes a caption."""
    page = [
        *paragraph(BODY),
        (60.0, top, "F1", 10.0, caption),
        *rows(SHIPS, LEFTS, top=501),
        *grid((60, 180, 300, 420), [512 - 14 * i for i in range(7)]),
    ]
    assert [kind for kind, _ in kinds(read(tmp_path, page))] == ["paragraph", "caption", "table"]


def test_leaves_sentences_about_tables(tmp_path: Path) -> None:
    """A paragraph that begins with the name of a table is no caption."""
    lines = ["Table 3 shows all of the ships that were in the harbour in May and", "in June."]
    assert [kind for kind, _ in kinds(read(tmp_path, paragraph(lines)))] == ["paragraph"]


def test_keeps_footnotes_out_of_paragraphs(tmp_path: Path) -> None:
    """Notes below a rule are footnotes, each its own, and the paragraph runs on past them."""
    notes = ["1 The first note is about ships.", "2 The second note is about", "the harbour."]
    first = [
        *paragraph(BODY, top=300),
        (60.0, 100.0, 160.0, 100.0),
        *paragraph(notes, top=88, size=7),
    ]
    document = read(tmp_path, first, paragraph(["all that goes with them.", *BODY]))
    found = [(kind, text) for kind, text in kinds(document) if kind == "footnote"]
    assert found == [("footnote", "1 The first "), ("footnote", "2 The second")]
    assert f"{BODY[-1]} all that goes with them." in document.text


def test_leaves_small_text_in_the_middle(tmp_path: Path) -> None:
    """Small print with text below it is no footnote."""
    page = [
        *paragraph(BODY, top=780),
        *paragraph(["1 Small words about ships."], top=400, size=7),
        *paragraph(BODY, top=300),
    ]
    assert "footnote" not in dict(kinds(read(tmp_path, page)))
