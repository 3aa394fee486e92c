"""What was asked of the stores: counted in each process, added up in the report.

The stores count where a request is sent; the counts travel with the samples of
:mod:`jobs.meter`, so that ``report.json`` tells what driver and workers did together.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Literal

__all__ = ["COUNTS", "ROLES", "TRAFFIC", "Operation", "Role", "Traffic", "store_report"]

Role = Literal["source", "dataset"]
"""What a store is to the job: documents are read from one, the dataset lies in the other."""

Operation = Literal["get", "put", "create", "copy", "delete", "list", "head"]
"""A kind of request: ``get`` is any read, ``put`` includes the parts of a large object."""

ROLES: tuple[Role, ...] = ("source", "dataset")
COUNTS = ("bytes_read", "bytes_written", "retries", "throttles", "failures", "wait_seconds")
"""What is counted beside requests.

``retries``: requests that repeat one that failed. ``throttles``: answers by which a store
asks for fewer requests (503, 429). ``failures``: operations that were given up, a missing
object aside. ``wait_seconds``: waited before retries, by all threads together.
"""


class Traffic:
    """Counts of one process since they were last taken; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: dict[str, float] = {}

    def request(self, role: Role, operation: Operation) -> None:
        """Count one request."""
        self.add(role, f"requests.{operation}", 1)

    def add(self, role: Role, name: str, number: float) -> None:
        """Add to one of :data:`COUNTS`."""
        with self._lock:
            key = f"{role}.{name}"
            self._counts[key] = self._counts.get(key, 0) + number

    def take(self) -> dict[str, float]:
        """Return what was counted since the last call."""
        with self._lock:
            taken, self._counts = self._counts, {}
        return taken


TRAFFIC = Traffic()
"""The counts of this process."""


def store_report(counts: Mapping[str, float]) -> dict[str, dict[str, object]]:
    """Return the section ``store`` of a report: by role, ``requests`` by operation and the rest."""
    return {role: _of_role(role, counts) for role in ROLES}


def _of_role(role: Role, counts: Mapping[str, float]) -> dict[str, object]:
    prefix = f"{role}.requests."
    requests = {
        name.removeprefix(prefix): int(number)
        for name, number in sorted(counts.items())
        if name.startswith(prefix)
    }
    others = {name: counts.get(f"{role}.{name}", 0) for name in COUNTS}
    seconds = {name: round(value, 3) for name, value in others.items() if name == "wait_seconds"}
    return {"requests": requests, **{n: int(value) for n, value in others.items()}, **seconds}
