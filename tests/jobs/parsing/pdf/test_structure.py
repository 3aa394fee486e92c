from __future__ import annotations

from pathlib import Path

from tests.jobs.parsing.pdf.test_engine import read, texts
from tests.jobs.parsing.pdfs import BOLD, Text, paragraph, pdf

PROSE = ["Plain words that fill a line of the page from left to right, as they do here."] * 4


def test_reads_a_title_page(tmp_path: Path) -> None:
    """Authors and dates below a title are no headings, the sections after them are."""
    page: list[Text] = [
        (60, 780, BOLD, 20, "The harbour"),
        (60, 750, "F1", 14, "Anna Petersen and Carl Holm"),
        (60, 730, "F1", 14, "12 May 2021"),
        (60, 700, BOLD, 14, "1 Quays"),
        *paragraph(PROSE, top=680),
        (60, 600, BOLD, 14, "2 Piers"),
        *paragraph(PROSE, top=580),
    ]
    document = read(tmp_path, pdf([page]))
    assert texts(document, "title") == ["The harbour"]
    assert texts(document, "heading") == ["1 Quays", "2 Piers"]
    assert "Anna Petersen and Carl Holm" in document.text


def test_reads_a_list_of_contents(tmp_path: Path) -> None:
    """Lines of contents are no headings, though they look like them, and stay lines."""
    entries = ["1 Quays 2", "2 Piers 3", "3 Ferries 5", "4 Tolls 9"]
    page = [
        (60, 780, BOLD, 14, "Contents"),
        *[(60, 750 - 20 * i, BOLD, 14, entry) for i, entry in enumerate(entries)],
        *paragraph(PROSE, top=600),
    ]
    document = read(tmp_path, pdf([page]))
    assert texts(document, "heading") == ["Contents"]
    assert set(entries) <= set(texts(document, "paragraph"))


def test_reads_forms_and_large_sentences(tmp_path: Path) -> None:
    """Labels to be filled in and sentences in large letters are no headings."""
    page = [
        (60, 780, BOLD, 14, "1 Berths"),
        *paragraph(PROSE, top=760),
        (60, 690, BOLD, 14, "Name:"),
        (60, 660, "F1", 14, "Date ________ Place ________"),
        (60, 630, "F1", 14, "and this is the rest of a sentence that was set in large letters."),
        *paragraph(PROSE, top=600),
    ]
    assert texts(read(tmp_path, pdf([page])), "heading") == ["1 Berths"]


def test_sizes_of_code_are_not_the_text(tmp_path: Path) -> None:
    """A document with more code than prose, set smaller, does not read its prose as headings."""
    page = [
        *paragraph(PROSE[:2], top=780, size=11),
        *paragraph(
            ["    call(argument, other_argument, one_more)"] * 20, top=740, font="F3", size=8
        ),
        *paragraph(PROSE[:1], top=440, size=11),
    ]
    assert texts(read(tmp_path, pdf([page])), "heading") == []


def test_dates_and_initials_are_no_lists(tmp_path: Path) -> None:
    """What looks like one item of a list and has no other beside it is text, marker and all."""
    page = [
        *paragraph(PROSE, top=780),
        *paragraph(["16. Februar 2018"], top=700),
        *paragraph(["G. Rubio wrote this down."], top=670),
    ]
    document = read(tmp_path, pdf([page]))
    assert texts(document, "list_item") == []
    assert "16. Februar 2018" in texts(document, "paragraph")


def test_lists_begin_within_sentences_and_nest(tmp_path: Path) -> None:
    """The first item is one although the line before it ends no sentence; indents nest."""
    rows = [
        (60, "The rules of the harbour tell of"),
        (60, "1. quays for"),
        (80, "a) ferries and"),
        (80, "b) barges, and of"),
        (60, "2. piers"),
    ]
    page = [(left, 760.0 - 12 * i, "F1", 10.0, text) for i, (left, text) in enumerate(rows)]
    document = read(tmp_path, pdf([page]))
    assert texts(document, "paragraph") == [rows[0][1]]
    items = [b for b in document.blocks if b.kind == "list_item"]
    assert [b.level for b in items] == [1, 2, 2, 1]
    assert [document.text[b.start : b.end].strip() for b in items] == [row[1] for row in rows[1:]]


def test_a_page_number_alone_is_furniture(tmp_path: Path) -> None:
    """On a single page, too, a number far below all text is its page number; in a table not."""
    page = [*paragraph(PROSE), (290, 40, "F1", 9, "Page 3 of 3")]
    assert read(tmp_path, pdf([page])).furniture == ("Page 3 of 3",)
    close = [*paragraph(PROSE, top=80), (290, 32, "F1", 9, "17")]
    assert read(tmp_path, pdf([close])).furniture == ()


def test_rows_of_a_table_at_the_edge_of_pages_are_no_furniture(tmp_path: Path) -> None:
    """Alike but for their figures, they stand at one height on every page."""
    pages: list[list[Text]] = []
    for number in range(4):
        page: list[Text] = [(60, 30, "F1", 10, f"Page {number + 1}")]
        for i in range(36):
            ship = 36 * number + i + 1
            texts = ((60, str(ship)), (160, f"Ship {ship}"), (300, f"{ship * 10}.50"))
            page += [(left, 790 - 20 * i, "F1", 10, text) for left, text in texts]
        pages.append(page)
    document = read(tmp_path, pdf(pages))
    assert all(f"Ship {ship} " in f"{document.text} " for ship in range(1, 145))
    assert list(document.furniture) == ["Page 1", "Page 2", "Page 3", "Page 4"]
