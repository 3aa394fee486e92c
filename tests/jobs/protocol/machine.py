"""Runs, tasks of runs and a changing source in any order, with crashes between any two operations.

What must hold after every operation is in :mod:`tests.jobs.protocol.laws`, what a whole
run must leave in :mod:`tests.jobs.protocol.oracle`.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from chunking.errors import LeaseHeldError, LeaseLostError, ObjectNotFoundError, StoreError
from jobs import layout
from jobs.adapters.stores.memory import MemoryStore
from jobs.ports import ObjectStore
from jobs.protocol.dataset import read_dataset
from tests.jobs.protocol import simulation as sim
from tests.jobs.protocol.laws import PLAYED, Laws, Player
from tests.jobs.protocol.oracle import Oracle, Published

SECOND = "s2"
"""Name of the second source."""

KEYS = [(None, f"d{i}") for i in range(4)] + [(SECOND, "e0"), (SECOND, "e1")]
NEW_KEY = (None, "new")
"""A document that there is not at first; the bucket that it belongs to may hold no other."""

CONTENTS = [
    *("a|b", "b|a|a", "cccc|b", "", "!corrupt", "!network", "?a|b", "#html#a|b", "#html#!corrupt"),
    *("a>x=b|c>y=d", "a>x=#html#b>z=!corrupt", "a|b>x=c>x!/y=d", "#html#a>x=b|c", "?a>x=?b>y=a"),
]
"""What documents hold; half of them may hold others."""

CONFIGS = ["A", "B", "A2"]
MAX_SLEEPERS = 3
MAX_TASKS = 12
PLACES = [
    ("create", "/lease/"),
    ("create put", r"/dataset\.json"),
    ("create", r"/plan\.parquet"),
    ("create", "/units/"),
    *[("create", "/buckets/")] * 4,
    ("copy", "^changes/"),
    ("copy", "^boundaries/"),
    ("copy delete", "^chunks/"),
    ("copy", "^documents/"),
    ("put", "/buckets/"),
    ("put", r"report\.json"),
]
"""Before which operations a run falls asleep, give or take some."""

CRITICAL = [
    *[("create", "/buckets/", 1)] * 2,
    ("create", r"/plan\.parquet", 1),
    *[("list", "^boundaries/", 2)] * 2,
]
"""Before which a run does most harm if it does not notice that it was overtaken.

The last is its end, when it compares the plain files with what it has committed.
"""

MOMENTS = st.sampled_from(CRITICAL) | st.builds(
    lambda place, times: (*place, times), st.sampled_from(PLACES), st.integers(1, 3)
)

HALFWAY = [("put", "/lease/"), ("create", "/buckets/"), ("create", r"/plan\.parquet")]
"""Where a run stands that has begun to overtake another one."""

FAULTS = ["killed", "refused", "in doubt", "done twice"]
YEAR = 365 * 86400.0
PLAN_OPTIONS = {"limit", "delete_missing", "retry_failed"}
JOBS = st.fixed_dictionaries(
    {"config": st.sampled_from(CONFIGS)},
    optional={
        "second": st.booleans(),
        "twins": st.booleans(),
        "limit": st.integers(1, 3),
        "delete_missing": st.booleans(),
        "retry_failed": st.booleans(),
    },
)
"""What a run is asked to do."""


@dataclass(frozen=True, slots=True)
class Task:
    """A worker's task that the engine may do once more, at any time."""

    run_id: str
    work: sim.Task


class ProtocolMachine(RuleBasedStateMachine):
    """Runs over one store and two changing sources, some asleep, some dead, one at work."""

    partition_by: str | None = None
    n_buckets = 2

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(secrets, "token_hex", self.token)
        sim.without_parquet(self.patch)
        self.store = MemoryStore()
        self.laws = Laws(self.store, partitioned=self.partition_by is not None)
        self.sources = {
            None: sim.FakeSource({"d0": "a|b"}),
            SECOND: sim.FakeSource({"e0": "a"}, name=SECOND),
        }
        self.clock = sim.FakeClock()
        self.sleepers: list[Player] = []
        self.tasks: list[Task] = []
        self.forced = 0
        self.named: set[str] = set()
        self.names = count()
        PLAYED["examples"] += 1

    def token(self, n_bytes: int) -> str:
        """Return names that differ, but are the same in every replay of an example."""
        return hashlib.sha256(str(next(self.names)).encode()).hexdigest()[: 2 * n_bytes]

    def settings(self, config: str, *, second: bool = False) -> sim.RunSettings:
        """Return one of three configurations, for one of two sources."""
        return sim.settings(
            config,
            partition_by=self.partition_by,
            n_buckets=self.n_buckets,
            source_name=SECOND if second else None,
            attempts=2,
        )

    def start(self, config: str, *, second: bool = False, **job: Any) -> Player:
        """Start a run that waits before its first store operation."""
        source = self.sources[SECOND if second else None]
        config_of_run = self.settings(config, second=second)
        self.forced += job.get("retry_failed", False)
        job = {"clock": self.clock, **job}

        def run(store: ObjectStore) -> object:
            return sim.run_job(store, source, config_of_run, on_task=self.take_task, **job)

        return Player(self.store, run, self.laws)

    def take_task(self, run_id: str, work: sim.Task) -> None:
        """Remember a task, that it may be done once more."""
        self.tasks.append(Task(run_id, work))
        del self.tasks[:-MAX_TASKS]

    def sleep(self, player: Player) -> None:
        """Keep a run that has not ended."""
        if player.ended:
            self.check_end(player)
        else:
            self.sleepers.append(player)

    def check_end(self, player: Player, *, faulty: bool = False) -> None:
        """Check that a run has ended well, or by a fault that was played, or was overtaken.

        ``faulty``: the store may have failed it when it asked whether it was overtaken.
        """
        error = player.error
        if error is None or isinstance(error, sim.Crash) or error.args == ("played",):
            return
        if isinstance(error, LeaseHeldError):
            return
        # A task of a run that was overtaken may miss what has been removed since.
        known = LeaseLostError | ObjectNotFoundError if player.strays or faulty else LeaseLostError
        assert isinstance(error, known), repr(error)
        assert self.laws.overtaken(player), "a run has ended that nobody has overtaken"

    @initialize(contents=st.lists(st.sampled_from(CONTENTS), min_size=len(KEYS)))
    def fill(self, contents: list[str]) -> None:
        """Begin with some documents."""
        for (name, key), content in zip(KEYS, contents, strict=False):
            self.sources[name].documents[key] = content

    @rule(key=st.sampled_from(KEYS), content=st.sampled_from(CONTENTS) | st.none())
    def change(self, key: tuple[str | None, str], content: str | None) -> None:
        """Add, change or delete a document; not the last, as an empty listing is refused."""
        documents = self.sources[key[0]].documents
        if content is not None:
            documents[key[1]] = content
        elif len(documents) > 1:
            documents.pop(key[1], None)

    @rule(
        name=st.sampled_from([None, SECOND]),
        down=st.booleans(),
        seconds=st.sampled_from([0, 3600, -3600, YEAR, -2 * YEAR]),
    )
    def disturb(self, name: str | None, seconds: float, *, down: bool) -> None:
        """Let a source go down or come back, and the calendar jump."""
        self.sources[name].down = down
        self.clock.jump(seconds)

    @precondition(lambda self: len(self.sleepers) < MAX_SLEEPERS)
    @rule(
        job=JOBS,
        until=st.sampled_from(PLACES),
        times=st.integers(1, 3),
        steps=st.just(0) | st.integers(1, 12),
        interrupt_after=st.none() | st.integers(0, 2),
        shuffle_seed=st.none() | st.integers(0, 3),
    )
    def begin(
        self, job: dict[str, Any], until: tuple[str, str], times: int, steps: int, **more: Any
    ) -> None:
        """Start a run, taking over, and let it fall asleep somewhere on the way."""
        player = self.start(**job, **more)
        player.run_until(*until, times)
        player.run(steps)
        self.sleep(player)

    @precondition(lambda self: self.tasks and len(self.sleepers) < MAX_SLEEPERS)
    @rule(data=st.data(), steps=st.integers(0, 20))
    def stray(self, data: st.DataObject, steps: int) -> None:
        """Do a task once more that was given out before, whatever has become of its run."""
        task = data.draw(st.sampled_from(self.tasks), "task")
        player = Player(self.store, task.work, self.laws, epoch=int(task.run_id[:8]))
        player.run(steps)
        self.sleep(player)

    @precondition(
        lambda self: len(self.sleepers) < MAX_SLEEPERS and layout.DATASET in self.store.objects
    )
    @rule(steps=st.just(1000) | st.integers(1, 40))
    def clean(self, steps: int) -> None:
        """Remove what nobody needs, taking over; the cleaning may fall asleep."""
        player = Player(
            self.store,
            lambda store: sim.gc_job(store, clock=self.clock),
            self.laws,
            cleans=True,
        )
        player.run(steps)
        PLAYED["cleanings"] += 1
        self.sleep(player)

    @precondition(lambda self: self.sleepers)
    @rule(data=st.data(), steps=st.integers(1, 4) | st.integers(5, 60))
    def wake(self, data: st.DataObject, steps: int) -> None:
        """Let a sleeping run go on for a while: by now it may have been overtaken."""
        player = data.draw(st.sampled_from(self.sleepers), "sleeper")
        player.run(steps)
        PLAYED["woken after being overtaken"] += self.laws.overtaken(player)
        self.sleepers.remove(player)
        self.sleep(player)

    @precondition(lambda self: self.sleepers)
    @rule(data=st.data(), fault=st.sampled_from(FAULTS))
    def disrupt(self, data: st.DataObject, fault: str) -> None:
        """Kill a sleeping run, or let the store fail it: in what it did, or before it is done."""
        player = data.draw(st.sampled_from(self.sleepers), "sleeper")
        self.sleepers.remove(player)
        PLAYED["faults of the store"] += fault != "killed"
        if fault == "done twice":
            player.repeat_next()
            self.sleep(player)
            return
        if fault != "killed":
            player.fail_next(StoreError("played"), done=fault == "in doubt")
            player.run()
            self.check_end(player, faulty=True)
        player.die()

    @rule(
        key=st.just(NEW_KEY) | st.sampled_from(KEYS),
        content=st.sampled_from(CONTENTS),
        config=st.sampled_from(CONFIGS),
        moment=MOMENTS,
        steps=st.integers(1, 3) | st.just(1000),
        restore=st.booleans(),
        other=st.booleans(),
        halfway=st.none() | st.sampled_from(HALFWAY),
    )
    def overtake(
        self,
        *,
        key: tuple[str | None, str],
        content: str,
        config: str,
        moment: tuple[str, str, int],
        steps: int,
        restore: bool,
        other: bool,
        halfway: tuple[str, str] | None,
    ) -> None:
        """Let a whole run pass one that sleeps at a critical place, then wake that one.

        The source may change back in between, so that the run that overtakes has
        nothing to do where the other one is about to commit; so it has if it is of the
        ``other`` source. The sleeper may wake up when the other one is ``halfway``.
        """
        second = key[0] is not None
        self.complete({"config": "A", "second": second})
        documents = self.sources[key[0]].documents
        seen = dict(documents)
        documents[key[1]] = content
        player = self.start(config, second=second)
        player.run_until(*moment)
        if restore:
            documents.clear()
            documents.update(seen)
        rival = {"config": "A", "second": second is not other}
        if halfway is None:
            self.complete(rival)
            player.run(steps)
        else:
            winner = self.start(**rival)
            winner.run_until(*halfway)
            player.run(steps)
            winner.run()
            assert winner.error is None, repr(winner.error)
        PLAYED["woken after being overtaken"] += self.laws.overtaken(player)
        self.check_end(player)
        player.die()

    @rule(
        config=st.sampled_from(CONFIGS),
        n_units=st.integers(1, 3),
        changes=st.dictionaries(st.sampled_from(KEYS), st.sampled_from(CONTENTS), max_size=3),
    )
    def abandon(
        self, config: str, n_units: int, changes: dict[tuple[str | None, str], str]
    ) -> None:
        """Kill a run that has committed units; the next takes over what is still of use."""
        player = self.start(config)
        player.run_until("create", "/units/", n_units)
        player.run(1)
        player.die()
        for key, content in changes.items():
            self.change(key, content)
        self.complete({"config": config})

    @rule(job=JOBS, alive=st.booleans())
    def wait(self, job: dict[str, Any], *, alive: bool) -> None:
        """Start a run that does not take over: it is refused while another one is alive."""
        other = self.start(**job)
        other.run_until("create", r"/plan\.parquet")
        if alive:
            assert other.epoch is not None
            clock = Observed(self.store, layout.lease_heartbeat(other.epoch))
            before = dict(self.store.objects)
            player = self.start(**{**job, "clock": clock, "take_over": False})
            player.run()
            assert isinstance(player.error, LeaseHeldError), repr(player.error)
            assert before.keys() == self.store.objects.keys()
        other.die()
        self.complete({**job, "take_over": False})

    @rule(job=JOBS)
    def complete(self, job: Mapping[str, Any]) -> None:
        """Do a whole run: whatever happened before, the result is the undisturbed one."""
        PLAYED["whole runs"] += 1
        before = Published.committed(self.store)
        player = self.start(**job)
        player.run()
        if player.error is not None:
            raise player.error
        self.laws.dirty = False
        sim.check_dataset(self.store)
        second = job.get("second", False)
        config = self.settings(job["config"], second=second)
        oracle = Oracle(
            source=self.sources[SECOND if second else None],
            config=config,
            before=before,
            forced=self.forced,
            **{name: job[name] for name in PLAN_OPTIONS & job.keys()},
        )
        oracle.check(self.store)
        self.named |= {SECOND} if second else set()
        dataset = read_dataset(self.store)
        assert dataset is not None
        assert dataset.fingerprint == config.fingerprint
        assert self.named <= set(dataset.sources), "a source is forgotten"

    @invariant()
    def counted(self) -> None:
        """Count the rules."""
        PLAYED["rules"] += 1

    def teardown(self) -> None:
        """Finish with one whole run, then end all sleepers."""
        try:
            self.complete({"config": "A"})
        finally:
            for player in self.sleepers:
                player.die()
            self.patch.undo()


class Observed(sim.FakeClock):
    """A clock whose reader, when it waits, misses a heartbeat of the run that it waits for."""

    def __init__(self, store: MemoryStore, key: str) -> None:
        super().__init__()
        self.key = key
        self._store = store

    def sleep(self, seconds: float) -> None:
        """Pass the time, and let the heart beat."""
        super().sleep(seconds)
        self._store.objects[self.key] = f'{{"beat": {1000 + self.seconds}}}'.encode()


class PartitionedMachine(ProtocolMachine):
    """The same with files by format, between which documents move."""

    partition_by = "format"


class SparseMachine(ProtocolMachine):
    """The same with more buckets than documents."""

    n_buckets = 11
