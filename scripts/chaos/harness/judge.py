"""What is compared when a dataset is done: rows, vectors, laws, and the feed of changes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from scripts.chaos.harness.listing import etags
from scripts.compare_datasets import VOLATILE, differences, read

__all__ = ["chain", "compare", "download", "expected_wholes", "replay_faults", "retryable"]

TABLES = ("boundaries", "chunks", "documents", "changes")


def download(client: Any, bucket: str, prefix: str, folder: Path) -> Path:  # noqa: ANN401
    """Make a folder a copy of the plain directories below a prefix."""
    shutil.rmtree(folder, ignore_errors=True)
    for table in TABLES:
        (folder / table).mkdir(parents=True, exist_ok=True)
        for key in etags(client, bucket, f"{prefix}{table}/"):
            target = folder / key[len(prefix) :]
            target.parent.mkdir(parents=True, exist_ok=True)
            body = client.get_object(Bucket=bucket, Key=key)["Body"]
            target.write_bytes(body.read())
    return folder


def chain(client: Any, bucket: str, prefix: str) -> dict[str, str]:  # noqa: ANN401
    """Return the committed versions of all buckets, and their etags."""
    found = etags(client, bucket, f"{prefix}_chunkmill/buckets/")
    return {key: etag for key, etag in found.items() if key.endswith(".json")}


def compare(expected: Path, found: Path) -> list[str]:
    """Return a line for every difference between two datasets' plain directories."""
    lines: list[str] = []
    for table, volatile in VOLATILE.items():
        left, right = (read(side, table, volatile) for side in (expected, found))
        lines += differences(table, left, right)
    return lines


def replay_faults(dataset: Path) -> Iterator[str]:
    """Replay the feed from empty, run by run, and yield what is not as published."""
    live: set[str] = set()
    for run in sorted((dataset / "changes").iterdir()):
        ops = [
            (row["chunk_id"], row["op"])
            for path in sorted(run.glob("*.parquet"))
            for row in pq.read_table(path, columns=["chunk_id", "op"]).to_pylist()
        ]
        if len({chunk for chunk, _ in ops}) != len(ops):
            yield f"the feed of {run.name} names a chunk twice"
        for chunk, op in ops:
            if op == "delete" and chunk not in live:
                yield f"the feed of {run.name} deletes {chunk}, which it had not given"
            (live.add if op == "upsert" else live.discard)(chunk)
    published = {
        chunk
        for path in (dataset / "chunks").rglob("*.parquet")
        for chunk in pq.read_table(path, columns=["chunk_id"])["chunk_id"].to_pylist()
    }
    if live != published:
        yield (
            f"the feed gives {len(live - published)} chunks that are not published and lacks "
            f"{len(published - live)}"
        )


def retryable(dataset: Path) -> int:
    """Return the number of failed documents that a further run would try again."""
    return sum(
        row["status"] == "failed" and row["retryable"]
        for path in (dataset / "documents").rglob("*.parquet")
        for row in pq.read_table(path, columns=["status", "retryable"]).to_pylist()
    )


def expected_wholes(datasets: list[Path]) -> dict[tuple[str, str], int]:
    """Return how many chunks every version of every document has, from undisturbed datasets."""
    wholes: dict[tuple[str, str], int] = {}
    for dataset in datasets:
        for path in (dataset / "documents").rglob("*.parquet"):
            columns = ["doc_id", "doc_version", "n_chunks"]
            for row in pq.read_table(path, columns=columns).to_pylist():
                if row["doc_version"] is not None:
                    wholes[row["doc_id"], row["doc_version"]] = row["n_chunks"]
    return wholes
