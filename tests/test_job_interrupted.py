"""Kill, stop, resume, refuse: the job as a whole, with a real Ray and a hashing embedder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from functools import partial
from pathlib import Path

import pytest

from tests.job_runs import FAST, chunkmill, make_texts, rows, same_rows, start, wait_until

pytestmark = [pytest.mark.ray]

SMALL_UNITS = ("--set", "resources.unit_documents=3", "--set", "output.n_buckets=3")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty small documents."""
    return make_texts(tmp_path_factory.mktemp("source") / "in", 40)


@pytest.fixture(scope="module")
def first_and_second(
    source: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Run to the end on two CPUs while a second driver tries; return the dataset and the second."""
    folder = tmp_path_factory.mktemp("undisturbed")
    out, two = folder / "out", ("--set", "resources.cpus=2")
    process = start("run", source, out, *FAST, *SMALL_UNITS, *two, log=folder / "log")
    wait_until(lambda: bool(list(out.glob("_chunkmill/runs/*/plan.parquet"))), process)
    second = chunkmill("run", source, out, *FAST, *SMALL_UNITS)
    assert process.wait(timeout=240) == 0, (folder / "log").read_text()
    return out, second


@pytest.fixture(scope="module")
def undisturbed(first_and_second: tuple[Path, subprocess.CompletedProcess[str]]) -> Path:
    """Return the dataset of a run that nothing disturbed."""
    return first_and_second[0]


def _markers(out: Path, run: int) -> int:
    """Count the units that a run has committed, or taken over from the one before."""
    return len(list(out.glob(f"_chunkmill/runs/{run:08}-*/units/*.json")))


def _planned(out: Path, run: int) -> bool:
    """Say whether a run has written its plan."""
    return bool(list(out.glob(f"_chunkmill/runs/{run:08}-*/plan.parquet")))


def _committing(out: Path, run: int) -> bool:
    """Say whether a run has committed units beside those taken over from any one before.

    The run before may have been stopped while it was taking units over.
    """
    before = max(_markers(out, earlier) for earlier in range(1, run))
    return _planned(out, run) and _markers(out, run) > before


def _end(process_id: int) -> None:
    """End what is left of a killed driver's own process group."""
    try:
        os.killpg(process_id, signal.SIGKILL)
    except ProcessLookupError:
        return


def test_a_second_driver_is_refused(
    first_and_second: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    """While one run holds the dataset, another ends in exit code 2 and says who holds it."""
    out, second = first_and_second
    assert second.returncode == 2
    assert "--take-over" in second.stderr
    assert len(rows(out, "documents")) == 40


@pytest.mark.slow
def test_killed_then_stopped_a_job_is_resumed_to_the_same_rows(
    source: Path, undisturbed: Path, tmp_path: Path
) -> None:
    """After kill -9 in mid-run, and SIGTERM in the next two, the same command ends the work.

    SIGTERM comes once before the first document, while Ray starts, and once in mid-run.
    Both stopped runs end with a hint, the second publishes what is committed; at the end
    nothing is lost and nothing there twice.
    """
    out = tmp_path / "out"
    process = start("run", source, out, *FAST, *SMALL_UNITS, log=tmp_path / "killed")
    wait_until(lambda: _markers(out, 1) >= 2, process)
    process.kill()
    process.wait()
    _end(process.pid)
    for run, moment in ((2, _planned), (3, _committing)):
        log = tmp_path / f"stopped{run}"
        process = start("run", source, out, *FAST, *SMALL_UNITS, log=log)
        wait_until(partial(moment, out, run), process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=300) == 1, log.read_text()
        last = log.read_text().strip().splitlines()[-1]
        assert "run the same command again to go on" in last
    published = rows(out, "documents")
    assert 0 < len(published) <= 40
    done = chunkmill("run", source, out, *FAST, *SMALL_UNITS, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["report"]["unchanged"] >= len(published)
    assert same_rows(undisturbed, out) == ""
    verified = chunkmill("verify", out, source)
    assert verified.returncode == 0, verified.stdout


@pytest.mark.slow
def test_three_nodes_of_one_cpu_do_not_deadlock(
    source: Path, undisturbed: Path, tmp_path: Path
) -> None:
    """A cluster of single-CPU nodes is joined by its address and gives the same rows."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - Ray is slow to import

    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    try:
        for _ in range(2):
            cluster.add_node(num_cpus=1)
        out = tmp_path / "out"
        done = chunkmill("run", source, out, *FAST, *SMALL_UNITS, "--address", cluster.address)
        assert done.returncode == 0, done.stderr
        assert same_rows(undisturbed, out) == ""
    finally:
        cluster.shutdown()


@pytest.mark.slow
def test_a_limit_is_a_part_and_the_rest_follows_on_one_cpu(
    source: Path, undisturbed: Path, tmp_path: Path
) -> None:
    """--limit processes that many; a dry run writes nothing; the whole run adds the rest.

    On one CPU, where the stages must not wait for each other, the rows are those of two.
    """
    out, one = tmp_path / "out", ("--set", "resources.cpus=1")
    dry = chunkmill("run", source, out, *FAST, *SMALL_UNITS, "--dry-run", "--json")
    assert json.loads(dry.stdout)["to_process"] == 40
    assert not out.exists()
    some = chunkmill("run", source, out, *FAST, *SMALL_UNITS, *one, "--limit", "5")
    assert some.returncode == 0, some.stderr
    assert len(rows(out, "documents")) == 5
    rest = chunkmill("run", source, out, *FAST, *SMALL_UNITS, *one)
    assert rest.returncode == 0, rest.stderr
    assert same_rows(undisturbed, out) == ""


@pytest.mark.slow
def test_changed_permissions_reach_the_chunks(tmp_path: Path) -> None:
    """A manifest's metadata is in every chunk; when it changes, the document is done again."""
    folder = make_texts(tmp_path / "in", 2)
    out = tmp_path / "out"
    manifest = tmp_path / "manifest.csv"
    for reader in ("crew", "pilots"):
        lines = [f"{folder / 'note-000.md'},{reader}", f"{folder / 'note-001.md'},all"]
        manifest.write_text("\n".join(["uri,readers", *lines]) + "\n")
        done = chunkmill("run", manifest, out, *FAST, "--json")
        assert done.returncode == 0, done.stderr
        found = {dict(row["metadata"])["readers"] for row in rows(out, "chunks")}
        assert found == {reader, "all"}
    assert json.loads(done.stdout)["report"]["planned"] == 1
