"""The judges of long and pressed jobs tell growth from noise, and read the job's own words."""

from __future__ import annotations

import argparse
import os
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from jobs.progress import Snapshot, describe

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts" / "chaos"
sys.path.insert(0, str(SCRIPTS))

from pressure import Followed  # noqa: E402
from process_memory import Held, Peaks, held_by_kind  # noqa: E402
from soak import Point, drawn, lines, write_csv  # noqa: E402

MIB = 2**20
OPTIONS = argparse.Namespace(noise=0.1, noise_mb=20.0, noise_count=16.0)


def _points(per_hour: float, minutes: int = 30, **more: Any) -> list[Point]:
    """Return the samples of a run whose driver warms up, and then grows by so many MiB an hour."""
    rng = random.Random(1)
    found = []
    for seconds in range(0, minutes * 60, 10):
        warming = min(seconds / 60, 1.0) * 200
        size = warming + per_hour * seconds / 3600 + rng.uniform(-8, 8)
        held = Held(processes=1, private=int(size * MIB), files=40, threads=12, **more)
        found.append(Point(seconds=float(seconds), run=0, kind="driver", held=held))
    return found


@pytest.mark.parametrize(("per_hour", "grows"), [(0.0, False), (20.0, False), (200.0, True)])
def test_a_slope_beyond_noise_is_growth(per_hour: float, *, grows: bool) -> None:
    """Warming up is no growth, nor is noise; a steady rise is."""
    by_number = {line.number: line for line in lines(_points(per_hour))}
    assert by_number["private"].grows(OPTIONS) is grows
    assert by_number["private"].slope == pytest.approx(per_hour, abs=15)
    assert not by_number["files"].grows(OPTIONS)


def test_what_comes_and_goes_is_not_judged() -> None:
    """A kind of process that lived for a small part of the run has no line."""
    visitor = Point(seconds=10.0, run=0, kind="parsing children", held=Held(private=MIB))
    assert {line.kind for line in lines([*_points(0.0), visitor])} == {"driver"}


def test_samples_are_written_and_drawn(tmp_path: Path) -> None:
    """The table has a row for each sample, the picture a curve for each kind."""
    points = _points(0.0, minutes=2)
    write_csv(tmp_path / "soak.csv", points)
    rows = (tmp_path / "soak.csv").read_text().splitlines()
    assert rows[0] == "seconds,run,kind,processes,private,shared,files,threads"
    assert len(rows) == 1 + len(points)
    assert drawn(points).count("<polyline") == 1


def test_processes_are_told_by_what_they_are_for() -> None:
    """The own process is found with memory, files and threads; peaks are kept number by number."""
    found = held_by_kind([os.getpid()])
    mine = found["other ray services"]
    assert mine.private > MIB
    assert mine.files > 0
    assert mine.threads > 0
    peaks = Peaks()
    peaks.take({"driver": Held(processes=1, private=5, files=1)})
    peaks.take({"driver": Held(processes=2, private=3, files=9)})
    assert peaks.by_kind == {"driver": Held(processes=2, private=5, files=9)}


def test_the_words_of_a_job_are_read() -> None:
    """How far parsing is ahead, and when the first bucket came, is told from the log."""
    followed = Followed()
    for parsed, committed, published in ((1_500, 32, 0), (1_800, 1_600, 1), (9_000, 8_900, 2)):
        snapshot = Snapshot(
            elapsed=1.0, documents=10_000, committed=committed, buckets=8, published=published
        )
        words = describe(snapshot).replace("(0 parsed", f"({parsed:,} parsed")
        followed.read(f"12:00:00 {words}\n")
    followed.read("a warning\n")
    assert followed.ahead == 1_468
    assert followed.first_published is not None
    assert followed.first_published.parsed == 1_800
    assert (followed.total, followed.others) == (10_000, ["a warning"])
