"""The chunking part of the configuration: one choice for all, other ones for some documents.

A contract wants another threshold than a manual: an override names the documents it is
for, by a glob on the source key, by format, or both, and the keys that differ.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, model_validator

from chunking.errors import ConfigError
from chunking.settings import (
    PRESETS,
    ChunkingSettings,
    OverlapUnit,
    Separators,
    Strategy,
    ThresholdType,
    Vectors,
)
from jobs.formats import FORMATS
from jobs.globs import matches_key

__all__ = ["ChunkingConfig", "ChunkingOverride", "Section"]

Preset = Literal["small", "large", "small+", "large+"]


class Section(BaseModel):
    """A part of the configuration tree: frozen, unknown keys refused."""

    # YAML reads `max_failed: 10` and `revision: 123` as numbers where a text is meant.
    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, coerce_numbers_to_str=True
    )


class _ChunkingKeys(Section):
    boundaries: Strategy | None = None
    """Strategy that places boundaries."""
    vectors: Vectors | None = None
    """Vectors of the chunks."""
    max_tokens: int | None = None
    """Hard cap on prompt + prefix + text, special tokens included."""
    min_tokens: int | None = None
    """Smaller chunks are merged with a neighbour."""
    target_tokens: int | None = None
    """Size aimed at where the strategy leaves a choice."""
    target_chars: int | None = None
    """Size aimed at in characters, for `fixed` only; `target_tokens` counts if not given."""
    separators: Separators | None = None
    """Hierarchy that `recursive` cuts large blocks by; `auto` (the block's kind) if not given."""
    overlap: int | None = None
    """Repeated tokens or sentences (`fixed` and `recursive` only); 0 if not given."""
    overlap_unit: OverlapUnit | None = None
    """Unit of `overlap`; `tokens` if not given."""
    threshold_type: ThresholdType | None = None
    """How `threshold` is read; `percentile` if not given."""
    threshold: float | None = None
    """Distance above which a semantic boundary falls; if not given: percentile 95, absolute 0.5,
    stddev 2, interquartile 1.5, gradient 95."""
    buffer: int | None = None
    """Neighbouring sentences pooled on either side before distances are taken; 0 if not given."""
    min_sentences: int | None = None
    """Sentences that must stand between two semantic boundaries; 1 if not given."""
    prefix_headings: bool | None = None
    """Put the heading path before the text that is embedded; true if not given."""
    neighbour_weight: float | None = None
    """Share of the chunks before and after in a `blend` vector, in [0, 1); the preset's if not
    given."""

    def given(self) -> dict[str, Any]:
        """Return the chunking keys that were given, the preset left out."""
        names = _ChunkingKeys.model_fields
        return {name: value for name in names if (value := getattr(self, name)) is not None}


class ChunkingOverride(_ChunkingKeys):
    """Other settings for the documents that match `glob` and `format`."""

    glob: str | None = None
    """Glob on the source key; without a slash it is tried on the last component."""
    format: str | None = None
    """Format as found by content: `pdf`, `md`, `docx` ..."""
    preset: Preset | None = None
    """Preset to start from instead; it wins over keys of the section above."""

    @model_validator(mode="after")
    def _check(self) -> ChunkingOverride:
        if self.glob is None and self.format is None:
            msg = "an entry of chunking.overrides needs a glob or a format to match by"
            raise ConfigError(msg)
        if self.format is not None and self.format not in FORMATS:
            nearest = difflib.get_close_matches(self.format, FORMATS, n=1, cutoff=0.0)
            msg = f"chunking.overrides: {self.format!r} is no format; did you mean {nearest[0]!r}?"
            raise ConfigError(msg)
        if self.glob is not None:
            matches_key(self.glob, "")
        return self

    def matches(self, source_key: str, file_format: str) -> bool:
        """Return whether a document is meant."""
        if self.format is not None and self.format != file_format:
            return False
        return self.glob is None or matches_key(self.glob, source_key)


class ChunkingConfig(_ChunkingKeys):
    """Where chunks end and which vectors they get; sizes in model tokens."""

    preset: Preset = "small"
    """Named combination of the keys below; a key given beside it wins."""
    overrides: tuple[ChunkingOverride, ...] = ()
    """Other settings for some documents; the first entry that matches one is taken.

    Each has `glob`, `format` or both, and any of the keys of this section.
    """

    def settings(
        self, source_key: str | None = None, file_format: str | None = None
    ) -> ChunkingSettings:
        """Return the settings for a document, or those of the section where none is named."""
        if source_key is not None:
            for override in self.overrides:
                if override.matches(source_key, file_format or ""):
                    return self._merged(override)
        given = self.given()
        return _settings(PRESETS[self.preset], given, given)

    def all_settings(self) -> list[ChunkingSettings]:
        """Return the section's settings, then those of each override, all checked."""
        return [self.settings(), *(self._merged(override) for override in self.overrides)]

    def facts(self) -> dict[str, Any]:
        """Return what a dataset records: the settings in full, and those of each override."""
        own, *others = (asdict(settings) for settings in self.all_settings())
        if not others:
            return own
        overrides = [
            {"glob": override.glob, "format": override.format, **settings}
            for override, settings in zip(self.overrides, others, strict=True)
        ]
        return {**own, "overrides": overrides}

    def _merged(self, override: ChunkingOverride) -> ChunkingSettings:
        given, own = self.given(), override.given()
        preset = PRESETS[override.preset or self.preset]
        left = _left_behind(own) | (frozenset(preset) if override.preset else frozenset())
        merged = {**{key: value for key, value in given.items() if key not in left}, **own}
        # Sizes of the section give way to a size of the override that they do not fit.
        sized = override.preset is not None or any(key in own for key in _SIZES)
        return _settings(preset, merged, own if sized else merged)


_SIZES = ("max_tokens", "min_tokens", "target_tokens")


def _left_behind(own: Mapping[str, Any]) -> frozenset[str]:
    """Return the section's keys that mean nothing under the override's strategy or vectors."""
    left = set()
    if own.get("boundaries", "fixed") != "fixed":
        left.add("target_chars")
    if own.get("boundaries", "fixed") not in ("fixed", "recursive"):
        left.add("overlap")
    if own.get("vectors", "blend") != "blend":
        left.add("neighbour_weight")
    return frozenset(left)


def _settings(
    preset: Mapping[str, object], given: Mapping[str, Any], fixed: Mapping[str, Any]
) -> ChunkingSettings:
    values = {**preset, **given}
    if values["vectors"] != "blend" and "neighbour_weight" not in given:
        values["neighbour_weight"] = 0.0  # the preset's is meant for its own vectors
    return ChunkingSettings(**_fit_sizes(values, fixed))


def _fit_sizes(values: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Scale sizes that were not given to a cap, target or minimum that was."""
    cap = values["max_tokens"]
    if "target_tokens" not in given:
        values["target_tokens"] = max(min(values["target_tokens"], cap * 2 // 3), 0)
    if "min_tokens" not in given:
        values["min_tokens"] = max(min(values["min_tokens"], values["target_tokens"] * 2 // 5), 0)
    elif "target_tokens" not in given:
        values["target_tokens"] = min(max(values["target_tokens"], values["min_tokens"]), cap)
    return values
