"""Chunking settings refuse what cannot work, in words that name the key."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from chunking.errors import ConfigError
from chunking.settings import PRESETS, ChunkingSettings


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_presets_are_valid(name: str) -> None:
    """Every preset makes settings, and its cap is the contract's."""
    settings = ChunkingSettings(**PRESETS[name])  # type: ignore[arg-type]
    assert settings.max_tokens == {"small": 200, "large": 400}[name.removesuffix("+")]
    assert settings.vectors == ("blend" if name.endswith("+") else "late")
    assert bool(settings.neighbour_weight) == name.endswith("+")


def test_defaults_are_the_small_preset() -> None:
    """Without any key the settings are those of `small`."""
    assert ChunkingSettings() == ChunkingSettings(**PRESETS["small"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"max_tokens": 15, "min_tokens": 0, "target_tokens": 10}, "max_tokens"),
        ({"min_tokens": 130}, "min_tokens"),
        ({"target_tokens": 201}, "target_tokens"),
        ({"min_tokens": -1}, "min_tokens"),
        ({"boundaries": "fixed", "overlap": 200}, "overlap"),
        ({"boundaries": "fixed", "overlap": -1}, "overlap"),
        ({"boundaries": "semantic", "overlap": 10}, "overlap"),
        ({"threshold": 101.0}, "threshold"),
        ({"threshold": float("nan")}, "threshold"),
        ({"threshold_type": "gradient", "threshold": 101.0}, "threshold"),
        ({"threshold_type": "stddev", "threshold": float("inf")}, "threshold"),
        ({"boundaries": "recursive", "target_chars": 500}, "target_chars"),
        ({"boundaries": "fixed", "target_chars": 0}, "target_chars"),
        ({"buffer": -1}, "buffer"),
        ({"min_sentences": 0}, "min_sentences"),
        ({"vectors": "blend", "neighbour_weight": -0.1}, "neighbour_weight"),
        ({"vectors": "blend", "neighbour_weight": 1.0}, "neighbour_weight"),
        ({"vectors": "blend", "neighbour_weight": float("nan")}, "neighbour_weight"),
        ({"vectors": "blend", "neighbour_weight": float("inf")}, "neighbour_weight"),
        ({"vectors": "late", "neighbour_weight": 0.1}, "neighbour_weight"),
        ({"vectors": "chunk", "neighbour_weight": 0.1}, "neighbour_weight"),
        ({"vectors": "none", "neighbour_weight": 0.1}, "neighbour_weight"),
    ],
)
def test_what_cannot_work_is_refused(given: dict[str, Any], named: str) -> None:
    """A bad value or combination raises, and the message names the key."""
    with pytest.raises(ConfigError, match=named):
        ChunkingSettings(**given)


@pytest.mark.parametrize("kind", ["stddev", "interquartile", "absolute"])
def test_only_percentiles_are_bounded_by_a_hundred(kind: Any) -> None:
    """A threshold of another type is not read as a percentile."""
    assert ChunkingSettings(threshold_type=kind, threshold=101.0).threshold == 101.0


def test_overlap_below_the_cap_is_allowed() -> None:
    """Overlap in tokens works for the strategies that define it."""
    assert ChunkingSettings(boundaries="recursive", overlap=20).overlap == 20


def test_settings_are_frozen() -> None:
    """Settings cannot change after they were checked."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        ChunkingSettings().max_tokens = 10  # type: ignore[misc]
