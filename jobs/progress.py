"""What a person sees while a job runs: one live view on a terminal, log lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.table import Table

from jobs.meter import Totals

__all__ = [
    "LogView",
    "ProgressView",
    "QuietView",
    "Snapshot",
    "TerminalView",
    "describe",
    "duration",
    "make_view",
    "render",
    "teller",
]

_LOG_EVERY_SECONDS = 5.0
_MIB = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The state of a run at one moment; documents and units are counts."""

    elapsed: float
    documents: int
    committed: int
    buckets: int
    published: int
    stages: Mapping[str, Totals] = field(default_factory=dict)

    def count(self, stage: str, name: str) -> float:
        """Return one of a stage's sums, 0 before its first unit."""
        totals = self.stages.get(stage)
        return totals.counts[name] if totals else 0

    @property
    def failed(self) -> int:
        """Documents that have failed so far, in any stage."""
        parsed, embedded = self.count("parse", "failed"), self.count("embed", "failed")
        return int(max(parsed, embedded))

    @property
    def tokens_per_second(self) -> float:
        """Document tokens embedded per second since the start."""
        return self.count("embed", "tokens") / self.elapsed if self.elapsed else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Estimate from the share of documents that are through; None at the start."""
        done = self.committed
        return self.elapsed * (self.documents - done) / done if done else None


class ProgressView(Protocol):
    """Shows snapshots until it is closed."""

    def update(self, snapshot: Snapshot) -> None:
        """Show the newest state."""
        ...

    def close(self) -> None:
        """Give the terminal back."""
        ...


class QuietView:
    """Shows nothing."""

    def update(self, snapshot: Snapshot) -> None:
        """Ignore the state."""

    def close(self) -> None:
        """Do nothing."""


class LogView:
    """One line every few seconds, for logs and pipes."""

    def __init__(self, every: float = _LOG_EVERY_SECONDS) -> None:
        self._every = every
        self._next = 0.0

    def update(self, snapshot: Snapshot) -> None:
        """Print a line if the last one is old enough."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + self._every
        stamp = time.strftime("%H:%M:%S")
        sys.stderr.write(f"{stamp} {describe(snapshot)}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Do nothing: every line is complete."""


class TerminalView:
    """A small table that is redrawn in place."""

    def __init__(self) -> None:
        self._live = Live(
            console=Console(stderr=True), refresh_per_second=4, transient=True, auto_refresh=True
        )
        self._live.start()

    def update(self, snapshot: Snapshot) -> None:
        """Redraw the table."""
        self._live.update(render(snapshot))

    def close(self) -> None:
        """Remove the table from the terminal."""
        self._live.stop()


def make_view(verbosity: int) -> ProgressView:
    """Return the view that fits the terminal (or the want of one) and ``-q``."""
    if verbosity < 0:
        return QuietView()
    return TerminalView() if sys.stderr.isatty() else LogView()


def describe(snapshot: Snapshot) -> str:
    """Return the state as one line."""
    return (
        f"{snapshot.committed:,}/{snapshot.documents:,} documents done"
        f" ({int(snapshot.count('parse', 'documents')):,} parsed,"
        f" {snapshot.failed:,} failed),"
        f" {int(snapshot.count('embed', 'chunks')):,} chunks,"
        f" {snapshot.tokens_per_second:,.0f} tokens/s,"
        f" {snapshot.published}/{snapshot.buckets} buckets published,"
        f" {_left(snapshot)} left"
    )


def duration(seconds: float) -> str:
    """Return seconds as ``12 s``, ``3 min 05 s`` or ``2 h 07 min``."""
    whole = round(seconds)
    if whole < 60:  # noqa: PLR2004 - seconds of a minute
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:  # noqa: PLR2004 - minutes of an hour
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def _left(snapshot: Snapshot) -> str:
    left = snapshot.seconds_left
    return "time unknown" if left is None else duration(left)


def render(snapshot: Snapshot) -> Table:
    """Return the state as a table, one row a stage."""
    rate = f"{snapshot.tokens_per_second:,.0f} tokens/s"
    table = Table(title=f"chunkmill  {duration(snapshot.elapsed)}, {_left(snapshot)} left")
    for heading, justify in (("stage", "left"), ("documents", "right"), ("", "left")):
        table.add_column(heading, justify="left" if justify == "left" else "right")
    read = snapshot.count("parse", "bytes") / _MIB
    rows = (
        (
            "parse",
            snapshot.count("parse", "documents"),
            f"{snapshot.failed} failed, {read:,.1f} MiB",
        ),
        ("embed", snapshot.count("embed", "documents"), rate),
        ("commit", snapshot.committed, f"{int(snapshot.count('embed', 'chunks')):,} chunks"),
    )
    for stage, done, note in rows:
        table.add_row(stage, f"{int(done):,} / {snapshot.documents:,}", note)
    table.add_row("publish", f"{snapshot.published} / {snapshot.buckets} buckets", "")
    return table


def teller(verbosity: int) -> Callable[[str], None]:
    """Return what tells a person why nothing happens yet, or not what was asked for."""

    def tell(message: str) -> None:
        if verbosity >= 0:
            sys.stderr.write(f"{message}\n")

    return tell
