"""The meter and the journal of a run, in a Ray actor that every worker can reach.

The actor takes no CPU and runs beside the driver: with the driver's node the job is gone
anyway, and no other node's death takes the journal with it.
"""

# ruff: noqa: ANN401 - Ray, its handles and its references have no types worth a name

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from chunking.errors import JobError
from jobs.journal import Journal, Tally, Watch, Worker
from jobs.meter import Meter, Sample, Totals

__all__ = ["MeterClient", "Newest", "WorkerJournal"]

_METER_SECONDS = 30.0


class RemoteReport:
    """Sends a worker's samples to the meter's actor; does not wait for it."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    def __call__(self, sample: Sample) -> None:
        """Send one sample."""
        self._actor.add.remote(sample)


class _MeterActor(Meter, Journal):
    """The meter and the journal, which also keep the first failure of a stage."""

    def __init__(self, attempts: int, deaths: Mapping[str, Mapping[str, float]]) -> None:
        Meter.__init__(self)
        Journal.__init__(self, attempts, deaths, node_is_lost=_node_is_lost)
        self._failure: Exception | None = None

    def fail(self, error: Exception) -> None:
        """Take note of why a stage failed."""
        self._failure = self._failure or error

    def failure(self) -> Exception | None:
        """Return the first failure."""
        return self._failure


def _node_is_lost(node: str) -> bool:
    import ray  # noqa: PLC0415 - in the actor, where it is loaded

    rows = ray.nodes()  # type: ignore[no-untyped-call]
    return not any(row["NodeID"] == node and row["Alive"] for row in rows)


class Newest:
    """The newest answer of the actor to one question; who does not wait asks one at a time."""

    def __init__(self, ray: Any, method: Any, first: Any) -> None:
        self._ray = ray
        self._method = method
        self._asked: Any = None
        self._last = first

    def __call__(self, *, wait: bool) -> Any:
        """Return it; with ``wait``, the answer to a question of this moment."""
        # An actor that cannot be reached for a moment costs a figure, never the job.
        with contextlib.suppress(self._ray.exceptions.RayError):
            # Who waits wants what is so now, not the answer to what was asked some time ago.
            if wait or self._asked is None:
                self._asked = self._method.remote()
            patience = _METER_SECONDS if wait else 0
            if self._ray.wait([self._asked], timeout=patience)[0]:
                asked, self._asked = self._asked, None
                self._last = self._ray.get(asked)
        return self._last


class MeterClient:
    """The driver's side of the actor."""

    def __init__(self, ray: Any, attempts: int, deaths: Mapping[str, Mapping[str, float]]) -> None:
        self._ray = ray
        self.actor = _start(ray, attempts, deaths)
        self._totals = Newest(ray, self.actor.totals, {})
        self._tally = Newest(ray, self.actor.tally, Tally())
        self.report = RemoteReport(self.actor)

    def failure(self) -> Exception | None:
        """Return why a stage failed, if one told."""
        failure: Exception | None = None
        with contextlib.suppress(self._ray.exceptions.RayError):
            failure = self._ray.get(self.actor.failure.remote(), timeout=_METER_SECONDS)
        return failure

    def totals(self, *, wait: bool = False) -> dict[str, Totals]:
        """Return the newest totals that are here; with ``wait``, those of this moment."""
        totals: dict[str, Totals] = self._totals(wait=wait)
        return totals

    def tally(self, *, wait: bool = False) -> Tally:
        """Return what is known of dead workers; with ``wait``, as of this moment."""
        tally: Tally = self._tally(wait=wait)
        return tally


def _start(ray: Any, attempts: int, deaths: Mapping[str, Mapping[str, float]]) -> Any:
    from ray.util.scheduling_strategies import (  # noqa: PLC0415 - heavy; only a driver needs it
        NodeAffinitySchedulingStrategy,
    )

    here = ray.get_runtime_context().get_node_id()
    options = ray.remote(
        num_cpus=0,
        # Started again it has forgotten much, but the workers that ask it go on.
        max_restarts=-1,
        max_task_retries=-1,
        # A few calls per document, and Ray's head would keep what it knows of 100,000 of them.
        enable_task_events=False,
        scheduling_strategy=NodeAffinitySchedulingStrategy(here, soft=True),
    )
    return options(_MeterActor).remote(attempts, deaths)


class WorkerJournal:
    """A worker's side of the journal; a call that must come before what it tells of waits."""

    def __init__(self, actor: Any, stage: str, pool: int) -> None:
        import ray  # noqa: PLC0415 - in a worker, where it is loaded

        context = ray.get_runtime_context()
        self._ray = ray
        self._actor = actor
        self._worker = Worker(
            stage=stage,
            actor=context.get_actor_id() or "",
            process=secrets.token_hex(8),
            node=context.get_node_id(),
            pool=pool,
        )

    def start(self) -> None:
        """Tell that this worker is made.

        Raises:
            JobError: too many of its kind died of that.
        """
        _raise(self._ray.get(self._actor.start.remote(self._worker)))

    @contextlib.contextmanager
    def unit(self, unit: pa.Table) -> Iterator[Watch]:
        """Tell of a unit from its begin to its end; it goes by the number in its rows.

        Raises:
            JobError: too many died of it, or of what came before.
        """
        number, documents = unit["unit"][0].as_py(), unit["doc_id"].to_pylist()
        orders = self._ray.get(self._actor.begin.remote(self._worker, number))
        _raise(orders.stop)
        careful = orders.careful or not orders.suspects.keys().isdisjoint(documents)
        yield Watch(orders, careful, self._tell)
        self._actor.end.remote(self._worker, careful=careful)

    def _tell(self, doc_id: str | None) -> None:
        self._ray.get(self._actor.document.remote(self._worker, doc_id))


def _raise(reason: str | None) -> None:
    if reason is not None:
        raise JobError(reason)
