"""What the stages cost: counted where the work is done, gathered in one place.

Workers send a :class:`Sample` after each unit; the driver reads :class:`Totals`.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import psutil

from jobs.traffic import TRAFFIC, store_report

__all__ = ["Meter", "Report", "Sample", "Totals", "measure", "report_costs"]


_FAMILY_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What one worker did for one unit.

    ``counts`` adds up (documents, failed, bytes, tokens, chunks); ``seconds`` is the
    unit's wall time. ``cpu_seconds`` and ``rss_bytes`` are of the worker and its
    children since the worker began: the former grows, of the latter the peak counts.
    ``store``: what the worker's process asked of the stores since its last sample, as
    :class:`jobs.traffic.Traffic` counts it.
    """

    stage: str
    worker: str
    seconds: float
    cpu_seconds: float
    rss_bytes: int
    counts: Mapping[str, float]
    store: Mapping[str, float] = field(default_factory=dict)


Report = Callable[[Sample], None]
"""Takes a sample; must not block."""


@dataclass(slots=True, kw_only=True)
class Totals:
    """One stage's sums over all workers."""

    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    cpu_by_worker: dict[str, float] = field(default_factory=dict)
    peak_rss_by_worker: dict[str, int] = field(default_factory=dict)
    store: Counter[str] = field(default_factory=Counter)

    @property
    def cpu_seconds(self) -> float:
        """CPU time of the stage's workers and their children."""
        return sum(self.cpu_by_worker.values())

    @property
    def peak_rss_bytes(self) -> int:
        """The largest memory that one worker, with its children, held after a unit."""
        return max(self.peak_rss_by_worker.values(), default=0)

    def as_dict(self) -> dict[str, float]:
        """Return the sums for a report, in seconds and bytes."""
        return {
            **self.counts,
            "seconds": round(self.seconds, 3),
            "cpu_seconds": round(self.cpu_seconds, 3),
            "peak_rss_bytes": self.peak_rss_bytes,
            "workers": len(self.cpu_by_worker),
        }


class Meter:
    """Gathers samples; runs in a process of its own that every worker can reach."""

    def __init__(self) -> None:
        self._totals: dict[str, Totals] = {}

    def add(self, sample: Sample) -> None:
        """Take one sample into the totals of its stage."""
        totals = self._totals.setdefault(sample.stage, Totals())
        totals.counts.update(sample.counts)
        totals.store.update(sample.store)
        totals.seconds += sample.seconds
        totals.cpu_by_worker[sample.worker] = sample.cpu_seconds
        peak = totals.peak_rss_by_worker.get(sample.worker, 0)
        totals.peak_rss_by_worker[sample.worker] = max(peak, sample.rss_bytes)

    def totals(self) -> dict[str, Totals]:
        """Return the totals by stage."""
        return self._totals


def measure(stage: str, seconds: float, counts: Mapping[str, float]) -> Sample:
    """Return a sample of this process and its children."""
    cpu, rss = _usage()
    return Sample(
        stage=stage,
        worker=f"{os.uname().nodename}:{os.getpid()}",
        seconds=seconds,
        cpu_seconds=cpu,
        rss_bytes=rss,
        counts=counts,
        store=TRAFFIC.take(),
    )


def report_costs(totals: Mapping[str, Totals]) -> dict[str, object]:
    """Return the sections ``stages`` and ``store`` of a report, this process's requests included.

    To be called when all work is done: what this process asks of a store later is not in it.
    """
    asked = Counter(TRAFFIC.take())
    for total in totals.values():
        asked.update(total.store)
    return {
        "stages": {name: total.as_dict() for name, total in totals.items()},
        "store": store_report(asked),
    }


class _Family:
    """The process and its descendants, looked for at most once a second.

    The system must be asked for every process that it has, which would cost more than a
    small document does. Whoever ends meanwhile is counted with the one that waited for it.
    """

    def __init__(self) -> None:
        self._members: list[psutil.Process] = []
        self._until = 0.0

    def members(self) -> list[psutil.Process]:
        """Return them, this process first."""
        me, now = os.getpid(), time.monotonic()
        if now >= self._until or self._members[0].pid != me:
            process = psutil.Process()
            self._members = [process, *process.children(recursive=True)]
            self._until = now + _FAMILY_SECONDS
        return self._members


_family = _Family()


def _usage() -> tuple[float, int]:
    cpu, rss = 0.0, 0
    for process in _family.members():
        try:
            times = process.cpu_times()
            rss += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
        # Ended children are counted with the parent that waited for them.
        cpu += times.user + times.system + times.children_user + times.children_system
    return cpu, rss
