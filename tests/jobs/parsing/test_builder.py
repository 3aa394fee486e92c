from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chunking.model import Box
from jobs.parsing.builder import DocumentBuilder
from tests.jobs.parsing.made import block_of, check_laws, texts

ANY_TEXT = st.text(st.characters(codec=None), max_size=40)
CELLS = st.lists(st.lists(ANY_TEXT, max_size=4), max_size=5)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["p", "h", "l", "c"]), ANY_TEXT, CELLS), max_size=12))
def test_any_text_obeys_the_laws(pieces: list[tuple[str, str, list[list[str]]]]) -> None:
    """Whatever is added, surrogates and NULs too, blocks tile the text and rows are lines."""
    builder = DocumentBuilder()
    for kind, text, cells in pieces:
        if kind == "p":
            builder.add("paragraph", text)
        elif kind == "h":
            builder.heading(text, len(text) % 4 + 1)
        elif kind == "l":
            builder.list_item(text, depth=len(text) % 3 + 1, list_id=1)
        else:
            builder.code(text)
        builder.table(cells)
    check_laws(builder.build())


def test_headings_stand_under_their_parents() -> None:
    """A heading's path holds the nearest headings of lower level, outermost first."""
    builder = DocumentBuilder()
    for text, level in (("A", 1), ("B", 3), ("C", 2), ("D", 1)):
        builder.heading(text, level)
        builder.add("paragraph", f"below {text}")
    paths = {t: b.heading_path for t in "ABCD" for b in [block_of(builder.build(), f"below {t}")]}
    assert paths == {"A": ("A",), "B": ("A", "B"), "C": ("A", "C"), "D": ("D",)}
    assert block_of(builder.build(), "C").heading_path == ("A",)


def test_lists_are_joined_and_indented() -> None:
    """Items of one list are one line apart, another list a blank line; depth indents."""
    builder = DocumentBuilder()
    builder.list_item("one", marker="1.", list_id=1)
    builder.list_item("deep", depth=2, list_id=1)
    builder.list_item("other", list_id=2)
    assert builder.build().text == "1. one\n  - deep\n\n- other"


def test_table_cells_are_one_line_and_escaped() -> None:
    """Line ends become blanks, bars are escaped, short rows filled, blank rows dropped."""
    builder = DocumentBuilder()
    builder.table([["a", "b|c"], ["", " "], ["d\n e"]])
    assert builder.build().text == "| a | b\\|c |\n| --- | --- |\n| d e |  |"


def test_table_without_header_has_a_blank_one() -> None:
    """The first row of data is never taken for a header when there is none."""
    builder = DocumentBuilder()
    builder.table([["x"], ["y"]], header=False)
    document = builder.build()
    assert document.text == "|  |\n| --- |\n| x |\n| y |"
    check_laws(document)


def test_code_is_verbatim_in_a_longer_fence() -> None:
    """Tabs, blank lines and fences inside code survive."""
    builder = DocumentBuilder()
    builder.code("\tx = 1\n\n```\n", "python")
    document = builder.build()
    assert document.text == "````python\n\tx = 1\n\n```\n````"
    assert document.blocks[0].code_language == "python"


def test_blank_lines_part_paragraphs() -> None:
    """A block never holds a blank line, and blanks within it are kept."""
    builder = DocumentBuilder()
    builder.add("paragraph", "\n one  two\u00a0three\n\n \t\n\nfour ")
    assert texts(builder.build()) == ["one  two\u00a0three", "four"]


def test_damaged_characters_are_replaced_with_a_warning() -> None:
    """Lone surrogates and NUL become U+FFFD, and it is said."""
    builder = DocumentBuilder()
    builder.add("paragraph", "a\ud800b\0c")
    assert builder.build().text == "a\ufffdb\ufffdc"
    assert builder.warnings


def test_pages_come_from_boxes_or_page() -> None:
    """A block's pages are those of its boxes, else the page that was given."""
    builder = DocumentBuilder()
    boxes = [Box(page=p, left=0, top=0, right=1, bottom=1) for p in (3, 2)]
    builder.add("paragraph", "boxed", boxes=boxes)
    builder.add("paragraph", "paged", page=5)
    first, second = builder.build().blocks
    assert (first.page_start, first.page_end, first.boxes) == (2, 3, tuple(boxes))
    assert (second.page_start, second.page_end, second.boxes) == (5, 5, ())


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The ferry leaves at noon from the north quay and returns at night.", "en"),
        ("Færgen sejler klokken tolv fra nordkajen og kommer tilbage om aftenen.", "da"),
        ("Die Fähre legt um zwölf Uhr vom Nordkai ab und kommt abends zurück.", "de"),
        ("Short.", None),
        ("1 2 3 4 5 6 7 8 9 10 11 12", None),
    ],
)
def test_language_is_told_or_none(text: str, language: str | None) -> None:
    """The language of prose is told where there is enough of it."""
    builder = DocumentBuilder()
    builder.add("paragraph", text)
    assert builder.build().language == language


def test_large_inputs_take_linear_work() -> None:
    """100,000 blocks, a 5,000-row table and a line of 2 million blanks are no trouble."""
    builder = DocumentBuilder()
    for number in range(100_000):
        builder.add("paragraph", f"block {number}")
    builder.table([[f"{row}", "x"] for row in range(5_000)])
    builder.add("paragraph", "a" + " " * 2_000_000 + "b")
    builder.table([["c" + " " * 2_000_000 + "d"]])
    assert len(builder.build().blocks) == 100_003
