from __future__ import annotations

import json

from chunking import schemas
from jobs.inspection.facts import as_object, furniture, setting_lines
from tests.chunking.strategies import DocumentBuilder
from tests.inspected import chunked, hostile, prose


def test_the_object_holds_the_published_columns() -> None:
    """Chunks have the columns of `chunks` but for the vector, with the boundary's numbers."""
    chunks = chunked(prose(), max_tokens=90)
    found = json.loads(json.dumps(as_object(chunks), allow_nan=False))
    assert len(found["chunks"]) == len(chunks) == found["document"]["n_chunks"]
    more = {"distance", "threshold", "repeated_tokens"}
    assert set(found["chunks"][0]) == {*schemas.chunks_schema(1).names, *more} - {"embedding"}
    for row, view in zip(found["chunks"], chunks, strict=True):
        assert row["text"] == view.text
        assert row["distance"] == view.distance
        assert row["split_reason"] == view.reason
    assert chunks.distances is not None
    assert [pair["distance"] for pair in found["distances"]] == chunks.distances.tolist()
    assert found["distances"][0]["position"] == chunks.units[0].end
    assert found["threshold"] == chunks.threshold
    assert found["settings"]["max_tokens"] == 90
    assert found["model"]["name"] == "hash:16"


def test_the_object_is_ascii_and_has_no_distances_without_a_model() -> None:
    """As JSON nothing of a hostile document acts on who shows it."""
    chunks = chunked(hostile(), boundaries="fixed", vectors="none", max_tokens=70)
    found = as_object(chunks)
    assert found["distances"] == []
    assert json.dumps(found).isascii()


def test_settings_that_do_not_apply_are_left_out() -> None:
    """A threshold is named where there is one, and the unit of an overlap with it."""
    semantic = chunked(prose(3, 20), boundaries="semantic", max_tokens=90)
    assert "threshold type" in setting_lines(semantic)
    fixed = setting_lines(chunked(prose(), boundaries="fixed", max_tokens=90))
    assert fixed.keys() & {"threshold", "threshold type", "overlap unit"} == set()
    overlapping = setting_lines(chunked(prose(), boundaries="fixed", overlap=5, max_tokens=90))
    assert overlapping["overlap unit"] == "tokens"


def test_furniture_is_counted_and_bounded() -> None:
    """Equal running heads are one line with their number; the rest is counted."""
    builder = DocumentBuilder()
    builder.add("paragraph", "Text.")
    document = builder.build()
    object.__setattr__(document, "furniture", ("Head", "1", "Head", "2", "Head\x07"))
    chunks = chunked(document)
    assert furniture(chunks, 2) == ([("Head", 2), ("1", 1)], 2)
    assert furniture(chunks, 9)[0][-1] == ("Head\u2407", 1)
