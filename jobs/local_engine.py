"""A job in this process: for work that is done before a cluster would have started.

Stands in for :class:`jobs.adapters.ray_engine.Cluster` where the driver meets it. Units
go through the stages one by one, in the driver's thread; commits and publications run in
threads beside. What is promised of a job is the protocol's, so it holds here as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa

from jobs.drive import Threads
from jobs.journal import Tally
from jobs.meter import Meter, Totals

__all__ = ["LocalCluster", "LocalStream"]


class LocalMeter(Meter):
    """The meter, beside the driver's own."""

    def totals(self, *, wait: bool = False) -> dict[str, Totals]:
        """Return the totals by stage."""
        del wait
        return super().totals()

    def tally(self, *, wait: bool = False) -> Tally:
        """Return that nobody died: there are no workers."""
        del wait
        return Tally()


class LocalCluster:
    """Tasks and a meter in this process, as the driver needs them."""

    def __init__(self) -> None:
        self.meter = LocalMeter()

    def tasks(self, function: Callable[..., object], limit: int) -> Threads:
        """Return a pool that runs ``function`` in threads, ``limit`` at a time."""
        return Threads(function, limit)


class LocalStream:
    """The results of a stage over the units, made one by one as they are asked for."""

    def __init__(self, units: Iterable[pa.Table], stage: Callable[[pa.Table], pa.Table]) -> None:
        self._results: Iterator[Any] = map(stage, units)

    def next(self, timeout: float) -> tuple[Any | None, bool]:
        """Return the next result, and whether there is none left; takes as long as it takes."""
        del timeout
        result = next(self._results, None)
        return result, result is None

    def stop(self) -> None:
        """Make no more results."""
        self._results = iter(())
