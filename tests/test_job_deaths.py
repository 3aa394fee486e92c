"""Documents that kill the worker itself, in a whole job on a real Ray."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from jobs.protocol.fail_points import VARIABLE
from tests.job_runs import FAST, chunkmill, make_texts, rows, same_rows

pytestmark = [pytest.mark.ray, pytest.mark.slow]

SETTINGS = (
    *FAST,
    *("--set", "resources.unit_documents=4", "--set", "output.n_buckets=2"),
    *("--set", "resources.cpus=2", "--set", "limits.attempts=2", "--json"),
)
PARSE, EMBED = "note-003.md", "note-007.md"
DEADLY = os.environ | {VARIABLE: f"parse.document@{PARSE};embed.document@{EMBED}"}


def _innocent(out: Path, table: str) -> list[dict[str, Any]]:
    """Return the rows of the other documents, without what may differ."""
    varies = ("run_id", "attempts", "parse_seconds", "embed_seconds", "sentences_ref")
    return sorted(
        (
            {name: value for name, value in row.items() if name not in varies}
            for row in rows(out, table)
            if row.get("source_key") not in (PARSE, EMBED)
        ),
        key=repr,
    )


def _report(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(done.stdout)["report"]
    return report


def test_two_deadly_documents_cost_themselves_and_are_tried_again(tmp_path: Path) -> None:
    """One kills the parsing, one the embedding worker, always: two rows say so, no other differs.

    A later run tries them again, as often as other failures; once they kill no more, all
    rows are those of a run that nothing disturbed.
    """
    source = make_texts(tmp_path / "in", 12)
    out, plain = tmp_path / "out", tmp_path / "plain"
    undisturbed = chunkmill("run", source, plain, *SETTINGS)
    assert undisturbed.returncode == 0, undisturbed.stderr
    assert "deaths" not in _report(undisturbed)
    for attempt in (1, 2):
        done = chunkmill("run", source, out, *SETTINGS, environment=DEADLY)
        assert done.returncode == 3, done.stderr
        report = _report(done)
        assert report["planned"] == (12 if attempt == 1 else 2)
        assert report["errors"] == {"crashed": 2}
        assert report["deaths"] == {
            "workers": {"FetchParse": 3, "EmbedUnit": 3},
            "with_node": 0,
            "documents_given_up": 2,
        }
        failed = [row for row in rows(out, "documents") if row["status"] == "failed"]
        assert {row["source_key"]: row["error_stage"] for row in failed} == {
            PARSE: "parse",
            EMBED: "embed",
        }
        assert all(row["error_kind"] == "crashed" and row["retryable"] for row in failed)
        assert all(row["attempts"] == attempt for row in failed)
        for table in ("documents", "chunks"):
            assert _innocent(out, table) == _innocent(plain, table)
    assert _report(chunkmill("run", source, out, *SETTINGS))["planned"] == 0
    mended = chunkmill("run", source, out, *SETTINGS, "--retry-failed")
    assert mended.returncode == 0, mended.stderr
    assert same_rows(plain, out) == ""
