"""Documents inside documents: committed with them, kept and removed with them."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from chunking import ids
from chunking.errors import AlignmentError
from jobs.adapters.stores.memory import MemoryStore
from jobs.protocol.families import outermost_keys
from jobs.protocol.merge import BucketRows, merge
from jobs.protocol.partitions import partition_function
from jobs.protocol.plan import PlannedDocument, PlannedUnit
from jobs.protocol.run import Run
from jobs.protocol.units import UnitMarker, UnitRows, commit_unit, read_unit
from tests.jobs.protocol.simulation import FakeSource, planned_of, process, settings
from tests.jobs.protocol.test_merge import EMPTY


def planned(source: FakeSource) -> list[PlannedDocument]:
    """Return the documents, those whose key has a mark with their parents."""
    return [
        replace(planned_of(item), parent_doc_id=ids.doc_id(outer) if outer else None)
        for item in source.items()
        for outer in [item.source_key.rpartition("!/")[0]]
    ]


def commit(
    store: MemoryStore, documents: dict[str, str], roots: set[str], *, unpacks: bool = True
) -> UnitMarker:
    """Commit a unit in which only the roots were planned."""
    source = FakeSource(documents)
    run = Run(run_id="00000001-20270115T080001Z", settings=settings(unpacks=unpacks), n_buckets=1)
    everything = planned(source)
    whole = PlannedUnit(unit=0, bucket=0, documents=tuple(everything))
    tables = process(whole, source, run.settings)
    known = tuple(document for document in everything if document.source_key in roots)
    return commit_unit(store, run, replace(whole, documents=known), tables)


def family(documents: dict[str, str], *, unpacks: bool = True) -> UnitRows:
    """Return the committed rows of outermost documents and of all that came in them."""
    store = MemoryStore()
    roots = {key for key in documents if not unpacks or "!/" not in key}
    return read_unit(store, commit(store, documents, roots, unpacks=unpacks))


def published(*units: UnitRows, onto: BucketRows = EMPTY, delete: str | None = None) -> BucketRows:
    """Return a bucket's next version."""
    deletions = [ids.doc_id(delete)] if delete else []
    return merge(
        onto, units, deletions, source_name=None, partition_value=partition_function("folder")
    ).rows


def keys(rows: BucketRows) -> list[str]:
    """Return the keys of a bucket's documents."""
    found: list[str] = rows.documents["source_key"].to_pylist()
    return sorted(found)


MAIL = {"mail": "x", "mail!/a": "y|z", "mail!/zip": "", "mail!/zip!/b": "n"}


def test_members_are_committed_with_what_they_came_in() -> None:
    """Their rows count, and their marks tell what they came in."""
    rows = family(MAIL)
    assert sorted(rows.chunks["text"].to_pylist()) == ["n", "x", "y", "z"]
    parents = {mark.doc_id: mark.parent_doc_id for mark in rows.marker.documents}
    assert parents[ids.doc_id("mail!/zip!/b")] == ids.doc_id("mail!/zip")
    assert parents[ids.doc_id("mail")] is None
    assert len(rows.marker.of({ids.doc_id("mail")})) == 4
    assert UnitMarker.from_bytes(rows.marker.to_bytes()) == rows.marker


@pytest.mark.parametrize("documents", [{"mail": "x", "other!/a": "y"}, {"mail!/a": "y"}])
def test_strangers_are_refused(documents: dict[str, str]) -> None:
    """A row of something that came in no planned document, or no row of that, is a defect."""
    with pytest.raises(AlignmentError, match="planned were"):
        commit(MemoryStore(), documents, {"mail"})


def test_members_that_are_gone_are_removed() -> None:
    """What a document holds no longer goes with its chunks, at any depth."""
    before = published(family({**MAIL, "zip": "", "zip!/c": "x"}))
    after = published(family({"mail": "x", "mail!/a": "y"}), onto=before)
    assert keys(after) == ["mail", "mail!/a", "zip", "zip!/c"]
    assert sorted(after.chunks["text"].to_pylist()) == ["x", "x", "y"]
    assert after.index.num_rows == 4


def test_members_of_a_failed_document_stay() -> None:
    """Nobody knows what is inside it now; a later success tells."""
    before = published(family(MAIL))
    failed = published(family({"mail": "!corrupt"}), onto=before)
    assert keys(failed) == keys(before)
    assert failed.chunks.equals(before.chunks)
    inner = published(family({**MAIL, "mail!/zip": "!timeout", "mail!/zip!/b": "n"}), onto=before)
    assert "mail!/zip!/b" in keys(inner)
    assert keys(published(family({"mail": "x"}), onto=failed)) == ["mail"]


def test_members_go_with_a_deleted_document() -> None:
    """A deletion takes along all that is inside, though it names the outermost only."""
    assert keys(published(onto=published(family(MAIL)), delete="mail")) == []


def test_members_that_are_planned_themselves_go_by_themselves() -> None:
    """Where members are read back from a dataset, one that is not planned is not gone."""
    before = published(family(MAIL, unpacks=False))
    after = published(family({"mail": "z"}, unpacks=False), onto=before)
    assert keys(after) == keys(before)


def test_members_lie_in_the_partition_of_their_folder() -> None:
    """An archive at the top of a source makes no folder."""
    rows = published(family({"a.zip": "", "a.zip!/x/y": "x", "f/b": "x", "f/b!/c": "y"}))
    keys_of = dict(zip(rows.index["source_key"].to_pylist(), rows.index["value"], strict=True))
    assert {key: str(value) for key, value in keys_of.items()} == {
        "a.zip": "__HIVE_DEFAULT_PARTITION__",
        "a.zip!/x/y": "__HIVE_DEFAULT_PARTITION__",
        "f/b": "f",
        "f/b!/c": "f",
    }


def test_outermost_keys() -> None:
    """The key of the outermost document is found at any depth; a lost parent is no error."""
    table = pa.table(
        {
            "doc_id": ["1", "2", "3", "4"],
            "parent_doc_id": [None, "1", "2", "9"],
            "source_key": ["a", "a!/b", "a!/b!/c", "x!/y"],
        }
    )
    assert outermost_keys(table) == {"1": "a", "2": "a", "3": "a", "4": "x!/y"}
