"""What chunks made anew cost beside a first run, and whether they are those of a fresh run.

    python scripts/bench/rechunk.py FOLDER WORK [--ask chunking.preset=large] [--set ...]

Chunks FOLDER into WORK/first, makes WORK/again from it by ``rechunk`` with the settings
asked for, and WORK/fresh by a run with the same; what is there already is kept. The first
run's CPU time is that of its parsing and embedding workers only, without the cluster's own
and the driver's; that of ``rechunk`` is the whole program's, from start to end.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads

_TABLE = ["doc_id", "chunk_index", "chunk_id", "start_char", "end_char", "split_reason"]


def main() -> None:
    """Measure and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--ask", action="append", metavar="KEY=VALUE", help="for the new chunks")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="for all")
    parser.add_argument("--no-fresh", action="store_true", help="do not compare")
    given = parser.parse_args()
    ask = given.ask or ["chunking.preset=large"]
    first, again, fresh = (given.work / name for name in ("first", "again", "fresh"))
    _run("run", given.folder, first, given.set)
    stages = _report(first)["stages"]
    spent = {name: stages[name]["cpu_seconds"] for name in ("parse", "embed")}
    before = _children()
    _run("rechunk", first, again, ask)
    cost = _children() - before
    total = sum(spent.values())
    sys.stdout.write(
        f"first run: CPU {total:.1f} s (parse {spent['parse']:.1f}, embed {spent['embed']:.1f})\n"
        f"rechunk:   CPU {cost:.1f} s, {cost / total:.1%} of it; through the model "
        f"{_report(again)['stages']['embed']['model_tokens']:,.0f} of "
        f"{_report(again)['tokens']:,} tokens\n"
    )
    if not given.no_fresh:
        _run("run", given.folder, fresh, [*given.set, *ask])
        sys.stdout.write(_agreement(_chunks(again), _chunks(fresh)) + "\n")


def _run(command: str, source: Path, target: Path, assignments: Sequence[str]) -> None:
    words = [sys.executable, "-m", "jobs", command, str(source), str(target), "-q"]
    for assignment in [*assignments, "limits.max_failed=100%"]:
        words += ["--set", assignment]
    subprocess.run(words, check=True, env={**os.environ, "RAY_worker_niceness": "0"})


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _report(dataset: Path) -> dict[str, Any]:
    """Return the report of the run that processed most."""
    reports = [
        json.loads(path.read_text()) for path in dataset.glob("_chunkmill/runs/*/report.json")
    ]
    largest: dict[str, Any] = max(reports, key=lambda report: report["planned"])
    return largest


def _chunks(dataset: Path) -> pa.Table:
    rows = pads.dataset(dataset / "chunks", format="parquet", partitioning=None).to_table()
    return rows.sort_by([("doc_id", "ascending"), ("chunk_index", "ascending")])


def _agreement(one: pa.Table, other: pa.Table) -> str:
    left, right = (
        [*zip(*(rows[n].to_pylist() for n in _TABLE), strict=True)] for rows in (one, other)
    )
    same = len(set(left) & set(right))
    line = f"boundaries: {same:,} of {len(left):,} and {len(right):,} chunks are equal"
    if left != right or one["embedding"].null_count:
        return line
    a, b = (np.array(rows["embedding"].to_pylist(), np.float64) for rows in (one, other))
    cosine = (a * b).sum(axis=1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))
    return f"{line}; least cosine {cosine.min():.9f}"


if __name__ == "__main__":
    main()
