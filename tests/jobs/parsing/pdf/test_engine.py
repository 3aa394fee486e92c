from __future__ import annotations

from pathlib import Path

import pytest

from chunking.errors import DocumentError
from chunking.model import Document
from jobs.config import ParserConfig
from jobs.parsing.pdf.engine import convert_pdf
from tests.jobs.parsing.pdfs import BOLD, MONO, Text, paragraph, pdf

LEFT = [f"Left line {i} goes on about the harbour and" for i in range(12)]
RIGHT = [f"right line {i} goes on about the river and" for i in range(12)]


def read(folder: Path, content: bytes) -> Document:
    """Return the document of a PDF."""
    path = folder / "document"
    path.write_bytes(content)
    return convert_pdf(path, name="x", settings=ParserConfig()).document


def texts(document: Document, kind: str) -> list[str]:
    """Return the texts of all blocks of a kind."""
    return [document.text[b.start : b.end] for b in document.blocks if b.kind == kind]


def test_reads_columns_one_after_the_other(tmp_path: Path) -> None:
    """Two columns below a line across both are not mixed, and a sentence runs on."""
    head = paragraph(["A line that goes all the way across both of the columns of this page here"])
    page = [*head, *paragraph(LEFT, top=720), *paragraph(RIGHT, left=320, top=720)]
    text = read(tmp_path, pdf([page])).text
    assert " ".join([*LEFT, *RIGHT]) in text
    assert text.startswith("A line that goes all the way across")


def test_joins_lines_and_broken_words(tmp_path: Path) -> None:
    """Lines become one paragraph; a hyphen at a line's end goes if the word is known whole."""
    lines = [
        "The government has well-known plans for every har-",
        "bour and the harbour pays for them with a well-",
        "known and self-made loan.",
    ]
    document = read(tmp_path, pdf([paragraph(lines)]))
    assert texts(document, "paragraph") == [
        (
            "The government has well-known plans for every harbour and the harbour pays for them"
            " with a well-known and self-made loan."
        )
    ]


def test_parts_paragraphs(tmp_path: Path) -> None:
    """A larger gap, or an indented line after a full stop, begins a paragraph."""
    first = ["One line of the first paragraph of this page", "and another one that ends it."]
    second = ["One line of the second paragraph of this page", "and another one that ends it."]
    third: list[Text] = [
        (75, 688, "F1", 10, "An indented line of the third paragraph"),
        (60, 676, "F1", 10, "and another one, that ends the third."),
    ]
    page = [*paragraph(first), *paragraph(second, top=712), *third]
    document = read(tmp_path, pdf([page]))
    assert texts(document, "paragraph") == [
        " ".join(first),
        " ".join(second),
        f"{third[0][4]} {third[1][4]}",
    ]


def test_finds_headings_and_their_levels(tmp_path: Path) -> None:
    """Larger or bold short lines are headings, with levels by number or size."""
    body = ["Plain words that fill a line of the page from left to right, as they do."] * 3
    page: list[Text] = [
        (60, 780, BOLD, 20, "The harbour"),
        (60, 740, BOLD, 14, "1 Quays"),
        *paragraph(body, top=720),
        (60, 660, BOLD, 12, "1.1 North quay"),
        *paragraph(body, top=640),
        (60, 580, BOLD, 14, "2 Piers"),
        *paragraph(body, top=560),
    ]
    document = read(tmp_path, pdf([page]))
    assert document.title == "The harbour"
    assert texts(document, "title") == ["The harbour"]
    assert texts(document, "heading") == ["1 Quays", "1.1 North quay", "2 Piers"]
    levels = [b.level for b in document.blocks if b.kind == "heading"]
    assert levels[0] == levels[2] != levels[1]


def test_puts_furniture_aside(tmp_path: Path) -> None:
    """Running heads and page numbers are furniture, and no sentence is cut by them."""
    pages = []
    for i in range(4):
        words = [f"Page {i} has a line of its own that goes on to the next one"] * 5
        head: Text = (60, 815, "F1", 9, "Report of the harbour master")
        foot: Text = (290, 30, "F1", 9, f"Page {i + 1} of 4")
        last = "and here a sentence runs over to the"
        pages.append([head, *paragraph([*words[:-1], last]), foot])
    document = read(tmp_path, pdf(pages))
    assert "harbour master" not in document.text
    assert "of 4" not in document.text
    assert {"Report of the harbour master", "Page 2 of 4"} <= set(document.furniture)
    assert document.n_pages == 4


def test_gives_pages_and_boxes(tmp_path: Path) -> None:
    """Blocks have their page, and their box in points from its top left."""
    document = read(tmp_path, pdf([paragraph(["First page."]), paragraph(["Second page."])]))
    box = document.blocks[1].boxes[0]
    assert [b.page_start for b in document.blocks] == [1, 2]
    assert (box.page, round(box.left)) == (2, 60)
    assert box.top < 842 - 760 < box.bottom + 3
    assert box.right > box.left


def test_reads_lists_code_and_tables(tmp_path: Path) -> None:
    """Bullets, monospaced lines and aligned short cells keep their structure."""
    cells = [("Berth", "Vessel", "Tons"), *((f"A{i}", f"Ship {i}", f"{i}00") for i in range(1, 6))]
    table = [
        (60 + 120 * column, 500 - 14 * row, "F1", 10.0, text)
        for row, texts_of_row in enumerate(cells)
        for column, text in enumerate(texts_of_row)
    ]
    page = [
        *paragraph(["Some words come before the list, on a line of their own."]),
        *paragraph(["\u2022 first item of the list", "\u2022 second item of the list"], top=730),
        *paragraph(["def f(x):", "    return x"], top=660, font=MONO),
        *table,
    ]
    document = read(tmp_path, pdf([page]))
    assert [t.lstrip("- ") for t in texts(document, "list_item")] == [
        "first item of the list",
        "second item of the list",
    ]
    assert "def f(x):\n" in texts(document, "code")[0]
    assert texts(document, "table")[0].splitlines()[0] == "| Berth | Vessel | Tons |"
    assert "| A3 | Ship 3 | 300 |" in document.text


def test_reads_a_rotated_page(tmp_path: Path) -> None:
    """A page that is turned is read along its lines."""
    lines = ["The first line of the page.", "The second line of the page."]
    assert read(tmp_path, pdf([paragraph(lines)], rotate=90)).text.index(lines[0]) == 0


def test_keeps_the_pages_beside_a_bad_one(tmp_path: Path) -> None:
    """A page whose content is damaged costs itself only, if anything."""
    pages = [paragraph([f"Words of page {word}."]) for word in ("one", "two", "three")]
    text = read(tmp_path, pdf(pages, broken=[1])).text
    assert "Words of page one." in text
    assert "Words of page three." in text


def test_leaves_a_page_its_only_words(tmp_path: Path) -> None:
    """Pages that hold one line each, alike but for a number, keep it in their text."""
    pages = [paragraph([f"Slide {i}"], top=790) for i in range(4)]
    text = read(tmp_path, pdf(pages)).text
    assert "Slide 0" in text
    assert "Slide 3" in text


def test_tells_noise_and_blank_pages(tmp_path: Path) -> None:
    """What is no PDF is corrupt; blank pages are a document without text."""
    with pytest.raises(DocumentError) as caught:
        read(tmp_path, b"%PDF-1.4 and noise")
    assert caught.value.kind == "corrupt"
    assert read(tmp_path, pdf([[], []])).text == ""
