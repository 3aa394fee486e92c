from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chunking.errors import DocumentError
from chunking.model import Document
from jobs.inspection.body import chunk_parts, split_row
from tests.chunking.strategies import documents
from tests.inspected import chunked, hostile, prose, tables


@pytest.mark.parametrize("document", [prose(), tables(), hostile()], ids=["prose", "tables", "odd"])
@pytest.mark.parametrize("overlap", [0, 2])
def test_parts_join_to_the_text(document: Document, overlap: int) -> None:
    """Pieces and gaps of a chunk are its text, exactly."""
    chunks = chunked(
        document,
        boundaries="recursive",
        overlap=overlap,
        overlap_unit="sentences",
        max_tokens=60,
        vectors="none",
    )
    for view, parts in zip(chunks, chunk_parts(chunks), strict=True):
        joined = "".join("".join(piece.text for piece in part.pieces) + part.gap for part in parts)
        assert joined == view.text


@settings(max_examples=40, deadline=None)
@given(documents(), st.sampled_from(["fixed", "recursive", "structural"]))
def test_parts_join_for_any_document(document: Document, boundaries: str) -> None:
    """Whatever the blocks and characters are."""
    try:
        chunks = chunked(document, boundaries=boundaries, max_tokens=40, vectors="none")
    except DocumentError:
        return  # one character alone exceeds the cap
    for view, parts in zip(chunks, chunk_parts(chunks), strict=True):
        pieces = [piece for part in parts for piece in (*part.pieces,)]
        assert all(piece.text for piece in pieces)
        text = "".join("".join(p.text for p in part.pieces) + part.gap for part in parts)
        assert text == view.text


def test_every_row_of_a_table_is_drawn_once() -> None:
    """The chunks' rows are the table's; a continuation shows the header of its prefix."""
    document = tables()
    chunks = chunked(document, max_tokens=70)
    found = [
        part.table for parts in chunk_parts(chunks) for part in parts if part.table is not None
    ]
    assert len(found) > 2
    assert [table.header_from for table in found] == ["text", *["prefix"] * (len(found) - 1)]
    assert {table.header for table in found} == {("Length", "Dues", "Note")}
    rows = [row for table in found for row in table.rows]
    assert rows == [(f"{i} m", f"{i * 35} kr.", "a|b") for i in range(40)]


def test_a_header_that_the_prefix_lacks_is_not_shown() -> None:
    """A table whose header does not fit into the prefix has none in its continuations."""
    document = tables()
    chunks = chunked(document, max_tokens=70)
    bare = dataclasses.replace(
        chunks,
        views=tuple(
            dataclasses.replace(view, chunk=dataclasses.replace(view.chunk, prefix=""))
            for view in chunks
        ),
    )
    found = [part.table for parts in chunk_parts(bare) for part in parts if part.table is not None]
    assert [table.header for table in found[1:]] == [()] * (len(found) - 1)


def test_fences_are_told_from_code() -> None:
    """The fences are marked, and what lies between them is the code."""
    chunks = chunked(tables(), max_tokens=200)
    pieces = [
        piece
        for parts in chunk_parts(chunks)
        for part in parts
        if part.block.kind == "code"
        for piece in part.pieces
    ]
    fences = [piece.text for piece in pieces if piece.mark == "fence"]
    assert fences == ["```python\n", "\n```"]
    code = "".join(piece.text for piece in pieces if not piece.mark)
    assert code.replace("\n", "").startswith("dues[0] = 0 * 35  # line 0dues[1]")


def test_overlap_is_marked_on_both_sides() -> None:
    """What two chunks share is marked in either, and nothing else is."""
    chunks = chunked(
        prose(1, 40), boundaries="recursive", overlap=2, overlap_unit="sentences", max_tokens=90
    )
    parts = list(chunk_parts(chunks))
    shared = 0
    for i in range(1, len(chunks)):
        start, end = chunks[i].span.start, chunks[i - 1].span.end
        if start >= end:
            continue
        shared += 1
        repeated = chunks.document.text[start:end]
        assert parts[i][0].pieces[0].mark == "repeated"
        assert parts[i][0].pieces[0].text == repeated
        assert parts[i - 1][-1].pieces[-1].mark == "repeated"
        assert parts[i - 1][-1].pieces[-1].text == repeated
    assert shared > 2


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        ("| a | b |", ("a", "b")),
        ("| a \\| b | |", ("a | b", "")),
        ("a | b", ("a", "b")),
        ("| only", ("only",)),
        ("| x \\|", ("x |",)),
        ("|  |  |", ("", "")),
        ("", ("",)),
    ],
)
def test_rows_split_at_bars(line: str, cells: tuple[str, ...]) -> None:
    """Escaped bars belong to their cell; a piece of a row is still cells."""
    assert split_row(line) == cells
