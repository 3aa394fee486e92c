"""What a whole job costs: ``python scripts/bench/job.py SRC [options of chunkmill run]``.

Runs ``chunkmill run SRC`` into a temporary folder and watches every process it starts,
twice a second. Prints documents/s and MB/s, the CPU seconds of each stage, the peak
memory of each kind of process, and the share of the CPU time that is Ray's own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
EVERY_SECONDS = 0.5
MIB = 2**20


def kind_of(process: psutil.Process) -> str:
    """Return what a process is for."""
    line = " ".join(process.cmdline())
    if "jobs.parsing" in line:
        return "parsing children"
    if "FetchParse" in line:
        return "parse actors"
    if "EmbedUnit" in line:
        return "embed actors"
    if "-m jobs" in line:
        return "driver"
    # Commits and publications run in Ray's plain workers; the report counts their CPU time.
    return "ray workers" if line.startswith("ray::") else "ray services"


@dataclass(kw_only=True)
class Watch:
    """CPU seconds and peak memory by process; the last state seen of each counts."""

    kinds: dict[int, str] = field(default_factory=dict)
    cpu: dict[int, float] = field(default_factory=dict)
    peak: dict[int, int] = field(default_factory=dict)

    def look(self, root: psutil.Process) -> None:
        """Take note of every living process below ``root``."""
        for process in _tree(root):
            try:
                times, memory = process.cpu_times(), process.memory_info().rss
                self.kinds[process.pid] = kind_of(process)
            except psutil.NoSuchProcess:
                continue
            self.cpu[process.pid] = times.user + times.system
            self.peak[process.pid] = max(self.peak.get(process.pid, 0), memory)

    def by_kind(self) -> Iterator[tuple[str, int, float, int]]:
        """Yield kind, number of processes, CPU seconds, and the peak memory of one process."""
        for kind in sorted(set(self.kinds.values())):
            pids = [pid for pid, found in self.kinds.items() if found == kind]
            yield kind, len(pids), sum(self.cpu[p] for p in pids), max(self.peak[p] for p in pids)


def _tree(root: psutil.Process) -> list[psutil.Process]:
    try:
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def main() -> int:
    """Run the job and print the table."""
    source, *options = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="chunkmill-bench-") as folder:
        command = [sys.executable, "-m", "jobs", "run", source, f"{folder}/out", "--json"]
        command += ["--max-failed", "100%", *options]
        began = time.monotonic()
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        watch = Watch()
        while process.poll() is None:
            watch.look(psutil.Process(process.pid))
            time.sleep(EVERY_SECONDS)
        seconds = time.monotonic() - began
        output = process.stdout.read() if process.stdout else ""
    if process.returncode:
        return process.returncode
    show(json.loads(output)["report"], watch, seconds)
    return 0


def show(report: dict[str, object], watch: Watch, seconds: float) -> None:
    """Print the figures."""
    stages: dict[str, dict[str, float]] = report["stages"]  # type: ignore[assignment]
    read = stages["parse"]["bytes"] / 1e6
    planned = int(str(report["planned"]))
    print(f"{planned} documents, {read:.1f} MB, {report['tokens']} tokens in {seconds:.1f} s")
    print(f"{planned / seconds:.2f} documents/s, {read / seconds:.3f} MB/s")
    for name, stage in stages.items():
        print(f"stage {name}: wall {stage['seconds']:.1f} s, CPU {stage['cpu_seconds']:.1f} s")
    rows = list(watch.by_kind())
    total = sum(cpu for _, _, cpu, _ in rows)
    for kind, number, cpu, peak in rows:
        print(f"{kind}: {number} processes, CPU {cpu:.1f} s, peak {peak / MIB:.0f} MiB each")
    own = sum(cpu for kind, _, cpu, _ in rows if kind == "ray services")
    print(f"Ray's own services: {own / total:.1%} of {total:.1f} CPU seconds")


if __name__ == "__main__":
    sys.exit(main())
