"""The README's main job on the sample documents, through the command line and a real Ray."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.corpus import normalise
from tests.job_runs import chunkmill, rows
from tests.sample_files import SAMPLES, samples

pytestmark = [pytest.mark.ray]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Chunk all samples once; the damaged one is within the budget."""
    folder = tmp_path_factory.mktemp("main") / "out"
    done = chunkmill("run", SAMPLES, folder, "--max-failed", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_sample_has_its_row(dataset: Path) -> None:
    """One row a sample, with the status and kind that the table of samples states."""
    found = {
        row["source_key"]: (row["status"], row["error_kind"]) for row in rows(dataset, "documents")
    }
    assert found == {s.key: (s.status, s.error_kind) for s in samples()}


def test_the_text_of_every_sample_is_there(dataset: Path) -> None:
    """The phrase of each sample stands in its document's text."""
    texts = {row["source_key"]: row["text"] or "" for row in rows(dataset, "documents")}
    wanted = [sample for sample in samples() if sample.phrase]
    missing = [s.key for s in wanted if normalise(s.phrase) not in normalise(texts[s.key])]
    assert missing == []


def test_chunks_are_slices_with_vectors(dataset: Path) -> None:
    """Each chunk is cut from its document's text, is within the cap and has a unit vector."""
    texts = {row["doc_id"]: row["text"] for row in rows(dataset, "documents")}
    chunks = rows(dataset, "chunks")
    assert len(chunks) > len(texts)
    for chunk in chunks:
        assert texts[chunk["doc_id"]][chunk["start_char"] : chunk["end_char"]] == chunk["text"]
        assert chunk["n_tokens"] <= 200
        assert sum(value * value for value in chunk["embedding"]) == pytest.approx(1, abs=1e-3)
    assert len({chunk["chunk_id"] for chunk in chunks}) == len(chunks)


def test_the_verifier_finds_nothing(dataset: Path) -> None:
    """Every law holds on what was written, and the sources' words are in it."""
    done = chunkmill("verify", dataset, SAMPLES)
    assert done.returncode == 0, done.stdout + done.stderr


def test_running_again_does_nothing(dataset: Path) -> None:
    """The same command leaves every published file as it is and adds no change row."""
    tables = [p for p in dataset.rglob("*.parquet") if "_chunkmill" not in p.parts]
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in tables}
    done = chunkmill("run", SAMPLES, dataset, "--max-failed", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    after = [p for p in dataset.rglob("*.parquet") if "_chunkmill" not in p.parts]
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in after} == before


def test_other_chunks_are_made_from_the_dataset(dataset: Path, tmp_path: Path) -> None:
    """`rechunk` gives a clean dataset with fewer chunks, which a later run finds up to date."""
    asked = ("--set", "chunking.preset=large", "--set", "limits.max_failed=1")
    done = chunkmill("rechunk", dataset, tmp_path / "new", *asked)
    assert done.returncode == 0, done.stdout + done.stderr
    assert 0 < len(rows(tmp_path / "new", "chunks")) < len(rows(dataset, "chunks"))
    done = chunkmill("verify", tmp_path / "new", SAMPLES)
    assert done.returncode == 0, done.stdout + done.stderr
    done = chunkmill("run", SAMPLES, tmp_path / "new", *asked)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing to do" in done.stdout


def test_status_is_for_machines_too(dataset: Path) -> None:
    """`status --json` prints one JSON object."""
    done = chunkmill("status", dataset, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert isinstance(json.loads(done.stdout), dict)


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "no-such-folder", "OUT"],
        ["run", str(SAMPLES), "OUT", "--set", "chunking.max_token=100"],
        ["run", str(SAMPLES), "OUT", "--set", "model.name=no/such-model"],
        ["run", str(SAMPLES), "OUT", "--max-failed", "many"],
        ["status", "OUT"],
        ["verify"],
    ],
    ids=["source", "key", "model", "budget", "status", "arguments"],
)
def test_wrong_usage_is_one_line_and_exit_2(tmp_path: Path, arguments: list[str]) -> None:
    """A wrong command ends in exit code 2 with a short message, and writes nothing."""
    out = tmp_path / "out"
    done = chunkmill(*(str(out) if part == "OUT" else part for part in arguments))
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not out.exists()
