"""What a run with nothing to do costs: ``python scripts/bench/idle.py WORK [--documents N]``.

Makes N tiny texts in WORK/source and, in this process and with the hash embedder, the
dataset of them in WORK/out (or at ``--dst s3://bucket/prefix``, with ``--endpoint-url`` and
the credentials in the environment; ``--src`` likewise); what is there already is kept. Then
starts ``chunkmill run`` on both again, and prints seconds, the peak memory of that process,
and how many requests it sent to the stores. A listing counts once for each 1,000 keys.
Give the program at least two runs: the first one after the texts were made also waits for
the disk.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent

MIB = 2**20
PER_FOLDER = 1_000
PER_UNIT = 1_000
"""Larger units than a cluster's would be: the dataset is the same, and made in fewer steps."""


def make_texts(folder: Path, count: int) -> None:
    """Write tiny texts that differ, a thousand to a folder."""
    for number in range(count):
        path = folder / f"{number // PER_FOLDER:05d}" / f"note-{number:07d}.txt"
        if number % PER_FOLDER == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"Note {number}. Berth {number % 97} takes vessel {number * 31}.")


def settings_of(options: argparse.Namespace) -> list[str]:
    """Return the settings that the making and the runs share."""
    settings = ["model.name=hash:16", *options.set]
    if options.endpoint_url:
        settings.append(f"source.endpoint_url={options.endpoint_url}")
    return settings


def make(options: argparse.Namespace, src: str, dst: str) -> None:
    """Make the dataset, unless it is there, in a process of its own.

    What this one had in memory would count as the peak of those that it starts.
    """
    began = time.monotonic()
    job = [src, dst, str(PER_UNIT), *settings_of(options)]
    subprocess.run([sys.executable, str(HERE / "one_process.py"), *job], check=True)
    print(f"made in {time.monotonic() - began:.0f} s", flush=True)


def run_again(options: argparse.Namespace, src: str, dst: str) -> dict[str, object]:
    """Start the command as a user does; return its figures."""
    command = [sys.executable, "-m", "jobs", "run", src, dst, "--json", "-q"]
    for setting in settings_of(options):
        command += ["--set", setting]
    began = time.monotonic()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as started:
        output = started.stdout.read() if started.stdout else b""
        _, status, usage = os.wait4(started.pid, 0)
        started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        raise SystemExit(started.returncode)
    report = json.loads(output)["report"]
    return {
        "seconds": round(time.monotonic() - began, 2),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_mib": round(usage.ru_maxrss * 1024 / MIB),
        "listed": report["listed"],
        "planned": report["planned"],
        "requests": report.get("store"),
    }


def main() -> None:
    """Make what is missing, run and print."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--src", help="another source than the texts")
    parser.add_argument("--dst", help="another place than WORK/out")
    parser.add_argument("--endpoint-url")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    source = options.work / "source"
    if options.src is None and not source.exists():
        make_texts(source, options.documents)
    src, dst = options.src or str(source), options.dst or str(options.work / "out")
    make(options, src, dst)
    for _ in range(options.runs):
        print(json.dumps(run_again(options, src, dst)), flush=True)


if __name__ == "__main__":
    main()
