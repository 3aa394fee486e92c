"""A run killed at every fail point, and run again, leaves what an undisturbed one leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from chunking.errors import ConfigError
from jobs.adapters.stores.memory import MemoryStore
from jobs.protocol import fail_points
from jobs.protocol.fail_points import FAIL_POINTS, UPKEEP_POINTS, VARIABLE
from tests.jobs.protocol import simulation as sim

CHECKOUT = Path(__file__).resolve().parents[3]

# What the source holds on three days. Documents fail, vanish, change, and move between
# formats, by which the dataset is partitioned, and so does what came inside them; on
# day 0 there is no chunk at all.
DAYS: list[tuple[str, dict[str, str]]] = [
    ("A", {"d0": "!corrupt", "d1": "!network"}),
    (
        "A",
        {
            "d0": "a|b>x=c>y=d",
            "d1": "b|c>x=e",
            "d2": "#html#a",
            "d3": "x|y>x=f",
            "d4": "z",
            "d5": "#pptx#o",
        },
    ),
    (
        "B",
        {
            "d0": "#html#a|b>x=#html#c>z=!corrupt",
            "d1": "!corrupt",
            "d2": "a|bbbb",
            "d4": "z",
            "d5": "#html#o|p>x=g>x!/y=h",
        },
    ),
]
# Points that only a run after a killed one passes: where that one is killed.
BEFORE = {
    "adopt.marker": "unit.marker",
    "fence.version": "unit.marker",
    "roll.changes": "publish.version",
    "roll.copy": "publish.version",
    "roll.interim": "publish.version",
    "roll.remove": "publish.version",
}
FIRST_DAY = {
    "copy.interim": 2,
    "copy.remove": 2,
    "dataset.create": 0,
    "dataset.update": 2,
    "finish.placeholder": 0,
    "publish.interim": 2,
    "roll.interim": 2,
    "roll.remove": 2,
}
"""The day whose run is killed: the second, if not given here."""


class Forks:
    """A process that has everything imported and forks one child per run."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-c", "from tests.jobs.protocol import killable; killable.serve()"],
            cwd=CHECKOUT,
            env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self,
        folder: Path,
        day: int,
        fail_point: str | None = None,
        task: str = "run",
        names: Sequence[str] = (),
    ) -> int:
        """Do a day's run, or another task, in a child; return its exit code or -signal."""
        config, documents = DAYS[day]
        command = [str(folder), config, documents, fail_point, task, list(names)]
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(command) + "\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())

    def close(self) -> None:
        """End the server."""
        self._server.communicate()


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    """Provide processes that may be killed."""
    server = Forks()
    yield server
    server.close()


def result(folder: Path) -> dict[str, Any]:
    """Return what a plain reader sees, without what depends on the run; check every law."""
    store = MemoryStore()
    for path in folder.rglob("*"):
        if path.is_file():
            store.objects[path.relative_to(folder).as_posix()] = path.read_bytes()
    sim.check_dataset(store)
    rows = {table: sim.plain_rows(store, table) for table in sim.PLAIN}
    rows["documents"] = [sim.stable(row) for row in rows["documents"]]
    return {**rows, "files": [sorted(sim.plain_files(store, table)) for table in sim.PLAIN]}


@pytest.fixture(scope="module")
def undisturbed(forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Return the result after each day without a disturbance."""
    folder = tmp_path_factory.mktemp("undisturbed")
    results = []
    for day in range(len(DAYS)):
        assert forks.run(folder, day) == 0
        results.append(result(folder))
    return results


@pytest.mark.chaos
@pytest.mark.parametrize("name", [name for name in FAIL_POINTS if name != "roll.clear"])
def test_killed_and_run_again(
    name: str, forks: Forks, tmp_path: Path, undisturbed: Sequence[dict[str, Any]]
) -> None:
    """A run is killed at the point and run again: nothing differs."""
    day = FIRST_DAY.get(name, 1)
    for earlier in range(day):
        assert forks.run(tmp_path, earlier) == 0
    if name in BEFORE:
        assert forks.run(tmp_path, day, BEFORE[name]) == -signal.SIGKILL
    assert forks.run(tmp_path, day, name) == -signal.SIGKILL
    assert forks.run(tmp_path, day) == 0
    assert result(tmp_path) == undisturbed[day]


PURGED = "d5"
"""A document that shares its files with others, and moves between partitions."""


def killed_run(forks: Forks, folder: Path) -> None:
    """Make a dataset of two days, whose run on the third died before its second commit."""
    for day in (0, 1):
        assert forks.run(folder, day) == 0
    assert forks.run(folder, 2, "unit.boundaries:2") == -signal.SIGKILL


@pytest.fixture(scope="module")
def purged(forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the result of a purge after a killed run, and of the run that goes on."""
    folder = tmp_path_factory.mktemp("purged")
    killed_run(forks, folder)
    assert forks.run(folder, 2, task="purge", names=[PURGED]) == 0
    assert forks.run(folder, 2) == 0
    return result(folder)


@pytest.mark.chaos
@pytest.mark.parametrize("name", UPKEEP_POINTS)
def test_upkeep_killed_and_done_again(
    name: str,
    forks: Forks,
    tmp_path: Path,
    undisturbed: Sequence[dict[str, Any]],
    purged: dict[str, Any],
) -> None:
    """Cleaning and purging are killed at the point and done again: nothing differs."""
    killed_run(forks, tmp_path)
    if name == "purge.readmit":
        assert forks.run(tmp_path, 2, task="purge", names=[PURGED]) == 0
        assert forks.run(tmp_path, 2, name, "readmit", [PURGED]) == -signal.SIGKILL
        assert forks.run(tmp_path, 2, None, "readmit", [PURGED]) == 0
        expected = undisturbed[2]
    else:
        task = name.partition(".")[0]
        names = [PURGED] if task == "purge" else []
        expected = purged if task == "purge" else undisturbed[2]
        assert forks.run(tmp_path, 2, name, task, names) == -signal.SIGKILL
        pending = any("false" in path.read_text() for path in tmp_path.glob("_chunkmill/purged/*"))
        assert forks.run(tmp_path, 2, None, task, [] if pending else names) == 0
    assert forks.run(tmp_path, 2) == 0
    assert result(tmp_path) == expected


@pytest.mark.chaos
def test_cleared_file_of_an_older_version(
    forks: Forks, tmp_path: Path, undisturbed: Sequence[dict[str, Any]]
) -> None:
    """A plain file of a version before the last is taken out first, and a kill there mends."""
    for day in (0, 1):
        assert forks.run(tmp_path, day) == 0
    plain = tmp_path / "chunks" / "by_format=html" / "bucket-00000.parquet"
    older = plain.read_bytes()
    assert forks.run(tmp_path, 2) == 0
    assert result(tmp_path) == undisturbed[2]
    # The last version replaces the file of day 1, so one more version must lie between.
    DAYS.append(("A2", DAYS[2][1]))
    try:
        assert forks.run(tmp_path, 3) == 0
        expected = result(tmp_path)
        plain.write_bytes(older)
        assert forks.run(tmp_path, 3, "roll.clear") == -signal.SIGKILL
        assert not plain.exists()
        assert forks.run(tmp_path, 3) == 0
        assert result(tmp_path) == expected
    finally:
        DAYS.pop()


def test_all_points_are_passed_in_the_code() -> None:
    """The registry names exactly the points that the modules pass."""
    folder = Path(fail_points.__file__).parent
    code = "\n".join(path.read_text("utf-8") for path in folder.glob("*.py"))
    for name in (*FAIL_POINTS, *UPKEEP_POINTS):
        stage = name.partition(".")[0]
        assert f'hit("{name}")' in code or f'hit(f"{stage}.{{' in code, name


@pytest.mark.parametrize("armed", ["nowhere", "plan.create:0", "plan.create:x", "plan.create=stop"])
def test_refuses_what_does_not_exist(armed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A typo in the variable is an error, not a test that passes."""
    monkeypatch.setenv(VARIABLE, armed)
    with pytest.raises(ConfigError, match=r"plan\.create"):
        fail_points.check_fail_point()


def test_raises_at_the_nth_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A point armed with a number lets the passes before it go."""
    monkeypatch.setattr(fail_points, "_hits", fail_points.Counter())
    monkeypatch.setenv(VARIABLE, "unit.marker:2=raise")
    fail_points.hit("unit.marker")
    fail_points.hit("plan.create")
    with pytest.raises(fail_points.FailPointError, match=r"unit\.marker"):
        fail_points.hit("unit.marker")


def test_raises_for_its_subject_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several points are armed at once, and each for one document; only its passes count."""
    monkeypatch.setattr(fail_points, "_hits", fail_points.Counter())
    monkeypatch.setenv(VARIABLE, "parse.document@a.md:2=raise;embed.document@b.md=raise")
    fail_points.check_fail_point()
    for subject in ("b.md", "a.md", None):
        fail_points.hit("parse.document", subject)
    with pytest.raises(fail_points.FailPointError, match=r"parse\.document"):
        fail_points.hit("parse.document", "a.md")
    with pytest.raises(fail_points.FailPointError, match=r"embed\.document"):
        fail_points.hit("embed.document", "b.md")


def test_exits_at_once() -> None:
    """The action ``exit`` ends the process with its own status and no clean-up, and says so."""
    code = "from jobs.protocol import fail_points as f; f.hit('plan.create'); print('survived')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, VARIABLE: "plan.create=exit"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (fail_points.EXIT_STATUS, b"")
    assert done.stderr == b"fail point plan.create is passed: exit\n"
