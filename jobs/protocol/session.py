"""One run of the protocol, from the lease to the report: everything but the engine.

The order of calls::

    with RunSession.open(store, settings) as session:   # lease taken, dataset settled
        plan = session.make_plan(items)                 # immutable; finished work adopted
        run = session.run                               # picklable, for the workers
        for unit in session.units_to_do(): ...          # session.unit(n) -> PlannedUnit
            # in a worker: marker = commit_unit(store, run, planned_unit, tables)
            session.unit_done(marker)
            for job in session.ready(): ...             # buckets whose units are all committed
                # in a worker: published = publish_bucket(store, run, job)
                session.published(published)
        report = session.finish(lambda: {...})          # checks the plain view, ends the lease

After an interruption ``session.remaining()`` gives the jobs that publish what was
committed; leaving the block without ``finish`` ends the lease as unfinished, and the
next run goes on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from itertools import chain
from types import TracebackType
from typing import Self

from chunking.errors import JobError, StoreError
from jobs import layout, patience
from jobs.ports import Clock, ObjectStore
from jobs.protocol import fail_points
from jobs.protocol.board import Board
from jobs.protocol.dataset import (
    PLAN_FACT,
    Dataset,
    check_settings,
    keep_tokenizer,
    planned_dataset,
    settle_dataset,
)
from jobs.protocol.files import to_parquet
from jobs.protocol.lease import (
    Lease,
    LeaseState,
    SystemClock,
    acquire_lease,
    recent_runs,
    run_ids_before,
)
from jobs.protocol.partitions import partition_column
from jobs.protocol.plan import Plan, PlannedUnit
from jobs.protocol.planning import plan_run
from jobs.protocol.preview import STORE_WORKERS, checked_dataset, choose_n_buckets, preview_plan
from jobs.protocol.publish import BucketJob
from jobs.protocol.purged import purged_ids, read_purge_lists
from jobs.protocol.report import make_report
from jobs.protocol.roll_forward import (
    Leftover,
    fence,
    list_data,
    mend_changes,
    read_deaths,
    read_leftovers,
    read_versions,
)
from jobs.protocol.run import Run, RunSettings
from jobs.protocol.state import Harvest, read_harvest, read_known
from jobs.protocol.units import UnitMarker
from jobs.protocol.versions import BucketVersion
from jobs.protocol.view import PlainView
from jobs.records import SourceItem

__all__ = ["RunSession", "preview_plan"]

_FAREWELL_SECONDS = 5.0
"""How long a run that failed tries to say that it has ended."""


class RunSession:
    """A run that holds the lease; use it as a context manager.

    Attributes: ``run_id``; ``resumed``: ids of the unfinished runs before this one;
    ``n_mended``: plain files that had to be brought forward at the start.
    """

    def __init__(
        self,
        store: ObjectStore,
        settings: RunSettings,
        lease: Lease,
        *,
        clock: Clock,
        workers: int = STORE_WORKERS,
    ) -> None:
        self.run_id = lease.run_id
        self.resumed: list[str] = []
        self.n_mended = 0
        self._store = store
        self._settings = settings
        self._lease = lease
        self._clock = clock
        self._workers = workers
        self._started = clock.now()
        self._released = False
        column = partition_column(settings.partition_by)
        self._view = PlainView(store=store, column=column, workers=workers)
        self._dataset: Dataset | None = None
        self._leftovers: list[Leftover] = []
        self._versions: dict[int, BucketVersion] = {}
        self._run: Run | None = None
        self._plan: Plan | None = None
        self._board = Board()
        self._settles = True

    @classmethod
    def open(
        cls,
        store: ObjectStore,
        settings: RunSettings,
        *,
        clock: Clock | None = None,
        take_over: bool = False,
        on_wait: Callable[[str], None] = lambda _: None,
        heartbeat: bool = True,
        workers: int = STORE_WORKERS,
        task: str = "",
    ) -> Self:
        """Check DST, take the lease, and roll forward what earlier runs left.

        ``task``: what is done under the lease, if it is no run; shown to those who wait.

        Raises:
            DestinationError: DST holds something else, a newer format, another source
                or facts that cannot change; nothing was written.
            ConfigError: ``partition_by`` is not allowed, or an unknown fail point is armed.
            LeaseHeldError: another run is alive; nothing was written.
        """
        fail_points.check_fail_point()
        partition_column(settings.partition_by)
        checked_dataset(store, settings)
        clock = clock or SystemClock()
        lease = acquire_lease(
            store,
            clock=clock,
            seconds=settings.lease_seconds,
            take_over=take_over,
            on_wait=on_wait,
            task=task,
        )
        session = cls(store, settings, lease, clock=clock, workers=workers)
        with ExitStack() as stack:
            stack.enter_context(session)
            if heartbeat:
                lease.start_heartbeat(settings.lease_seconds)
            session._roll_forward()
            stack.pop_all()
        return session

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if isinstance(error, Exception):
                self._lease.explain(error)
        finally:
            self.close()

    @property
    def run(self) -> Run:
        """The run's facts for the workers; there is one as soon as there is a plan."""
        if self._run is None:
            msg = "there is no plan yet"
            raise JobError(msg)
        return self._run

    @property
    def plan(self) -> Plan:
        """The plan, once it is made."""
        if self._plan is None:
            msg = "there is no plan yet"
            raise JobError(msg)
        return self._plan

    def make_plan(
        self,
        items: Iterable[SourceItem],
        *,
        limit: int | None = None,
        delete_missing: bool = True,
        retry_failed: bool = False,
        shuffle_seed: int | None = None,
        tokenizer: str | None = None,
    ) -> Plan:
        """Write the plan, settle ``dataset.json``, adopt what earlier runs had committed.

        ``tokenizer``: description of the model's tokenizer, to be kept in the dataset.

        Raises:
            SourceError: keys are not unique, or too much would be deleted.
            DestinationError: a bucket would grow above 2 GB.
        """
        items = list(items)
        known = read_known(self._store, self._versions.values(), self._workers)
        purged = purged_ids(read_purge_lists(self._store))
        harvest = read_harvest(
            self._store,
            self._leftovers,
            self._workers,
            unpacks=self._settings.unpacks,
            purged=purged,
        )
        n_buckets = choose_n_buckets(self._dataset, self._settings, items)
        plan = plan_run(
            items,
            known,
            self._settings,
            n_buckets=n_buckets,
            harvest=harvest.documents,
            limit=limit,
            delete_missing=delete_missing,
            retry_failed=retry_failed,
            shuffle_seed=shuffle_seed,
            purged=purged,
        )
        self._lease.check()
        if tokenizer is not None:
            keep_tokenizer(self._store, tokenizer)
        dataset = settle_dataset(self._store, self._dataset, self._settings, n_buckets)
        if dataset.n_buckets != n_buckets:
            msg = f"{self._store.url} was created by another run meanwhile; run again"
            raise JobError(msg)
        self._begin(plan, dataset, purged)
        self._adopt(plan, harvest)
        return plan

    def units_to_do(self) -> list[int]:
        """Return the numbers of the units that are not committed yet, in plan order."""
        return self._board.open_units()

    def unit(self, number: int) -> PlannedUnit:
        """Return a unit with its documents."""
        return self.plan.unit(number)

    def unit_done(self, marker: UnitMarker) -> None:
        """Take note that a unit is committed."""
        self._board.unit_done(marker.unit)

    def ready(self) -> list[BucketJob]:
        """Return the buckets that can be published now; each is returned once."""
        return [self._job(bucket) for bucket in self._board.take_ready()]

    def remaining(self) -> list[BucketJob]:
        """Return the unpublished buckets with any finished work: for an interrupted run."""
        return [self._job(bucket) for bucket in self._board.take_partial()]

    def published(self, version: BucketVersion) -> None:
        """Take note that a bucket is published."""
        self._versions[version.bucket] = version
        self._board.published(version)

    @property
    def counts(self) -> Mapping[str, int]:
        """What this run has published so far, as in :class:`BucketVersion`."""
        return self._board.counts

    def check(self) -> None:
        """Make sure that nobody is known to have taken the lease; ``LeaseLostError`` if so."""
        self._lease.notice()

    @property
    def known_deaths(self) -> Mapping[str, Mapping[str, float]]:
        """Deaths of workers by document, by stage, that unfinished runs have noted."""
        return read_deaths(self._store, (leftover.run_id for leftover in self._leftovers))

    def note_deaths(self, deaths: Mapping[str, Mapping[str, float]]) -> None:
        """Keep deaths of workers by document, by stage: for a run that has to go on."""
        self._store.put(layout.deaths(self.run_id), json.dumps(deaths, sort_keys=True).encode())
        fail_points.hit("run.deaths")

    def finish(self, extra: Callable[[], Mapping[str, object]] = dict) -> dict[str, object]:
        """Check the plain view, write ``report.json``, end the lease; return the report.

        The run counts as completed if all that it had planned is published. ``extra`` is
        asked for more of the report when the plain view is settled.
        """
        completed = self._settles and self._plan is not None and self._board.all_published()
        self._lease.check()
        self._settle_view()
        report = make_report(
            run=self.run,
            plan=self.plan,
            counts=self._board.counts,
            versions=self._versions.values(),
            started=_time(self._started),
            finished=_time(self._clock.now()),
            completed=completed,
            extra={"n_mended": self.n_mended, "resumed": self.resumed, **extra()},
        )
        data = json.dumps(report, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        self._store.put(layout.report(self.run_id), data.encode())
        fail_points.hit("finish.report")
        self._released = True
        self._lease.release(completed=completed)
        return report

    def close(self) -> None:
        """End the lease as unfinished, if ``finish`` has not ended it."""
        if not self._released:
            self._released = True
            # An unreachable store must not hide why the run ends: the lease will expire.
            with suppress(StoreError), patience.at_most(_FAREWELL_SECONDS):
                self._lease.release(completed=False)

    def _roll_forward(self) -> None:
        self._lease.beat()
        recent = recent_runs(self._store, before=self._lease.epoch)
        self.resumed = [run.run_id for run in recent if not run.completed]
        self._dataset = self._checked_dataset(recent)
        self._leftovers = read_leftovers(self._store, self.resumed)
        data = list_data(self._store)
        versions = read_versions(self._store, data, self._workers)
        self._versions = fence(self._store, self.run_id, versions, self._leftovers, self._workers)
        self.n_mended = mend_changes(self._store, self._versions, self.resumed)
        self._view.load()
        self.n_mended += self._view.mend(self._versions, data, self._lease.check)

    def _checked_dataset(self, recent: Sequence[LeaseState]) -> Dataset | None:
        """Return the dataset as the last run has left it, whatever an older one put there since."""
        found = checked_dataset(self._store, self._settings)
        # The last to complete may have been a cleaning, which has no plan.
        older = (name for run in recent[:1] for name in run_ids_before(self._store, run.epoch))
        newest_first = chain((run.run_id for run in reversed(recent)), older)
        planned = planned_dataset(self._store, newest_first)
        if planned is not None:
            check_settings(self._store.url, planned, self._settings)
        return planned or found

    def _settle_view(self) -> None:
        if self._board.n_published:
            self._view.mend(self._versions, list_data(self._store), self._lease.check)
        facts = {**self.run.facts, "run_id": self.run_id}
        self._view.fill_empty_tables(self.run.chunks_schema, facts)
        self._view.save()

    def _begin(self, plan: Plan, dataset: Dataset, purged: AbstractSet[str] = frozenset()) -> None:
        facts = dataset.facts()
        self._run = Run(
            run_id=self.run_id,
            settings=self._settings,
            n_buckets=dataset.n_buckets,
            facts=facts,
            purged=frozenset(purged),
        )
        self._write_plan(plan, {**facts, PLAN_FACT: dataset.to_bytes().decode()})
        self._plan = plan
        self._board = Board(plan)

    def _write_plan(self, plan: Plan, facts: Mapping[str, str]) -> None:
        data = to_parquet(plan.table, {**facts, "run_id": self.run_id})
        created = self._store.create(layout.plan(self.run_id), data)
        fail_points.hit("plan.create")
        if not created:
            msg = f"run {self.run_id} has a plan already"
            raise JobError(msg)
        self._lease.check()

    def _adopt(self, plan: Plan, harvest: Harvest) -> None:
        for number, origin in plan.adopted.items():
            marker = harvest.adopted(origin, plan.unit(number), self.run)
            self._store.create(marker.key, marker.to_bytes())
            fail_points.hit("adopt.marker")
            self._board.unit_done(number)

    def _job(self, bucket: int) -> BucketJob:
        last = self._versions.get(bucket)
        return BucketJob(
            bucket=bucket,
            base=last.version if last else 0,
            units=self._board.done_units(bucket),
            deletions=self.plan.deletions.get(bucket, ()),
        )


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
