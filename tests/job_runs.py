"""Starting the program as a user does, and comparing what it wrote."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.dataset as pads

__all__ = [
    "CHECKOUT",
    "FAST",
    "chunkmill",
    "make_texts",
    "rows",
    "same_rows",
    "start",
    "wait_until",
]

CHECKOUT = Path(__file__).resolve().parents[1]
FAST = ("--set", "model.name=hash:16", "--set", "limits.lease_seconds=3")
"""The hashing test double instead of a model, and a lease that expires soon."""

_LIMIT_SECONDS = 540


def _command(arguments: tuple[str | Path, ...]) -> list[str]:
    return [sys.executable, "-m", "jobs", *map(str, arguments)]


def chunkmill(
    *arguments: str | Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the program to its end."""
    return subprocess.run(
        _command(arguments),
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=_LIMIT_SECONDS,
        check=False,
        env=environment,
    )


def start(*arguments: str | Path, log: Path) -> subprocess.Popen[bytes]:
    """Start the program in the background, its words in ``log``."""
    with log.open("ab") as stream:
        return subprocess.Popen(
            _command(arguments), cwd=CHECKOUT, stdout=stream, stderr=stream, start_new_session=True
        )


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Wait for a state of the dataset while the process is alive."""
    deadline = time.monotonic() + _LIMIT_SECONDS
    while not condition():
        assert process.poll() is None, "the process ended before"
        assert time.monotonic() < deadline, "the state was not reached"
        time.sleep(0.05)


def make_texts(folder: Path, count: int) -> Path:
    """Write small Markdown documents that differ."""
    folder.mkdir(parents=True)
    for number in range(count):
        sentences = " ".join(
            f"Berth {number} takes vessel {number * 100 + i} on day {i}." for i in range(30)
        )
        (folder / f"note-{number:03}.md").write_text(f"# Note {number}\n\n{sentences}\n")
    return folder


def rows(dataset: Path, table: str) -> list[dict[str, Any]]:
    """Return a table's rows as any reader of the plain directory sees them."""
    return pads.dataset(dataset / table, format="parquet").to_table().to_pylist()


def same_rows(left: Path, right: Path) -> str:
    """Return the differences between two datasets as text, empty if there are none."""
    compared = subprocess.run(
        [sys.executable, CHECKOUT / "scripts" / "compare_datasets.py", left, right],
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if compared.returncode == 0 else compared.stdout + compared.stderr
