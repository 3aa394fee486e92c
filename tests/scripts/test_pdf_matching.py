from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "scripts" / "bench"))

from pdf_matching import details, grid_cells, letters, match, overlap, same_text  # noqa: E402


def item(kind: str, text: str = "", box: tuple[float, ...] = (0, 0, 100, 10), **more: Any) -> Any:
    """Return an engine's item, or a label without its length."""
    return {"kind": kind, "text": text, "box": box, **more}


def label(kind: str, text: str, box: tuple[float, ...] = (0, 0, 100, 10), **more: Any) -> Any:
    """Return a label of the whole text."""
    return item(kind, text, box, **{"length": len(letters(text)), **more})


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ("1.2 Results", "1.2  RESULTS"),
        ("1.2 Results", "Results"),
        ("Final ofﬁce", "Final office"),
        ("The \u00a7 9a rules", "The § 9a rules."),
        ("Überblick", "U\u0308berblick"),
    ],
)
def test_the_same_text_matches_however_it_is_written(wanted: str, text: str) -> None:
    """Case, blanks, ligatures, punctuation, and a number that was left out make no difference."""
    assert same_text(label("heading", wanted), item("heading", text))


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ("Results", "Results of the first trial and all that followed from it"),
        ("Results of the first trial", "Results"),
        ("Results", "Methods"),
        ("3", "13"),
        ("3", ""),
    ],
)
def test_another_text_does_not_match(wanted: str, text: str) -> None:
    """A text that merely holds the label, or a part of it, is another text."""
    assert not same_text(label("heading", wanted), item("heading", text))


def test_the_start_of_a_long_text_is_enough() -> None:
    """Labels quote the first words; how long the whole is stands beside them."""
    wanted = {"kind": "footnote", "text": "See the report", "length": 40}
    text = "See the report of the office, part two, on page 7"
    assert same_text(wanted, item("footnote", text))
    assert not same_text(wanted, item("footnote", "See the report"))
    assert not same_text(wanted, item("footnote", text * 3))
    assert same_text({**wanted, "longest": 120}, item("footnote", text * 3))


def test_the_marker_of_a_list_item_is_no_part_of_it() -> None:
    """Whether an engine keeps the marker in the text or apart from it."""
    wanted = label("list_item", "Stir it.")
    for text in ("Stir it.", "3. Stir it.", "\u2022 Stir it.", "(a) Stir it."):
        assert same_text(wanted, item("list_item", text))


def test_what_is_found_missed_and_wrong_is_counted() -> None:
    """Each label is matched once: a second item of the same text is wrong."""
    labels = [label("heading", "One"), label("heading", "Two", (0, 50, 100, 60))]
    labels.append(label("caption", "Three", (0, 70, 100, 80)))
    items = [item("heading", "One"), item("heading", "One", (0, 20, 100, 30))]
    items.append(item("heading", "Three", (0, 70, 100, 80)))
    count = match("heading", labels, items)
    assert (count.labels, count.found, count.items, count.right) == (2, 1, 3, 1)
    assert count.missed == ["Two"]
    assert count.wrong == ["One", "Three"]
    assert count.precision == pytest.approx(1 / 3)
    assert count.recall == pytest.approx(1 / 2)
    assert count.f1 == pytest.approx(0.4)


def test_nothing_said_scores_nothing() -> None:
    """An engine without structure has neither precision nor recall."""
    count = match("heading", [label("heading", "One")], [])
    assert (count.precision, count.recall, count.f1) == (0.0, 0.0, 0.0)


def test_a_title_counts_as_a_heading_and_by_itself() -> None:
    """Told as a heading, the title is found as one, but not as the title."""
    labels = [label("title", "A Book"), label("heading", "One", (0, 50, 20, 60))]
    items = [item("heading", "A Book"), item("heading", "One", (0, 50, 20, 60))]
    assert match("heading", labels, items).found == 2
    assert match("title", labels, items).found == 0


def test_letters_without_a_meaning_match_by_their_place() -> None:
    """Boxes that agree make up for a text that two readers see in two ways."""
    wanted = label("heading", "\u05e9\u05dc\u05d5\u05dd", (10, 10, 90, 30))
    assert match("heading", [wanted], [item("heading", "xyz", (10, 11, 92, 30))]).found == 1
    assert match("heading", [wanted], [item("heading", "xyz", (10, 10, 30, 30))]).found == 0


def test_equal_texts_are_told_apart_by_their_places() -> None:
    """The item beside the label is the labelled one."""
    wanted = label("heading", "One", (0, 50, 20, 60))
    items = [item("heading", "One", (0, 0, 20, 10)), item("heading", "One", (0, 50, 20, 60))]
    assert match("heading", [wanted], items).wrong == ["One"]
    assert match("heading", [wanted], items[1:]).wrong == []


def test_furniture_is_compared_by_words() -> None:
    """A running head that an engine cuts, or joins with the page number, is the same one."""
    labels = [label("furniture", "Annual Report"), label("furniture", "12")]
    joined = [item("furniture", "Annual Report 12")]
    cut = [item("furniture", text) for text in ("Annual", "Report", "12")]
    for items in (joined, cut):
        count = match("furniture", labels, items)
        assert (count.found, count.right, count.wrong) == (2, len(items), [])


def test_furniture_without_a_word_is_not_counted() -> None:
    """A rule made of underscores says nothing, right or wrong."""
    assert match("furniture", [], [item("furniture", "_" * 40)]).items == 0


def test_a_page_of_text_is_no_furniture() -> None:
    """Nor does it count as having found what stands in it."""
    labels = [label("furniture", "Annual Report 12")]
    items = [item("furniture", "annual report 12 and whatever else there is to be read on a page")]
    count = match("furniture", labels, items)
    assert (count.found, count.right, len(count.wrong)) == (0, 0, 1)


def test_an_open_region_is_neither_right_nor_wrong() -> None:
    """What most of lies there is not counted, for the kinds that are named."""
    labels = [{"kind": "ignore", "box": (0, 0, 100, 100), "kinds": ["heading"]}]
    assert match("heading", labels, [item("heading", "One", (10, 90, 50, 105))]).items == 0
    assert match("heading", labels, [item("heading", "One", (10, 96, 50, 120))]).items == 1
    assert match("caption", labels, [item("caption", "One", (10, 10, 50, 20))]).items == 1


def test_the_share_of_two_boxes() -> None:
    """Intersection over union; 0 where they do not meet or have no area."""
    assert overlap((0, 0, 10, 10), (5, 0, 15, 10)) == pytest.approx(1 / 3)
    assert overlap((0, 0, 10, 10), (20, 0, 30, 10)) == 0.0
    assert overlap((0, 0, 0, 0), (0, 0, 0, 0)) == 0.0


GRID: Any = {
    "kind": "table",
    "text": "",
    "box": (0, 0, 30, 30),
    "rows": 3,
    "columns": 2,
    "header_rows": 1,
    "row_edges": [10, 20],
    "column_edges": [15],
    "spans": [[0, 0, 0, 1]],
}


def test_the_cells_of_a_grid_hold_what_stands_in_them() -> None:
    """A cell that spans others is told once, and what stands outside is no part of it."""
    marks = [("a", 5, 5), ("b", 25, 5), ("c", 5, 15), ("d", 25, 15), ("e", 5, 25), ("x", 40, 5)]
    assert list(grid_cells(GRID, marks)) == ["ab", "c", "d", "e"]


def test_tables_are_compared_by_place_and_by_their_cells() -> None:
    """Rows, columns and header rows of the table that was found, and texts of its cells."""
    given = item("table", "", (0, 0, 30, 28), rows=3, columns=2, header_rows=0)
    given["cells"] = ["a b", "c", "d e"]
    found = details([GRID], [given], [["ab", "c", "d", "e"]])
    assert (found.tables, found.rows, found.columns, found.header_rows) == (1, 1, 1, 0)
    assert found.body_rows == 0
    folded = {**given, "rows": 2, "header_rows": 0}
    assert details([GRID], [folded], [[]]).body_rows == 1
    assert (found.cells.found, found.cells.labels, found.cells.items) == (2, 4, 3)
    missed = details([GRID], [item("table", "", (0, 0, 10, 10), rows=1)], [["ab"]])
    assert (missed.tables, missed.cells.labels, missed.cells.items) == (0, 1, 0)


def test_a_table_without_cells_is_found_and_has_nothing_right() -> None:
    """An engine that knows where tables are, not what is in them."""
    bare = {**GRID, "header_rows": 0}
    given = item("table", "", (0, 0, 30, 30), rows=0, columns=0, header_rows=0, cells=[])
    found = details([bare], [given], [["ab"]])
    assert (found.tables, found.rows, found.header_rows) == (1, 0, 0)


def test_levels_are_compared_within_a_page() -> None:
    """Levels that begin elsewhere are right, as long as headings stand as they should."""
    labels = [label("heading", text, level=level) for text, level in (("One", 1), ("Two", 2))]
    right = [item("heading", "One", level=3), item("heading", "Two", level=4)]
    flat = [item("heading", "One", level=1), item("heading", "Two", level=1)]
    assert (details(labels, right, []).ordered, details(labels, flat, []).ordered) == (1, 0)
    assert details(labels, right[:1], []).pairs == 0
