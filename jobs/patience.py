"""How long an operation on a store is tried again: the one policy of the whole program.

Waits grow exponentially and are drawn at random from the upper half of their range, so
that many workers that failed at once do not come back at once (equal jitter; Brooker,
"Exponential Backoff And Jitter", AWS Architecture Blog, 2015). They are bounded in
number and in total time, counted from the first failure. Who started the job is told
when a store does not come back for long.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock

__all__ = [
    "MAX_RETRIES",
    "Backoff",
    "answered",
    "at_most",
    "ceiling",
    "failing",
    "listen",
    "sleep",
]

MAX_RETRIES = 100
"""Retries of one operation, however much time is left."""

TELL_AFTER_SECONDS = 10.0
TELL_EVERY_SECONDS = 60.0

_FIRST_SECONDS = 0.25
_LONGEST_SECONDS = 30.0
_RANDOM = random.Random()  # noqa: S311 - spreads load, guards no secret
_CEILING: ContextVar[float] = ContextVar("ceiling", default=float("inf"))


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Bound the patience of this thread's operations: for work that will be done again anyway."""
    token = _CEILING.set(min(seconds, _CEILING.get()))
    try:
        yield
    finally:
        _CEILING.reset(token)


def ceiling() -> float:
    """Return the bound that :func:`at_most` has set here; infinity where there is none."""
    return _CEILING.get()


def sleep(seconds: float) -> None:
    """Wait; the one place where the program waits for a store."""
    time.sleep(seconds)


@dataclass(slots=True, kw_only=True)
class Backoff:
    """The waits of one operation, from its first failure on.

    ``patience``: seconds after which no retry is made any more.
    """

    patience: float
    _began: float | None = field(default=None, repr=False)
    _retries: int = field(default=0, repr=False)

    def next_wait(
        self, *, most_retries: int = MAX_RETRIES, most_seconds: float = float("inf")
    ) -> float | None:
        """Return the seconds to wait before the next retry; None if it is not worth one.

        ``most_retries``, ``most_seconds``: bounds of this kind of failure, below the others.
        """
        now = time.monotonic()
        self._began = now if self._began is None else self._began
        left = min(self.patience, most_seconds, _CEILING.get()) - (now - self._began)
        if left <= 0 or self._retries >= min(most_retries, MAX_RETRIES):
            return None
        longest = min(_FIRST_SECONDS * 2.0**self._retries, _LONGEST_SECONDS)
        self._retries += 1
        return min(_RANDOM.uniform(longest / 2, longest), left)

    @property
    def waited(self) -> bool:
        """Whether a retry was granted since the start."""
        return self._retries > 0

    def progress(self) -> None:
        """Start anew: the operation came on since it last failed."""
        self._began, self._retries = None, 0


class _Outages:
    """Since when stores fail, whom to tell, and when that was done last; for all threads.

    It is the store's failing that counts, not one operation's: the heartbeat, which gives up
    each beat soon, may be all that the driver asks for while the workers wait.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._since: dict[str, float] = {}
        self._tell: Callable[[str], object] | None = None
        self._last = float("-inf")

    def listen(self, tell: Callable[[str], object] | None) -> None:
        """Tell this one from now on."""
        with self._lock:
            self._since.clear()
            self._tell, self._last = tell, float("-inf")

    def failing(self, store: str, what: str, seconds: float) -> None:
        """Take note of a failure, and tell if it is time to."""
        with self._lock:
            now = time.monotonic()
            lasts = now - self._since.setdefault(store, now)
            early = lasts < TELL_AFTER_SECONDS or now - self._last < TELL_EVERY_SECONDS
            if self._tell is None or early:
                return
            self._last, tell = now, self._tell
        tell(f"{store} {what}, since {lasts:.0f} s; it is asked again for up to {seconds:.0f} s")

    def answered(self, store: str) -> None:
        """Take note that a store is well."""
        if store in self._since:  # nearly always not: no lock for the usual request
            with self._lock:
                self._since.pop(store, None)


_OUTAGES = _Outages()
listen = _OUTAGES.listen
"""Have long outages of stores, as this process sees them, told; to nobody with None."""
failing = _OUTAGES.failing
"""Say that a store fails, what it does, and for how long an operation is tried again."""
answered = _OUTAGES.answered
"""Say that a store has answered."""
