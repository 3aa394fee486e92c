"""What a person sees while a job runs."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from jobs.meter import Meter, Sample
from jobs.progress import LogView, QuietView, Snapshot, describe, duration, make_view, render


def _snapshot(committed: int = 50) -> Snapshot:
    meter = Meter()
    for stage, counts in (
        ("parse", {"documents": 80, "failed": 3, "bytes": 2**21}),
        ("embed", {"documents": 60, "failed": 4, "tokens": 5000, "chunks": 70}),
    ):
        meter.add(
            Sample(stage=stage, worker="w", seconds=1, cpu_seconds=1, rss_bytes=1, counts=counts)
        )
    return Snapshot(
        elapsed=10.0,
        documents=100,
        committed=committed,
        buckets=4,
        published=1,
        stages=meter.totals(),
    )


def test_a_line_says_documents_failures_rate_and_time_left() -> None:
    """All that matters stands in one line."""
    assert describe(_snapshot()) == (
        "50/100 documents done (80 parsed, 4 failed), 70 chunks, 500 tokens/s,"
        " 1/4 buckets published, 10 s left"
    )


def test_the_time_left_is_unknown_at_first() -> None:
    """Nothing is estimated from nothing."""
    assert "time unknown left" in describe(_snapshot(committed=0))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.6, "1 min 00 s"), (185, "3 min 05 s"), (7620, "2 h 07 min")],
)
def test_durations(seconds: float, text: str) -> None:
    """Seconds are told in units that fit."""
    assert duration(seconds) == text


def test_a_log_has_a_line_every_few_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    """Many updates within the interval make one line, on stderr."""
    view = LogView(every=3600)
    for _ in range(10):
        view.update(_snapshot())
    view.close()
    captured = capsys.readouterr()
    assert captured.err.count("documents done") == 1
    assert captured.out == ""


def test_the_terminal_shows_every_stage() -> None:
    """The live table holds parse, embed, commit and publish with their counts."""
    console = Console(file=io.StringIO(), width=100)
    console.print(render(_snapshot()))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    for part in ("parse", "80 / 100", "embed", "60 / 100", "commit", "50 / 100", "1 / 4 buckets"):
        assert part in text
    assert "4 failed" in text
    assert "500 tokens/s" in text


def test_quiet_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    """With -q nothing is shown; without a terminal there are log lines."""
    view = make_view(-1)
    view.update(_snapshot())
    view.close()
    assert isinstance(view, QuietView)
    assert capsys.readouterr() == ("", "")
    assert isinstance(make_view(0), LogView)
