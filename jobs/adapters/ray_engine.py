"""The file that turns stages into Ray's operators and tasks.

One Dataset per run: the plan's rows of one unit are one block, and stay one block
(``target_max_block_size=None``), so a unit is the grain of scheduling, retry and
commit. ``from_arrow`` makes an in-memory input, not a read task: a read task beside
actors that hold every CPU would never be scheduled on a small cluster.

Ray asks for a number of rows where GPUs are asked for, and would cut and join units by
it. So a unit comes to a stage with GPUs as one row that holds its table.
"""

# ruff: noqa: ANN401 - Ray, its handles and its references have no types worth a name

from __future__ import annotations

import contextlib
import math
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from chunking.errors import ChunkmillError, JobError
from jobs.adapters.lookahead import Lookahead
from jobs.adapters.ray_meter import MeterClient, WorkerJournal
from jobs.config import ResourcesConfig
from jobs.journal import Watch

__all__ = [
    "BlockStream",
    "Cluster",
    "Sizes",
    "StageSpec",
    "TaskPool",
    "plan_sizes",
]

_NO_PROGRESS_SECONDS = -1
"""Ray gives up a job without progress after 1,800 s; a slow document is no reason to."""

_COMMIT_MEMORY = 256 * 2**20
_POLL_SECONDS = 0.5
_UNITS_AHEAD = 2
"""Units of a stage that run or wait for the next one, for each worker of the job."""
_DRAINED_FROM = 0.01
"""Share of its object store from which on Ray lets an idle stage with input run a unit although
the budget for its results is used up. Without it, a full store stops the stages that would
empty it until no stage runs."""
_TASK_ATTEMPTS = 4
"""Workers that a task may lose; more, and it is the task that kills them."""


class Stage(Protocol):
    """A stage: made once per actor, called once per unit.

    A unit's rows carry its number in the column ``unit``, and their documents' ``doc_id``.
    """

    def __call__(self, unit: pa.Table, watch: Watch) -> pa.Table:
        """Return the unit's result as one table."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSpec:
    """A stage class, its constructor arguments and the size of its actor pool."""

    stage: type
    args: tuple[Any, ...]
    workers: int
    cpus: float
    gpus: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Actors of the two pools, and what each actor asks of its node."""

    parse_workers: int
    embed_workers: int
    cpus: float
    embed_gpus: float


def plan_sizes(cpus: float, gpus: float, resources: ResourcesConfig, n_units: int) -> Sizes:
    """Return pool sizes that fit a cluster together, so that neither pool starves the other.

    With GPUs, every one gets an embedding actor, or as many as their shares of it allow,
    and the other CPUs parse; without, the pools share the CPUs half and half. Where
    actors outnumber CPUs, each asks for one k-th of a CPU: k of them fit every node,
    however the CPUs are spread over nodes.
    """
    most = max(n_units, 1)
    gpu_share = resources.gpus_per_worker or (1.0 if gpus else 0.0)
    by_default = _holders(gpus, gpu_share) if gpu_share else int(cpus) // 2
    embed = min(resources.embed_workers or max(by_default, 1), most)
    parse = min(resources.parse_workers or max(int(cpus) - embed, 1), most)
    crowding = max(math.ceil((embed + parse) / max(int(cpus), 1)), 1)
    return Sizes(
        parse_workers=parse,
        embed_workers=embed,
        # Ray counts in ten-thousandths: round down, so that k shares never exceed one CPU.
        cpus=math.floor(10_000 / crowding) / 10_000,
        embed_gpus=gpu_share,
    )


def _holders(gpus: float, share: float) -> int:
    """Return how many actors find room; the shares of one GPU never come from two."""
    if share > 1:
        return int(gpus // share)
    return int(gpus) * math.floor(1 / share + 1e-9)


class Cluster:
    """A connection to Ray, local or joined, as the pipeline needs it.

    ``attempts`` and ``deaths``: see :class:`jobs.journal.Journal`.
    """

    def __init__(
        self,
        ray: Any,
        *,
        attempts: int = 3,
        deaths: Mapping[str, Mapping[str, float]] | None = None,
    ) -> None:
        self._ray = ray
        self.meter = MeterClient(ray, attempts, deaths or {})

    @property
    def cpus(self) -> float:
        """CPUs of all nodes."""
        return float(self._ray.cluster_resources().get("CPU", 1.0))

    @property
    def gpus(self) -> float:
        """GPUs of all nodes."""
        return float(self._ray.cluster_resources().get("GPU", 0.0))

    def tasks(self, function: Callable[..., Any], limit: int) -> TaskPool:
        """Return a pool that runs ``function`` as plain tasks, ``limit`` at a time."""
        return TaskPool(self._ray, function, limit)

    def stream(self, units: Sequence[pa.Table], stages: Sequence[StageSpec]) -> BlockStream:
        """Start the stages over the units; the results come as block references."""
        return BlockStream(self.meter, units, stages)


class TaskPool:
    """Plain Ray tasks with bounded concurrency; results are polled, never waited for.

    A task whose worker died is started again here and not by Ray, which would do so without
    end where its memory monitor has killed it.
    """

    def __init__(self, ray: Any, function: Callable[..., Any], limit: int) -> None:
        self._ray = ray
        self._name = function.__name__.strip("_")
        # No CPU: with one, the tasks would wait until the actors end.
        self._remote = ray.remote(num_cpus=0, memory=_COMMIT_MEMORY, max_retries=0)(function)
        self._limit = limit
        self._running: dict[Any, _Try] = {}

    @property
    def full(self) -> bool:
        """Whether no more tasks should be submitted now."""
        return len(self._running) >= self._limit

    def __len__(self) -> int:
        return len(self._running)

    def submit(self, *args: Any) -> None:
        """Start a task; references among ``args`` arrive as their values."""
        self._start(_Try(args))

    def poll(self, timeout: float = 0.0) -> list[Any]:
        """Return the results of tasks that have ended; raise what a task raised."""
        if not self._running:
            return []
        refs = list(self._running)
        done, _ = self._ray.wait(refs, num_returns=len(refs), timeout=timeout)
        return [result for ref in done for result in self._take(ref)]

    def _start(self, task: _Try) -> None:
        self._running[self._remote.remote(*task.args)] = task

    def _take(self, ref: Any) -> list[Any]:
        """Return the result, or nothing where the task is tried again."""
        task, errors = self._running.pop(ref), self._ray.exceptions
        try:
            return [self._ray.get(ref)]
        except errors.RayTaskError as error:
            cause = error.cause if isinstance(error.cause, Exception) else error
            raise cause from error
        except errors.NodeDiedError:
            self._start(task)  # nothing that the task did
        except (errors.WorkerCrashedError, errors.OutOfMemoryError) as error:
            if task.lost + 1 == _TASK_ATTEMPTS:
                msg = (
                    f"{self._name}: {_TASK_ATTEMPTS} workers in a row died of the same task "
                    f"({type(error).__name__}); most likely memory is short: give the nodes more, "
                    "or set a smaller resources.unit_documents; then run the same command again "
                    "to go on"
                )
                raise JobError(msg) from error
            self._start(_Try(task.args, task.lost + 1))
        except errors.RayError as error:
            raise _as_job_error(self._name, error) from error
        return []


@dataclass(frozen=True, slots=True)
class _Try:
    """A task's arguments, and how many workers it has lost."""

    args: tuple[Any, ...]
    lost: int = 0


class BlockStream:
    """The running Dataset; a thread pulls its results so that the driver never blocks."""

    def __init__(
        self,
        meter: MeterClient,
        units: Sequence[pa.Table],
        stages: Sequence[StageSpec],
    ) -> None:
        self._meter = meter
        self._queue: queue.Queue[Any] = queue.Queue(maxsize=8)
        self._stopped = threading.Event()
        self._error: BaseException | None = None
        self._dataset = _dataset(units, stages, meter.actor)
        self._thread = threading.Thread(target=self._pull, name="chunkmill-results", daemon=True)
        self._thread.start()

    def _pull(self) -> None:
        try:
            for bundle in self._dataset.iter_internal_ref_bundles():
                for ref in bundle.block_refs:
                    self._put(ref)
                if self._stopped.is_set():
                    break
        except Exception as error:  # noqa: BLE001 - handed to the driver's thread, see next()
            self._error = error
        finally:
            self._put(None)

    def _put(self, item: Any) -> None:
        while not self._stopped.is_set():
            with contextlib.suppress(queue.Full):
                self._queue.put(item, timeout=_POLL_SECONDS)
                return

    def next(self, timeout: float) -> tuple[Any | None, bool]:
        """Return the next block reference, if one is there, and whether the stream has ended.

        Raises:
            JobError: a stage failed in a way that no document explains.
        """
        try:
            item = self._queue.get(timeout=timeout)
        except queue.Empty:
            return None, False
        if item is not None:
            return item, False
        if self._error is not None:
            told = self._meter.failure()
            raise told or _as_job_error("the Ray job", self._error) from self._error
        return None, True

    def stop(self) -> None:
        """Take no more results; what is running is dropped when Ray ends the job."""
        self._stopped.set()


class _Guarded:
    """A stage that tells the driver why it failed before Ray wraps the reason in its own words.

    What it begins it tells the journal. ``folded``: whether units come as one row, and
    whether they go so.
    """

    def __init__(self, spec: StageSpec, meter: Any, folded: tuple[bool, bool]) -> None:
        self._name = spec.stage.__name__
        self._meter = meter
        self._comes_folded, self._goes_folded = folded
        self._journal = WorkerJournal(meter, self._name, spec.workers)
        with self._telling():
            self._journal.start()
            self._stage = spec.stage(*spec.args)

    def __call__(self, unit: pa.Table) -> pa.Table:
        if self._comes_folded:
            unit = _unfold(unit)
        with self._telling(), self._journal.unit(unit) as watch:
            result: pa.Table = self._stage(unit, watch)
            return _fold(result) if self._goes_folded else result

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        import ray  # noqa: PLC0415 - in a worker, where it is loaded

        try:
            yield
        except Exception as error:
            told = error if isinstance(error, ChunkmillError) else _as_job_error(self._name, error)
            ray.get(self._meter.fail.remote(told))
            raise


def _as_job_error(stage: str, error: BaseException) -> JobError:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return JobError(f"{stage} failed: {type(error).__name__}: {lines[0] if lines else ''}")


def _fold(table: pa.Table) -> pa.Table:
    """Return a table of one row that holds the table."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data = sink.getvalue()
    offsets = pa.py_buffer(np.array([0, data.size], np.int64).tobytes())
    cell: pa.Array[Any] = pa.Array.from_buffers(pa.large_binary(), 1, [None, offsets, data])
    return pa.table({"unit": cell})


def _unfold(table: pa.Table) -> pa.Table:
    cell: Any = table["unit"][0]
    return pa.ipc.open_stream(cell.as_buffer()).read_all()


def _bound_lookahead(context: Any, limit: int) -> None:
    from ray.data._internal.execution import backpressure_policy  # noqa: PLC0415 - as ray.data

    context.set_config(
        backpressure_policy.ENABLED_BACKPRESSURE_POLICIES_CONFIG_KEY,
        [*backpressure_policy.ENABLED_BACKPRESSURE_POLICIES, partial(Lookahead, limit=limit)],
    )


def _dataset(units: Sequence[pa.Table], stages: Sequence[StageSpec], meter: Any) -> Any:
    import ray.data as ray_data  # noqa: PLC0415 - heavy; only the driver of a run needs it

    context = ray_data.DataContext.get_current()
    context.target_max_block_size = None
    context.enable_progress_bars = False
    context.execution_options.preserve_order = False
    _bound_lookahead(context, _UNITS_AHEAD * sum(spec.workers for spec in stages))
    context.object_store_memory_pressure_fraction = _DRAINED_FROM
    if hasattr(context, "execution_no_progress_timeout_s"):
        context.execution_no_progress_timeout_s = _NO_PROGRESS_SECONDS
    on_gpus = [spec.gpus > 0 for spec in stages] + [False]
    dataset: Any = ray_data.from_arrow([_fold(unit) if on_gpus[0] else unit for unit in units])
    for spec, folded in zip(stages, pairwise(on_gpus), strict=True):
        dataset = dataset.map_batches(
            # A class of its own, so that Ray's tools show the stage's name.
            type(spec.stage.__name__, (_Guarded,), {}),
            fn_constructor_args=(spec, meter, folded),
            batch_size=1 if spec.gpus else None,
            batch_format="pyarrow",
            zero_copy_batch=True,
            compute=ray_data.ActorPoolStrategy(size=spec.workers, max_tasks_in_flight_per_actor=2),
            num_cpus=spec.cpus,
            **({"num_gpus": spec.gpus} if spec.gpus else {}),
        )
    return dataset
