"""The sample documents and what a right conversion of each holds (``samples.tsv``)."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

__all__ = ["SAMPLES", "Sample", "samples"]

SAMPLES = Path(__file__).resolve().parent / "samples"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One sample: its key below :data:`SAMPLES` and its right outcome.

    ``error_kind`` is None for a document that converts; ``phrase`` is then in its text.
    """

    key: str
    status: str
    error_kind: str | None
    phrase: str

    @property
    def path(self) -> Path:
        """The file itself."""
        return SAMPLES / self.key


def samples() -> list[Sample]:
    """Return all samples, sorted by key."""
    table = SAMPLES.with_suffix(".tsv")
    with table.open(encoding="utf-8", newline="") as lines:
        return [
            Sample(
                key=row["path"],
                status=row["status"],
                error_kind=row["error_kind"] or None,
                phrase=row["phrase"],
            )
            for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]
