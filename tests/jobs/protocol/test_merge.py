"""A bucket's next version: what stays, what is replaced, and what the feed says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from chunking import schemas
from chunking.errors import AlignmentError
from jobs.adapters.stores.memory import MemoryStore
from jobs.protocol.merge import BucketRows, Merged, merge
from jobs.protocol.plan import PlannedUnit
from jobs.protocol.run import Run, RunSettings
from jobs.protocol.units import UnitRows, commit_unit, read_unit
from tests.jobs.protocol.simulation import FakeSource, planned_of, process, settings

EMPTY = BucketRows.empty(schemas.chunks_schema(2))


def unit(documents: dict[str, str], config: RunSettings | None = None, number: int = 0) -> UnitRows:
    """Return the committed rows of some documents."""
    store, source, config = MemoryStore(), FakeSource(documents), config or settings()
    run = Run(run_id="00000001-20270115T080001Z", settings=config, n_buckets=1)
    planned = PlannedUnit(
        unit=number, bucket=0, documents=tuple(planned_of(item) for item in source.items())
    )
    return read_unit(store, commit_unit(store, run, planned, process(planned, source, config)))


def merged(previous: BucketRows, *units: UnitRows, deletions: tuple[str, ...] = ()) -> Merged:
    """Merge without partitions."""
    return merge(previous, units, deletions, source_name=None, partition_value=lambda _: None)


def document(rows: BucketRows, key: str) -> dict[str, Any]:
    """Return a documents row."""
    return next(row for row in rows.documents.to_pylist() if row["source_key"] == key)


def changes(result: Merged) -> dict[str, tuple[str, bool]]:
    """Return op and vector_changed by chunk id."""
    rows = result.changes.to_pylist()
    assert len({row["chunk_id"] for row in rows}) == len(rows)
    return {row["chunk_id"]: (row["op"], row["vector_changed"]) for row in rows}


def ids_of(rows: BucketRows, text: str) -> str:
    """Return the id of the chunk with a text."""
    return next(row["chunk_id"] for row in rows.chunks.to_pylist() if row["text"] == text)


def test_rows_do_not_depend_on_units() -> None:
    """Any grouping of the documents into units, in any order, gives the same rows."""
    contents = {"a": "x|y", "b": "!corrupt", "c": "", "d": "z|z"}
    one = merged(EMPTY, unit(contents))
    parts = [unit({key: content}, number=i) for i, (key, content) in enumerate(contents.items())]
    many = merged(EMPTY, *parts[::-1])
    drop = ["sentences_ref"]
    assert many.rows.documents.drop_columns(drop).equals(one.rows.documents.drop_columns(drop))
    for name in ("chunks", "boundaries"):
        assert getattr(many.rows, name).equals(getattr(one.rows, name))
    drop = ["structure_ref"]
    assert many.rows.index.drop_columns(drop).equals(one.rows.index.drop_columns(drop))
    assert many.changes.equals(one.changes)
    assert many.counts == one.counts


def test_failed_document_keeps_its_chunks() -> None:
    """Its row describes the published chunks, and the last attempt's failure; it is stale."""
    before = merged(EMPTY, unit({"a": "#html#x|y", "b": "z"})).rows
    after = merged(before, unit({"a": "!corrupt"}, settings("B")))
    row, old = document(after.rows, "a"), document(before, "a")
    kept = ("doc_version", "format", "text", "blocks", "n_chunks", "n_chars", "sentences_ref")
    assert {name: row[name] for name in kept} == {name: old[name] for name in kept}
    assert (row["status"], row["error_kind"], row["stale"]) == ("failed", "corrupt", True)
    assert row["fingerprint"] == "B"
    assert row["etag"] != old["etag"]
    assert after.rows.chunks.equals(before.chunks)
    assert after.changes.num_rows == 0


def test_stale_document_recovers_or_stays_stale() -> None:
    """A second failure changes nothing; a success replaces the old chunks."""
    first = merged(EMPTY, unit({"a": "x|y"})).rows
    second = merged(first, unit({"a": "!corrupt"})).rows
    third = merged(second, unit({"a": "!network"})).rows
    assert third.chunks.equals(first.chunks)
    assert document(third, "a")["error_kind"] == "network"
    fourth = merged(third, unit({"a": "y|n"}))
    assert fourth.rows.chunks["text"].to_pylist() == ["y", "n"]
    assert document(fourth.rows, "a")["stale"] is False


def test_document_that_never_worked_describes_nothing() -> None:
    """A failed document without published chunks has no version, text or blocks."""
    row = document(merged(EMPTY, unit({"a": "!corrupt"})).rows, "a")
    names = ("doc_version", "text", "blocks", "sentences_ref")
    assert [row[name] for name in names] == [None] * 4
    assert (row["n_chunks"], row["stale"]) == (0, False)


def test_skipped_document_loses_its_chunks() -> None:
    """A document that is empty by now leaves no chunk behind."""
    before = merged(EMPTY, unit({"a": "x|y"})).rows
    after = merged(before, unit({"a": ""}))
    assert after.rows.chunks.num_rows == after.rows.boundaries.num_rows == 0
    assert {op for op, _ in changes(after).values()} == {"delete"}


def test_deleted_documents_go_with_their_chunks() -> None:
    """A deletion removes every row of the document; an unknown id has no effect."""
    before = merged(EMPTY, unit({"a": "x|y", "b": "z"})).rows
    doc_id = document(before, "a")["doc_id"]
    after = merged(before, deletions=(doc_id, "0" * 32))
    assert after.rows.documents["source_key"].to_pylist() == ["b"]
    assert after.rows.index.num_rows == 1
    assert len(changes(after)) == 2
    assert after.counts["deleted"] == 1


def test_feed_names_what_changed() -> None:
    """New text is an upsert with a vector, moved text one without, gone text a delete."""
    before = merged(EMPTY, unit({"a": "one|two|three", "b": "other"})).rows
    after = merged(before, unit({"a": "zero|one|three"}))
    assert changes(after) == {
        ids_of(after.rows, "zero"): ("upsert", True),
        ids_of(after.rows, "one"): ("upsert", False),
        ids_of(after.rows, "three"): ("upsert", False),
        ids_of(before, "two"): ("delete", False),
    }


def test_feed_is_empty_when_nothing_changed() -> None:
    """A document that is processed again with the same outcome is not in the feed."""
    before = merged(EMPTY, unit({"a": "x|y"})).rows
    after = merged(before, unit({"a": "x|y"}, settings("AA")))
    assert document(after.rows, "a")["fingerprint"] == "AA"
    assert after.changes.num_rows == 0


def test_another_model_changes_every_vector() -> None:
    """The same text under another model is an upsert with a vector."""
    before = merged(EMPTY, unit({"a": "x|y"})).rows
    after = merged(before, unit({"a": "x|y"}, settings("A2")))
    assert set(changes(after).values()) == {("upsert", True)}


def test_model_of_kept_chunks_is_remembered() -> None:
    """A document that failed under a new model still has the vectors of the old one."""
    before = merged(EMPTY, unit({"a": "x"})).rows
    failed = merged(before, unit({"a": "!corrupt"}, settings("A2"))).rows
    assert failed.index["model"].to_pylist() == before.index["model"].to_pylist()
    recovered = merged(failed, unit({"a": "x"}, settings("A")))
    assert recovered.changes.num_rows == 0


def altered(rows: UnitRows, name: str, values: pa.Array[Any]) -> UnitRows:
    """Return a unit with another chunk column."""
    position = rows.chunks.schema.get_field_index(name)
    chunks = rows.chunks.set_column(position, rows.chunks.schema.field(name), values)
    return replace(rows, chunks=chunks)


def test_vector_changes_with_prefix_or_values() -> None:
    """Another prefix, or a late vector that its neighbours changed, must be loaded again."""
    rows = unit({"a": "x"})
    before = merged(EMPTY, rows).rows
    prefix = merged(before, altered(rows, "prefix", pa.array(["Title\n"])))
    kind = rows.chunks.schema.field("embedding").type
    near = merged(before, altered(rows, "embedding", pa.array([[0.6, 0.8]], kind)))
    assert list(changes(prefix).values()) == [("upsert", True)]
    assert list(changes(near).values()) == [("upsert", True)]


def test_vectors_may_be_absent() -> None:
    """Chunks without vectors are compared like others."""
    rows = unit({"a": "x"})
    none = altered(rows, "embedding", pa.array([None], rows.chunks.schema.field("embedding").type))
    before = merged(EMPTY, none, unit({"b": "y"}, number=1)).rows
    assert sorted(map(str, before.chunks["embedding"].is_null().to_pylist())) == ["False", "True"]
    assert merged(before, none).changes.num_rows == 0
    assert list(changes(merged(before, rows)).values()) == [("upsert", True)]


def test_one_document_in_two_units_is_a_defect() -> None:
    """Two units never hold the same document."""
    with pytest.raises(AlignmentError, match="two units"):
        merged(EMPTY, unit({"a": "x"}), unit({"a": "x"}, number=1))
