"""What the README says of columns, kinds, keys and files is what the code has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from chunking import schemas
from chunking.errors import ERROR_KINDS
from chunking.model import SPLIT_REASONS
from jobs.config import Config

CHECKOUT = Path(__file__).resolve().parents[1]
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("chunks", schemas.chunks_schema(1).names),
        ("boundaries", schemas.BOUNDARIES.names),
        ("documents", schemas.DOCUMENTS.names),
        ("changes/run=.../", schemas.CHANGES.names),
    ],
)
def test_columns(table: str, columns: list[str]) -> None:
    """The row of each table lists all its columns in their order."""
    (row,) = re.findall(rf"^\| `{re.escape(table)}` \|.*\| `([^`]*)` \|$", README, re.MULTILINE)
    assert row.split() == columns


@pytest.mark.parametrize("kinds", [ERROR_KINDS, SPLIT_REASONS], ids=["errors", "reasons"])
def test_closed_lists(kinds: frozenset[str]) -> None:
    """The closed lists stand in the README, complete."""
    lists = [set(text.split()) for text in re.findall(r"`([a-z_ ]+)`", README)]
    assert set(kinds) in lists


def test_configuration_keys() -> None:
    """Each key of the table of settings exists."""
    keys = re.findall(r"^\| `([a-z_]+)\.([a-z_]+)` \|", README, re.MULTILINE)
    assert len(keys) >= 5
    sections = Config.model_fields
    wrong = [
        f"{section}.{key}"
        for section, key in keys
        if section not in sections or not hasattr(getattr(Config(), section), key)
    ]
    assert wrong == []


def test_the_map_names_files_that_exist() -> None:
    """Every path in the map of the code exists, and no package is left out of it."""
    text = README.partition("## Read the code")[2]
    named = re.findall(r"`((?:chunking|jobs|tests|scripts|cluster)/[\w./]*)`", text)
    assert [path for path in named if not (CHECKOUT / path).exists()] == []
    packages = {
        f"{path.parent.relative_to(CHECKOUT).as_posix()}/"
        for package in ("chunking", "jobs")
        for path in (CHECKOUT / package).rglob("__init__.py")
    }
    assert {p for p in packages if not any(name.startswith(p) for name in named)} == set()
