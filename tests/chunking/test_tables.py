"""Tables: whole where they fit, cut at rows, headed in every continuation."""

from __future__ import annotations

import re

import pytest

from chunking.model import BlockKind, Document
from chunking.settings import ChunkingSettings, Strategy
from tests.chunking.laws import violations
from tests.chunking.making import HEADER, ROWS, STRATEGIES, built, chunked, texts
from tests.chunking.strategies import ADDITIVE, DocumentBuilder


@pytest.mark.parametrize("caption", ["before", "after", "none"])
def test_a_long_table_repeats_header_and_caption(caption: str) -> None:
    """Each continuation has the heading, the caption and the header in its prefix."""
    blocks: list[tuple[BlockKind, str]] = [("table", "\n".join([HEADER, *ROWS]))]
    if caption == "before":
        blocks.insert(0, ("caption", "Table 1: vessels"))
    if caption == "after":
        blocks.append(("caption", "Table 1: vessels"))
    document = built(("heading", "Harbour"), *blocks)
    units, chunks = chunked(document, ChunkingSettings())
    assert not violations(document, units, chunks, ChunkingSettings(), ADDITIVE.count)
    line = "" if caption == "none" else "Table 1: vessels\n"
    inner = [chunk for chunk in chunks[1:] if chunk.kind == "table"]
    assert len(inner) > 5
    assert {chunk.prefix for chunk in inner} == {f"Harbour\n{line}{HEADER}\n"}
    assert all(len(chunk.header_units) == 1 for chunk in inner)
    rows = "\n".join(texts(document, chunks)).split("\n")
    assert [row for row in rows if row.startswith("| B") and "Berth" not in row] == ROWS


def test_headers_are_repeated_without_heading_prefixes() -> None:
    """Without heading lines in the prefix a table still repeats its header."""
    document = built(("heading", "Harbour"), ("table", "\n".join([HEADER, *ROWS])))
    chosen = ChunkingSettings(prefix_headings=False)
    chunks = chunked(document, chosen)[1]
    assert {chunk.prefix for chunk in chunks[1:]} == {f"{HEADER}\n"}


def test_a_one_column_table_keeps_its_header() -> None:
    """A table of one column is a table like any other."""
    rows = [f"| vessel {i} |" for i in range(200)]
    document = built(("table", "\n".join(["| Name |", "| --- |", *rows])))
    chunks = chunked(document, ChunkingSettings())[1]
    assert {chunk.prefix for chunk in chunks[1:]} == {"| Name |\n| --- |\n"}


def test_a_row_above_the_cap_is_cut_between_cells() -> None:
    """Only a row that exceeds the cap alone is cut, and then at its cells."""
    wide = "| " + " | ".join("word " * 20 for _ in range(12)) + " |"
    document = built(("table", "\n".join([HEADER, ROWS[0], wide, ROWS[1]])))
    chosen = ChunkingSettings(max_tokens=120, target_tokens=100)
    units, chunks = chunked(document, chosen)
    assert not violations(document, units, chunks, chosen, ADDITIVE.count)
    assert all(text.startswith("|") for text in texts(document, chunks))


def test_a_table_that_fits_stays_whole() -> None:
    """A table under the cap is one chunk, even where its neighbours would fill up with rows."""
    table = "\n".join([HEADER, *ROWS[:16]])
    document = built(
        ("paragraph", "It rained all day. " * 15), ("table", table),
        ("paragraph", "It rained all day. " * 30),
    )  # fmt: skip
    for boundaries in STRATEGIES:
        chosen = ChunkingSettings(boundaries=boundaries)
        found = chunked(document, chosen)[1]
        assert any(table in text for text in texts(document, found)), boundaries


CAPTIONS = {
    "before": ([("caption", "Table 1: vessels")], []),
    "after": ([], [("caption", "Table 1: vessels")]),
    "a paragraph between": ([("caption", "Table 1: vessels"), ("paragraph", "In 1901.")], []),
    "a paragraph by its words": ([("paragraph", "Table 1: vessels")], []),
}


@pytest.mark.parametrize("where", CAPTIONS)
@pytest.mark.parametrize("boundaries", STRATEGIES)
def test_a_caption_is_repeated_wherever_it_stands(where: str, boundaries: Strategy) -> None:
    """Before, below, apart by a paragraph, or a paragraph that says it is one."""
    before, after = CAPTIONS[where]
    table: tuple[BlockKind, str] = ("table", "\n".join([HEADER, *ROWS]))
    document = built(*before, table, *after)
    chosen = ChunkingSettings(boundaries=boundaries)
    units, chunks = chunked(document, chosen)
    assert not violations(document, units, chunks, chosen, ADDITIVE.count)
    inner = [chunk for chunk in chunks[1:] if chunk.kind == "table"]
    assert {chunk.prefix for chunk in inner} == {f"Table 1: vessels\n{HEADER}\n"}


def test_the_caption_of_a_picture_is_not_that_of_a_table() -> None:
    """A caption below a picture is not taken for the table that comes a paragraph later."""
    document = built(
        ("picture", "A quay"), ("caption", "Figure 1"), ("paragraph", "Text."),
        ("table", "\n".join([HEADER, *ROWS])),
    )  # fmt: skip
    assert "Figure" not in "".join(c.prefix for c in chunked(document, ChunkingSettings())[1])


@pytest.mark.parametrize("delimiter", [True, False])
def test_a_table_whose_rows_are_not_named_is_read_by_lines(delimiter: bool) -> None:  # noqa: FBT001
    """Without row starts its lines are the rows; a delimiter line is part of the header."""
    header = HEADER if delimiter else HEADER.split("\n", 1)[0]
    builder = DocumentBuilder()
    builder.add("table", "\n".join([header, *ROWS]))
    document = builder.build()
    units, chunks = chunked(document, ChunkingSettings())
    assert not violations(document, units, chunks, ChunkingSettings(), ADDITIVE.count)
    assert {chunk.prefix for chunk in chunks[1:]} == {f"{header}\n"}
    assert {len(chunk.header_units) for chunk in chunks[1:]} == {1 + delimiter}


def test_a_header_of_several_lines_is_repeated_whole() -> None:
    """All lines up to the first row are the header."""
    header = "| Berth | Vessel |\n| No. | Name |\n| --- | --- |"
    builder = DocumentBuilder()
    builder.table([header, *ROWS])
    chunks = chunked(builder.build(), ChunkingSettings())[1]
    assert {chunk.prefix for chunk in chunks[1:]} == {f"{header}\n"}


def wide_table(n_columns: int, words: int, n_rows: int = 3) -> Document:
    """Return a table whose cells name their row and column."""
    names = [f"col{c}" for c in range(n_columns)]
    lines = [f"| {' | '.join(names)} |\n|{' --- |' * n_columns}"]
    lines += [
        f"| {' | '.join(f'r{r}c{c} ' + 'word ' * words for c in range(n_columns))}|"
        for r in range(n_rows)
    ]
    builder = DocumentBuilder()
    builder.table(lines)
    return builder.build()


@pytest.mark.parametrize("boundaries", STRATEGIES)
@pytest.mark.parametrize(("n_columns", "words"), [(12, 20), (60, 4), (5, 300), (70, 0)])
def test_parts_of_a_wide_row_stand_under_their_columns(
    boundaries: Strategy, n_columns: int, words: int
) -> None:
    """A part of a row that exceeds the cap has the header cells of its own columns in front."""
    document = wide_table(n_columns, words)
    chosen = ChunkingSettings(
        boundaries=boundaries, max_tokens=120, target_tokens=100, min_tokens=10
    )
    units, chunks = chunked(document, chosen)
    assert not violations(document, units, chunks, chosen, ADDITIVE.count)
    parts = [c for c in chunks if c.start >= document.blocks[0].row_starts[1]]
    for chunk, text in zip(parts, texts(document, parts), strict=True):
        named = [int(name) for name in re.findall(r"r\dc(\d+)", text)]
        heads = [int(name) for name in re.findall(r"col(\d+)", chunk.prefix)]
        assert heads, text
        if named:
            assert named == heads
        assert chunk.header_units


def test_a_cell_above_the_cap_is_cut_like_prose() -> None:
    """A cell that no chunk can hold is cut at its sentences, each part under its column."""
    cell = " ".join(f"Ship number {i} left the harbour." for i in range(60))
    document = built(("table", f"{HEADER}\n| B1 | {cell} |"))
    chosen = ChunkingSettings(max_tokens=100, target_tokens=80)
    units, chunks = chunked(document, chosen)
    assert not violations(document, units, chunks, chosen, ADDITIVE.count)
    inner = [chunk for chunk in chunks if "| Vessel |" in chunk.prefix]
    assert len(inner) > 3
    assert all(text.startswith("Ship number") for text in texts(document, inner[1:]))


@pytest.mark.parametrize("boundaries", STRATEGIES)
def test_a_header_above_the_cap_loses_nothing(boundaries: Strategy) -> None:
    """A header that fits into no prefix is left out there; rows and header stay in the text."""
    header = "| " + " | ".join(f"measure{i}" for i in range(80)) + " |\n|" + " --- |" * 80
    row = "| " + " | ".join(str(i) for i in range(20)) + " |"
    builder = DocumentBuilder()
    builder.table([header, row, row])
    document = builder.build()
    chosen = ChunkingSettings(boundaries=boundaries, max_tokens=100, target_tokens=80)
    units, chunks = chunked(document, chosen)
    assert not violations(document, units, chunks, chosen, ADDITIVE.count)


def test_a_header_that_leaves_no_room_for_a_row_gives_way() -> None:
    """The row is not cut for the sake of the prefix."""
    header = "| " + " | ".join(f"name{i}" for i in range(10)) + " |\n|" + " --- |" * 10
    rows = ["| " + " | ".join(f"cell{i} word word word" for i in range(10)) + " |"] * 4
    builder = DocumentBuilder()
    builder.table([header, *rows])
    document = builder.build()
    chosen = ChunkingSettings(max_tokens=100, target_tokens=90)
    units, chunks = chunked(document, chosen)
    assert not violations(document, units, chunks, chosen, ADDITIVE.count)
    assert texts(document, chunks)[1:] == rows[-len(chunks) + 1 :]


def test_escaped_bars_part_no_cells() -> None:
    r"""A cell that holds ``\|`` is one cell, also where its row is cut."""
    cells = [f"a{i}\\|b{i} " + "word " * 15 for i in range(12)]
    document = built(("table", f"{HEADER}\n| {' | '.join(cells)} |"))
    found = texts(document, chunked(document, ChunkingSettings(max_tokens=80, target_tokens=60))[1])
    assert all(text.startswith(("| a", "| Berth")) for text in found)


@pytest.mark.parametrize("boundaries", STRATEGIES)
def test_a_table_of_a_hundred_thousand_tokens_is_read_a_few_times(boundaries: Strategy) -> None:
    """Each row stands in exactly one chunk, and counting stays in proportion to the text."""
    rows = [f"| B{i} | Vessel number {i} of the line |" for i in range(12_000)]
    document = built(("table", "\n".join([HEADER, *rows])))
    assert len(ADDITIVE(document.text).ids) > 105_000
    chunks = chunked(document, ChunkingSettings(boundaries=boundaries))[1]
    assert "\n".join(texts(document, chunks)).split("\n")[2:] == rows
    assert {chunk.prefix for chunk in chunks[1:]} == {f"{HEADER}\n"}


@pytest.mark.parametrize("kind", ["table", "code"])
@pytest.mark.parametrize("boundaries", STRATEGIES)
def test_no_target_cuts_what_fits(boundaries: Strategy, kind: BlockKind) -> None:
    """However small the target is, a table or code block under the cap is whole."""
    rows = "\n".join([HEADER, *ROWS[:60]])
    text = rows if kind == "table" else f"```\n{rows}\n```"
    document = built(("paragraph", "It rained all day. " * 60), (kind, text))
    chosen = ChunkingSettings(boundaries=boundaries, max_tokens=900, target_tokens=1, min_tokens=1)
    units, chunks = chunked(document, chosen)
    assert not violations(document, units, chunks, chosen, ADDITIVE.count)
    assert any(text in found for found in texts(document, chunks))


def test_a_cell_that_fits_is_never_cut_for_its_header() -> None:
    """The prefix gives way to the text: only a cell above the cap is cut."""
    cell = " ".join(f"Ship {i} left." for i in range(19))
    document = built(
        ("table", f"| A header of some length | B |\n| --- | --- |\n| {cell} | {cell} |")
    )
    chosen = ChunkingSettings(max_tokens=88, target_tokens=80)
    units, chunks = chunked(document, chosen)
    assert not violations(document, units, chunks, chosen, ADDITIVE.count)
    assert sum(cell in text for text in texts(document, chunks)) == 2
