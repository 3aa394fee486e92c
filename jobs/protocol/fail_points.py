"""Named places where a test can make a process die, one after each store operation.

``CHUNKMILL_FAIL_POINT=name[:nth][=exit|kill|raise]`` arms one of them: the ``nth``
time (from 1, per process; 1 if not given) that the named point is passed, the
process sends itself SIGKILL (the default), exits at once with status 70, or raises
:class:`FailPointError`. Unset, a point costs one look into the environment.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter

from chunking.errors import ConfigError, JobError

__all__ = ["FAIL_POINTS", "UPKEEP_POINTS", "VARIABLE", "FailPointError", "check_fail_point", "hit"]

VARIABLE = "CHUNKMILL_FAIL_POINT"
EXIT_STATUS = 70

FAIL_POINTS: tuple[str, ...] = (
    "lease.epoch",
    "lease.heartbeat",
    "lease.release",
    "dataset.tokenizer",
    "dataset.create",
    "dataset.update",
    "fence.version",
    "roll.remove",
    "roll.clear",
    "roll.interim",
    "roll.copy",
    "roll.changes",
    "plan.create",
    "adopt.marker",
    "unit.documents",
    "unit.chunks",
    "unit.boundaries",
    "unit.sentences",
    "unit.structure",
    "unit.own_vectors",
    "unit.marker",
    "publish.index",
    "publish.boundaries",
    "publish.chunks",
    "publish.documents",
    "publish.interim",
    "publish.changes",
    "publish.version",
    "copy.changes",
    "copy.remove",
    "copy.interim",
    "copy.boundaries",
    "copy.chunks",
    "copy.documents",
    "finish.placeholder",
    "finish.view",
    "finish.report",
)
"""Every name, in the order in which a run passes them."""

UPKEEP_POINTS: tuple[str, ...] = (
    "gc.withdraw",
    "gc.delete",
    "purge.list",
    "purge.sentences",
    "purge.unit",
    "purge.marker",
    "purge.plan",
    "purge.done",
    "purge.readmit",
)
"""Those that ``gc`` and ``purge`` pass beside."""

_NAMES = frozenset((*FAIL_POINTS, *UPKEEP_POINTS))
_ACTIONS = frozenset({"exit", "kill", "raise"})
_hits: Counter[str] = Counter()
_lock = threading.Lock()


class FailPointError(JobError):
    """A fail point armed with ``=raise`` was passed."""


def hit(name: str) -> None:
    """Die here if the environment asks for it; ``name`` is one of :data:`FAIL_POINTS`."""
    armed = os.environ.get(VARIABLE)
    if not armed:
        return
    wanted, nth, action = _parse(armed)
    if wanted != name:
        return
    with _lock:
        _hits[name] += 1
        count = _hits[name]
    if count == nth:
        _die(name, action)


def check_fail_point() -> None:
    """Refuse an armed fail point that does not exist, so that no test passes by a typo.

    Raises:
        ConfigError: the variable is set, but names no fail point or no action.
    """
    armed = os.environ.get(VARIABLE)
    if armed:
        _parse(armed)


def _parse(armed: str) -> tuple[str, int, str]:
    point, _, action = armed.partition("=")
    name, _, nth = point.partition(":")
    action = action or "kill"
    count = nth or "1"
    if name not in _NAMES or action not in _ACTIONS or not count.isdecimal() or int(count) < 1:
        names = ", ".join(FAIL_POINTS)
        msg = f"{VARIABLE}={armed!r}: give name[:nth][=exit|kill|raise], with a name of: {names}"
        raise ConfigError(msg)
    return name, int(count), action


def _die(name: str, action: str) -> None:
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if action == "exit":
        os._exit(EXIT_STATUS)
    msg = f"fail point {name} was passed"
    raise FailPointError(msg)
