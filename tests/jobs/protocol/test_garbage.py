"""Cleaning a dataset: what goes, what stays, and that it may die anywhere."""

from __future__ import annotations

import hashlib
import io
import re
from dataclasses import replace
from typing import Any

import pyarrow.parquet as pq
import pytest

from chunking.errors import LeaseLostError
from jobs import layout
from jobs.adapters.stores.memory import MemoryStore
from jobs.protocol.garbage import find_garbage
from jobs.protocol.lease import read_lease, run_ids_since_completed
from jobs.protocol.roll_forward import list_data, read_versions
from tests.jobs.protocol import simulation as sim
from tests.jobs.protocol.oracle import Oracle, Published
from tests.jobs.protocol.simulation import Actor, FakeSource, run_job, settings
from tests.jobs.protocol.sleepers import sleepers

OLD = {"d0": "a|b", "d1": "!corrupt", "d2": "#html#x", "d3": "b"}
NEW = {"d0": "a|c", "d1": "ok", "d2": "y", "d4": "#html#b", "d5": "e|f"}
CONFIG = settings(n_buckets=2)


def settled(store: MemoryStore) -> dict[str, Any]:
    """Return what a plain reader sees, without what depends on the run; check every law."""
    sim.check_dataset(store)
    check_references(store)
    rows = {table: sim.plain_rows(store, table) for table in sim.PLAIN}
    return {**rows, "documents": [sim.stable(row) for row in rows["documents"]]}


def check_references(store: MemoryStore) -> None:
    """Check that every file is there which the last versions or their documents name."""
    for chain in sim.chains(store).values():
        last = chain[-1]
        for file in (*last.files, *last.interim, last.index):
            assert file is None or file.key in store.objects
        for version in chain:
            assert version.changes is None or version.changes.key in store.objects
        if last.index is not None:
            for row in sim.read_rows(store.objects[last.index.key]):
                if row["structure_ref"] is not None:
                    assert row["structure_ref"] in store.objects
    for row in sim.plain_rows(store, "documents"):
        assert row["sentences_ref"] is None or row["sentences_ref"] in store.objects


def preview(store: MemoryStore) -> Any:
    """Return what a dry run finds."""
    return find_garbage(
        store,
        read_versions(store, list_data(store), 1),
        run_ids_since_completed(store, before=10**8),
        before=10**8,
        workers=1,
    )


def left_by_kill(
    place: tuple[str, str], times: int = 1, config: sim.RunSettings = CONFIG
) -> MemoryStore:
    """Return a store with the old documents, whose next run was killed at a place."""
    store = MemoryStore()
    run_job(store, FakeSource(dict(OLD)), config)
    actor = Actor(store, lambda s: run_job(s, FakeSource(dict(NEW)), config))
    actor.run_until(*place, times)
    actor.die()
    return store


def test_superseded_work_goes() -> None:
    """After two whole runs, what stays is what readers, feed and the next run need."""
    store = MemoryStore()
    run_job(store, FakeSource(dict(OLD)), CONFIG)
    run_job(store, FakeSource(dict(NEW)), CONFIG)
    expected, chains = settled(store), sim.chains(store)
    found = preview(store)
    garbage = sim.gc_job(store)
    assert garbage is not None
    assert garbage.n_objects == found.n_objects > 0
    assert {kind for kind, infos in garbage.objects.items() if infos} == {
        *("versions", "units", "sentences", "plans")
    }
    assert not garbage.foreign
    assert settled(store) == expected
    assert {
        bucket: chain[: len(chains[bucket])] for bucket, chain in sim.chains(store).items()
    } == chains
    keys = "\n".join(store.objects)
    assert "/units/" not in keys
    assert keys.count("plan.parquet") == 1
    assert keys.count("report.json") == 2
    assert preview(store).n_objects == 0
    again = sim.gc_job(store)
    assert again is not None
    assert again.n_objects == 0
    lease = read_lease(store)
    assert lease is not None
    assert lease.completed, "everything is settled still"


def test_next_run_does_nothing_after_it() -> None:
    """What the next run plans from is there."""
    store = MemoryStore()
    run_job(store, FakeSource(dict(OLD)), CONFIG)
    run_job(store, FakeSource(dict(NEW)), CONFIG)
    sim.gc_job(store)
    report = run_job(store, FakeSource(dict(NEW)), CONFIG)
    assert (report["planned"], report["unchanged"]) == (0, len(NEW))


def test_committed_units_of_a_killed_run_are_adopted_after_it() -> None:
    """An unfinished run's units stay for the next one; attempts without a marker go."""
    config = settings(n_buckets=1)
    store = left_by_kill(UNIT, 3, config)
    markers = [key for key in store.objects if re.search(r"/00000002-.*/units/\d+\.json", key)]
    assert len(markers) == 2
    before = preview(store)
    assert before.objects["attempts"]
    assert len(before.open_units) == 1
    sim.gc_job(store)
    sim.gc_job(store)
    assert set(markers) <= store.objects.keys()
    lease = read_lease(store)
    assert lease is not None
    assert not lease.completed
    report = run_job(store, FakeSource(dict(NEW)), config)
    assert report["adopted_units"] == 2
    whole = MemoryStore()
    run_job(whole, FakeSource(dict(OLD)), config)
    run_job(whole, FakeSource(dict(NEW)), config)
    assert settled(store) == settled(whole)
    sim.gc_job(store)
    assert not [key for key in store.objects if "/units/" in key]


def test_zombie_cannot_commit_what_was_cleaned_away() -> None:
    """A worker that wakes up after its data was removed loses, and nobody adopts its unit."""
    store, config = MemoryStore(), settings(n_buckets=1)
    run_job(store, FakeSource(dict(OLD)), config)
    zombie = Actor(store, lambda s: run_job(s, FakeSource(dict(NEW)), config))
    zombie.run_until("create", r"/units/\d+\.json", 2)
    sim.gc_job(store)
    zombie.run()
    assert isinstance(zombie.error, LeaseLostError)
    assert "withdrawn" in str(zombie.error)
    report = run_job(store, FakeSource(dict(NEW)), config)
    assert report["adopted_units"] == 1
    sim.check_dataset(store)


def test_what_others_made_is_left_alone() -> None:
    """Foreign objects are counted, never removed; probes of dead processes go."""
    store = MemoryStore()
    run_job(store, FakeSource(dict(OLD)), CONFIG)
    foreign = ["README", "chunks/_SUCCESS", "_chunkmill/notes/plan.parquet", "_chunkmill/probe-x"]
    for key in foreign:
        store.put(key, b"x")
    store.put(layout.probe("0" * 16), b"x")
    garbage = sim.gc_job(store)
    assert garbage is not None
    assert garbage.foreign == len(foreign)
    assert [info.key for info in garbage.objects["probes"]] == [layout.probe("0" * 16)]
    assert set(foreign) <= store.objects.keys()


def test_sentences_of_an_earlier_release_stay() -> None:
    """Documents without a structure name their sentences themselves."""
    store = MemoryStore()
    run_job(store, FakeSource(dict(OLD)), CONFIG)
    for key in [key for key in store.objects if layout.is_structure(key)]:
        store.delete(key)
    for chain in sim.chains(store).values():
        forget_structure(store, chain[-1])
    named = {row["sentences_ref"] for row in sim.plain_rows(store, "documents")} - {None}
    run_job(store, FakeSource({**OLD, "d0": "changed"}), CONFIG)
    sim.gc_job(store)
    still = {row["sentences_ref"] for row in sim.plain_rows(store, "documents")} - {None}
    assert len(still & named) == 2
    assert still <= store.objects.keys()


def forget_structure(store: MemoryStore, version: Any) -> None:
    """Make a version's index one of a release that kept no structure."""
    if version.index is None:
        return
    table = pq.read_table(io.BytesIO(store.objects[version.index.key]))
    sink = io.BytesIO()
    pq.write_table(table.drop_columns(["structure_ref"]), sink)
    data = sink.getvalue()
    index = replace(version.index, sha256=hashlib.sha256(data).hexdigest(), size=len(data))
    store.objects[index.key] = data
    store.objects[version.key] = replace(version, index=index).to_bytes()


UNIT, VERSION, COPY = ("create", r"/units/\d+\.json"), ("create", r"/buckets/"), ("copy", "^chunks")
PLACES = [
    pytest.param(UNIT, 3, 9, id="unit"),
    *[
        pytest.param(place, times, 1, id=f"{place[1]}-all", marks=pytest.mark.slow)
        for place, times in ((UNIT, 3), (VERSION, 2), (COPY, 1))
    ],
]
STRIDES = [9, pytest.param(1, marks=pytest.mark.slow)]


@pytest.mark.chaos
@pytest.mark.parametrize(("place", "times", "stride"), PLACES)
def test_killed_at_any_write(place: tuple[str, str], times: int, stride: int) -> None:
    """Killed anywhere, cleaning leaves a dataset that the next run finishes as if undisturbed."""
    left = left_by_kill(place, times)
    undisturbed = MemoryStore()
    undisturbed.objects.update(left.objects)
    report = run_job(undisturbed, FakeSource(dict(NEW)), CONFIG)
    expected = settled(undisturbed)

    def make() -> MemoryStore:
        store = MemoryStore()
        store.objects.update(left.objects)
        return store

    for store, actor, where in sleepers(make, sim.gc_job, least=20, stride=stride):
        actor.die()
        sim.check_each_document_once(store)
        check_references(store)
        again = run_job(store, FakeSource(dict(NEW)), CONFIG)
        assert again["adopted_units"] == report["adopted_units"], where
        assert settled(store) == expected, where
        sim.gc_job(store)
        assert settled(store) == expected, where
        assert preview(store).n_objects == 0, where


@pytest.mark.chaos
@pytest.mark.parametrize("stride", STRIDES)
def test_zombie_at_any_write(stride: int) -> None:
    """Overtaken by a run and woken up, cleaning removes nothing that has come to be needed."""
    left = left_by_kill(VERSION, 2)
    other = {**NEW, "d0": "g", "d6": "h|i"}

    def make() -> MemoryStore:
        store = MemoryStore()
        store.objects.update(left.objects)
        return store

    for store, zombie, where in sleepers(make, sim.gc_job, least=20, stride=stride):
        # The run that overtakes dies, too: what it has adopted must be there for the next.
        actor = Actor(store, lambda s: run_job(s, FakeSource(dict(other)), CONFIG))
        actor.run_until("create", r"/buckets/.*json", 3)
        zombie.run()
        assert zombie.error is None or isinstance(zombie.error, LeaseLostError), where
        actor.die()
        run_job(store, FakeSource(dict(other)), CONFIG)
        settled(store)
        nothing = Published.committed(MemoryStore())
        Oracle(source=FakeSource(dict(other)), config=CONFIG, before=nothing).check(store)
