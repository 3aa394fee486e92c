from __future__ import annotations

from pathlib import Path

import pytest

from chunking.model import Document
from jobs.config import ParserConfig
from jobs.parsing.pdf.engine import convert_pdf
from tests.jobs.parsing.pdfs import BOLD, MONO, Rule, Text, Upwards, grid, paragraph, pdf, rows

LEFTS = (64.0, 184.0, 304.0)
SHIPS = [("Berth", "Vessel", "Tons"), *((f"A{i}", f"Ship {i}", f"{i}40") for i in range(1, 6))]
MARKDOWN = [
    "| Berth | Vessel | Tons |",
    "| --- | --- | --- |",
    *(f"| A{i} | Ship {i} | {i}40 |" for i in range(1, 6)),
]
PROSE = ["Some words stand on a line of their own before the table, as they do", "on every page."]


def read(folder: Path, *pages: list[Text | Rule], rotate: int = 0) -> Document:
    """Return the document of pages."""
    path = folder / "document"
    path.write_bytes(pdf(pages, rotate=rotate))
    return convert_pdf(path, name="x", settings=ParserConfig()).document


def texts(document: Document, kind: str) -> list[str]:
    """Return the texts of all blocks of a kind."""
    return [document.text[b.start : b.end] for b in document.blocks if b.kind == kind]


def tables(document: Document) -> list[list[str]]:
    """Return the lines of every table."""
    return [text.splitlines() for text in texts(document, "table")]


def test_reads_a_ruled_table(tmp_path: Path) -> None:
    """Words go into the cells between rules, in which lines that touch are cut."""
    ruled = grid((60, 180, 300, 420), [512 - 14 * i for i in range(7)])
    page = [*paragraph(PROSE), *rows(SHIPS, LEFTS, top=501), *ruled]
    document = read(tmp_path, page)
    assert tables(document) == [MARKDOWN]
    assert texts(document, "paragraph") == [" ".join(PROSE)]


def test_keeps_merged_cells(tmp_path: Path) -> None:
    """A cell over columns or rows is told by missing rules; a name over columns is said in each."""
    page: list[Text | Rule] = [
        *rows([("Berth", "Ships", ""), ("", "Large", "Small"), ("A1", "2", "7")], LEFTS, top=501),
        (60, 512, 420, 512),
        (180, 498, 420, 498),
        (60, 484, 420, 484),
        (60, 470, 420, 470),
        (60, 512, 60, 470),
        (180, 512, 180, 470),
        (300, 498, 300, 470),
        (420, 512, 420, 470),
    ]
    header, _, *body = tables(read(tmp_path, page))[0]
    assert header == "| Berth | Ships Large | Ships Small |"
    assert body == ["| A1 | 2 | 7 |"]


def test_puts_turned_heads_into_their_columns(tmp_path: Path) -> None:
    """Heads of narrow columns that are read upwards name them; a turned line outside does not."""
    page: list[Text | Rule] = [
        *paragraph(PROSE),
        *grid((60, 180, 300, 420), [552, *(498 - 14 * i for i in range(4))]),
        *rows([("Quay", "", ""), ("North", "yes", "no"), ("South", "no", "yes")], LEFTS, top=501),
        Upwards(200, 502, BOLD, 9, "Water"),
        Upwards(320, 502, BOLD, 9, "Shore"),
        Upwards(331, 502, BOLD, 9, "power"),
        Upwards(560, 502, BOLD, 9, "Draft"),
    ]
    document = read(tmp_path, page)
    header, _, *body = tables(document)[0]
    assert header == "| Quay | Water | Shore power |"
    assert body == ["| North | yes | no |", "| South | no | yes |"]
    assert texts(document, "paragraph") == [" ".join(PROSE), "Draft"]


def test_joins_the_lines_of_a_cell(tmp_path: Path) -> None:
    """Text wrapped in a ruled cell stays one cell, and a word broken there is whole again."""
    page: list[Text | Rule] = [
        *rows(
            [("Berth", "Remarks"), ("A1", "closed for re-"), ("", "pairs in May")],
            (64, 184),
            top=501,
        ),
        *rows([("A2", "repairs done")], (64, 184), top=459),
        *grid((60, 180, 300), (512, 498, 470, 456)),
    ]
    assert tables(read(tmp_path, page)) == [
        [
            "| Berth | Remarks |",
            "| --- | --- |",
            "| A1 | closed for repairs in May |",
            "| A2 | repairs done |",
        ]
    ]


def test_parts_rows_that_no_rule_parts(tmp_path: Path) -> None:
    """Rows of text between two rules are rows if their lines end with room to spare."""
    ruled = grid((60, 180, 300, 420), (512, 498, 428))
    assert tables(read(tmp_path, [*rows(SHIPS, LEFTS, top=501), *ruled])) == [MARKDOWN]


def test_leaves_a_box_around_text(tmp_path: Path) -> None:
    """A frame around a paragraph, or around a page, is no table."""
    lines = [f"Line {i} of the text in a box goes on and on about ships" for i in range(12)]
    page = [*paragraph(lines), *grid((50, 400), (775, 600)), *grid((20, 575), (822, 20))]
    document = read(tmp_path, page)
    assert tables(document) == []
    assert lines[5] in document.text


def test_reads_a_table_with_rules_across_only(tmp_path: Path) -> None:
    """Three rules and columns that line up are a table; all above the second is the header."""
    cells = [("", "", "Weight"), *SHIPS]
    rules = [(60.0, y, 420.0, y) for y in (525.0, 497.0, 425.0)]
    page = [*paragraph(PROSE), *rows(cells, LEFTS, top=515), *rules]
    header, *body = tables(read(tmp_path, page))[0]
    assert header == "| Berth | Vessel | Weight Tons |"
    assert body == MARKDOWN[1:]


def test_reads_prose_between_rules_as_prose(tmp_path: Path) -> None:
    """Rules above and below a paragraph do not make it a table."""
    rules = [(60.0, 775.0, 420.0, 775.0), (60.0, 730.0, 420.0, 730.0)]
    document = read(tmp_path, [*paragraph(PROSE), *rules])
    assert texts(document, "paragraph") == [" ".join(PROSE)]


def test_reads_a_table_without_rules(tmp_path: Path) -> None:
    """Short cells that line up are a table, between paragraphs that are not."""
    page = [
        *paragraph(PROSE),
        *rows(SHIPS, LEFTS, top=700, header=BOLD),
        *paragraph(["After the table comes a line that is none of its own rows."], top=580),
    ]
    document = read(tmp_path, page)
    assert tables(document) == [MARKDOWN]
    assert len(texts(document, "paragraph")) == 2


def test_joins_wrapped_cells_without_rules(tmp_path: Path) -> None:
    """A line that only goes on what stands above it belongs to that row."""
    cells = [
        ("Berth", "Vessel and port", "Tons"),
        ("A1", "Anna of the river", "140"),
        ("", "and the harbour", ""),
        ("A2", "Berta of the sea", "240"),
        ("A3", "Carla", "340"),
        ("A4", "Dora", "440"),
    ]
    lines = tables(read(tmp_path, rows(cells, LEFTS, top=700)))[0]
    assert "| A1 | Anna of the river and the harbour | 140 |" in lines
    assert "| A2 | Berta of the sea | 240 |" in lines


def test_parts_numbers_that_no_rule_parts(tmp_path: Path) -> None:
    """Columns of numbers in one ruled column are columns, and a heading over both is kept."""
    cells = [("Berth", "Tons", "Crew"), *((f"A{i}", f"{i}40", f"{i}2") for i in range(1, 6))]
    ruled = grid((60, 180, 420), [512 - 14 * i for i in range(7)])
    lines = tables(read(tmp_path, [*rows(cells, (64, 184, 214), top=501), *ruled]))[0]
    assert lines[0] == "| Berth | Tons | Crew |"
    assert lines[4] == "| A3 | 340 | 32 |"


def test_tells_header_rows(tmp_path: Path) -> None:
    """Two rows of names are one header, values none, and a striped table has no header by it."""
    values = [(f"{i}1", f"{i}2", f"{i}3") for i in range(1, 5)]
    named = [("Berth", "2019", "2020"), ("", "Tons", "Tons"), ("A1", "5", "7"), ("A2", "6", "8")]
    page = [
        *rows(values, LEFTS, top=701),
        *grid((60, 180, 300, 420), [712 - 14 * i for i in range(5)]),
        *rows(named, LEFTS, top=501),
        (60, 512, 420, 512),
        (180, 498, 420, 498),
        *grid((60, 180, 300, 420), [484 - 14 * i for i in range(3)]),
        *((x, 512, x, 484) for x in (60, 180, 300, 420)),
    ]
    first, second = tables(read(tmp_path, page))
    assert first[0] == "|  |  |  |"
    assert second[0] == "| Berth | 2019 Tons | 2020 Tons |"


def test_reads_two_tables_side_by_side(tmp_path: Path) -> None:
    """Ruled tables beside each other stay two."""
    ys = [512 - 14 * i for i in range(7)]
    right = [(a.replace("A", "B"), b, c) for a, b, c in SHIPS]
    page = [
        *rows(SHIPS, (64, 124, 184), top=501),
        *grid((60, 120, 180, 240), ys),
        *rows(right, (324, 384, 444), top=501),
        *grid((320, 380, 440, 500), ys),
    ]
    first, second = tables(read(tmp_path, page))
    assert first == MARKDOWN
    assert second[3] == "| B2 | Ship 2 | 240 |"


@pytest.mark.parametrize("rotate", [90, 270])
def test_reads_tables_on_a_rotated_page(tmp_path: Path, rotate: int) -> None:
    """Rules turn with their page."""
    ruled = grid((60, 180, 300, 420), [512 - 14 * i for i in range(7)])
    page = [*paragraph(PROSE), *rows(SHIPS, LEFTS, top=501), *ruled]
    assert tables(read(tmp_path, page, rotate=rotate)) == [MARKDOWN]


def test_joins_a_table_over_pages(tmp_path: Path) -> None:
    """A table that goes on keeps one header; what is said again there is furniture."""
    ruled = grid((60, 180, 300, 420), [112 - 14 * i for i in range(7)])
    more = [SHIPS[0], *((f"B{i}", f"Ship 1{i}", f"{i}00") for i in range(1, 6))]
    again = grid((60, 180, 300, 420), [792 - 14 * i for i in range(7)])
    first = [*paragraph(PROSE), *rows(SHIPS, LEFTS, top=101), *ruled]
    second = [
        *rows(more, LEFTS, top=781),
        *again,
        *paragraph(["After the table the text goes on with a line of words."], top=600),
    ]
    document = read(tmp_path, first, second)
    assert tables(document) == [
        [*MARKDOWN, *(f"| B{i} | Ship 1{i} | {i}00 |" for i in range(1, 6))]
    ]
    assert "Berth Vessel Tons" in document.furniture
    block = next(b for b in document.blocks if b.kind == "table")
    assert (block.page_start, block.page_end) == (1, 2)


def test_leaves_two_columns_of_prose(tmp_path: Path) -> None:
    """Two columns whose lines stand side by side are read one after the other."""
    left = [f"Left line {i} goes on about the harbour and" for i in range(12)]
    right = [f"right line {i} goes on about the river and" for i in range(12)]
    document = read(tmp_path, [*paragraph(left), *paragraph(right, left=320)])
    assert tables(document) == []
    assert " ".join(left) in document.text


def test_leaves_what_only_lines_up(tmp_path: Path) -> None:
    """Forms, contents, numbered lists and formulas, and code are no tables."""
    form = [(f"{name}:", "Anna Berg") for name in ("Name", "Born", "Town", "Port", "Ship")]
    contents = [(f"{i} Chapter about ships", f"{3 * i}") for i in range(1, 7)]
    numbered = [(f"[{i}]", f"Berg, A.: Ships of port {i}. 1990") for i in range(1, 7)]
    formulas = [(f"x = {i}y", f"({i}.1)") for i in range(1, 6)]
    code: list[Text] = [
        (left, 160 - 12 * i, MONO, 10, text)
        for i in range(6)
        for left, text in ((60, f"let a{i}"), (160, f"= f({i});"), (260, f"// {i}"))
    ]
    page = [
        *rows(form, (60, 200), top=800),
        *rows(contents, (60, 400), top=680),
        *rows(numbered, (60, 100), top=540),
        *rows(formulas, (200, 500), top=400),
        *code,
    ]
    document = read(tmp_path, page)
    assert tables(document) == []
    for word in ("Born:", "Chapter about ships", "[3]", "(4.1)", "// 5"):
        assert word in document.text


def test_keeps_every_word_once(tmp_path: Path) -> None:
    """Words beside, between and across the rules of a table are all there, once."""
    page: list[Text | Rule] = [
        *rows(SHIPS, LEFTS, top=501),
        *grid((60, 180, 300, 420), [512 - 14 * i for i in range(7)]),
        (430, 473, "F1", 10, "beside"),
        (170, 459, "F1", 10, "across"),
        (64, 516, "F1", 10, "above"),
    ]
    document = read(tmp_path, page)
    text = " ".join([document.text, *document.furniture])
    words = ["beside", "across", "above", *(cell for row in SHIPS for cell in row)]
    assert [text.count(word) for word in words] == [1] * len(words)
