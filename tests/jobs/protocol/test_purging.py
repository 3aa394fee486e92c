"""Purging: the text is nowhere any more, all else is as it was, and it may die anywhere."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pyarrow.parquet as pq
import pytest

from chunking import ids
from chunking.errors import LeaseLostError
from jobs.adapters.stores.memory import MemoryStore
from jobs.protocol.lease import read_lease, run_ids_since_completed
from jobs.protocol.purged import purged_ids, read_purge_lists, readmit
from jobs.protocol.roll_forward import list_data, read_versions
from jobs.protocol.targets import find_targets
from jobs.records import SourceItem
from tests.jobs.protocol import simulation as sim
from tests.jobs.protocol.simulation import Actor, FakeSource, run_job, settings
from tests.jobs.protocol.sleepers import sleepers

KILLED = (("create", r"/units/\d+\.json"), 2)
"""Where the third day's run dies: before it commits its second unit."""
SECRET = "Quetzal"
"""A word of the purged document's texts and of its name, and of nothing else."""
KEY = f"d5-{SECRET}"
DAYS: list[dict[str, str]] = [
    {"d0": "a|b", "d1": "!corrupt", "d2": "#html#x", "d3": "b|c", KEY: f"{SECRET} 1|one"},
    {"d0": "a|b", "d1": "ok", "d2": "#html#x", "d3": "c", KEY: f"#html#{SECRET} 2|two"},
    {"d0": "e|f", "d1": "ok", "d2": "y", "d4": "#html#b", KEY: f"{SECRET} 3|three"},
]


def config_of(partition_by: str | None = None) -> sim.RunSettings:
    """Return settings with units in which documents share files."""
    return settings(partition_by=partition_by, n_buckets=1, unit_documents=3)


def traces(store: MemoryStore, *needles: str) -> list[str]:
    """Return the objects in whose bytes, rows or metadata one of the words is found."""
    return [
        key
        for key, data in sorted(store.objects.items())
        if any(needle in text for needle in needles for text in _texts(key, data))
    ]


def _texts(key: str, data: bytes) -> Iterator[str]:
    yield key
    yield data.decode("latin-1")
    if key.endswith(".parquet"):
        file = pq.ParquetFile(io.BytesIO(data))
        yield str(file.schema_arrow.metadata)
        yield str(file.read().to_pylist())


@cache
def _before(
    partition_by: str | None, killed: tuple[tuple[str, str], int] | None
) -> dict[str, bytes]:
    """Return the objects after two whole days, and perhaps a third whose run was killed."""
    store, config = MemoryStore(), config_of(partition_by)
    for documents in DAYS[:2]:
        run_job(store, FakeSource(dict(documents)), config)
    if killed is not None:
        place, times = killed
        actor = Actor(store, lambda s: run_job(s, FakeSource(dict(DAYS[2])), config))
        actor.run_until(*place, times)
        actor.die()
    return store.objects


def prepared(
    partition_by: str | None = None, killed: tuple[tuple[str, str], int] | None = None
) -> MemoryStore:
    """Return a store of its own with documents of two days, and what a third left."""
    store = MemoryStore()
    store.objects.update(_before(partition_by, killed))
    return store


def seen(store: MemoryStore) -> dict[str, Any]:
    """Return what a plain reader sees, without what depends on the run; check every law."""
    sim.check_dataset(store)
    rows = {table: sim.plain_rows(store, table) for table in sim.PLAIN}
    for row in rows["documents"]:
        assert row["sentences_ref"] is None or row["sentences_ref"] in store.objects
    by_id = lambda row: (row["doc_id"], row.get("position", row.get("chunk_index", 0)))  # noqa: E731
    found = {table: sorted(rows[table], key=by_id) for table in sim.PLAIN}
    return {**found, "documents": [sim.stable(row) for row in found["documents"]]}


def without(rows: dict[str, Any], *keys: str) -> dict[str, Any]:
    """Return what a reader sees without some documents."""
    gone = {ids.doc_id(key) for key in keys}
    return {
        table: [row for row in found if row["doc_id"] not in gone] for table, found in rows.items()
    }


@pytest.mark.parametrize("partition_by", [None, "format"])
def test_nothing_is_left(partition_by: str | None) -> None:
    """No object holds the text or the name; the others' rows, vectors and sentences stay."""
    store = prepared(partition_by)
    before = seen(store)
    assert len(traces(store, SECRET)) > 10
    done = sim.purge_job(store, KEY)
    assert done is not None
    assert done.documents == {ids.doc_id(KEY)}
    assert traces(store, SECRET) == []
    assert seen(store) == without(before, KEY)
    deleted = [row for row in sim.feeds(store) if row["op"] == "delete"]
    mine = {row["chunk_id"] for row in deleted if row["doc_id"] == ids.doc_id(KEY)}
    assert mine >= {row["chunk_id"] for row in before["chunks"] if row["doc_id"] == ids.doc_id(KEY)}
    check_stored(store)


def check_stored(store: MemoryStore) -> None:
    """Check that the index names a structure for every document with chunks, holding it."""
    for chain in sim.chains(store).values():
        assert chain[-1].index is not None
        for row in sim.read_rows(store.objects[chain[-1].index.key]):
            if row["status"] == "ok":
                held = sim.read_rows(store.objects[row["structure_ref"]])
                assert row["doc_id"] in {other["doc_id"] for other in held}


def test_it_stays_out_until_it_is_readmitted() -> None:
    """Later runs do not read it, though the source holds it still; then they may again."""
    store, config = prepared(), config_of()
    sim.purge_job(store, KEY)
    report = run_job(store, FakeSource(dict(DAYS[1])), config)
    assert (report["purged"], report["planned"], report["unchanged"]) == (1, 0, 4)
    assert traces(store, SECRET) == []
    run_job(store, FakeSource(dict(DAYS[2])), config)
    assert traces(store, SECRET) == []
    readmit(store, [ids.doc_id(KEY)])
    assert read_purge_lists(store) == []
    report = run_job(store, FakeSource(dict(DAYS[2])), config)
    assert (report["purged"], report["planned"]) == (0, 1)
    sim.check_dataset(store)
    assert traces(store, SECRET)


def test_twice_is_once() -> None:
    """Purging what is purged finds it on the list and changes no row."""
    store = prepared()
    sim.purge_job(store, KEY)
    before = seen(store)
    done = sim.purge_job(store, ids.doc_id(KEY))
    assert done is not None
    assert done.report["deleted"] == 0
    assert seen(store) == before


def test_unknown_names_are_told_apart() -> None:
    """Source keys and ids are found, others are named; nothing is written by looking."""
    store = prepared()
    before = dict(store.objects)
    found = find(store, [KEY, ids.doc_id("d0"), "d9", "f" * 32])
    assert found.unknown == ("d9", "f" * 32)
    assert found.documents.keys() == {ids.doc_id(KEY), ids.doc_id("d0")}
    assert store.objects == before


def find(store: MemoryStore, names: Sequence[str]) -> Any:
    """Return what names mean in a dataset."""
    versions = read_versions(store, list_data(store), 1)
    unfinished = run_ids_since_completed(store, before=10**8)
    return find_targets(store, names, versions, unfinished, read_purge_lists(store), workers=1)


def test_a_document_that_was_deleted_before_is_found_and_goes() -> None:
    """Its text lies in superseded files and in files that it shared."""
    store, config = prepared(), config_of()
    documents = {key: text for key, text in DAYS[1].items() if key != KEY}
    run_job(store, FakeSource(documents), config)
    assert traces(store, SECRET)
    sim.gc_job(store)
    held = [key for key in store.objects if _holds(store, key)]
    assert held, "a file that it shared has rows of it still"
    sim.purge_job(store, KEY)
    assert traces(store, SECRET) == []
    assert not [key for key in store.objects if _holds(store, key)]


def _holds(store: MemoryStore, key: str) -> bool:
    """Tell whether a file of the sentence store has rows of the document."""
    if not key.startswith("_chunkmill/sentences/"):
        return False
    return ids.doc_id(KEY) in {row["doc_id"] for row in sim.read_rows(store.objects[key])}


def test_an_unfinished_run_keeps_its_other_units() -> None:
    """The killed run's units are adopted without the document, and its run is not settled."""
    store = prepared(None, KILLED)
    run_id = run_ids_since_completed(store, before=10**8)[-1]
    noted = f"_chunkmill/runs/{run_id}/deaths.json"
    store.put(noted, json.dumps({"parse": {KEY: 1, "d0": 1}}).encode())
    done = sim.purge_job(store, KEY)
    assert done is not None
    lease = read_lease(store)
    assert lease is not None
    assert not lease.completed
    assert json.loads(store.get(noted)) == {"parse": {"d0": 1}}
    assert traces(store, SECRET) == []
    report = run_job(store, FakeSource(dict(DAYS[2])), config_of())
    assert report["adopted_units"] == 1
    assert traces(store, SECRET) == []
    sim.check_dataset(store)


def test_damaged_files_of_the_sentence_store_go() -> None:
    """Of a file that cannot be read nobody can say that the text is not in it."""
    store = prepared()
    damaged = [key for key in store.objects if key.endswith(".structure.parquet")]
    for key in damaged:
        store.put(key, b"PAR1" + SECRET.encode())
    before = seen(store)
    sim.purge_job(store, KEY)
    assert traces(store, SECRET) == []
    assert seen(store) == without(before, KEY)
    run_job(store, FakeSource(dict(DAYS[2])), config_of())
    sim.check_dataset(store)


STRIDES = [(None, 9), *(pytest.param(by, 1, marks=pytest.mark.slow) for by in (None, "format"))]


class Mails(FakeSource):
    """Documents of which those with ``!/`` in the key came in another."""

    def items(self) -> list[SourceItem]:
        """List the documents with what they came in."""
        return [
            replace(item, parent_doc_id=ids.doc_id(item.source_key.rpartition("!/")[0]))
            if "!/" in item.source_key
            else item
            for item in super().items()
        ]


@pytest.mark.parametrize(
    ("purged", "left"),
    [
        ("mail", {"d0"}),
        ("mail!/a.zip", {"d0", "mail"}),
        ("mail!/a.zip!/b", {"d0", "mail", "mail!/a.zip"}),
    ],
)
def test_what_is_inside_goes_along(purged: str, left: set[str]) -> None:
    """A document goes with all that came in it, and without what it came in."""
    inside = ["mail", "mail!/a.zip", "mail!/a.zip!/b"]
    source = Mails({key: f"{SECRET} {n}" for n, key in enumerate(inside)} | {"d0": "a|b"})
    config = replace(config_of(), unpacks=False)
    store = MemoryStore()
    run_job(store, source, config)
    sim.purge_job(store, purged)
    sim.check_dataset(store)
    rows = sim.plain_rows(store, "documents")
    assert {row["source_key"] for row in rows} == left
    gone = [f"{SECRET} {n}" for n, key in enumerate(inside) if key not in left]
    assert traces(store, *gone) == []
    report = run_job(store, source, config)
    assert report["purged"] == len(gone)
    assert {row["source_key"] for row in sim.plain_rows(store, "documents")} == left
    readmit(store, [ids.doc_id(purged)])
    run_job(store, source, config)
    assert len(sim.plain_rows(store, "documents")) == len(source.documents)


def asleep(partition_by: str | None, stride: int) -> Iterator[tuple[MemoryStore, Actor, str]]:
    """Yield stores where a purge, holding the lease, sleeps: each time some writes further on."""
    return sleepers(
        lambda: prepared(partition_by, KILLED),
        lambda store: sim.purge_job(store, KEY),
        least=30,
        stride=stride,
    )


@pytest.mark.chaos
@pytest.mark.parametrize(("partition_by", "stride"), STRIDES)
def test_killed_at_any_write(partition_by: str | None, stride: int) -> None:
    """Killed anywhere, the next purge finishes it without being told what; no row differs."""
    store = prepared(partition_by, KILLED)
    sim.purge_job(store, KEY)
    expected = seen(store)
    run_job(store, FakeSource(dict(DAYS[2])), config_of(partition_by))
    then = seen(store)
    for store, actor, where in asleep(partition_by, stride):
        actor.die()
        sim.check_each_document_once(store)
        pending = purged_ids(found for found in read_purge_lists(store) if not found.done)
        sim.purge_job(store, *([] if pending else [KEY]))
        assert traces(store, SECRET) == [], where
        assert seen(store) == expected, where
        run_job(store, FakeSource(dict(DAYS[2])), config_of(partition_by))
        assert seen(store) == then, where


@pytest.mark.chaos
@pytest.mark.parametrize("stride", [11, pytest.param(1, marks=pytest.mark.slow)])
def test_run_between_the_kill_and_the_rest(stride: int) -> None:
    """A run after a killed purge publishes nothing of the document; purging finishes later."""
    for store, actor, where in asleep(None, stride):
        actor.die()
        listed = purged_ids(read_purge_lists(store))
        run_job(store, FakeSource(dict(DAYS[2])), config_of())
        sim.check_dataset(store)
        shown = {row["doc_id"] for row in sim.plain_rows(store, "documents")}
        assert (ids.doc_id(KEY) in shown) is not bool(listed), where
        sim.purge_job(store, KEY)
        assert traces(store, SECRET) == [], where
        sim.check_dataset(store)


@pytest.mark.chaos
@pytest.mark.parametrize("stride", [11, pytest.param(1, marks=pytest.mark.slow)])
def test_zombie_at_any_write(stride: int) -> None:
    """Overtaken by a run and woken up, a purge breaks nothing that the run relies on."""
    for store, zombie, where in asleep(None, stride):
        actor = Actor(store, lambda s: run_job(s, FakeSource(dict(DAYS[2])), config_of()))
        actor.run_until("create", r"/buckets/.*json", 2)
        zombie.run()
        assert zombie.error is None or isinstance(zombie.error, LeaseLostError), where
        actor.die()
        run_job(store, FakeSource(dict(DAYS[2])), config_of())
        sim.check_dataset(store)
        texts = {row["source_key"]: row["text"] for row in sim.plain_rows(store, "documents")}
        assert texts["d0"] == "e|f", where
        sim.purge_job(store, KEY)
        assert traces(store, SECRET) == [], where
        assert sim.plain_rows(store, "documents"), where
