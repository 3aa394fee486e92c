"""The state machine sees: each rule of the protocol, broken on purpose, is found.

A mutant breaks one rule. It must be found within ``EXAMPLES`` examples, which are the same
each time. Two rules are each other's second line of defence: a run looks at
the lease after it has made its plan, and before it commits a bucket. Without one of them
nothing goes wrong; without both, it does, and that is a mutant here. Harmless
by another rule are also: a plan that is put, not created (its key holds the epoch), and
the marker that ``commit_unit`` returns to the second of two attempts (what counts is
read from the store when the bucket is published).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.errors import FlakyFailure
from hypothesis.stateful import run_state_machine_as_test

from chunking.errors import ChunkmillError
from jobs.adapters.stores.memory import MemoryStore
from jobs.protocol import (
    lease,
    merge,
    planning,
    publish,
    roll_forward,
    session,
    units,
    versions,
    view,
)
from jobs.protocol.board import Board
from tests.jobs.protocol.machine import PartitionedMachine, ProtocolMachine, SparseMachine

EXAMPLES = 600
STEPS = 12
Break = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A broken rule, and the machine that finds it."""

    name: str
    apply: Break
    machine: type[ProtocolMachine] = ProtocolMachine
    slow: bool = True


def setting(owner: object, name: str, value: object) -> Break:
    """Return what replaces an attribute."""
    return lambda patch: patch.setattr(owner, name, value)


def nothing(*_args: object, **_options: object) -> None:
    """Do nothing."""


def fence_known(
    store: Any, run_id: str, known: Any, leftovers: Any, workers: int
) -> dict[int, versions.BucketVersion]:
    """Fence only buckets that have a version."""
    fewer = [replace(left, buckets=left.buckets & known.keys()) for left in leftovers]
    return roll_forward.fence(store, run_id, known, fewer, workers)


def unchecked(*, commits: bool) -> Break:
    """Return what leaves out the look at the lease before a commit, or the one after it."""
    here = threading.local()
    commit, check = publish._commit, publish.check_lease

    def marked(*args: Any) -> Any:
        here.committing = True
        try:
            return commit(*args)
        finally:
            here.committing = False

    def seldom(*args: Any) -> None:
        if getattr(here, "committing", False) is not commits:
            check(*args)

    def apply(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(publish, "_commit", marked)
        patch.setattr(publish, "check_lease", seldom)

    return apply


def unchecked_plan_and_commits(patch: pytest.MonkeyPatch) -> None:
    """Look at the lease neither after the plan nor before a commit."""
    unchecked(commits=True)(patch)
    write_plan = session.RunSession._write_plan

    def write(self: session.RunSession, *args: Any) -> None:
        with pytest.MonkeyPatch.context() as own:
            own.setattr(self._lease, "check", nothing)
            write_plan(self, *args)

    patch.setattr(session.RunSession, "_write_plan", write)


def put_where(part: str) -> Break:
    """Return what creates objects with a part in their key whether or not they exist."""
    create = MemoryStore.create

    def put(self: MemoryStore, key: str, data: bytes) -> bool:
        if part not in key:
            return create(self, key, data)
        self.before("create", key)
        self.objects[key] = data
        self.after("create", key)
        return True

    return setting(MemoryStore, "create", put)


def changes_last(patch: pytest.MonkeyPatch) -> None:
    """Copy change rows after the tables."""
    copy_bucket, copy_changes = view.copy_bucket, view.copy_changes

    def copy(store: Any, version: Any, base: Any, column: Any) -> None:
        copy_bucket(store, version, base, column)
        copy_changes(store, version)

    patch.setattr(view, "copy_changes", nothing)
    patch.setattr(publish, "copy_bucket", copy)


def again_on_top(patch: pytest.MonkeyPatch) -> None:
    """Take an own version, found when creating it, for somebody else's fence."""
    read = publish.read_version
    patch.setattr(publish, "read_version", lambda *args: replace(read(*args), kind="fence"))


def all_partial(self: Board) -> list[int]:
    """Hand out every bucket with finished work, also those that were published."""
    return sorted({*(b for b in self._done if self._done[b]), *self._deletions})


def same_if(*ignored: str, harvested: bool = False) -> Break:
    """Return what takes a document for the same without comparing some facts."""

    def same(self: planning._Chooser, row: Any, item: Any) -> Any:
        if row is None:
            return None
        spared = ignored if row.adoptable is not None or not harvested else ()
        pairs = {"etag": item.etag, "fingerprint": self._settings.fingerprint}
        differs = any(getattr(row, n) != v for n, v in pairs.items() if n not in spared)
        return None if differs else row

    return setting(planning._Chooser, "_same", same)


def always_complete(patch: pytest.MonkeyPatch) -> None:
    """Say of every run that it has published all that it had planned."""
    release = lease.Lease.release
    patch.setattr(lease.Lease, "release", lambda self, **_: release(self, completed=True))


def empty_fence(base: Any, bucket: int, run_id: str) -> versions.BucketVersion:
    """Fence with a version that holds nothing."""
    number = base.version + 1 if base else 1
    return versions.BucketVersion(bucket=bucket, version=number, run_id=run_id, kind="fence")


def endless(self: planning._Chooser, row: Any) -> bool:
    """Try again what has failed, however often that was."""
    return row.status != "failed" or not (row.retryable or self._retry_failed)


def own_only(self: units.UnitMarker, doc_ids: Any) -> Any:
    """Adopt documents without what came inside them."""
    return tuple(mark for mark in self.documents if mark.doc_id in doc_ids)


def wait_in_vain(store: Any, current: Any, **_options: Any) -> None:
    """Believe that whoever has not said that it ended is alive."""
    raise lease._held(store, current)


def from_nothing(previous: merge.BucketRows, rows: merge.BucketRows, affected: Any) -> Any:
    """Compute change rows as if nothing had been published."""
    return REAL_CHANGES(replace(previous, chunks=previous.chunks.slice(0, 0)), rows, affected)


REAL_CHANGES = merge._changes
MUTANTS = [
    Mutant("no fence", setting(session, "fence", lambda _s, _r, v, *_: v), slow=False),
    Mutant("fences in known buckets only", setting(session, "fence", fence_known), SparseMachine),
    Mutant("fences hold nothing", setting(roll_forward, "fence_of", empty_fence)),
    Mutant("no look at the lease before a commit or after the plan", unchecked_plan_and_commits),
    Mutant("no look at the lease before plain copies", unchecked(commits=False)),
    Mutant("no look at the lease before mending", setting(lease.Lease, "check", nothing)),
    Mutant("epochs are put", put_where("/lease/")),
    Mutant("markers are put", put_where("/units/")),
    Mutant("versions are put", put_where("/buckets/")),
    Mutant("documents before chunks", setting(view, "PLAIN_TABLES", view.PLAIN_TABLES[::-1])),
    Mutant("changes last", changes_last),
    Mutant("feeds are not mended", setting(session, "mend_changes", lambda *_: 0)),
    Mutant("plain files are not mended", setting(view.PlainView, "mend", lambda *_: 0)),
    Mutant("a bucket is merged twice", again_on_top),
    Mutant("a bucket is handed out twice", setting(Board, "take_partial", all_partial)),
    Mutant("etags are not compared", same_if("etag")),
    Mutant("fingerprints are not compared", same_if("fingerprint")),
    Mutant("old etags are adopted", same_if("etag", harvested=True)),
    Mutant("other pipelines are adopted", same_if("fingerprint", harvested=True)),
    Mutant("members are not adopted", setting(units.UnitMarker, "of", own_only)),
    Mutant("members stay", setting(merge, "vanished", lambda *_: [])),
    Mutant(
        "failed documents lose their chunks", setting(merge, "_kept", lambda *_: merge._ids([]))
    ),
    Mutant("no interim files", setting(publish, "_arrivals", lambda *_: {}), PartitionedMachine),
    Mutant("heartbeats do not count", setting(lease, "_wait_for_expiry", nothing)),
    Mutant("leases do not expire", setting(lease, "_wait_for_expiry", wait_in_vain)),
    Mutant("no run is unfinished", setting(session, "recent_runs", lambda *_, **__: [])),
    Mutant("every run is completed", always_complete),
    Mutant("retries without end", setting(planning._Chooser, "_is_final", endless)),
    Mutant("no retries", setting(planning._Chooser, "_is_final", lambda *_: True)),
    Mutant("deletions are forgotten", setting(planning, "_missing", lambda *_: [])),
    Mutant("changes are not against the version before", setting(merge, "_changes", from_nothing)),
]


def search(machine: type[ProtocolMachine]) -> None:
    """Play examples, the same each time, until one fails."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            report_multiple_bugs=False,
        ),
    )


@pytest.mark.chaos
@pytest.mark.parametrize(
    "mutant",
    [
        pytest.param(mutant, id=mutant.name, marks=pytest.mark.slow if mutant.slow else ())
        for mutant in MUTANTS
    ],
)
def test_a_broken_rule_is_found(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine fails where the protocol has one rule less."""
    mutant.apply(monkeypatch)
    with pytest.raises((AssertionError, ChunkmillError, FlakyFailure, LookupError)):
        search(mutant.machine)
