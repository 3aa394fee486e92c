"""The lease: one run at a time writes a dataset, and a dead one does not block it.

The lease is a chain of epoch objects, ``_chunkmill/lease/00000007.json``, each
created if absent: the highest epoch holds the dataset. Its holder rewrites a
heartbeat object. An epoch is over when it says so itself, or when its heartbeat
did not change for T seconds of the observer's own monotonic clock; the clocks of two
machines are never compared. Nothing can stop the holder of an older epoch from
running on; what it may still do is harmless by the rules of the other modules.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from chunking.errors import LeaseHeldError, LeaseLostError, ObjectNotFoundError, StoreError
from jobs import layout, patience
from jobs.ports import Clock, ObjectStore
from jobs.protocol import fail_points
from jobs.protocol.files import new_attempt
from jobs.protocol.written import get_json

__all__ = [
    "Lease",
    "LeaseState",
    "SystemClock",
    "acquire_lease",
    "check_lease",
    "read_lease",
    "recent_runs",
    "run_ids_before",
    "run_ids_since_completed",
]

_BEATS_PER_LEASE = 12
_POLLS_PER_LEASE = 60
_LONGEST_GAP_POLLS = 4
"""Polls' time that a gap between two looks at a lease counts for at most."""
_ASKING_SECONDS = 5.0
"""How long a run that fails asks whether it was overtaken."""


class SystemClock:
    """The machine's clocks."""

    def monotonic(self) -> float:
        """Return seconds of a clock that never jumps."""
        return time.monotonic()

    def now(self) -> float:
        """Return seconds since the epoch."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseState:
    """The highest epoch, as an observer finds it.

    ``heartbeat`` is the object's content, None before its first beat. ``released``:
    the holder has ended; ``completed``: it had published all that it had planned.
    """

    epoch: int
    run_id: str
    holder: str
    since: str
    heartbeat: bytes | None
    released: bool
    completed: bool


class Lease:
    """A held epoch, with the thread that keeps its heart beating."""

    def __init__(self, store: ObjectStore, *, epoch: int, run_id: str, nonce: str) -> None:
        self.epoch = epoch
        self.run_id = run_id
        self._store = store
        self._nonce = nonce
        self._beats = 0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._lost = False

    def start_heartbeat(self, seconds: float) -> None:
        """Beat from a background thread, often enough for a lease of ``seconds``."""
        self._thread = threading.Thread(
            target=self._keep_beating,
            args=(seconds / _BEATS_PER_LEASE,),
            name="chunkmill-lease",
            daemon=True,
        )
        self._thread.start()

    def beat(self) -> None:
        """Rewrite the heartbeat object."""
        self._beats += 1
        self._put(released=False, completed=False)
        fail_points.hit("lease.heartbeat")

    def check(self) -> None:
        """Make sure that no higher epoch exists: one request.

        Raises:
            LeaseLostError: another run has taken the dataset over.
        """
        if self._lost:
            raise _lost(self._store.url, self.run_id)
        check_lease(self._store, self.run_id)

    def explain(self, error: Exception) -> None:
        """Raise ``LeaseLostError`` if the loss of the lease is why something failed.

        Who took the dataset over may have cleaned it, so that what this run needs is gone:
        its error would say which object, and not why.
        """
        if isinstance(error, LeaseLostError):
            return
        try:
            with patience.at_most(_ASKING_SECONDS):
                self.check()
        except LeaseLostError as lost:
            raise lost from error
        except StoreError:
            pass  # the store is what it failed by, and that is told

    def notice(self) -> None:
        """Say whether the heartbeat has found the lease lost: no request while it beats.

        So a driver goes on showing its progress while the store does not answer.

        Raises:
            LeaseLostError: another run has taken the dataset over.
        """
        if self._thread is None or self._lost:
            self.check()

    def release(self, *, completed: bool) -> None:
        """End the lease; ``completed`` says that everything planned was published."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._put(released=True, completed=completed)
        fail_points.hit("lease.release")

    def _keep_beating(self, interval: float) -> None:
        while not self._stop.wait(interval):
            try:
                # A late beat is worth less than the next one.
                with patience.at_most(interval):
                    self.beat()
                    check_lease(self._store, self.run_id)
            except LeaseLostError:
                self._lost = True
                return
            except StoreError:
                # The store is out of reach: the work itself waits for it, or says so. The
                # next beat may succeed before another run may take the dataset over.
                continue

    def _put(self, *, released: bool, completed: bool) -> None:
        body = {
            "beat": self._beats,
            "nonce": self._nonce,
            "released": released,
            "completed": completed,
        }
        data = json.dumps(body, sort_keys=True).encode()
        self._store.put(layout.lease_heartbeat(self.epoch), data)


def check_lease(store: ObjectStore, run_id: str) -> None:
    """Make sure that the run's epoch is still the highest: one request.

    Epochs are taken one by one, so it is enough to look for the next.

    Raises:
        LeaseLostError: another run has taken the dataset over.
    """
    if store.head(layout.lease_epoch(int(run_id[:8]) + 1)) is not None:
        raise _lost(store.url, run_id)


def read_lease(store: ObjectStore) -> LeaseState | None:
    """Return the state of the highest epoch, or None where no run has ever been."""
    epochs = _epochs(store)
    return _state(store, epochs[-1]) if epochs else None


def run_ids_since_completed(store: ObjectStore, before: int) -> list[str]:
    """Return the runs of epochs below ``before`` that may have left work, oldest first.

    These are all the runs after the last one that completed: a completed run has
    settled whatever its predecessors left.
    """
    return [run.run_id for run in recent_runs(store, before) if not run.completed]


def recent_runs(store: ObjectStore, before: int) -> list[LeaseState]:
    """Return the runs of epochs below ``before`` from the last completed one on, oldest first."""
    recent: list[LeaseState] = []
    for epoch in reversed([e for e in _epochs(store) if e < before]):
        recent.append(_state(store, epoch))
        if recent[-1].completed:
            break
    return recent[::-1]


def run_ids_before(store: ObjectStore, epoch: int) -> Iterator[str]:
    """Yield the runs of all epochs below ``epoch``, newest first; each costs a request."""
    for older in reversed([e for e in _epochs(store) if e < epoch]):
        yield str(get_json(store, layout.lease_epoch(older))["run_id"])


def acquire_lease(
    store: ObjectStore,
    *,
    clock: Clock,
    seconds: float,
    take_over: bool = False,
    on_wait: Callable[[str], None] = lambda _: None,
    task: str = "",
) -> Lease:
    """Take the next epoch and return it; start its heartbeat with ``start_heartbeat``.

    Waits for at most ``seconds`` to see whether an unreleased predecessor still lives;
    ``take_over`` does not wait. ``on_wait`` is told why, once. ``task``: what the lease
    is for, if not for a run; named with its holder.

    Raises:
        LeaseHeldError: another run is alive, or was quicker.
    """
    current = read_lease(store)
    if current is not None and not (current.released or take_over):
        _wait_for_expiry(store, current, clock=clock, seconds=seconds, on_wait=on_wait)
    epoch = current.epoch + 1 if current else 1
    now = datetime.fromtimestamp(clock.now(), tz=UTC)
    run_id = f"{epoch:08d}-{now:%Y%m%dT%H%M%SZ}"
    nonce = new_attempt()
    body = {
        "epoch": epoch,
        "run_id": run_id,
        "holder": ", ".join(
            part for part in (socket.gethostname(), f"process {os.getpid()}", task) if part
        ),
        "since": f"{now:%Y-%m-%d %H:%M:%S} UTC",
        "nonce": nonce,
    }
    if not store.create(layout.lease_epoch(epoch), json.dumps(body, sort_keys=True).encode()):
        raise _held(store, _state(store, epoch))
    fail_points.hit("lease.epoch")
    return Lease(store, epoch=epoch, run_id=run_id, nonce=nonce)


def _wait_for_expiry(
    store: ObjectStore,
    current: LeaseState,
    *,
    clock: Clock,
    seconds: float,
    on_wait: Callable[[str], None],
) -> None:
    step = seconds / _POLLS_PER_LEASE
    waited, last = 0.0, clock.monotonic()
    on_wait(
        f"run {current.run_id} ({current.holder}) did not say that it has ended; waiting up to "
        f"{seconds:g} s to see whether it is alive (--take-over does not wait)"
    )
    while waited < seconds:
        clock.sleep(step)
        latest = read_lease(store)
        # While the store did not answer, or this process stood still, nobody's heartbeat
        # could be seen: such a gap tells little about the other run.
        now = clock.monotonic()
        waited, last = waited + min(now - last, _LONGEST_GAP_POLLS * step), now
        if latest is None or latest.epoch != current.epoch:
            raise _held(store, latest or current)
        if latest.released:
            return
        if latest.heartbeat != current.heartbeat:
            raise _held(store, current)


def _epochs(store: ObjectStore) -> list[int]:
    suffix = ".json"
    keys = (info.key.removeprefix(layout.LEASE_PREFIX) for info in store.list(layout.LEASE_PREFIX))
    return sorted(int(key.removesuffix(suffix)) for key in keys if key.endswith(suffix))


def _state(store: ObjectStore, epoch: int) -> LeaseState:
    body = get_json(store, layout.lease_epoch(epoch))
    try:
        heartbeat: bytes | None = store.get(layout.lease_heartbeat(epoch))
    except ObjectNotFoundError:
        heartbeat = None
    beat: dict[str, Any] = json.loads(heartbeat) if heartbeat else {}
    return LeaseState(
        epoch=epoch,
        run_id=body["run_id"],
        holder=body["holder"],
        since=body["since"],
        heartbeat=heartbeat,
        released=beat.get("released", False),
        completed=beat.get("completed", False),
    )


def _held(store: ObjectStore, state: LeaseState) -> LeaseHeldError:
    return LeaseHeldError(
        f"{store.url} is being written by run {state.run_id} ({state.holder}, "
        f"since {state.since}); wait for it, or take the dataset over with --take-over"
    )


def _lost(url: str, run_id: str) -> LeaseLostError:
    return LeaseLostError(f"run {run_id} has lost {url}: another run has taken the dataset over")
