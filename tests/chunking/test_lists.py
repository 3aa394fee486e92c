"""Lists, captions, footnotes and notes: what stays together."""

from __future__ import annotations

import pytest

from chunking.model import BlockKind
from chunking.settings import ChunkingSettings, Strategy
from tests.chunking.laws import violations
from tests.chunking.making import HEADER, ROWS, STRATEGIES, built, chunked, texts
from tests.chunking.strategies import ADDITIVE, DocumentBuilder

RAIN = "It rained all day. "


def test_list_items_keep_their_lead_in() -> None:
    """A paragraph that announces a list is in the chunk of its first item."""
    document = built(
        ("paragraph", "It rained all day. " * 18), ("paragraph", "Bring these things along:"),
        *[("list_item", f"- item {i} of the long list of things") for i in range(30)],
    )  # fmt: skip
    found = texts(document, chunked(document, ChunkingSettings())[1])
    assert any("along:\n\n- item 0 " in text for text in found)


FOLLOWING: dict[str, list[tuple[BlockKind, str]]] = {
    "list": [("list_item", f"- item {i} of the long list of things") for i in range(30)],
    "table": [("table", "\n".join([HEADER, *ROWS[:60]]))],
    "code": [("code", "```\n" + "make all\n" * 60 + "```")],
    "formula": [("formula", "a = b + c")],
}


@pytest.mark.parametrize("boundaries", STRATEGIES)
@pytest.mark.parametrize("colon", [":", "\uff1a"])
@pytest.mark.parametrize("what", FOLLOWING)
@pytest.mark.parametrize("n", range(7, 18, 2))
def test_a_line_with_a_colon_stays_with_what_it_announces(
    boundaries: Strategy, colon: str, what: str, n: int
) -> None:
    """List, table, code or formula: the line in front is in the chunk of its beginning."""
    document = built(
        ("paragraph", (RAIN * n).strip()), ("paragraph", f"As shown here{colon}"), *FOLLOWING[what],
        ("paragraph", RAIN * 20),
    )  # fmt: skip
    chosen = ChunkingSettings(boundaries=boundaries, threshold=100.0)
    units, chunks = chunked(document, chosen)
    assert not violations(document, units, chunks, chosen, ADDITIVE.count)
    assert not any(text.endswith(colon) for text in texts(document, chunks)), texts(
        document, chunks
    )


@pytest.mark.parametrize("boundaries", STRATEGIES)
def test_nested_items_stay_with_their_parent(boundaries: Strategy) -> None:
    """An item is not parted from the first item below it; numbers and indents are kept."""
    builder = DocumentBuilder()
    for i in range(1, 25):
        builder.add("list_item", f"{i}. Chapter {i} of the harbour book", level=1)
        builder.add("list_item", f"  {i}.1 The section about the quay and its stones", level=2)
        builder.add("list_item", f"  {i}.2 The section about the pilots", level=2)
    document = builder.build()
    chosen = ChunkingSettings(boundaries=boundaries, threshold=100.0)
    units, chunks = chunked(document, chosen)
    assert not violations(document, units, chunks, chosen, ADDITIVE.count)
    found = texts(document, chunks)
    assert "\n".join(found) == document.text or boundaries == "fixed"
    assert not any(text.rsplit("\n", 1)[-1].endswith("book") for text in found)


@pytest.mark.parametrize("boundaries", STRATEGIES)
def test_items_are_whole_where_they_fit(boundaries: Strategy) -> None:
    """An item of several sentences is cut only where it exceeds the cap, and then at them."""
    short = "- " + " ".join(f"Ship {i} left the harbour." for i in range(14))
    long = "- " + " ".join(f"Boat {i} left the harbour." for i in range(80))
    document = built(*[("list_item", short)] * 6, ("list_item", long))
    chosen = ChunkingSettings(boundaries=boundaries, threshold=100.0)
    units, chunks = chunked(document, chosen)
    assert not violations(document, units, chunks, chosen, ADDITIVE.count)
    found = texts(document, chunks)
    assert "".join(found).count(short) == 6
    assert all(text.endswith("harbour.") for text in found)


@pytest.mark.parametrize("boundaries", STRATEGIES)
@pytest.mark.parametrize("kind", ["picture", "code", "formula"])
@pytest.mark.parametrize("place", ["above", "below"])
@pytest.mark.parametrize("n", range(9, 19, 3))
def test_a_caption_stays_with_its_object(
    boundaries: Strategy, kind: BlockKind, place: str, n: int
) -> None:
    """Above or below, a caption is in the chunk of what it names."""
    thing: tuple[BlockKind, str] = (kind, "```\nquay()\n```" if kind == "code" else "A quay")
    pair: list[tuple[BlockKind, str]] = [("caption", "The quay of Skagen"), thing]
    document = built(
        ("paragraph", RAIN * n),
        *(pair if place == "above" else pair[::-1]),
        ("paragraph", RAIN * n),
    )  # fmt: skip
    chosen = ChunkingSettings(boundaries=boundaries, threshold=100.0)
    (found,) = [t for t in texts(document, chunked(document, chosen)[1]) if "Skagen" in t]
    assert thing[1] in found


@pytest.mark.parametrize("boundaries", STRATEGIES)
def test_a_formula_is_never_cut_where_it_fits(boundaries: Strategy) -> None:
    """A formula of more than one unit is whole."""
    formula = " + ".join(f"x{i} y{i}" for i in range(40))
    document = built(("paragraph", RAIN * 10), ("formula", formula), ("paragraph", RAIN * 30))
    chosen = ChunkingSettings(boundaries=boundaries)
    assert any(formula in text for text in texts(document, chunked(document, chosen)[1]))


@pytest.mark.parametrize("boundaries", STRATEGIES)
def test_a_footnote_is_whole_and_near(boundaries: Strategy) -> None:
    """A footnote is not cut where it fits, and goes with the text before it."""
    note = "1 " + " ".join(f"See page {i} of the book." for i in range(8))
    document = built(
        ("paragraph", (RAIN * 14).strip()), ("footnote", note), ("paragraph", RAIN * 20)
    )
    chosen = ChunkingSettings(boundaries=boundaries, threshold=100.0)
    (found,) = [t for t in texts(document, chunked(document, chosen)[1]) if "See page 0" in t]
    assert note in found
    assert "rained" in found.partition("See page 0")[0]


@pytest.mark.parametrize("boundaries", STRATEGIES)
def test_notes_stay_with_their_slide(boundaries: Strategy) -> None:
    """No chunk begins with what a speaker says, with or without a title on the slide."""
    builder = DocumentBuilder()
    for page in range(1, 9):
        if page % 2:
            builder.heading(f"Slide {page}")
        builder.add("paragraph", f"Shown {page}. " + RAIN * 6, page=page)
        builder.add("other", f"Said {page}. " + RAIN * 6, page=page)
    document = builder.build()
    chosen = ChunkingSettings(boundaries=boundaries, threshold=100.0)
    found = texts(document, chunked(document, chosen)[1])
    assert len(found) > 3
    assert not any(text.startswith("Said") for text in found)
