"""Which units are committed and which buckets are published: a run's progress."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from jobs.protocol.plan import Plan
from jobs.protocol.versions import BucketVersion

__all__ = ["Board"]


class Board:
    """The state of every unit and bucket of a plan.

    Attributes: ``counts``: what was published so far; ``n_published``: buckets.
    """

    def __init__(self, plan: Plan | None = None) -> None:
        self.counts: Counter[str] = Counter()
        self.n_published = 0
        self._open: dict[int, set[int]] = {}
        self._done: dict[int, set[int]] = {}
        self._bucket_of: tuple[int, ...] = plan.buckets if plan else ()
        self._unpublished: set[int] = set(plan.deletions) if plan else set()
        self._handed_out: set[int] = set()
        self._deletions = frozenset(self._unpublished)
        for unit, bucket in enumerate(self._bucket_of):
            self._open.setdefault(bucket, set()).add(unit)
            self._unpublished.add(bucket)

    def open_units(self) -> list[int]:
        """Return the units that are not committed yet, in plan order."""
        return sorted(unit for units in self._open.values() for unit in units)

    def unit_done(self, unit: int) -> None:
        """Take note that a unit is committed."""
        bucket = self._bucket_of[unit]
        self._open[bucket].discard(unit)
        self._done.setdefault(bucket, set()).add(unit)

    def done_units(self, bucket: int) -> tuple[int, ...]:
        """Return the committed units of a bucket."""
        return tuple(sorted(self._done.get(bucket, ())))

    def take_ready(self) -> list[int]:
        """Return the buckets whose units are all committed, each once."""
        waiting = self._unpublished - self._handed_out
        return self._take(bucket for bucket in waiting if not self._open.get(bucket))

    def take_partial(self) -> list[int]:
        """Return the buckets with any finished work, each once, and not if it was ready before."""
        waiting = self._unpublished - self._handed_out
        return self._take(b for b in waiting if self._done.get(b) or b in self._deletions)

    def published(self, version: BucketVersion) -> None:
        """Take note that a bucket is published, with all its units or with some."""
        if version.bucket in self._unpublished and not self._open.get(version.bucket):
            self._unpublished.discard(version.bucket)
        self.n_published += 1
        self.counts.update(version.counts)

    def all_published(self) -> bool:
        """Whether everything that was planned is published."""
        return not self._unpublished

    def _take(self, buckets: Iterable[int]) -> list[int]:
        taken = sorted(buckets)
        self._handed_out.update(taken)
        return taken
