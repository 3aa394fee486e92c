"""The closing words and the exit code."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jobs.adapters.stores.memory import MemoryStore
from jobs.journal import Tally
from jobs.protocol.plan import Plan
from jobs.protocol.planning import plan_run
from jobs.protocol.run import RunSettings
from jobs.records import SourceItem
from jobs.summary import Ending, print_ending, print_plan


def _plan() -> Plan:
    settings = RunSettings(
        source="memory", fingerprint="f", model={"dimension": 4, "name": "m"}, chunking={}
    )
    items = [
        SourceItem(source_key=f"k{i}", source_uri=f"u{i}", size=10, etag="e", location=f"k{i}")
        for i in range(3)
    ]
    return plan_run(items, {}, settings, n_buckets=1)


def _ending(report: dict[str, Any] | None, max_failed: str = "5%") -> Ending:
    return Ending(
        store=MemoryStore(),
        plan=_plan(),
        totals={},
        report=report,
        max_failed=max_failed,
        seconds=61.0,
    )


def _report(**documents: int) -> dict[str, Any]:
    return {
        "planned": 3,
        "listed": 3,
        "unchanged": 0,
        "deleted": 0,
        "documents": documents,
        "errors": {"corrupt": documents.get("failed", 0)},
        "changes": {"upsert": 7},
        "tokens": 1234,
        "dataset": {"documents": documents, "chunks": 7},
    }


@pytest.mark.parametrize(
    ("documents", "budget", "code"),
    [
        ({"ok": 100}, "0", 0),
        ({"ok": 95, "failed": 5}, "5%", 0),
        ({"ok": 94, "failed": 6}, "5%", 3),
        ({"ok": 1, "failed": 1}, "1", 0),
        ({"ok": 1, "failed": 2}, "1", 3),
        ({"skipped": 9, "ok": 1}, "0", 0),
    ],
)
def test_the_budget_decides_the_exit_code(
    documents: dict[str, int], budget: str, code: int
) -> None:
    """Only `failed` counts; a budget is a number or a share of all documents."""
    assert _ending(_report(**documents), budget).exit_code == code


def test_dead_workers_are_told_where_there_were_any(capsys: pytest.CaptureFixture[str]) -> None:
    """How many of which stage, how many went with their node, what was given up for it."""
    report = _report(ok=3)
    print_ending(_ending(report), as_json=False, verbosity=0)
    assert "workers" not in capsys.readouterr().out
    tally = Tally(workers={"FetchParse": 4, "EmbedUnit": 1}, with_node=2, given_up=1)
    print_ending(_ending(report | {"deaths": tally.as_dict()}), as_json=False, verbosity=0)
    text = capsys.readouterr().out
    for part in ("1 of EmbedUnit, 4 of FetchParse died", "2 went with", "killing theirs: 1"):
        assert part in text


def test_the_summary_says_what_where_and_how_to_read_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Status, error kinds, chunks, tokens, the output and a line that reads it."""
    assert print_ending(_ending(_report(ok=2, failed=1), "50%"), as_json=False, verbosity=0) == 0
    text = capsys.readouterr().out
    for part in ("3 documents processed", "1 failed, 2 ok", "corrupt 1", "1,234 tokens", "duckdb"):
        assert part in text


def test_an_exceeded_budget_is_said_even_when_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    """The reason for exit code 3 is never swallowed."""
    assert print_ending(_ending(_report(ok=1, failed=2)), as_json=False, verbosity=-1) == 3
    assert "more documents failed" in capsys.readouterr().err


def test_a_store_that_made_the_run_wait_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Retries and throttles are told where there were any, and only there."""
    calm = {"retries": 0, "throttles": 0, "failures": 0, "wait_seconds": 0.0}
    slow = {"retries": 1204, "throttles": 7, "failures": 1, "wait_seconds": 61.0}
    report = {**_report(ok=3), "store": {"source": slow, "dataset": calm}}
    print_ending(_ending(report), as_json=False, verbosity=0)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "repeated" in line]
    assert line == (
        "  source     1,204 requests repeated, 7 throttled, 1 given up; 1 min 01 s of waiting"
    )


def test_a_stopped_run_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    """The last line is the way to go on; the exit code is not 0."""
    assert print_ending(_ending(None), as_json=False, verbosity=0) == 1
    assert capsys.readouterr().out.strip().endswith("run the same command again to go on.")


def test_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    """Machines read one line."""
    print_ending(_ending(_report(ok=3)), as_json=True, verbosity=0)
    assert json.loads(capsys.readouterr().out)["exit_code"] == 0
    assert print_plan(_plan(), as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["to_process"] == 3
