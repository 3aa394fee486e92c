"""Samples add up by stage; CPU and memory are told per worker."""

from __future__ import annotations

from jobs.meter import Meter, Sample, measure


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
