"""The driver's loop: results in, commits and publications out, nothing that blocks."""

from __future__ import annotations

import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any, Protocol, Self

from chunking.errors import JobError, StoreError
from jobs.journal import Tally
from jobs.meter import Meter, Totals, report_costs
from jobs.ports import ObjectStore
from jobs.progress import ProgressView, Snapshot
from jobs.protocol.publish import BucketJob
from jobs.protocol.session import RunSession
from jobs.stages.unit import Committed, Published, commit, publish

__all__ = ["Driver", "Interrupt", "Spent", "Threads"]

COMMITS_IN_FLIGHT = 4
PUBLISHES_IN_FLIGHT = 2
_WAIT_SECONDS = 0.2
_CHECK_LEASE_SECONDS = 5.0
_SHOW_SECONDS = 0.5


class Interrupt:
    """Ctrl-C and SIGTERM: a polite request while the job is driven, an exception elsewhere.

    A second signal always raises ``KeyboardInterrupt``. Where that, or what Ray raises
    when it holds the signals, leaves the context, it ends there as a ``JobError``.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._event = threading.Event()
        self._polite = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self.install()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if isinstance(error, KeyboardInterrupt | SystemExit):
            msg = "stopped at once; run the same command again to go on"
            raise JobError(msg) from error

    def install(self, *, polite: bool = False) -> None:
        """Take the signals; to be called again after a library may have taken them."""
        self._polite = polite
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGINT, signal.SIGTERM):
            before = signal.signal(number, self._handle)
            self._before.setdefault(number, before)

    def is_set(self) -> bool:
        """Whether the job was asked to stop."""
        return self._event.is_set()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self._event.is_set() or not self._polite:
            raise KeyboardInterrupt
        self._event.set()
        with suppress(RuntimeError):  # the signal came in the middle of another line
            self._tell("stopping: what is committed is published; a second signal stops at once")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What the work of a run has cost: by stage, and in workers that died."""

    totals: Mapping[str, Totals]
    deaths: Tally

    def as_dict(self) -> dict[str, object]:
        """Return the facts for the report; ``deaths`` only where there were any.

        To be called once, when all work is done: see :func:`jobs.meter.report_costs`.
        """
        deaths = {"deaths": self.deaths.as_dict()} if self.deaths else {}
        return {**report_costs(self.totals), **deaths}


class Tasks(Protocol):
    """Work that is going on elsewhere."""

    @property
    def full(self) -> bool:
        """Whether no more tasks should be submitted now."""
        ...

    def __len__(self) -> int: ...

    def submit(self, *args: object) -> None:
        """Start a task."""
        ...

    def poll(self, timeout: float = 0.0) -> list[Any]:
        """Return the results of tasks that have ended; raise what a task raised."""
        ...


class Costs(Protocol):
    """What the stages have done so far, wherever they run."""

    def totals(self, *, wait: bool = False) -> dict[str, Totals]:
        """Return the newest totals that are here; with ``wait``, those of this moment."""
        ...

    def tally(self, *, wait: bool = False) -> Tally:
        """Return what is known of dead workers; with ``wait``, as of this moment."""
        ...


class Engine(Protocol):
    """Where the work is done: a cluster, or this process."""

    @property
    def meter(self) -> Costs:
        """The meter of its stages."""
        ...

    def tasks(self, function: Callable[..., Any], limit: int) -> Tasks:
        """Return a pool that runs ``function``, ``limit`` at a time."""
        ...


class Stream(Protocol):
    """The results of the stages, one per unit, as they come."""

    def next(self, timeout: float) -> tuple[Any | None, bool]:
        """Return the next result, if one is there, and whether the stream has ended."""
        ...

    def stop(self) -> None:
        """Take no more results."""
        ...


class Threads:
    """Tasks in threads of this process, for the little work that needs no cluster."""

    def __init__(self, function: Callable[..., object], limit: int) -> None:
        self._function = function
        self._limit = limit
        self._pool = ThreadPoolExecutor(limit, thread_name_prefix="chunkmill-publish")
        self._running: list[Future[Any]] = []

    @property
    def full(self) -> bool:
        """Whether no more tasks should be submitted now."""
        return len(self._running) >= self._limit

    def __len__(self) -> int:
        return len(self._running)

    def submit(self, *args: object) -> None:
        """Start a task."""
        self._running.append(self._pool.submit(self._function, *args))

    def poll(self, timeout: float = 0.0) -> list[Any]:
        """Return the results of tasks that have ended; raise what a task raised."""
        if timeout and not any(task.done() for task in self._running):
            time.sleep(min(timeout, 0.02))
        done = [task for task in self._running if task.done()]
        self._running = [task for task in self._running if task not in done]
        return [task.result() for task in done]


class Driver:
    """Takes units' results as they come, commits them, and publishes complete buckets."""

    def __init__(
        self, session: RunSession, store: ObjectStore, interrupt: Interrupt, view: ProgressView
    ) -> None:
        self._session = session
        self._store = store
        self._interrupt = interrupt
        self._view = view
        self._began = time.monotonic()
        self._own = Meter()
        self._remote: Costs | None = None
        self._deaths = Tally()
        self._jobs: deque[BucketJob] = deque()
        self._committed = session.plan.n_documents - sum(
            session.plan.size_of(number) for number in session.units_to_do()
        )
        self._buckets = len({*session.plan.buckets, *session.plan.deletions})
        self._published = 0
        self._next_show = self._next_check = 0.0
        # From here on there may be work of an earlier run that a stop should publish.
        interrupt.install(polite=True)

    def publish_only(self) -> Spent:
        """Publish what can be without a cluster; return what it has cost."""
        publishes = Threads(publish, PUBLISHES_IN_FLIGHT)
        jobs = self._session.ready()
        if self._interrupt.is_set():
            jobs += self._session.remaining()
        try:
            self._drain_publishes(publishes, jobs)
        finally:
            self._view.close()
            self._interrupt.install(polite=False)
        return Spent(totals=self.totals(), deaths=self._deaths)

    def run(self, engine: Engine, stream: Stream) -> Spent:
        """Drive the job to its end, or to a clean stop when asked; return what it has cost."""
        self._remote = engine.meter
        commits = engine.tasks(commit, COMMITS_IN_FLIGHT)
        publishes = engine.tasks(publish, PUBLISHES_IN_FLIGHT)
        self._interrupt.install(polite=True)  # again, as Ray takes SIGTERM when it starts
        try:
            self._loop(stream, commits, publishes)
            if self._interrupt.is_set():
                self._wind_down(stream, commits, publishes)
            self._note_deaths(engine.meter, wait=True)
            return Spent(totals=self.totals(wait=True), deaths=self._deaths)
        except JobError:
            self._note_deaths(engine.meter, wait=True)
            raise
        finally:
            self._view.close()
            stream.stop()
            self._interrupt.install(polite=False)

    def totals(self, *, wait: bool = False) -> dict[str, Totals]:
        """Return what every stage has done so far."""
        remote = self._remote.totals(wait=wait) if self._remote else {}
        return {**remote, **self._own.totals()}

    def _loop(self, stream: Stream, commits: Tasks, publishes: Tasks) -> None:
        ended = False
        while not self._interrupt.is_set():
            if not ended and not commits.full:
                block, ended = stream.next(_WAIT_SECONDS)
                if block is not None:
                    commits.submit(block, self._store, self._session.run)
            waiting = ended or commits.full
            self._take_commits(commits, _WAIT_SECONDS if waiting else 0.0)
            self._take_publishes(publishes, 0.0 if commits else _WAIT_SECONDS * waiting)
            self._tick()
            if ended and not (commits or publishes or self._jobs):
                return

    def _wind_down(self, stream: Stream, commits: Tasks, publishes: Tasks) -> None:
        """Drop what is not finished, publish what is committed."""
        stream.stop()
        while commits:
            self._take_commits(commits, _WAIT_SECONDS)
        self._drain_publishes(publishes, self._session.remaining())

    def _drain_publishes(self, publishes: Tasks, jobs: list[BucketJob]) -> None:
        self._jobs.extend(jobs)
        while publishes or self._jobs:
            self._take_publishes(publishes, _WAIT_SECONDS)
            self._tick()

    def _take_commits(self, commits: Tasks, timeout: float) -> None:
        done: Committed
        for done in commits.poll(timeout):
            self._session.unit_done(done.marker)
            self._own.add(done.sample)
            self._committed += self._session.plan.size_of(done.marker.unit)
            self._jobs.extend(self._session.ready())

    def _take_publishes(self, publishes: Tasks, timeout: float) -> None:
        self._jobs.extend(self._session.ready())
        while self._jobs and not publishes.full:
            publishes.submit(self._jobs.popleft(), self._store, self._session.run)
        done: Published
        for done in publishes.poll(timeout):
            self._session.published(done.version)
            self._own.add(done.sample)
            self._published += 1

    def _tick(self) -> None:
        now = time.monotonic()
        if now >= self._next_check:
            self._next_check = now + _CHECK_LEASE_SECONDS
            self._session.check()
            if self._remote is not None:
                self._note_deaths(self._remote)
        if now >= self._next_show:
            self._next_show = now + _SHOW_SECONDS
            self._view.update(self._snapshot(now))

    def _note_deaths(self, meter: Costs, *, wait: bool = False) -> None:
        """Keep what is known of documents that kill, for the case that this process dies too."""
        before, self._deaths = self._deaths, meter.tally(wait=wait) or self._deaths
        if self._deaths.documents != before.documents:
            # It spares a run that has to go on some deaths; whatever else needs the store
            # will say that it is out of reach.
            with suppress(StoreError):
                self._session.note_deaths(self._deaths.documents)

    def _snapshot(self, now: float) -> Snapshot:
        return Snapshot(
            elapsed=now - self._began,
            documents=self._session.plan.n_documents,
            committed=self._committed,
            buckets=self._buckets,
            published=self._published,
            stages=self.totals(),
        )
