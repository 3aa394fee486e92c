"""Seeded chaos on the whole job: kill, stop, starve and mislead it, resume it, compare.

    python scripts/chaos/schedules.py WORK [--schedules 200] [--seed 1] [--real 20]

Each schedule is one dataset, made by the real command line on a real local Ray of three
nodes from and to a real S3 server behind a proxy that spoils requests. What happens to
it, and at which request, is drawn from the schedule's number. Then the same command is
run until it is done, and the dataset must equal an undisturbed one: every row, vectors
included; ``chunkmill verify`` must be content; the feed, replayed from empty, must give
the published chunks; and at every moment a reader of the plain directories must have seen
each document at most once and never half.

Prints a line per schedule and a table; exits 1 on any violation, whose dataset and logs
are kept below WORK. ``--only 17,r3`` runs those again. Small full disks need the right to
mount a tmpfs; without it those events are counted as not met.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from scripts.chaos.harness.places import open_places  # noqa: E402 - needs the path above
from scripts.chaos.harness.plans import make_schedule  # noqa: E402
from scripts.chaos.harness.runner import run_schedule  # noqa: E402


def run_here(work: Path, names: Sequence[str], patience: float, *, alone: bool) -> None:
    """Run schedules one after the other, their results as JSON lines."""
    real = any(name.startswith("r") for name in names)
    with (
        open_places(work, alone=alone, real=real) as places,
        (work / "results.jsonl").open("a") as results,
    ):
        for name in names:
            result = run_schedule(places, make_schedule(name), patience)
            print(result.line(), flush=True)
            if not result.right:
                print(f"  again: python scripts/chaos/schedules.py WORK --only {name}", flush=True)
            results.write(json.dumps({**asdict(result), "right": result.right}) + "\n")
            results.flush()


def run_side_by_side(
    work: Path, names: Sequence[str], patience: float, lanes: int, *, alone: bool
) -> int:
    """Run schedules in several processes, each with a store and a Ray of its own."""
    processes = []
    for lane in range(lanes):
        command = [sys.executable, str(Path(__file__).resolve()), str(work / f"lane-{lane}")]
        command += ["--only", ",".join(names[lane::lanes]), "--patience", str(patience)]
        command += ["--without-ray"] if alone else []
        processes.append(subprocess.Popen([*command, "--lane"]))
    return max([abs(process.wait()) for process in processes])


def summary(results: Sequence[dict[str, Any]], seconds: float) -> str:
    """Return the table at the end."""
    met = Counter(_kind(event) for result in results for event in result["met"])
    missed = Counter(_kind(event) for result in results for event in result["missed"])
    wrong = [result for result in results if not result["right"]]
    resumed = sorted(r["resumed"] for r in results if r["resumed"] is not None)
    faults = [fault for result in results for fault in result["faults"]]
    rows = [f"{kind:22} {met[kind]:5} {missed[kind]:8}" for kind in sorted({*met, *missed})]
    lines = [
        f"{'event':22} {'met':>5} {'not met':>8}",
        *rows,
        f"schedules: {len(results)} in {seconds:.0f} s, runs of the command: "
        f"{sum(len(result['statuses']) for result in results)}",
        f"violations: {len(faults)} in {len(wrong)} schedules"
        + (f": {', '.join(result['name'] for result in wrong)}" if wrong else ""),
        "feed replays equal: "
        f"{sum(not any('feed' in fault for fault in result['faults']) for result in results)}",
        f"looks of the plain reader: {sum(result['looks'] for result in results)}",
        f"documents that a disturbed run had to leave for the next: "
        f"{sum(result['healed'] for result in results)}",
    ]
    if resumed:
        late = resumed[min(int(len(resumed) * 0.95), len(resumed) - 1)]
        lines.append(
            f"time to resume: median {statistics.median(resumed):.1f} s, 95th percentile "
            f"{late:.1f} s ({len(resumed)} schedules)"
        )
    return "\n".join(lines)


def _kind(event: str) -> str:
    return event.partition(" before ")[0].partition(" after ")[0]


def _names(options: argparse.Namespace) -> list[str]:
    if options.only:
        return [name for name in options.only.split(",") if name]
    text = [str(options.seed + number) for number in range(options.schedules)]
    return text + [f"r{options.seed + number}" for number in range(options.real)]


def main() -> int:
    """Run the schedules and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--schedules", type=int, default=200, help="with text and a hash embedder")
    parser.add_argument("--real", type=int, default=0, help="with docling and MiniLM")
    parser.add_argument("--seed", type=int, default=1, help="number of the first schedule")
    parser.add_argument("--only", help="numbers of schedules, by commas; r3 is the real one")
    parser.add_argument("--side-by-side", type=int, default=1, help="schedules at a time")
    parser.add_argument("--patience", type=float, default=600.0, help="seconds that a run may take")
    parser.add_argument(
        "--without-ray",
        action="store_true",
        help="all in the driver, which dies instead of workers: cheaper by far",
    )
    parser.add_argument("--lane", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    began, names, code = time.monotonic(), _names(options), 0
    if options.side_by_side > 1:
        lanes, alone = options.side_by_side, options.without_ray
        code = run_side_by_side(work, names, options.patience, lanes, alone=alone)
        files = sorted(work.glob("lane-*/results.jsonl"))
    else:
        run_here(work, names, options.patience, alone=options.without_ray)
        files = [work / "results.jsonl"]
    results = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    results = [result for result in results if result["name"] in names]
    if left := set(names) - {result["name"] for result in results}:
        print(f"not run: {', '.join(sorted(left))}", file=sys.stderr)
        code = 1
    if not options.lane:
        print(summary(results, time.monotonic() - began))
    # Threads of a proxy may still hold a connection; nothing is left for them to do.
    sys.stdout.flush()
    os._exit(code or int(any(not result["right"] for result in results)))


if __name__ == "__main__":
    main()
