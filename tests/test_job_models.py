"""Jobs and their models: shares of a GPU, as Ray sees one; what fails; what is done instead."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.job_runs import CHECKOUT, chunkmill, make_texts, rows
from tests.models import tiny_bert

pytestmark = [
    pytest.mark.ray,
    pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU of its own"),
]

_RAY = """
import json, os, sys
import pyarrow as pa
import ray

info = ray.init(
    address="local", num_cpus=3, num_gpus=1, object_store_memory=200 * 2**20,
    include_dashboard=False, log_to_driver=False, logging_level="ERROR",
    _temp_dir=os.environ["RAY_TMPDIR"],
).address_info
from jobs.adapters.ray_engine import Cluster, StageSpec

class Passing:
    def __call__(self, unit, watch):
        return unit

class Counting:
    def __call__(self, unit, watch):
        assigned = ray.get_runtime_context().get_assigned_resources()
        return pa.table({"n": [unit["n"].to_pylist()], "gpu": [assigned.get("GPU", 0.0)]})

def spec(stage, gpus=0.0):
    return StageSpec(stage=stage, args=(), workers=1, cpus=0.5, gpus=gpus)

def seen(stages):
    units = [
        pa.table({"n": list(range(size)), "unit": [size] * size, "doc_id": ["d"] * size})
        for size in (3, 1, 2)
    ]
    stream = Cluster(ray).stream(units, stages)
    found, ended = [], False
    while not ended:
        block, ended = stream.next(1.0)
        found += ray.get(block).to_pylist() if block is not None else []
    return sorted(found, key=lambda row: row["n"])

print(json.dumps([seen([spec(Passing), spec(Counting, 0.5)]), seen([spec(Counting, 0.5)])]))
print(info["gcs_address"], flush=True)
sys.stdin.read()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeGpu:
    """A Ray with one GPU that is not there; ``seen`` is what stages on it got.

    ``environment`` holds the token with which programs may join it.
    """

    address: str
    environment: dict[str, str]
    seen: list[list[dict[str, Any]]]


@pytest.fixture(scope="module")
def ray_with_gpu() -> Iterator[FakeGpu]:
    """Start a Ray of its own in another process, with a token of its own."""
    own = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    environment = {**os.environ, **own}
    process = subprocess.Popen(
        [sys.executable, "-c", _RAY],
        cwd=CHECKOUT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        seen, address = process.stdout.readline(), process.stdout.readline()
        yield FakeGpu(address=address.strip(), environment=environment, seen=json.loads(seen))
        assert process.stdin is not None
        process.stdin.close()


def test_units_stay_whole_on_shares_of_a_gpu(ray_with_gpu: FakeGpu) -> None:
    """Ray wants rows to be counted where GPUs are; each unit still comes as it is, once."""
    expected = [{"n": list(range(size)), "gpu": 0.5} for size in (1, 2, 3)]
    assert ray_with_gpu.seen == [expected, expected]


def run(ray: FakeGpu, source: Path, out: Path, *keys: str) -> subprocess.CompletedProcess[str]:
    """Run a job with these settings on a Ray."""
    settings = [part for key in keys for part in ("--set", key)]
    arguments = ("run", source, out, "--address", ray.address, *settings)
    return chunkmill(*arguments, environment=ray.environment)


@pytest.fixture(scope="module")
def job(
    ray_with_gpu: FakeGpu, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Run a model without late vectors on the CPU, two actors on one GPU; return the dataset."""
    folder = tmp_path_factory.mktemp("job")
    model = tiny_bert(folder, pooling="cls")
    keys = (
        f"model.name={model}",
        "model.device=cpu",
        "resources.gpus_per_worker=0.5",
        "resources.unit_documents=2",
        "chunking.overrides=[{glob: note-001.md, vectors: blend}]",
    )
    source, out = make_texts(folder / "in", 5), folder / "out"
    done = run(ray_with_gpu, source, out, *keys)
    assert done.returncode == 0, done.stdout + done.stderr
    return out, done


@pytest.mark.slow
def test_a_job_runs_on_shares_of_a_gpu(job: tuple[Path, object]) -> None:
    """Several documents a unit, two actors on one GPU: every document has its chunks."""
    out, _ = job
    assert [row["status"] for row in rows(out, "documents")] == ["ok"] * 5
    assert len({row["source_key"] for row in rows(out, "chunks")}) == 5


@pytest.mark.slow
def test_what_is_done_instead_of_late_vectors_is_said_and_recorded(
    job: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    """One line says why; the dataset and every chunk name the vectors that there are."""
    out, done = job
    told = [line for line in done.stderr.splitlines() if "late vectors" in line]
    assert len(told) == 1
    assert "pools by 'cls'" in told[0]
    assert "(vectors: chunk)" in told[0]
    recorded = json.loads((out / "_chunkmill" / "dataset.json").read_text())["chunking"]
    assert recorded["vectors"] == "chunk"
    assert [each["vectors"] for each in recorded["overrides"]] == ["chunk"]
    assert {row["vectors"] for row in rows(out, "chunks")} == {"chunk"}


@pytest.mark.slow
def test_an_actor_without_its_gpu_ends_the_job(ray_with_gpu: FakeGpu, tmp_path: Path) -> None:
    """The driver has the model; the actor's node has no GPU: one line with the reason, at once."""
    keys = (f"model.name={tiny_bert(tmp_path)}", "model.device=cuda")
    source = make_texts(tmp_path / "in", 2)
    done = run(ray_with_gpu, source, tmp_path / "out", *keys)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "the model cannot be loaded on" in done.stderr
    assert "torch sees no GPU" in done.stderr


@pytest.mark.parametrize(
    "case", ["cuda", *(pytest.param(c, marks=pytest.mark.slow) for c in ("damaged", "refuse"))]
)
def test_a_model_that_cannot_be_used_is_said_before_anything_is_written(
    tmp_path: Path, case: str
) -> None:
    """Damaged weights, a GPU that is not here, late vectors insisted on: exit code 2, one line."""
    model = tiny_bert(tmp_path, pooling="cls")
    if case == "damaged":
        weights = model / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:100])
    key, message = {
        "damaged": ("model.dtype=float32", "cannot load the model"),
        "cuda": ("model.device=cuda", "torch sees no GPU here"),
        "refuse": ("model.without_late=refuse", "set chunking.vectors=chunk"),
    }[case]
    source, out = make_texts(tmp_path / "in", 1), tmp_path / "out"
    done = chunkmill("run", source, out, "--set", f"model.name={model}", "--set", key)
    assert done.returncode == 2, done.stdout + done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert not (out / "chunks").exists()
