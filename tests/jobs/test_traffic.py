"""What was asked of the stores is counted by role, and taken once."""

from __future__ import annotations

from pathlib import Path

from jobs.adapters.stores.local import LocalStore
from jobs.meter import Meter, Sample, report_costs
from jobs.traffic import TRAFFIC, store_report


def test_a_folder_counts_what_it_is_asked(tmp_path: Path) -> None:
    """Operations and bytes are counted under the role of the store; a missing object is none."""
    TRAFFIC.take()
    source, dataset = LocalStore(tmp_path, role="source"), LocalStore(tmp_path)
    dataset.put("a", b"four")
    assert dataset.create("b", b"12345")
    dataset.copy("a", "c")
    assert source.get("a") == b"four"
    assert source.get_tail("b", 2) == b"45"
    assert source.head("d") is None
    assert len(list(source.list())) == 3
    dataset.delete("c")
    counted = store_report(TRAFFIC.take())
    assert counted["source"]["requests"] == {"get": 2, "head": 1, "list": 1}
    assert counted["source"]["bytes_read"] == 6
    # A copy in a folder reads its source itself.
    assert counted["dataset"]["requests"] == {
        "copy": 1,
        "create": 1,
        "delete": 1,
        "get": 1,
        "put": 1,
    }
    assert counted["dataset"]["bytes_written"] == 13
    assert counted["dataset"]["failures"] == 0
    assert TRAFFIC.take() == {}


def test_the_report_adds_up_all_processes() -> None:
    """What travelled with the workers' samples and what this process asked are one sum."""
    TRAFFIC.take()
    meter = Meter()
    for stage in ("parse", "publish"):
        counts = {"source.requests.get": 2, "source.wait_seconds": 0.25}
        meter.add(
            Sample(
                stage=stage,
                worker="w",
                seconds=1,
                cpu_seconds=1,
                rss_bytes=1,
                counts={},
                store=counts,
            )
        )
    TRAFFIC.request("source", "get")
    TRAFFIC.add("source", "retries", 1)
    report = report_costs(meter.totals())
    asked = report["store"]["source"]  # type: ignore[index]
    assert asked["requests"] == {"get": 5}
    assert (asked["retries"], asked["wait_seconds"]) == (1, 0.5)
    assert set(report["stages"]) == {"parse", "publish"}  # type: ignore[arg-type, call-overload]
