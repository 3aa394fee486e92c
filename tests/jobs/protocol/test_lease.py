"""The lease: one holder, expiry by the observer's clock, take-over, release."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from chunking.errors import LeaseHeldError, LeaseLostError, StoreError
from jobs import layout
from jobs.adapters.stores.memory import MemoryStore
from jobs.protocol.lease import (
    Lease,
    SystemClock,
    acquire_lease,
    check_lease,
    read_lease,
    run_ids_since_completed,
)
from tests.jobs.protocol.simulation import FakeClock

SECONDS = 60.0


class BusyClock(FakeClock):
    """A clock during whose sleep something happens."""

    def __init__(self, happens: Callable[[], None]) -> None:
        super().__init__()
        self.happens = happens

    def sleep(self, seconds: float) -> None:
        """Pass the time, and let it happen."""
        super().sleep(seconds)
        self.happens()


def acquire(
    store: MemoryStore, clock: FakeClock | None = None, *, take_over: bool = False
) -> Lease:
    """Take the lease."""
    return acquire_lease(store, clock=clock or FakeClock(), seconds=SECONDS, take_over=take_over)


def test_run_id_sorts_by_epoch() -> None:
    """A run id is the epoch in eight digits and the UTC time."""
    lease = acquire(MemoryStore())
    assert lease.run_id == "00000001-20270115T080001Z"


def test_second_is_refused_while_the_first_lives() -> None:
    """A heartbeat that changes while the observer watches refuses it, and says who holds it."""
    store = MemoryStore()
    first = acquire(store)
    clock = BusyClock(first.beat)
    with pytest.raises(LeaseHeldError, match=r"00000001-.*process \d+, since .*--take-over"):
        acquire(store, clock)
    assert clock.seconds < SECONDS / 10, "refused without waiting for the lease to run out"
    first.check()


def test_a_still_heartbeat_expires_after_the_observers_seconds() -> None:
    """A dead holder is succeeded after T seconds of the observer's monotonic clock."""
    store = MemoryStore()
    acquire(store).beat()
    clock = FakeClock()
    second = acquire(store, clock)
    assert second.epoch == 2
    assert clock.seconds >= SECONDS


def test_waiting_is_announced() -> None:
    """The one who waits is told why and how to avoid it."""
    store = MemoryStore()
    acquire(store)
    told: list[str] = []
    acquire_lease(store, clock=FakeClock(), seconds=SECONDS, on_wait=told.append)
    assert len(told) == 1
    assert "--take-over" in told[0]


@pytest.mark.parametrize("completed", [True, False])
def test_a_released_lease_is_taken_at_once(*, completed: bool) -> None:
    """A holder that says that it has ended is not waited for."""
    store = MemoryStore()
    acquire(store).release(completed=completed)
    clock = FakeClock()
    assert acquire(store, clock).epoch == 2
    assert clock.seconds < 2


def test_take_over_does_not_wait_and_the_first_finds_out() -> None:
    """After a take-over every check of the older holder fails."""
    store = MemoryStore()
    first = acquire(store)
    second = acquire(store, take_over=True)
    second.check()
    with pytest.raises(LeaseLostError, match=first.run_id):
        first.check()
    with pytest.raises(LeaseLostError, match=first.run_id):
        check_lease(store, first.run_id)


def test_only_one_of_two_observers_wins() -> None:
    """Two that take over at once cannot both hold the next epoch."""
    store = MemoryStore()
    acquire(store).beat()
    rival: list[Lease] = []

    def overtake(operation: str, key: str) -> None:
        if operation == "create" and key == layout.lease_epoch(2) and not rival:
            rival.append(acquire(store, take_over=True))

    with pytest.raises(LeaseHeldError, match="00000002"):
        acquire(store.view(before=overtake), take_over=True)
    rival[0].check()


def test_one_that_was_overtaken_while_waiting_is_refused() -> None:
    """An epoch that appears while an observer waits belongs to somebody alive."""
    store = MemoryStore()
    acquire(store).beat()
    clock = BusyClock(lambda: None)

    def overtake() -> None:
        clock.happens = lambda: None
        acquire(store, take_over=True)

    clock.happens = overtake
    with pytest.raises(LeaseHeldError, match="00000002"):
        acquire(store, clock)


def test_runs_since_the_last_completed_one() -> None:
    """Runs before a completed one have nothing left to settle."""
    store = MemoryStore()
    first = acquire(store)
    first.release(completed=True)
    second = acquire(store)
    second.release(completed=False)
    third = acquire(store)
    fourth = acquire(store, take_over=True)
    found = run_ids_since_completed(store, before=fourth.epoch)
    assert found == [second.run_id, third.run_id]


def test_state_of_a_free_store() -> None:
    """Where no run has ever been there is no lease."""
    assert read_lease(MemoryStore()) is None


def test_heartbeat_thread_beats_survives_faults_and_stops() -> None:
    """The thread keeps beating through store errors and ends with the release."""
    store = MemoryStore()
    faults = iter([True])

    def fail_once(operation: str, key: str) -> None:
        if operation == "put" and key.endswith(".heartbeat") and next(faults, False):
            msg = "throttled"
            raise StoreError(msg)

    lease = acquire_lease(store.view(before=fail_once), clock=SystemClock(), seconds=SECONDS)
    lease.start_heartbeat(0.05)
    deadline = time.monotonic() + 60
    while (state := read_lease(store)) and state.heartbeat is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    lease.release(completed=True)
    state = read_lease(store)
    assert state is not None
    assert (state.released, state.completed) == (True, True)
    before = dict(store.objects)
    time.sleep(0.05)
    assert store.objects == before


def test_heartbeat_thread_notices_a_take_over() -> None:
    """A holder that was overtaken stops beating, and its next check says so at once."""
    store = MemoryStore()
    lease = acquire_lease(store, clock=SystemClock(), seconds=SECONDS)
    acquire(store, take_over=True)
    lease.start_heartbeat(0.01)
    assert lease._thread is not None
    lease._thread.join(60)
    assert not lease._thread.is_alive()
    with pytest.raises(LeaseLostError):
        lease.check()


class AwayStore(MemoryStore):
    """A store that does not answer for a while: looks at it take long, or fail."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(before=self._ask)
        self.clock = clock
        self.slow: list[float] = []

    def _ask(self, operation: str, _key: str) -> None:
        if operation == "list" and self.slow:
            self.clock.seconds += self.slow.pop(0)


def test_an_outage_of_the_store_is_no_silence_of_the_holder() -> None:
    """What the observer could not see for two minutes does not count as a heart that stood still.

    The holder, cut off as well, beats again as soon as the store answers, and is left alone.
    """
    clock = FakeClock()
    store = AwayStore(clock)
    first = acquire(store)
    first.beat()
    busy = BusyClock(lambda: None)
    store.clock = busy
    began = busy.monotonic()

    def happens() -> None:
        if busy.monotonic() - began > 130:
            first.beat()
        elif not store.slow and busy.monotonic() - began < 3:
            store.slow = [120.0]

    busy.happens = happens
    with pytest.raises(LeaseHeldError):
        acquire(store, busy)
    first.check()


def test_a_heart_that_cannot_beat_goes_on_when_it_can() -> None:
    """While the store is away, longer than the lease, nothing is lost that nobody took."""
    store = MemoryStore()
    lease = acquire(store)
    fails = threading.Event()
    beats = threading.Semaphore(0)

    def before(operation: str, _key: str) -> None:
        if operation == "put":
            beats.release()
            if fails.is_set():
                msg = "the store is away"
                raise StoreError(msg)

    store.before = before
    fails.set()
    lease.start_heartbeat(0.12)
    for _ in range(20):
        beats.acquire()
    lease.notice()
    fails.clear()
    for _ in range(3):
        beats.acquire()
    lease.notice()
    lease.release(completed=True)
    state = read_lease(store)
    assert state is not None
    assert state.completed


def _watch(lease: Lease) -> None:
    while True:
        lease.notice()
        time.sleep(0.01)


def test_a_holder_that_was_away_notices_its_successor() -> None:
    """Another run that took over meanwhile is found by the next heartbeat that gets through."""
    store = MemoryStore()
    lease = acquire(store)
    lease.start_heartbeat(0.12)
    acquire(store, take_over=True)
    with pytest.raises(LeaseLostError):
        _watch(lease)
    lease.release(completed=False)
