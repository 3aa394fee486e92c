"""A lease that is held for work on a dataset that is no run: cleaning and purging."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chunking.errors import JobError
from jobs.protocol.plan import Plan, deletion_plan
from jobs.protocol.roll_forward import Leftover
from jobs.protocol.session import RunSession
from jobs.protocol.versions import BucketVersion

__all__ = ["UpkeepSession"]


class UpkeepSession(RunSession):
    """A session that settles nothing that unfinished runs have left for the next one."""

    @property
    def epoch(self) -> int:
        """The lease epoch."""
        return self._lease.epoch

    @property
    def versions(self) -> Mapping[int, BucketVersion]:
        """The last committed version of every bucket."""
        return self._versions

    @property
    def leftovers(self) -> Sequence[Leftover]:
        """The unfinished older runs whose committed units the next run may adopt."""
        return self._leftovers

    def plan_deletions(self, deletions: Mapping[int, Sequence[str]]) -> Plan:
        """Write a plan that only removes documents, given by bucket.

        With it, later runs fence what this may still do, as they do with any run.
        """
        if self._dataset is None:
            msg = f"{self._store.url} holds no dataset"
            raise JobError(msg)
        plan = deletion_plan(deletions)
        self._lease.check()
        self._begin(plan, self._dataset)
        self._settles = self._is_settled()
        return plan

    def end(self) -> None:
        """End the lease after work that needed no plan."""
        self._released = True
        self._lease.release(completed=self._is_settled())

    def _is_settled(self) -> bool:
        """Tell whether no unfinished run has left anything; one without a plan has not."""
        return not any(leftover.buckets for leftover in self._leftovers)
