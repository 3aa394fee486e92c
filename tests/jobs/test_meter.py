"""Samples add up by stage; CPU and memory are told per worker."""

from __future__ import annotations

import subprocess
import sys
import time

import psutil
import pytest

from jobs.meter import Meter, Sample, _Family, measure


def _sample(worker: str, cpu: float, rss: int) -> Sample:
    return Sample(
        stage="parse",
        worker=worker,
        seconds=1.5,
        cpu_seconds=cpu,
        rss_bytes=rss,
        counts={"documents": 2, "failed": 1},
    )


def test_totals_add_counts_and_keep_the_newest_cpu_and_the_highest_memory() -> None:
    """CPU seconds grow within a worker and add up over workers; memory is a peak."""
    meter = Meter()
    for sample in (_sample("a", 1.0, 100), _sample("a", 3.0, 50), _sample("b", 2.0, 70)):
        meter.add(sample)
    totals = meter.totals()["parse"]
    assert totals.counts == {"documents": 6, "failed": 3}
    assert (totals.seconds, totals.cpu_seconds, totals.peak_rss_bytes) == (4.5, 5.0, 100)
    assert totals.as_dict()["workers"] == 2


def test_a_measure_is_of_this_process() -> None:
    """CPU time and memory are positive, and the worker has a name."""
    sample = measure("embed", 0.1, {"documents": 1})
    assert sample.cpu_seconds > 0
    assert sample.rss_bytes > 2**20
    assert sample.worker


def test_many_measures_ask_the_system_for_its_processes_once_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Measuring small documents does not read the whole list of processes for each."""
    looks: list[int] = []
    found = psutil.Process.children
    monkeypatch.setattr(
        psutil.Process,
        "children",
        lambda self, recursive=False: looks.append(1) or found(self, recursive=recursive),
    )
    began = time.monotonic()
    for _ in range(200):
        measure("parse", 0.0, {})
    assert len(looks) <= time.monotonic() - began + 1


def test_a_child_that_has_ended_is_still_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """CPU time of a process never falls when a descendant that was known ends."""
    monkeypatch.setattr("jobs.meter._FAMILY_SECONDS", 0.0)
    monkeypatch.setattr("jobs.meter._family", _Family())
    work = "sum(range(3_000_000)); input()"
    with subprocess.Popen([sys.executable, "-c", work], stdin=subprocess.PIPE) as child:
        while psutil.Process(child.pid).cpu_times().user == 0:
            time.sleep(0.01)
        monkeypatch.setattr("jobs.meter._FAMILY_SECONDS", 60.0)
        before = measure("parse", 0.0, {})
        child.communicate(b"\n")
    after = measure("parse", 0.0, {})
    assert after.cpu_seconds >= before.cpu_seconds
    assert after.rss_bytes < before.rss_bytes
