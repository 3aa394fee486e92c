"""Units: one marker counts, hashes are verified, wrong rows never get in."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from chunking.errors import AlignmentError, ObjectNotFoundError, StoreError
from jobs import layout
from jobs.adapters.stores.memory import MemoryStore
from jobs.protocol.files import conform
from jobs.protocol.plan import PlannedUnit
from jobs.protocol.run import Run
from jobs.protocol.units import UnitMarker, commit_unit, read_marker, read_unit
from tests.jobs.protocol.simulation import FakeSource, planned_of, process, settings

RUN = Run(run_id="00000001-20270115T080001Z", settings=settings(), n_buckets=1)
SOURCE = FakeSource({"a": "x|y", "b": "!corrupt", "c": "z"})
UNIT = PlannedUnit(unit=4, bucket=0, documents=tuple(planned_of(i) for i in SOURCE.items()))


def commit(store: MemoryStore, source: FakeSource = SOURCE) -> UnitMarker:
    """Process and commit the unit."""
    return commit_unit(store, RUN, UNIT, process(UNIT, source, RUN.settings))


def test_committed_rows_are_read_back() -> None:
    """The marker names the rows, and a documents row names its sentences."""
    store = MemoryStore()
    marker = commit(store)
    assert read_marker(store, RUN.run_id, 4) == marker
    rows = read_unit(store, marker)
    assert sorted(rows.chunks["text"].to_pylist()) == ["x", "y", "z"]
    assert rows.boundaries.num_rows == 3
    key = layout.sentences(RUN.run_id, 4, marker.attempt)
    refs = rows.documents.select(["source_key", "sentences_ref"]).sort_by("source_key")
    assert refs["sentences_ref"].to_pylist() == [key, None, key]
    assert key in store.objects


def test_second_attempt_loses() -> None:
    """A late attempt gets the marker of the first, and its own rows are never read."""
    store = MemoryStore()
    first = commit(store)
    second = commit(store, FakeSource({"a": "late", "b": "late", "c": "late"}))
    assert second == first
    assert "late" not in read_unit(store, second).chunks["text"].to_pylist()


def test_nothing_is_committed_before_the_marker() -> None:
    """Data without a marker is no unit."""
    store = MemoryStore()

    def die(operation: str, key: str) -> None:
        if operation == "create":
            raise StoreError(key)

    with pytest.raises(StoreError):
        commit(store.view(before=die))
    assert store.objects
    with pytest.raises(ObjectNotFoundError):
        read_marker(store, RUN.run_id, 4)


def test_damaged_bytes_are_noticed() -> None:
    """Rows whose bytes are not those of the marker are an error, never rows."""
    store = MemoryStore()
    marker = commit(store)
    key = marker.file("chunks").key
    store.objects[key] = store.objects[marker.file("boundaries").key]
    with pytest.raises(StoreError, match="does not hold the bytes"):
        read_unit(store, marker)


def test_only_the_markers_documents_count() -> None:
    """A marker that names fewer documents gives the rows of those only."""
    store = MemoryStore()
    marker = commit(store)
    rows = read_unit(store, replace(marker, documents=marker.documents[:1]))
    assert rows.documents["source_key"].to_pylist() == ["a"]
    assert rows.chunks["text"].to_pylist() == ["x", "y"]


def test_listed_etag_stands_in_for_a_fetch_that_failed() -> None:
    """A document that could not be fetched is known by the etag of its listing."""
    store = MemoryStore()
    tables = process(UNIT, SOURCE, RUN.settings)
    position = tables.documents.schema.get_field_index("etag")
    nulls = pa.array([None] * 3, pa.string())
    documents = tables.documents.set_column(position, tables.documents.schema.field("etag"), nulls)
    marker = commit_unit(store, RUN, UNIT, replace(tables, documents=documents))
    listed = {planned.doc_id: planned.etag for planned in UNIT.documents}
    etags = read_unit(store, marker).documents["etag"].to_pylist()
    assert sorted(map(str, etags)) == sorted(map(str, listed.values()))
    assert {mark.doc_id: mark.etag for mark in marker.documents} == listed


@pytest.mark.parametrize("table", ["documents", "chunks"])
def test_lost_rows_are_refused(table: str) -> None:
    """A unit without the row of a planned document, or without its chunks, is a defect."""
    tables = process(UNIT, SOURCE, RUN.settings)
    short = replace(tables, **{table: getattr(tables, table).slice(1)})
    store = MemoryStore()
    with pytest.raises(AlignmentError):
        commit_unit(store, RUN, UNIT, short)
    assert not store.objects


def test_foreign_chunks_are_refused() -> None:
    """Chunks of a document that is not in the unit are a defect."""
    tables = process(UNIT, SOURCE, RUN.settings)
    few = replace(UNIT, documents=UNIT.documents[1:])
    documents = tables.documents.slice(1)
    with pytest.raises(AlignmentError, match="does not hold"):
        commit_unit(MemoryStore(), RUN, few, replace(tables, documents=documents))


def test_nulls_in_keys_are_refused() -> None:
    """A null in a non-null column never reaches a file."""
    tables = process(UNIT, SOURCE, RUN.settings)
    position = tables.chunks.schema.get_field_index("chunk_id")
    nulls = pa.array([None] * tables.chunks.num_rows, pa.string())
    chunks = tables.chunks.set_column(position, pa.field("chunk_id", pa.string()), nulls)
    with pytest.raises(ValueError, match="null"):
        commit_unit(MemoryStore(), RUN, UNIT, replace(tables, chunks=chunks))


def test_absent_vectors_survive() -> None:
    """Chunks without vectors come back without vectors, also beside chunks that have one."""
    tables = process(UNIT, SOURCE, RUN.settings)
    kind = tables.chunks.schema.field("embedding").type
    vectors = pa.array([[1.0, 0.0], None, [0.0, 1.0]], kind)
    position = tables.chunks.schema.get_field_index("embedding")
    chunks = tables.chunks.set_column(position, pa.field("embedding", kind), vectors)
    store = MemoryStore()
    marker = commit_unit(store, RUN, UNIT, replace(tables, chunks=chunks))
    read = conform(read_unit(store, marker).chunks.slice(1), RUN.chunks_schema)
    assert read["embedding"].to_pylist() == [None, [0.0, 1.0]]
    read.validate(full=True)
