"""Named places where a test can make a process die, one after each store operation.

``CHUNKMILL_FAIL_POINT=name[@subject][:nth][=exit|kill|raise]`` arms one of them: the
``nth`` time (from 1, per process; 1 if not given) that the named point is passed, the
process sends itself SIGKILL (the default), exits at once with status 70, or raises
:class:`FailPointError`. With a subject, only its passes count; those points that are
passed for each document have its source key for one. Several are armed with ``;``
between them. Unset, a point costs one look into the environment.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from dataclasses import dataclass
from functools import cache

from chunking.errors import ConfigError, JobError

__all__ = [
    "FAIL_POINTS",
    "UPKEEP_POINTS",
    "VARIABLE",
    "WORK_POINTS",
    "FailPointError",
    "check_fail_point",
    "hit",
]

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
    "run.deaths",
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

WORK_POINTS: tuple[str, ...] = ("parse.start", "parse.document", "embed.start", "embed.document")
"""Points of the stages' workers: as one is made, and before each document."""

_ALL = (*FAIL_POINTS, *UPKEEP_POINTS, *WORK_POINTS)
_NAMES = frozenset(_ALL)
_ACTIONS = frozenset({"exit", "kill", "raise"})
_hits: Counter[_Armed] = Counter()
_lock = threading.Lock()


class FailPointError(JobError):
    """A fail point armed with ``=raise`` was passed."""


@dataclass(frozen=True, slots=True)
class _Armed:
    name: str
    subject: str | None
    nth: int
    action: str


def hit(name: str, subject: str | None = None) -> None:
    """Die here if the environment asks for it; ``name`` is one of those above."""
    variable = os.environ.get(VARIABLE)
    if not variable:
        return
    for armed in _parse(variable):
        if armed.name == name and armed.subject in (None, subject):
            _pass(armed)


def _pass(armed: _Armed) -> None:
    with _lock:
        _hits[armed] += 1
        count = _hits[armed]
    if count == armed.nth:
        _die(armed.name, armed.action)


def check_fail_point() -> None:
    """Refuse an armed fail point that does not exist, so that no test passes by a typo.

    Raises:
        ConfigError: the variable is set, but names no fail point or no action.
    """
    variable = os.environ.get(VARIABLE)
    if variable:
        _parse(variable)


@cache
def _parse(variable: str) -> tuple[_Armed, ...]:
    return tuple(map(_parse_one, variable.split(";")))


def _parse_one(armed: str) -> _Armed:
    point, _, action = armed.partition("=")
    point, _, nth = point.partition(":")
    name, at, subject = point.partition("@")
    action = action or "kill"
    count = nth or "1"
    if name not in _NAMES or action not in _ACTIONS or not count.isdecimal() or int(count) < 1:
        names = ", ".join(_ALL)
        msg = (
            f"{VARIABLE}={armed!r}: give name[@subject][:nth][=exit|kill|raise], with a name of: "
            f"{names}"
        )
        raise ConfigError(msg)
    return _Armed(name, subject if at else None, int(count), action)


def _die(name: str, action: str) -> None:
    # By the system call: nothing buffered survives what follows.
    os.write(2, f"fail point {name} is passed: {action}\n".encode())
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if action == "exit":
        os._exit(EXIT_STATUS)
    msg = f"fail point {name} was passed"
    raise FailPointError(msg)
