"""Kill a real job everywhere it can be killed, resume it, and compare with an undisturbed run.

    python scripts/chaos/kill_and_resume.py SRC WORK [--sample 200] [--model hash:64]

Takes a seeded sample of the files of SRC, runs the job once undisturbed, then once per
named fail point (the process that passes it sends itself SIGKILL), a few times with
``kill -9`` of the driver at a random moment, each time running again until it is done;
then with other unit sizes, worker counts, another order of the plan and all files
renamed. Every dataset must equal the undisturbed one row by row. One line each; exits
1 if anything differs.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from jobs.protocol.fail_points import FAIL_POINTS, VARIABLE  # noqa: E402 - needs the path above

DONE = (0, 3)
TRIES = 4
LIMIT_SECONDS = 1800


@dataclass(frozen=True, kw_only=True)
class Case:
    """One disturbed or varied run."""

    name: str
    settings: tuple[str, ...] = ()
    fail_point: str | None = None
    kill_after: float | None = None
    source: str = "src"
    changes_source: bool = False


@dataclass(kw_only=True)
class Harness:
    """Where the work lies and how the job is started."""

    work: Path
    base_settings: tuple[str, ...]
    failures: list[str] = field(default_factory=list)

    def start(self, case: Case, dst: Path, fail_point: str | None) -> subprocess.Popen[bytes]:
        """Start the job in a process group of its own."""
        environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
        if fail_point:
            environment[VARIABLE] = fail_point
        command = [sys.executable, "-m", "jobs", "run", str(self.work / case.source), str(dst)]
        command += ["--take-over", "--max-failed", "100%", "-q"]
        for setting in (*self.base_settings, *case.settings):
            command += ["--set", setting]
        log = (self.work / f"{dst.name}.log").open("ab")
        return subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True
        )

    def run(self, case: Case) -> tuple[Path, list[int], float]:
        """Run a case until it is done; return its dataset, the exit codes, the seconds."""
        dst = self.work / f"out-{case.name}"
        shutil.rmtree(dst, ignore_errors=True)
        began, codes = time.monotonic(), []
        for attempt in range(TRIES):
            first = attempt == 0
            process = self.start(case, dst, case.fail_point if first else None)
            if first and case.kill_after is not None:
                time.sleep(case.kill_after)
                process.send_signal(signal.SIGKILL)
            codes.append(process.wait(timeout=LIMIT_SECONDS))
            _end_group(process.pid)
            if codes[-1] in DONE:
                break
        return dst, codes, time.monotonic() - began

    def check(self, case: Case, base: Path) -> None:
        """Run a case, compare it with the undisturbed dataset, print one line."""
        dst, codes, seconds = self.run(case)
        command = [sys.executable, str(ROOT / "scripts/compare_datasets.py"), str(base), str(dst)]
        compared = subprocess.run(
            [*command, *(["--renamed"] if case.changes_source else [])],
            capture_output=True,
            text=True,
            check=False,
        )
        disturbed = case.fail_point is None and case.kill_after is None
        passed = "" if disturbed or codes[0] not in DONE else " (was not reached)"
        verdict = compared.stdout.strip().splitlines()[-1:] or [compared.stderr.strip()[-200:]]
        if compared.returncode or codes[-1] not in DONE:
            self.failures.append(case.name)
            print(compared.stdout)
        print(f"{case.name}: exit codes {codes}, {seconds:.0f} s, {verdict[0]}{passed}", flush=True)
        if not compared.returncode:
            shutil.rmtree(dst, ignore_errors=True)


def _end_group(pid: int) -> None:
    """End what a killed driver left in its process group; each group is our own."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def take_sample(source: Path, target: Path, size: int, seed: str) -> None:
    """Copy ``size`` files, chosen by a hash of their path and the seed."""
    files = sorted(path for path in source.rglob("*") if path.is_file())

    def rank(path: Path) -> str:
        return hashlib.sha256(f"{seed}/{path.relative_to(source)}".encode()).hexdigest()

    for path in sorted(files, key=rank)[:size]:
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)


def rename_all(source: Path, target: Path) -> None:
    """Copy every file under a name that says nothing."""
    target.mkdir(parents=True)
    for number, path in enumerate(sorted(p for p in source.rglob("*") if p.is_file())):
        shutil.copy2(path, target / f"file{number:05d}")


def cases(base_seconds: float, moments: int, seed: int, points: Sequence[str]) -> Iterator[Case]:
    """Yield every case."""
    chance = random.Random(seed)  # noqa: S311 - a schedule, not a secret
    for number in range(moments):
        yield Case(name=f"kill-{number}", kill_after=chance.uniform(3, base_seconds))
    for size in (1, 7, 32):
        yield Case(name=f"unit-{size}", settings=(f"resources.unit_documents={size}",))
    for workers in (1, 2):
        chosen = (f"resources.parse_workers={workers}", f"resources.embed_workers={workers}")
        yield Case(name=f"workers-{workers}", settings=chosen)
    yield Case(name="shuffled", settings=("resources.shuffle_seed=7",))
    yield Case(name="renamed", source="renamed", changes_source=True)
    for point in points:
        yield Case(name=f"fail-{point}", fail_point=point)


def main() -> int:
    """Run all cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--model", default="bundled:all-MiniLM-L6-v2")
    parser.add_argument("--moments", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="names of cases, or how they begin, by commas")
    options = parser.parse_args()
    sample = options.work / "src"
    if not sample.exists():
        take_sample(options.source, sample, options.sample, str(options.seed))
        rename_all(sample, options.work / "renamed")
    settings = (f"model.name={options.model}", "output.n_buckets=3", "resources.unit_documents=16")
    harness = Harness(work=options.work, base_settings=settings)
    base, codes, seconds = harness.run(Case(name="undisturbed"))
    print(f"undisturbed: exit codes {codes}, {seconds:.0f} s", flush=True)
    for case in cases(seconds, options.moments, options.seed, FAIL_POINTS):
        if case.name.startswith(tuple(options.only.split(","))):
            harness.check(case, base)
    print(f"{len(harness.failures)} cases differ: {', '.join(harness.failures) or 'none'}")
    return 1 if harness.failures else 0


if __name__ == "__main__":
    sys.exit(main())
