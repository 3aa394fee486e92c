"""How long an operation on a store is tried again: the one policy of the whole program.

Waits grow exponentially and are drawn at random from the upper half of their range, so
that many workers that failed at once do not come back at once (equal jitter; Brooker,
"Exponential Backoff And Jitter", AWS Architecture Blog, 2015). They are bounded in
number and in total time, counted from the first failure. Who started the job is told
when a wait of its own process becomes long.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock

__all__ = ["MAX_RETRIES", "Backoff", "at_most", "ceiling", "listen", "mention", "sleep"]

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
        self._began = time.monotonic() if self._began is None else self._began
        left = self.bound(most_seconds) - self.elapsed
        if left <= 0 or self._retries >= min(most_retries, MAX_RETRIES):
            return None
        longest = min(_FIRST_SECONDS * 2.0**self._retries, _LONGEST_SECONDS)
        self._retries += 1
        return min(_RANDOM.uniform(longest / 2, longest), left)

    def bound(self, most_seconds: float = float("inf")) -> float:
        """Return the seconds from the first failure on after which no retry is made."""
        return min(self.patience, most_seconds, _CEILING.get())

    @property
    def elapsed(self) -> float:
        """Seconds since the first failure."""
        return 0.0 if self._began is None else time.monotonic() - self._began

    @property
    def waited(self) -> bool:
        """Whether a retry was granted since the start."""
        return self._retries > 0

    def progress(self) -> None:
        """Start anew: the operation came on since it last failed."""
        self._began, self._retries = None, 0


class _Listener:
    """Whom to tell, and when that was done last; for all threads of the process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._tell: Callable[[str], object] | None = None
        self._last = 0.0

    def set(self, tell: Callable[[str], object] | None) -> None:
        """Tell this one from now on."""
        with self._lock:
            self._tell, self._last = tell, float("-inf")

    def mention(self, message: str) -> None:
        """Tell, unless something was told a short time ago."""
        with self._lock:
            now = time.monotonic()
            if self._tell is None or now - self._last < TELL_EVERY_SECONDS:
                return
            self._last, tell = now, self._tell
        tell(message)


_LISTENER = _Listener()


def listen(tell: Callable[[str], object] | None) -> None:
    """Have long waits of this process told to ``tell``; to nobody with None."""
    _LISTENER.set(tell)


def mention(what: str, backoff: Backoff, *, most_seconds: float = float("inf")) -> None:
    """Say that an operation waits, if it does so for long: one line a minute at most.

    ``what``: which store it is, and what that does. ``most_seconds``: see ``next_wait``.
    """
    if backoff.elapsed >= TELL_AFTER_SECONDS:
        _LISTENER.mention(
            f"{what}; asked again since {backoff.elapsed:.0f} s, for up to "
            f"{backoff.bound(most_seconds):.0f} s in all"
        )
