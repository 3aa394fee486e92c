"""The job without a cluster: its stages, commits and publications run in the driver itself.

Much cheaper than a Ray, so that many more schedules of what the driver, the store and the
protocol may meet can be run. What a worker's death does is not seen so.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from jobs.adapters.ray_engine import StageSpec
from jobs.local_engine import LocalCluster, LocalMeter, LocalStream

__all__ = ["NoNodes", "connect"]


class _ReportingMeter(LocalMeter):
    @property
    def report(self) -> Any:  # noqa: ANN401 - a function that takes a sample
        """Where stages report to."""
        return self.add


class _OwnProcess(LocalCluster):
    """One process as the pipeline meets a cluster."""

    cpus, gpus = 2.0, 0.0

    def __init__(self) -> None:
        super().__init__()
        self.meter = _ReportingMeter()

    def stream(self, units: Sequence[pa.Table], stages: Sequence[StageSpec], *_: object) -> Any:  # noqa: ANN401
        """Run the stages over the units, one after the other."""
        made = [spec.stage(*spec.args) for spec in stages]

        def through(unit: pa.Table) -> pa.Table:
            for stage in made:
                unit = stage(unit)
            return unit

        return LocalStream(units, through)


@contextlib.contextmanager
def connect(*_: object, **__: object) -> Iterator[_OwnProcess]:
    """Stand in for :func:`jobs.adapters.ray_connect.connect`."""
    yield _OwnProcess()


class NoNodes:
    """Stands in for the nodes of a cluster: there are none to kill."""

    address = ""

    def mend(self) -> int:
        """Nothing is missing."""
        return 0

    def kill_node(self) -> None:
        """Find no node."""

    def workers(self, role: str | None = None) -> list[Any]:
        """Find no worker."""
        del role
        return []

    def logs(self, *, since: float) -> list[Path]:
        """There is no log but the driver's."""
        del since
        return []

    def close(self) -> None:
        """Nothing was started."""
