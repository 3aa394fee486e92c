"""Regular expressions that every Python we run on can end: 3.11.0 to 3.11.4 have a defect.

Before 3.11.5 a possessive repeat of a group, or an atomic group, may search without end.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
MODULES = [
    ".".join(path.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__")
    for package in ("chunking", "jobs")
    for path in sorted((CHECKOUT / package).rglob("*.py"))
    if "re.compile" in path.read_text("utf-8")
]
_parser: Any = vars(re)["_parser"]
_constants: Any = vars(re)["_constants"]


@pytest.mark.parametrize("module", MODULES)
def test_only_single_characters_are_repeated_possessively(module: str) -> None:
    """A run of characters may be taken whole; a run of groups may not."""
    patterns = list(_patterns(module))
    wrong = [p.pattern[:80] for p in patterns if _has_group(_parser.parse(p.pattern, p.flags))]
    assert wrong == []


@pytest.mark.parametrize("pattern", [r"a(?:bc)*+", r"(?P<x>b)?+", r"(?>ab)", r"(a|[b](?:cd)++)*"])
def test_possessive_groups_are_seen(pattern: str) -> None:
    """Wherever in the pattern they stand."""
    assert _has_group(_parser.parse(pattern))


@pytest.mark.parametrize("pattern", [r"[ab]*+", r"\s?+x", r"(?:ab)*", r"(a[b]*+)+", r".*+"])
def test_single_characters_are_not(pattern: str) -> None:
    """They never hang."""
    assert not _has_group(_parser.parse(pattern))


def _patterns(module: str) -> Iterator[re.Pattern[str]]:
    for value in vars(importlib.import_module(module)).values():
        values = value.values() if isinstance(value, dict) else value
        for each in values if isinstance(value, tuple | list | dict) else (value,):
            if isinstance(each, re.Pattern):
                yield each


def _has_group(parsed: Any) -> bool:
    """Whether a parsed pattern holds an atomic group or a possessive repeat of more than a set."""
    return any(_is_group(operator, value) or _below(value) for operator, value in parsed)


def _is_group(operator: Any, value: Any) -> bool:
    if operator is _constants.ATOMIC_GROUP:
        return True
    if operator is not _constants.POSSESSIVE_REPEAT:
        return False
    repeated = list(value[2])
    single = ("IN", "LITERAL", "NOT_LITERAL", "ANY", "CATEGORY")
    return len(repeated) != 1 or str(repeated[0][0]) not in single


def _below(value: Any) -> bool:
    if isinstance(value, _parser.SubPattern):
        return _has_group(value)
    return isinstance(value, tuple | list) and any(map(_below, value))
