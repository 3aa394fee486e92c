"""Foreign documents for tests: a folder ``shared`` beside the checkout, never committed.

``CHUNKMILL_SHARED`` names another place. Tests that need it carry :data:`requires_corpus`
and are skipped, with the reason, where it is absent.
"""

from __future__ import annotations

import csv
import html
import os
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

__all__ = [
    "BULK",
    "CORPUS",
    "EVAL",
    "HARD",
    "REPORTS",
    "BulkFile",
    "HardFile",
    "Report",
    "bulk_files",
    "hard_files",
    "normalise",
    "reports",
    "requires_corpus",
]

CHECKOUT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("CHUNKMILL_SHARED", CHECKOUT.parent / "shared"))
CORPUS = SHARED / "corpus"
HARD = CORPUS / "hard_and_ordinary"
REPORTS = CORPUS / "reports"
BULK = CORPUS / "bulk"
EVAL = SHARED / "eval"

requires_corpus = pytest.mark.skipif(
    not CORPUS.is_dir(),
    reason=f"needs the foreign documents in {CORPUS} (or set CHUNKMILL_SHARED)",
)
"""Skips a test, with the reason, where the foreign documents are absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HardFile:
    """One line of the manifest of hard and ordinary files.

    ``key``: path below :data:`HARD`; ``why_hard``: empty for an ordinary file;
    ``must_contain``: a text that the converted file has to hold, or empty.
    """

    key: str
    format: str
    size: int
    why_hard: str
    right_outcome: str
    must_contain: str

    @property
    def path(self) -> Path:
        """The file itself."""
        return HARD / self.key


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One minimal input after a public bug report, with the exact right behaviour."""

    key: str
    symptom: str
    right_behaviour: str

    @property
    def path(self) -> Path:
        """The file itself."""
        return REPORTS / self.key


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkFile:
    """One ordinary file."""

    key: str
    format: str
    size: int

    @property
    def path(self) -> Path:
        """The file itself."""
        return BULK / self.key


def hard_files() -> list[HardFile]:
    """Return the hard and ordinary files; none where the corpus is absent."""
    return [
        HardFile(
            key=row["path"],
            format=row["format"],
            size=int(row["size"]),
            why_hard=row["why_hard"],
            right_outcome=row["right_outcome"],
            must_contain=row["must_contain"],
        )
        for row in _rows(HARD / "manifest.tsv")
    ]


def reports() -> list[Report]:
    """Return the inputs after bug reports; none where the corpus is absent."""
    return [
        Report(
            key=Path(row["file"]).name,
            symptom=row["symptom"],
            right_behaviour=row["right_behaviour"],
        )
        for row in _rows(REPORTS / "reports.tsv")
    ]


def bulk_files() -> list[BulkFile]:
    """Return the ordinary files; none where the corpus is absent."""
    return [
        BulkFile(key=row["path"], format=row["format"], size=int(row["size"]))
        for row in _rows(BULK / "manifest.tsv")
    ]


def _rows(path: Path) -> Iterator[dict[str, str]]:
    if not path.exists():
        return
    with path.open(encoding="utf-8", newline=None) as lines:
        yield from csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)


_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def normalise(text: str) -> str:
    """Return the text as the manifests compare it.

    Markdown and HTML escapes undone, NFKC, blanks single, case folded.
    """
    plain = html.unescape(_ESCAPED.sub(r"\1", text))
    return " ".join(unicodedata.normalize("NFKC", plain).split()).casefold()
