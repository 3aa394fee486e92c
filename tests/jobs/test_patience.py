"""Waits grow, are spread, and end: in number, and in time."""

from __future__ import annotations

import pytest

from jobs import patience
from jobs.patience import Backoff, at_most


class Clock:
    """A clock that only passes when somebody waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(patience.time, "monotonic", lambda: self.now)

    def outage(self, backoff: Backoff, seconds: float) -> tuple[bool, int]:
        """Return whether an operation outlives an outage, and how often it was tried again."""
        retries = 0
        while self.now < seconds:
            wait = backoff.next_wait()
            if wait is None:
                return False, retries
            retries += 1
            self.now += wait
        return True, retries


def test_two_minutes_pass_and_an_hour_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the default patience an outage of two minutes is waited out, one of an hour is not."""
    for seconds, outlived in ((120.0, True), (3600.0, False)):
        clock = Clock(monkeypatch)
        found, retries = clock.outage(Backoff(patience=600.0), seconds)
        assert found == outlived
        assert clock.now <= 630.0
        assert 5 < retries < 60


def test_waits_grow_and_are_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each wait lies in the upper half of a range that doubles up to its bound."""
    Clock(monkeypatch)
    backoffs = [Backoff(patience=1e9) for _ in range(50)]
    for retry in range(12):
        longest = min(0.25 * 2**retry, 30.0)
        waits = [backoff.next_wait() or 0.0 for backoff in backoffs]
        assert longest / 2 <= min(waits)
        assert max(waits) <= longest
        assert len(set(waits)) > 40


def test_the_number_is_bounded_whatever_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries end, for each kind of failure when it says so, and start anew after progress."""
    Clock(monkeypatch)
    backoff = Backoff(patience=1e9)
    assert backoff.next_wait(most_retries=1) is not None
    assert backoff.next_wait(most_retries=1) is None
    assert backoff.next_wait(most_retries=2) is not None
    backoff.progress()
    granted = sum(backoff.next_wait() is not None for _ in range(1000))
    assert granted == patience.MAX_RETRIES


def test_a_ceiling_bounds_what_is_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hasty work gives up soon, however patient the operation; a wider ceiling changes nothing."""
    clock = Clock(monkeypatch)
    with at_most(2.0), at_most(50.0):
        assert patience.ceiling() == 2.0
        assert clock.outage(Backoff(patience=600.0), 100.0)[0] is False
        assert clock.now == pytest.approx(2.0)
    assert clock.outage(Backoff(patience=600.0), 100.0)[0] is True


def test_long_outages_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """After ten seconds, once a minute, by name of the store, however short each operation is."""
    clock, told = Clock(monkeypatch), list[str]()
    patience.listen(told.append)
    try:
        for seconds in (0.0, 9.0, 12.0, 50.0, 71.0, 73.0):
            clock.now = seconds
            patience.failing("the store of the source", "does not answer", 600.0)
    finally:
        patience.listen(None)
    patience.failing("nobody", "listens", 600.0)
    assert told == [
        f"the store of the source does not answer, since {seconds} s; it is asked again for up "
        "to 600 s"
        for seconds in (12, 73)
    ]


def test_a_store_that_answers_in_between_is_not_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its failures begin anew; those of another store go on."""
    clock, told = Clock(monkeypatch), list[str]()
    patience.listen(told.append)
    try:
        for store in ("one", "other"):
            patience.failing(store, "fails", 120.0)
        clock.now = 8.0
        patience.answered("one")
        clock.now = 15.0
        for store in ("one", "other"):
            patience.failing(store, "fails", 120.0)
    finally:
        patience.listen(None)
    assert told == ["other fails, since 15 s; it is asked again for up to 120 s"]
