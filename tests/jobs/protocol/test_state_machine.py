"""Any run may die between any two store operations, or wake up as a zombie: nothing is lost.

Set ``CHUNKMILL_STATE_MACHINE_EXAMPLES`` for a longer search than the default one.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Callable
from itertools import count
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from chunking.errors import StoreError
from jobs.adapters.stores.memory import MemoryStore
from jobs.protocol.versions import BucketVersion, epoch_of
from tests.jobs.protocol import simulation as sim

EXAMPLES = int(os.environ.get("CHUNKMILL_STATE_MACHINE_EXAMPLES", "12"))
STEPS = 12
KEYS = [f"d{i}" for i in range(5)]
CONTENTS = ["a|b", "b|a|a", "cccc|b", "", "!corrupt", "!network", "#html#a|b", "#html#!corrupt"]
CONFIGS = ["A", "B", "A2"]
MAX_SLEEPERS = 3
PLACES = [
    ("create", "/lease/"),
    ("create", r"/dataset\.json"),
    ("create", r"/plan\.parquet"),
    ("create", "/units/"),
    *[("create", "/buckets/")] * 4,
    ("copy", "^changes/"),
    ("copy", "^boundaries/"),
    ("copy", "^chunks/"),
    ("copy", "^documents/"),
    ("put", "/buckets/"),
    ("put", r"report\.json"),
]
"""Before which operations a run falls asleep, give or take some."""

_VERSION = re.compile(r"_chunkmill/buckets/\d{5}/\d{8}\.json")
_PLAN = re.compile(r"_chunkmill/runs/(\d{8})-\w+/plan\.parquet")


class ProtocolMachine(RuleBasedStateMachine):
    """Runs over one store and one changing source, some asleep, some dead, one at work."""

    partition_by: str | None = None

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryStore()
        self.source = sim.FakeSource({"d0": "a|b"})
        self.clock = sim.FakeClock()
        self.sleepers: list[sim.Actor] = []
        self.versions: set[str] = set()
        self.dirty = False
        self.seen = dict(self.source.documents)
        self.names = count()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(secrets, "token_hex", self.token)

    def token(self, n_bytes: int) -> str:
        """Return names that differ, but are the same in every replay of an example."""
        return hashlib.sha256(str(next(self.names)).encode()).hexdigest()[: 2 * n_bytes]

    def settings(self, config: str) -> sim.RunSettings:
        """Return one of three configurations."""
        return sim.settings(config, partition_by=self.partition_by, n_buckets=2)

    def start(self, config: str, **job: Any) -> sim.Actor:
        """Start a run that waits before its first store operation."""
        run: Callable[[Any], object] = lambda store: sim.run_job(  # noqa: E731
            store, self.source, self.settings(config), clock=self.clock, **job
        )
        return sim.Actor(self.store, run, watch=self.watch)

    def watch(self, operation: str, key: str) -> None:
        """Check after every store operation what must hold at any moment."""
        if operation not in ("copy", "create", "delete", "put"):
            return
        if _VERSION.fullmatch(key) and key not in self.versions:
            self.versions.add(key)
            version = BucketVersion.from_bytes(self.store.objects[key])
            planned = (_PLAN.fullmatch(name) for name in self.store.objects)
            epochs = [int(match[1]) for match in planned if match]
            assert epoch_of(version.run_id) >= max(epochs), "an older run committed"
        if key.startswith(sim.PLAIN) and not (self.dirty and self.partition_by):
            sim.check_each_document_once(self.store)

    @initialize(contents=st.lists(st.sampled_from(CONTENTS), min_size=len(KEYS)))
    def fill(self, contents: list[str]) -> None:
        """Begin with some documents."""
        self.source.documents.update(zip(KEYS, contents, strict=False))

    @rule(key=st.sampled_from(KEYS), content=st.sampled_from(CONTENTS) | st.none())
    def change(self, key: str, content: str | None) -> None:
        """Add, change or delete a document; not the last, as an empty listing is refused."""
        if content is not None:
            self.source.documents[key] = content
        elif len(self.source.documents) > 1:
            self.source.documents.pop(key, None)

    @precondition(lambda self: len(self.sleepers) < MAX_SLEEPERS)
    @rule(
        config=st.sampled_from(CONFIGS),
        until=st.sampled_from(PLACES),
        times=st.integers(1, 3),
        steps=st.just(0) | st.integers(1, 12),
        twins=st.booleans(),
        interrupt_after=st.none() | st.integers(0, 2),
        shuffle_seed=st.none() | st.integers(0, 3),
    )
    def begin(
        self, config: str, until: tuple[str, str], times: int, steps: int, **job: Any
    ) -> None:
        """Start a run, taking over, and let it fall asleep somewhere on the way."""
        actor = self.start(config, **job)
        actor.run_until(*until, times)
        actor.run(steps)
        self.sleepers.append(actor)

    @precondition(lambda self: self.sleepers)
    @rule(data=st.data(), steps=st.integers(1, 4) | st.integers(5, 60))
    def wake(self, data: st.DataObject, steps: int) -> None:
        """Let a sleeping run go on for a while: by now it may be a zombie."""
        actor = data.draw(st.sampled_from(self.sleepers), "sleeper")
        self.dirty = True
        actor.run(steps)

    @precondition(lambda self: self.sleepers)
    @rule(data=st.data(), fault=st.booleans())
    def end(self, data: st.DataObject, *, fault: bool) -> None:
        """Kill a sleeping run, or let its next store operation happen but be reported as failed."""
        actor = data.draw(st.sampled_from(self.sleepers), "sleeper")
        self.sleepers.remove(actor)
        if fault:
            self.dirty = True
            actor.fail_next(StoreError("connection reset"))
            actor.run()
        actor.die()

    @rule(
        key=st.sampled_from(KEYS),
        content=st.sampled_from(CONTENTS),
        until=st.sampled_from(PLACES),
        times=st.integers(1, 3),
        steps=st.integers(1, 3) | st.just(1000),
        restore=st.booleans(),
    )
    def overtake(
        self,
        key: str,
        content: str,
        until: tuple[str, str],
        times: int,
        steps: int,
        *,
        restore: bool,
    ) -> None:
        """Let a whole run pass one that sleeps at a critical place, then wake that one.

        The source may change back in between, so that the run that overtakes has
        nothing to do where the other one is about to commit.
        """
        self.complete("A", twins=False)
        self.source.documents[key] = content
        actor = self.start("A")
        actor.run_until(*until, times)
        if restore:
            self.source.documents = dict(self.seen)
        self.complete("A", twins=False)
        self.dirty = True
        actor.run(steps)
        actor.die()

    @rule(config=st.sampled_from(CONFIGS), twins=st.booleans())
    def complete(self, config: str, *, twins: bool) -> None:
        """Do a whole run: whatever happened before, the result is the undisturbed one."""
        before = sim.committed_rows(self.store, "documents")
        actor = self.start(config, twins=twins)
        actor.run()
        if actor.error is not None:
            raise actor.error
        self.dirty = False
        self.seen = dict(self.source.documents)
        sim.check_dataset(self.store)
        documents, chunks = sim.expected_rows(self.source, self.settings(config), before)
        rows = sorted(sim.plain_rows(self.store, "documents"), key=lambda row: row["doc_id"])
        assert [sim.stable(row) for row in rows] == documents
        stale = {row["doc_id"] for row in rows if row["stale"]}
        found = sim.plain_rows(self.store, "chunks")
        assert sorted(c["chunk_id"] for c in found if c["doc_id"] not in stale) == chunks

    def teardown(self) -> None:
        """Finish with one whole run, then end all sleepers."""
        try:
            self.complete("A", twins=False)
        finally:
            for actor in self.sleepers:
                actor.die()
            self.patch.undo()


class PartitionedMachine(ProtocolMachine):
    """The same with files by format, between which documents move."""

    partition_by = "format"


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Any:
    """Keep Arrow from using threads for a handful of rows."""
    n_cpus, n_io = pa.cpu_count(), pa.io_thread_count()
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    yield
    pa.set_cpu_count(n_cpus)
    pa.set_io_thread_count(n_io)


PROFILE = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize="CHUNKMILL_STATE_MACHINE_EXAMPLES" not in os.environ,
)
TestProtocol = ProtocolMachine.TestCase
TestProtocol.settings = PROFILE
TestPartitioned = PartitionedMachine.TestCase
TestPartitioned.settings = PROFILE
