"""A whole run: resume, adoption, zombies, partitions, interruption, requests, report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from chunking.errors import (
    ConfigError,
    DestinationError,
    LeaseHeldError,
    LeaseLostError,
    ObjectNotFoundError,
    StoreError,
)
from jobs import layout
from jobs.adapters.stores.local import LocalStore
from jobs.adapters.stores.memory import MemoryStore
from jobs.protocol.dataset import read_dataset
from jobs.protocol.partitions import DEFAULT_VALUE
from jobs.protocol.report import read_state
from jobs.protocol.session import RunSession, preview_plan
from jobs.protocol.versions import BucketVersion
from tests.jobs.protocol import simulation as sim
from tests.jobs.protocol.oracle import Oracle, Published
from tests.jobs.protocol.simulation import Actor, FakeClock, FakeSource, run_job, settings


def source(n: int = 8) -> FakeSource:
    """Return some documents."""
    return FakeSource({f"d{i}": f"a{i}|b|c{i}" for i in range(n)})


def actor_until(
    store: MemoryStore, job: Callable[[Any], object], operation: str, text: str, times: int = 1
) -> Actor:
    """Start a run and let it sleep right after an operation on a key with a text."""
    seen = 0

    def watch(done: str, key: str) -> None:
        nonlocal seen
        seen += done == operation and text in key

    actor = Actor(store, job, watch=watch)
    while seen < times:
        assert actor.step(), actor.error
    return actor


def test_run_again_has_nothing_to_do() -> None:
    """A second run plans nothing, changes no row, and asks little of the store."""
    store, documents = MemoryStore(), source(40)
    run_job(store, documents, settings())
    run_job(store, documents, settings())
    sim.check_dataset(store)
    before = {key: data for key, data in store.objects.items() if not key.startswith("_chunkmill/")}
    requests: Counter[str] = Counter()
    counting = store.view(before=lambda operation, _: requests.update([operation]))
    report = run_job(counting, documents, settings())
    assert (report["planned"], report["unchanged"], report["completed"]) == (0, 40, True)
    after = {key: data for key, data in store.objects.items() if not key.startswith("_chunkmill/")}
    assert after == before
    n_buckets = 3
    assert requests.total() <= 2 * n_buckets + 30, requests
    assert requests["get_tail"] == 1, "of the plan before; no plain file is looked at"


def test_deaths_are_known_to_the_run_that_goes_on_only() -> None:
    """What runs noted of documents that kill is added up until one completes; then forgotten."""
    store, documents = MemoryStore(), source()
    notes = [{"Stage": {"d1": 1, "d2": 2}}, {"Stage": {"d1": 2}, "Other": {"d1": 1}}]
    for deaths in notes:
        run_job(store, documents, settings(), interrupt_after=2, deaths=deaths)
    with RunSession.open(store, settings(), clock=FakeClock(), heartbeat=False) as session:
        assert session.known_deaths == {"Stage": {"d1": 2, "d2": 2}, "Other": {"d1": 1}}
    run_job(store, documents, settings())
    with RunSession.open(store, settings(), clock=FakeClock(), heartbeat=False) as session:
        assert session.known_deaths == {}


def test_killed_run_loses_no_finished_work() -> None:
    """What was committed in units before the kill is adopted and not processed again."""
    store, documents = MemoryStore(), source()
    actor = actor_until(store, lambda s: run_job(s, documents, settings()), "create", "units/", 2)
    actor.die()
    with RunSession.open(
        store, settings(), clock=FakeClock(), take_over=True, heartbeat=False, workers=1
    ) as session:
        plan = session.make_plan(documents.items())
        adopted = sum(len(session.unit(number).documents) for number in plan.adopted)
        to_do = sum(len(session.unit(number).documents) for number in session.units_to_do())
    assert len(plan.adopted) == 2
    assert (adopted + to_do, to_do < 8 - 2) == (8, True)
    report = run_job(store, documents, settings())
    assert report["adopted_units"] == 2
    sim.check_dataset(store)
    nothing = Published.committed(MemoryStore())
    Oracle(source=documents, config=settings(), before=nothing).check(store)


def sorted_documents(store: MemoryStore) -> list[dict[str, Any]]:
    """Return the documents rows that a plain reader sees, by id."""
    return sorted(sim.plain_rows(store, "documents"), key=lambda row: row["doc_id"])


@pytest.mark.parametrize("change", ["content", "deleted", "fingerprint"])
def test_adoption_respects_what_changed_in_between(change: str) -> None:
    """A committed unit is not adopted for a document or a pipeline that is another by now."""
    store, documents = MemoryStore(), source()
    actor = actor_until(store, lambda s: run_job(s, documents, settings()), "create", "units/", 2)
    actor.die()
    config = settings("B") if change == "fingerprint" else settings()
    if change == "content":
        documents.documents.update(dict.fromkeys(documents.documents, "new|b"))
    if change == "deleted":
        documents.documents = {"d9": "a"}
    assert run_job(store, documents, config)["adopted_units"] == 0
    sim.check_dataset(store)
    assert len(sorted_documents(store)) == len(documents.documents)


def test_zombie_publishes_nothing_after_a_take_over() -> None:
    """A run that sleeps right before its commit wakes up to a lost creation."""
    store, documents = MemoryStore(), source()
    run_job(store, documents, settings())
    before = dict(documents.documents)
    expected = sim.plain_rows(store, "documents")
    documents.documents = dict.fromkeys(before, "changed")
    zombie = Actor(store, lambda s: run_job(s, documents, settings()))
    zombie.run_until("create", "/buckets/")  # it has found the lease in order
    # The source changes back to where the dataset is: the new run has nothing to publish.
    documents.documents = before
    assert run_job(store, documents, settings())["planned"] == 0
    zombie.run()
    assert isinstance(zombie.error, LeaseLostError)
    sim.check_dataset(store)
    assert sim.plain_rows(store, "documents") == expected


@pytest.mark.parametrize("cleanings", [0, 1, 3])
def test_late_dataset_description_does_not_last(cleanings: int) -> None:
    """What a run that was overtaken puts over ``dataset.json`` is not what the next goes by.

    Neither where all that came since was a cleaning, which has no plan.
    """
    store, documents = MemoryStore(), source()
    run_job(store, documents, settings())
    zombie = Actor(store, lambda s: run_job(s, documents, settings("B")))
    zombie.run_until("put", r"dataset\.json")
    second = FakeSource({"e": "a"}, name="s2")
    run_job(store, second, settings(source_name="s2", source="memory://second"))
    expected = read_dataset(store)
    for _ in range(cleanings):
        sim.gc_job(store)
    zombie.run()
    assert isinstance(zombie.error, LeaseLostError)
    assert read_dataset(store) != expected, "nothing can keep it from one late write"
    run_job(store, documents, settings())
    assert read_dataset(store) == expected
    with pytest.raises(DestinationError, match="not of memory://third"):
        run_job(store, second, settings(source_name="s2", source="memory://third"))


def test_a_zombie_whose_data_were_cleaned_away_is_told_that_it_was_overtaken() -> None:
    """It misses an object; why it does is that another run has the dataset."""
    store, documents = MemoryStore(), source()
    zombie = Actor(store, lambda s: run_job(s, documents, settings()))
    zombie.run_until("copy", "^chunks/")
    changed = FakeSource({"d0": "other"})
    run_job(store, changed, settings())
    run_job(store, FakeSource({"d0": "again"}), settings())
    sim.gc_job(store)
    zombie.run()
    assert isinstance(zombie.error, LeaseLostError)
    assert isinstance(zombie.error.__cause__, ObjectNotFoundError)


def test_late_plain_copy_is_mended() -> None:
    """An old file under a plain name is recognised and replaced at the next start."""
    store, documents = MemoryStore(), source()
    run_job(store, documents, settings())
    old = {k: v for k, v in store.objects.items() if k.startswith("chunks/")}
    run_job(store, documents, settings("B"))
    new = {k: v for k, v in store.objects.items() if k.startswith("chunks/")}
    store.objects.update(old)
    del store.objects["documents/bucket-00001.parquet"]
    report = run_job(store, documents, settings("B"))
    assert report["n_mended"] == len(old) + 1
    assert {k: v for k, v in store.objects.items() if k.startswith("chunks/")} == new
    sim.check_dataset(store)


def test_late_plain_copy_during_a_run_is_mended_at_its_end() -> None:
    """A run compares the plain directory with the chains once more before it ends."""
    store, documents = MemoryStore(), source()
    run_job(store, documents, settings())
    old = {k: v for k, v in store.objects.items() if k.startswith("chunks/")}
    actor = actor_until(
        store, lambda s: run_job(s, documents, settings("B")), "copy", "documents/", 3
    )
    store.objects.update(old)
    actor.run()
    assert actor.error is None
    sim.check_dataset(store)


def test_second_driver_is_refused_and_first_goes_on() -> None:
    """Two runs at once do not mix."""
    store, documents = MemoryStore(), source()
    first = actor_until(store, lambda s: run_job(s, documents, settings()), "create", "plan")

    class Watching(FakeClock):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            store.put(layout.lease_heartbeat(1), f'{{"beat": {self.seconds}}}'.encode())

    before = set(store.objects)
    with pytest.raises(LeaseHeldError, match="00000001"):
        run_job(store, documents, settings(), clock=Watching(), take_over=False)
    assert set(store.objects) == before
    first.run()
    assert first.error is None
    sim.check_dataset(store)


def test_refusals_write_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong destination, partition or fail point is found before anything is written."""
    store, documents = MemoryStore(), source()
    with pytest.raises(ConfigError, match="partition_by"):
        run_job(store, documents, settings(partition_by="colour"))
    monkeypatch.setenv("CHUNKMILL_FAIL_POINT", "nowhere")
    with pytest.raises(ConfigError, match="nowhere"):
        run_job(store, documents, settings())
    monkeypatch.delenv("CHUNKMILL_FAIL_POINT")
    assert not store.objects
    store.put("foreign.txt", b"")
    with pytest.raises(DestinationError):
        run_job(store, documents, settings())
    assert set(store.objects) == {"foreign.txt"}


def test_interrupted_run_publishes_what_is_committed() -> None:
    """An interruption keeps finished units; the next run does the rest, and no more."""
    store, documents = MemoryStore(), source()
    report = run_job(store, documents, settings(), interrupt_after=1)
    assert report["completed"] is False
    sim.check_dataset(store)
    n_done = len(sorted_documents(store))
    assert n_done == 2
    report = run_job(store, documents, settings())
    assert (report["planned"], report["completed"]) == (8 - n_done, True)
    sim.check_dataset(store)


def test_error_ends_the_lease_as_unfinished() -> None:
    """A run that fails lets its successor start at once, and leaves its work to it."""
    store, documents = MemoryStore(), source()

    def break_down(operation: str, key: str) -> None:
        if operation == "copy" and key.startswith("chunks/"):
            msg = "no route to host"
            raise StoreError(msg)

    with pytest.raises(StoreError, match="no route"):
        run_job(store.view(before=break_down), documents, settings())
    clock = FakeClock()
    report = run_job(store, documents, settings(), clock=clock, take_over=False)
    assert clock.seconds < 10
    assert report["resumed"] == ["00000001-20270115T080001Z"]
    sim.check_dataset(store)


def test_report_counts_what_was_done() -> None:
    """``report.json`` is what ``finish`` returns; ``status`` reads the same totals."""
    store = MemoryStore()
    documents = FakeSource({"a": "x|y", "b": "!corrupt", "c": "", "d": "!network", "e": "z"})
    run_job(store, documents, settings())
    documents.documents.update({"a": "x", "b": "ok"})
    del documents.documents["e"]
    report = run_job(store, documents, settings())
    assert json.loads(store.objects[layout.report(str(report["run_id"]))]) == report
    assert report["documents"] == {"ok": 2, "failed": 1}
    assert report["errors"] == {"network": 1}
    assert report["deleted"] == 1
    assert report["changes"] == {"upsert": 2, "vectors": 1, "delete": 2}
    state = read_state(store)
    assert state is not None
    assert state.totals == report["dataset"]
    assert state.totals["documents"] == {"ok": 2, "failed": 1, "skipped": 1}
    assert state.lease is not None
    assert state.lease.completed


def test_preview_writes_nothing_and_says_what_a_run_would_do() -> None:
    """A dry run gives the plan of the run that follows."""
    store, documents = MemoryStore(), source()
    preview = preview_plan(store, settings(), documents.items())
    assert not store.objects
    assert run_job(store, documents, settings())["planned"] == preview.n_documents == 8
    del documents.documents["d1"]
    documents.documents["d2"] = "new"
    before = dict(store.objects)
    preview = preview_plan(store, settings(), documents.items())
    assert store.objects == before
    assert (preview.n_documents, preview.n_deletions, preview.n_unchanged) == (1, 1, 6)


def test_every_table_has_a_file() -> None:
    """A dataset without a chunk or a change still opens in every reader."""
    store = MemoryStore()
    run_job(store, FakeSource({"a": "!corrupt"}), settings())
    for table in ("changes", *sim.PLAIN):
        assert sim.plain_files(store, table), table
    sim.check_dataset(store)


@pytest.mark.parametrize(
    ("partition_by", "folders"),
    [
        ("format", {"by_format=html", "by_format=txt"}),
        ("folder", {"by_folder=%C3%A6%2C%20b", f"by_folder={DEFAULT_VALUE}", "by_folder=x"}),
        ("metadata.team", {f"by_team={DEFAULT_VALUE}"}),
    ],
)
def test_partitions(partition_by: str, folders: set[str]) -> None:
    """Rows lie in the folder of their document's value, the same in all tables."""
    store = MemoryStore()
    documents = FakeSource({"x/a": "#html#1|2", "x/b": "!corrupt", "æ, b/c": "3", "d": "4"})
    run_job(store, documents, settings(partition_by=partition_by))
    sim.check_dataset(store)
    for table in sim.PLAIN:
        assert {key.split("/")[1] for key in sim.plain_files(store, table)} == folders


def test_documents_that_swap_partitions_are_never_seen_twice() -> None:
    """Two documents that change places are first taken out of both files."""
    store = MemoryStore()
    documents = FakeSource({"a": "#html#1", "b": "#txt#2", "c": "#html#3", "d": "#md#4"})
    config = settings(partition_by="format", n_buckets=1)
    run_job(store, documents, config)
    documents.documents.update({"a": "#txt#1", "b": "#html#2", "d": "#html#4"})
    seen: list[set[str]] = []

    def watch(operation: str, key: str) -> None:
        if key.startswith(sim.PLAIN) and operation in ("copy", "delete", "put"):
            sim.check_each_document_once(store)
            seen.append({row["source_key"] for row in sim.plain_rows(store, "documents")})

    actor = Actor(store, lambda s: run_job(s, documents, config), watch=watch)
    actor.run()
    assert actor.error is None
    assert all("c" in keys for keys in seen), "a document that stays is always there"
    sim.check_dataset(store)
    assert not any("by_format=md" in key for key in sim.plain_files(store, "chunks"))


def test_dataset_opens_as_one_table(tmp_path: Any) -> None:
    """A reader of a partitioned directory gets one schema and all rows, each once."""
    store = LocalStore(tmp_path)
    documents = FakeSource({"x/a": "#html#1|2", "y/b": "3"})
    run_job(store, documents, settings(partition_by="format"))
    table = ds.dataset(tmp_path / "chunks", partitioning="hive").to_table()
    assert table.num_rows == 3
    assert table.schema.field("embedding").type == pa.list_(
        pa.field("item", pa.float32(), nullable=False), 2
    )


def test_files_repeat_the_facts() -> None:
    """Schema metadata names dataset, run, bucket version and attempt."""
    store = MemoryStore()
    report = run_job(store, source(), settings())
    data = store.objects["chunks/bucket-00000.parquet"]
    metadata = pa.parquet.read_metadata(pa.BufferReader(data)).metadata
    facts = {k.decode(): v.decode() for k, v in metadata.items() if k.startswith(b"chunkmill.")}
    assert facts["chunkmill.run_id"] == report["run_id"]
    assert facts["chunkmill.bucket_version"] == "1"
    assert facts["chunkmill.data_key"] in store.objects
    assert json.loads(facts["chunkmill.model"])["name"] == "tiny"


def test_fence_repeats_the_version_before() -> None:
    """After an unfinished run every bucket that it could publish has a fence."""
    store, documents = MemoryStore(), source()
    run_job(store, documents, settings())
    actor_until(
        store, lambda s: run_job(s, documents, settings("B")), "create", "plan.parquet"
    ).die()
    documents.documents = dict.fromkeys(documents.documents, "!corrupt")
    run_job(store, documents, settings())
    kinds = {
        bucket: [version.kind for version in chain] for bucket, chain in sim.chains(store).items()
    }
    assert kinds == {bucket: ["publish", "fence", "publish"] for bucket in range(3)}
    chain = sim.chains(store)[0]
    fence = BucketVersion.from_bytes(store.objects[layout.bucket_version(0, 2)])
    assert fence.files == chain[0].files
    sim.check_dataset(store)
