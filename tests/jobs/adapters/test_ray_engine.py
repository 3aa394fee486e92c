"""Pool sizes, tasks and streams on a real local Ray."""

from __future__ import annotations

import math
import os
import signal
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunking.errors import ConfigError, DocumentError, JobError, ModelError
from jobs.adapters.ray_connect import check_answers
from jobs.adapters.ray_engine import BlockStream, Cluster, StageSpec, TaskPool, plan_sizes
from jobs.adapters.ray_meter import Newest
from jobs.config import ResourcesConfig
from jobs.journal import Watch


@pytest.mark.parametrize(
    ("cpus", "gpus", "expected"),
    [
        (1, 0, (1, 1, 0.5, 0.0)),
        (2, 0, (1, 1, 1.0, 0.0)),
        (3, 0, (2, 1, 1.0, 0.0)),
        (16, 0, (8, 8, 1.0, 0.0)),
        (16, 2, (14, 2, 1.0, 1.0)),
        (1, 1, (1, 1, 0.5, 1.0)),
    ],
)
def test_default_pools_share_the_cluster(
    cpus: int, gpus: int, expected: tuple[int, int, float, float]
) -> None:
    """Both pools get at least one actor, and together they fit."""
    sizes = plan_sizes(cpus, gpus, ResourcesConfig(), n_units=1000)
    found = (sizes.parse_workers, sizes.embed_workers, sizes.cpus, sizes.embed_gpus)
    assert found == expected


@pytest.mark.parametrize(
    ("gpus", "share", "workers"),
    [(1, 0.5, 2), (2, 0.4, 4), (2, 0.7, 2), (4, 1, 4), (4, 2, 2), (3, 2, 1), (1, 1 / 3, 3)],
)
def test_shares_of_gpus_fill_each_gpu(gpus: int, share: float, workers: int) -> None:
    """Actors fill each GPU by itself: what is left of two does not make room for one more."""
    sizes = plan_sizes(16, gpus, ResourcesConfig(gpus_per_worker=share), n_units=1000)
    assert (sizes.embed_workers, sizes.embed_gpus) == (workers, share)


def test_shares_above_one_gpu_are_whole() -> None:
    """One and a half GPUs cannot be had; the key is named."""
    with pytest.raises(ConfigError, match=r"resources\.gpus_per_worker is 1\.5"):
        ResourcesConfig(gpus_per_worker=1.5)


@given(
    cpus=st.integers(1, 64),
    parse=st.integers(0, 40),
    embed=st.integers(0, 40),
    units=st.integers(0, 100),
)
def test_actors_fit_single_cpu_nodes(cpus: int, parse: int, embed: int, units: int) -> None:
    """Whatever was asked for, the actors fit a cluster whose nodes have one CPU each."""
    sizes = plan_sizes(cpus, 0, ResourcesConfig(parse_workers=parse, embed_workers=embed), units)
    per_node = math.floor(1 / sizes.cpus + 1e-9)
    assert sizes.parse_workers + sizes.embed_workers <= per_node * cpus
    assert sizes.parse_workers <= max(units, 1)


class Twice:
    """A stage that doubles a column."""

    def __init__(self, factor: int) -> None:
        self._factor = factor

    def __call__(self, unit: pa.Table, watch: Watch) -> pa.Table:
        """Return the unit with every value multiplied."""
        del watch
        values = [value * self._factor for value in unit["n"].to_pylist()]
        return unit.set_column(unit.column_names.index("n"), "n", pa.array(values))


class Failing:
    """A stage that fails for a reason that only it knows."""

    def __init__(self, error: Exception, *, early: bool) -> None:
        if early:
            raise error
        self._error = error

    def __call__(self, unit: pa.Table, watch: Watch) -> pa.Table:
        """Fail."""
        del unit, watch
        raise self._error


class Deadly:
    """A stage that is killed in the middle of some documents; what is given up is -1.

    ``once``: a file for each of the values that kill the first time only.
    """

    def __init__(self, always: set[int], once: Path) -> None:
        self._always = always
        self._once = once

    def __call__(self, unit: pa.Table, watch: Watch) -> pa.Table:
        """Return the unit's values."""
        rows = zip(unit["doc_id"].to_pylist(), unit["n"].to_pylist(), strict=True)
        return pa.table({"n": [self._value(doc_id, n, watch) for doc_id, n in rows]})

    def _value(self, doc_id: str, n: int, watch: Watch) -> int:
        if watch.begin(doc_id, "parse") is not None:
            return -1
        mark = self._once / str(n)
        if n in self._always or mark.exists():
            mark.unlink(missing_ok=True)
            _die()
        return n


class DeadOnArrival:
    """A stage that is killed while it is made."""

    def __init__(self) -> None:
        _die()


def _die(mark: Path | None = None) -> str:
    if mark is None or mark.exists():
        if mark is not None:
            mark.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


def _unit(number: int, *values: int) -> pa.Table:
    names = [f"doc-{value}" for value in values]
    return pa.table({"unit": [number] * len(values), "doc_id": names, "n": values})


def _add(table: pa.Table, number: int) -> int:
    return sum(table["n"].to_pylist()) + number


def _fail(table: pa.Table) -> None:
    del table
    message = "this one"
    raise DocumentError(message, kind="corrupt", stage="parse")


def _ahead(table: pa.Table) -> int:
    return int(table["ahead"][0].as_py())


@pytest.fixture
def cluster(local_ray: None) -> Cluster:
    """Return the tests' Ray as the pipeline sees it."""
    del local_ray
    import ray  # noqa: PLC0415 - after the fixture has set its environment

    return Cluster(ray, attempts=2)


def _spec(stage: type, *args: object) -> StageSpec:
    return StageSpec(stage=stage, args=args, workers=1, cpus=0.5)


@pytest.mark.ray
def test_units_stay_whole_and_reach_tasks(cluster: Cluster) -> None:
    """Each unit goes through the stages as one block, and its result into a task."""
    units = [_unit(i, i, i + 1) for i in range(5)]
    stream = cluster.stream(units, [_spec(Twice, 2), _spec(Twice, 5)])
    tasks = cluster.tasks(_add, limit=2)
    results: list[int] = []
    ended = False
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (ended and not tasks):
        if not ended and not tasks.full:
            block, ended = stream.next(0.2)
            if block is not None:
                tasks.submit(block, 1)
        results += tasks.poll(0.1)
    assert sorted(results) == [10 * (2 * i + 1) + 1 for i in range(5)]


class Marking:
    """Leaves a file for each unit that it begins; after each it rests, then leaves another.

    ``mib``: the size of each of its results.
    """

    def __init__(self, folder: Path, name: str, seconds: float, mib: int = 0) -> None:
        self._folder = folder
        self._name = name
        self._seconds = seconds
        self._ballast = bytes(mib * 2**20)

    def __call__(self, unit: pa.Table, watch: Watch) -> pa.Table:
        """Return the unit, with how many the first stage had begun and this one had done."""
        del watch
        number = unit["n"][0].as_py()
        (self._folder / f"{self._name}-begun-{number}").touch()
        begun = len(list(self._folder.glob("first-begun-*")))
        done = len(list(self._folder.glob("second-done-*")))
        time.sleep(self._seconds)
        (self._folder / f"{self._name}-done-{number}").touch()
        unit = unit.select(["unit", "doc_id", "n"])
        unit = unit.append_column("ahead", pa.array([begun - done]))
        return unit.append_column("ballast", pa.array([self._ballast]))


def _seen_ahead(cluster: Cluster, units: int, stages: list[StageSpec]) -> list[int]:
    """Return how far the first of two marking stages was ahead, unit by unit."""
    stream = cluster.stream([_unit(i, i) for i in range(units)], stages)
    tasks = cluster.tasks(_ahead, limit=2)
    ahead: list[int] = []
    ended = False
    while not ended or tasks:
        if not ended and not tasks.full:
            block, ended = stream.next(0.2)
            if block is not None:
                tasks.submit(block)
        ahead += tasks.poll(0.1)
    assert len(ahead) == units
    return ahead


@pytest.mark.ray
def test_a_quick_stage_waits_for_a_slow_one(cluster: Cluster, tmp_path: Path) -> None:
    """However small its results are, a stage is a few units ahead, also while the next starts."""
    stages = [_spec(Marking, tmp_path, "first", 0.0), _spec(Marking, tmp_path, "second", 0.05)]
    ahead = _seen_ahead(cluster, 60, stages)
    # While the second stage starts, Ray lets one more pass every ten seconds.
    assert max(ahead) < 40
    # Two for each of the two workers run or wait, and two more are in the second's hands.
    assert max(ahead[30:]) <= 2 * 2 + 2


@pytest.mark.ray
def test_a_full_store_stops_the_stage_that_fills_it(cluster: Cluster, tmp_path: Path) -> None:
    """The next one goes on and empties it, although it has no budget for its own results."""
    stages = [
        _spec(Marking, tmp_path, "first", 0.0, 60),
        _spec(Marking, tmp_path, "second", 0.3, 60),
    ]
    ahead = _seen_ahead(cluster, 12, stages)
    # One is in the second's hands, one may wait; twice as many where the second stops, too.
    assert max(ahead[3:]) <= 2


class Counter:
    """Counts what it is told."""

    def __init__(self) -> None:
        self._count = 0

    def add(self) -> None:
        """Count one more."""
        self._count += 1

    def count(self) -> int:
        """Return the count."""
        return self._count


@pytest.mark.ray
def test_who_waits_gets_what_is_so_now(local_ray: None) -> None:
    """An answer to an earlier question, which came in the meantime, is not the last word."""
    del local_ray
    import ray  # noqa: PLC0415 - after the fixture has set its environment

    actor: Any = ray.remote(num_cpus=0)(Counter).remote()
    newest = Newest(ray, actor.count, -1)
    assert newest(wait=False) in {-1, 0}
    ray.get(actor.add.remote())
    assert newest(wait=True) == 1


@pytest.mark.ray
@pytest.mark.parametrize("early", [False, True], ids=["call", "start"])
def test_a_stage_says_why_it_failed(cluster: Cluster, *, early: bool) -> None:
    """A stage's own error reaches the driver as it was raised, not in Ray's words."""

    class Stage(Failing):
        def __init__(self) -> None:
            super().__init__(ModelError("no such model"), early=early)

    stream = cluster.stream([_unit(0, 1)], [_spec(Stage)])
    with pytest.raises(ModelError, match="no such model"):
        _exhaust(stream)


@pytest.mark.ray
def test_a_defect_is_one_line(cluster: Cluster) -> None:
    """An error that is not ours names the stage, its type and its message."""

    class Broken(Failing):
        def __init__(self) -> None:
            super().__init__(ZeroDivisionError("by nothing"), early=False)

    stream = cluster.stream([_unit(0, 1)], [_spec(Broken)])
    with pytest.raises(JobError, match="Broken failed: ZeroDivisionError: by nothing"):
        _exhaust(stream)


def _poll_all(tasks: TaskPool) -> None:
    while tasks:
        tasks.poll(0.5)


def _exhaust(stream: BlockStream) -> list[Any]:
    results, deadline = [], time.monotonic() + 500
    while time.monotonic() < deadline:
        result, ended = stream.next(0.2)
        if ended:
            break
        results += [result] if result is not None else []
    return results


@pytest.mark.ray
def test_a_document_that_kills_its_worker_costs_itself(cluster: Cluster, tmp_path: Path) -> None:
    """It is given up after two deaths of its own; who dies once by chance changes nothing."""
    import ray  # noqa: PLC0415 - after the fixture has set its environment

    (tmp_path / "5").touch()
    stage = _spec(Deadly, {2}, tmp_path)
    stream = cluster.stream([_unit(0, 1, 2, 3), _unit(1, 4, 5)], [stage])
    found = sorted(ray.get(block)["n"].to_pylist() for block in _exhaust(stream))
    assert found == [[1, -1, 3], [4, 5]]
    tally = cluster.meter.tally(wait=True)
    assert tally.documents == {"Deadly": {"doc-2": 2}}
    assert tally.workers == {"Deadly": 4}
    assert (tally.given_up, tally.with_node) == (1, 0)


@pytest.mark.ray
@pytest.mark.slow
def test_a_stage_that_dies_while_it_is_made_is_given_up(cluster: Cluster) -> None:
    """Ray would start it again for ever; one line says which stage, how often, what to do."""
    stream = cluster.stream([_unit(0, 1)], [_spec(DeadOnArrival)])
    with pytest.raises(JobError, match=r"DeadOnArrival: 5 workers in a row died.*memory"):
        _exhaust(stream)


@pytest.mark.ray
@pytest.mark.slow
def test_a_task_whose_worker_dies_is_tried_again_but_not_for_ever(
    cluster: Cluster, tmp_path: Path
) -> None:
    """One death is nothing; four in a row are the task's own, told in one line."""
    tasks, mark = cluster.tasks(_die, limit=2), tmp_path / "once"
    mark.touch()
    tasks.submit(mark)
    found: list[Any] = []
    while tasks:
        found += tasks.poll(0.5)
    assert found == ["alive"]
    tasks.submit()
    with pytest.raises(JobError, match=r"die: 4 workers in a row died.*WorkerCrashedError"):
        _poll_all(tasks)


@pytest.mark.ray
def test_a_task_raises_its_own_error(cluster: Cluster) -> None:
    """What a task raised comes out of poll with its type and fields."""
    tasks = cluster.tasks(_fail, limit=1)
    tasks.submit(pa.table({"n": [1]}))
    with pytest.raises(DocumentError) as caught:
        _poll_all(tasks)
    assert (caught.value.kind, caught.value.stage) == ("corrupt", "parse")


def test_a_wrong_address_is_a_configuration_error() -> None:
    """No cluster at the address: one clear error at once, nothing is started."""
    with pytest.raises(ConfigError, match="no Ray cluster answers"):
        check_answers("127.0.0.1:1")
    check_answers("auto")
