"""Pool sizes, tasks and streams on a real local Ray."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunking.errors import ConfigError, DocumentError, JobError, ModelError
from jobs.adapters.ray_connect import check_answers
from jobs.adapters.ray_engine import Cluster, StageSpec, TaskPool, plan_sizes
from jobs.config import ResourcesConfig


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

    def __call__(self, unit: pa.Table) -> pa.Table:
        """Return the unit with every value multiplied."""
        return pa.table({"n": [value * self._factor for value in unit["n"].to_pylist()]})


class Failing:
    """A stage that fails for a reason that only it knows."""

    def __init__(self, error: Exception, *, early: bool) -> None:
        if early:
            raise error
        self._error = error

    def __call__(self, unit: pa.Table) -> pa.Table:
        """Fail."""
        del unit
        raise self._error


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

    return Cluster(ray)


def _spec(stage: type, *args: object) -> StageSpec:
    return StageSpec(stage=stage, args=args, workers=1, cpus=0.5)


@pytest.mark.ray
def test_units_stay_whole_and_reach_tasks(cluster: Cluster) -> None:
    """Each unit goes through the stages as one block, and its result into a task."""
    units = [pa.table({"n": [i, i + 1]}) for i in range(5)]
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
    """Leaves a file for each unit that it begins; after each it rests, then leaves another."""

    def __init__(self, folder: Path, name: str, seconds: float) -> None:
        self._folder = folder
        self._name = name
        self._seconds = seconds

    def __call__(self, unit: pa.Table) -> pa.Table:
        """Return the unit, with how many the first stage had begun and this one had done."""
        number = unit["n"][0].as_py()
        (self._folder / f"{self._name}-begun-{number}").touch()
        begun = len(list(self._folder.glob("first-begun-*")))
        done = len(list(self._folder.glob("second-done-*")))
        time.sleep(self._seconds)
        (self._folder / f"{self._name}-done-{number}").touch()
        return pa.table({"n": [number], "ahead": [begun - done]})


@pytest.mark.ray
def test_a_quick_stage_waits_for_a_slow_one(cluster: Cluster, tmp_path: Path) -> None:
    """However small its results are, a stage is a few units ahead, also while the next starts."""
    units = [pa.table({"n": [i]}) for i in range(60)]
    stages = [_spec(Marking, tmp_path, "first", 0.0), _spec(Marking, tmp_path, "second", 0.05)]
    stream = cluster.stream(units, stages)
    tasks = cluster.tasks(_ahead, limit=2)
    ahead: list[int] = []
    ended = False
    while not ended or tasks:
        if not ended and not tasks.full:
            block, ended = stream.next(0.2)
            if block is not None:
                tasks.submit(block)
        ahead += tasks.poll(0.1)
    assert len(ahead) == 60
    # While the second stage starts, Ray lets one more pass every ten seconds.
    assert max(ahead) < 40
    # Two for each of the two workers run or wait, and two more are in the second's hands.
    assert max(ahead[30:]) <= 2 * 2 + 2


@pytest.mark.ray
@pytest.mark.parametrize("early", [False, True], ids=["call", "start"])
def test_a_stage_says_why_it_failed(cluster: Cluster, *, early: bool) -> None:
    """A stage's own error reaches the driver as it was raised, not in Ray's words."""

    class Stage(Failing):
        def __init__(self) -> None:
            super().__init__(ModelError("no such model"), early=early)

    stream = cluster.stream([pa.table({"n": [1]})], [_spec(Stage)])
    with pytest.raises(ModelError, match="no such model"):
        _exhaust(stream)


@pytest.mark.ray
def test_a_defect_is_one_line(cluster: Cluster) -> None:
    """An error that is not ours names the stage, its type and its message."""

    class Broken(Failing):
        def __init__(self) -> None:
            super().__init__(ZeroDivisionError("by nothing"), early=False)

    stream = cluster.stream([pa.table({"n": [1]})], [_spec(Broken)])
    with pytest.raises(JobError, match="Broken failed: ZeroDivisionError: by nothing"):
        _exhaust(stream)


def _poll_all(tasks: TaskPool) -> None:
    while tasks:
        tasks.poll(0.5)


def _exhaust(stream: object) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        _, ended = stream.next(0.2)  # type: ignore[attr-defined]
        if ended:
            return


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
