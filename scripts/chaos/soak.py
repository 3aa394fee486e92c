"""The memory of jobs over a long time: ``python scripts/chaos/soak.py WORK [--minutes 30]``.

Runs ``chunkmill run`` over many small documents of a few formats; when it is done, a part of
them is changed and it runs again, until the time is over; the last run is stopped by SIGTERM.
Every few seconds the memory, open files and threads of its processes are written to
WORK/soak.csv, by what the processes are for, and in the end drawn in WORK/soak.svg.

Judged is each run by itself, once it is warm: by the slope of a straight line through what a
kind of process holds, in the longest stretch that it lived. Exits 1 where a line rises by more
than ``--noise`` of its middle and by more than ``--noise-mb`` (or files and threads by more
than ``--noise-count``) over that stretch.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from process_memory import Held, held_by_kind  # noqa: E402 - run by path, not installed

MIB = 2**20
WARM_SHARE = 0.25
"""Of a stretch, while which everything that is loaded when first needed comes."""
LEAST_SAMPLES = 24
LEAST_SHARE = 0.5
"""A kind that was not there at more of a run's samples is not judged: it comes and goes."""
NUMBERS = ("private", "shared", "files", "threads")
STOP_SECONDS = 300
LEAST_SECONDS = 60
"""What must be left for another run: one that is stopped while it loads dies by the signal."""
WORDS = [
    "harbour",
    "ledger",
    "willow",
    "stone",
    "copper",
    "river",
    "signal",
    "quay",
    "vessel",
    "berth",
    "crane",
    "tide",
]
COLOURS = ("#0b6", "#06c", "#c33", "#a5a", "#e80", "#555", "#099", "#960", "#369")


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What one kind of process held at one moment of one run; seconds since the start."""

    seconds: float
    run: int
    kind: str
    held: Held


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A straight line through one number of one kind, in the units of a table."""

    kind: str
    number: str
    run: int
    hours: float
    start: float
    end: float
    peak: float
    slope: float

    def grows(self, options: argparse.Namespace) -> bool:
        """Tell whether it rises beyond noise over its stretch."""
        rise = self.slope * self.hours
        least = options.noise_mb if self.number in ("private", "shared") else options.noise_count
        return bool(rise > max(least, options.noise * (self.start + self.end) / 2))


def write_document(folder: Path, number: int, version: int) -> None:
    """Write one small document: text, Markdown, HTML or CSV, by its number."""
    rng = random.Random(number * 1_000 + version)  # noqa: S311 - texts, not secrets
    sentences = [
        " ".join(rng.choices(WORDS, k=rng.randint(4, 30))).capitalize() + "."
        for _ in range(rng.randint(2, 12))
    ]
    head, body = f"Note {number} of version {version}", " ".join(sentences)
    name, text = [
        ("txt", f"{head}\n\n{body}\n"),
        ("md", f"# {head}\n\n{body}\n\n- {sentences[0]}\n- {sentences[1]}\n"),
        ("html", f"<html><body><h1>{head}</h1><p>{body}</p></body></html>"),
        ("csv", "n,word\n" + "".join(f"{i},{sentence}\n" for i, sentence in enumerate(sentences))),
    ][number % 4]
    path = folder / f"{number // 1000:03d}" / f"note-{number:06d}.{name}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@dataclass(kw_only=True)
class Soak:
    """The runs, and what was seen of them."""

    options: argparse.Namespace
    began: float = field(default_factory=time.monotonic)
    points: list[Point] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.began

    def go(self, source: Path, dst: Path) -> None:
        """Run again and again, with a part of the source changed before each but the first."""
        end = self.options.minutes * 60
        for number in itertools.count():
            changed = range(0, self.options.documents, 3) if number else ()
            for document in changed:
                write_document(source, document, number)
            self._run(number, source, dst, end)
            if self.seconds >= end - LEAST_SECONDS or self.codes[-1] != 0:
                return

    def _run(self, number: int, source: Path, dst: Path, end: float) -> None:
        command = [sys.executable, "-m", "jobs", "run", str(source), str(dst), "-q"]
        for setting in ("model.name=hash:64", *self.options.set):
            command += ["--set", setting]
        with subprocess.Popen(command, cwd=ROOT) as job:
            while job.poll() is None:
                if self.seconds >= end:
                    break
                self._look(number, job.pid)
                time.sleep(self.options.every)
            stopped = job.poll() is None
            if stopped:
                job.send_signal(signal.SIGTERM)
            code = job.wait(STOP_SECONDS)
        # A run that was stopped says so by 1, after it has published what was committed.
        self.codes.append(0 if stopped and code == 1 else code)

    def _look(self, run: int, pid: int) -> None:
        seconds = self.seconds
        for kind, held in held_by_kind([pid]).items():
            self.points.append(Point(seconds=seconds, run=run, kind=kind, held=held))


def scaled(held: Held, number: str) -> float:
    """Return a number in the unit of the table: MiB, or a count."""
    value = float(getattr(held, number))
    return value / MIB if number in ("private", "shared") else value


def lines(points: Sequence[Point]) -> Iterator[Line]:
    """Yield a line for each number of each kind in the run in which it was seen longest."""
    runs: dict[int, list[Point]] = {}
    for point in points:
        runs.setdefault(point.run, []).append(point)
    longest = max(runs, key=lambda run: runs[run][-1].seconds - runs[run][0].seconds)
    moments = len({point.seconds for point in runs[longest]})
    for kind in sorted({point.kind for point in runs[longest]}):
        stretch = [point for point in runs[longest] if point.kind == kind]
        warm = stretch[int(len(stretch) * WARM_SHARE) :]
        if len(warm) < LEAST_SAMPLES or len(stretch) < LEAST_SHARE * moments:
            continue
        hours = np.array([point.seconds for point in warm]) / 3600
        for number in NUMBERS:
            values = np.array([scaled(point.held, number) for point in warm])
            slope, base = np.polyfit(hours, values, 1)
            yield Line(
                kind=kind,
                number=number,
                run=longest,
                hours=float(hours[-1] - hours[0]),
                start=float(base + slope * hours[0]),
                end=float(base + slope * hours[-1]),
                peak=max(scaled(point.held, number) for point in stretch),
                slope=float(slope),
            )


def write_csv(path: Path, points: Sequence[Point]) -> None:
    """Write every sample."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["seconds", "run", "kind", *Held.__slots__])
        for point in points:
            numbers = [getattr(point.held, name) for name in Held.__slots__]
            writer.writerow([f"{point.seconds:.1f}", point.run, point.kind, *numbers])


def drawn(points: Sequence[Point]) -> str:
    """Return the curves of private memory by kind as SVG."""
    width, height, margin = 900, 420, 60
    last = max(point.seconds for point in points)
    most = max(point.held.private for point in points)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width + 180} {height + 2 * margin}"'
        ' font-family="sans-serif" font-size="12">',
        f'<path d="M{margin} {margin}V{margin + height}H{margin + width - margin}"'
        ' fill="none" stroke="#999"/>',
        f'<text x="{margin}" y="{margin - 10}">{most / MIB:.0f} MiB</text>',
        f'<text x="{width - 60}" y="{margin + height + 20}">{last / 60:.0f} min</text>',
    ]
    for number, kind in enumerate(sorted({point.kind for point in points})):
        curve = [point for point in points if point.kind == kind]
        places = " ".join(
            f"{margin + point.seconds / last * (width - margin):.1f},"
            f"{margin + height * (1 - point.held.private / most):.1f}"
            for point in curve
        )
        colour = COLOURS[number % len(COLOURS)]
        parts.append(f'<polyline points="{places}" fill="none" stroke="{colour}"/>')
        at = f'x="{width + 10}" y="{margin + 18 * number}"'
        parts.append(f'<text {at} fill="{colour}">{kind}</text>')
    return "\n".join([*parts, "</svg>\n"])


def main() -> int:
    """Soak, write and judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--documents", type=int, default=60_000)
    parser.add_argument("--every", type=float, default=5, help="seconds between two samples")
    parser.add_argument("--noise", type=float, default=0.1, help="share of the middle")
    parser.add_argument("--noise-mb", type=float, default=48)
    parser.add_argument("--noise-count", type=float, default=16)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    source = options.work / "source"
    if not source.exists():
        for number in range(options.documents):
            write_document(source, number, 0)
    soak = Soak(options=options)
    try:
        soak.go(source, options.work / "out")
    finally:
        write_csv(options.work / "soak.csv", soak.points)
    (options.work / "soak.svg").write_text(drawn(soak.points))
    print(f"{len(soak.codes)} runs in {soak.seconds / 60:.1f} min, exit codes {soak.codes}")
    print(
        "| kind | number | minutes | start | end | peak | slope per hour |",
        f"{'|---' * 7}|",
        sep="\n",
    )
    found = list(lines(soak.points))
    for line in found:
        mark = " GROWS" if line.grows(options) else ""
        print(
            f"| {line.kind} | {line.number} | {line.hours * 60:.0f} | {line.start:.1f} | "
            f"{line.end:.1f} | {line.peak:.1f} | {line.slope:+.1f}{mark} |"
        )
    return int(any(soak.codes) or any(line.grows(options) for line in found))


if __name__ == "__main__":
    os.environ.setdefault("RAY_worker_niceness", "0")
    sys.exit(main())
