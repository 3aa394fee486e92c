"""What a user can choose about chunking, as one frozen and checked value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from chunking.errors import ConfigError

__all__ = [
    "DEFAULT_THRESHOLDS",
    "PRESETS",
    "ChunkingSettings",
    "OverlapUnit",
    "Separators",
    "Strategy",
    "ThresholdType",
    "Vectors",
]

Strategy = Literal["fixed", "recursive", "structural", "semantic", "optimal", "auto"]
ThresholdType = Literal["percentile", "absolute", "stddev", "interquartile", "gradient"]
Vectors = Literal["late", "chunk", "blend", "none"]
OverlapUnit = Literal["tokens", "sentences"]
Separators = Literal["auto", "prose", "markdown", "html", "code"]

DEFAULT_THRESHOLDS: dict[ThresholdType, float] = {
    "percentile": 95.0,
    "absolute": 0.5,
    "stddev": 2.0,
    "interquartile": 1.5,
    "gradient": 95.0,
}
"""What ``threshold`` is for each type where it is not given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkingSettings:
    """Strategy and sizes. Sizes are in tokens of the embedding model.

    ``max_tokens`` is the hard cap on the exact model input (prompt + prefix + text,
    special tokens included). ``target_chars`` makes the target of ``fixed`` one of
    characters instead of ``target_tokens``. ``separators`` is the hierarchy that
    ``recursive`` cuts large blocks by; ``auto`` takes the one of the block's kind.
    ``threshold`` is read as ``threshold_type`` says: a percentile in [0, 100] (of the
    distances, or of their gradient), a cosine distance, or a factor; None is the type's
    entry in :data:`DEFAULT_THRESHOLDS`. ``buffer`` is the number of neighbours on
    either side that are pooled into a sentence's vector before distances are taken.
    ``prefix_headings`` puts the heading path in the prefix. ``neighbour_weight``, in
    [0, 1), is the share of the chunks before and after in a ``blend`` vector.
    """

    boundaries: Strategy = "optimal"
    vectors: Vectors = "late"
    max_tokens: int = 200
    min_tokens: int = 40
    target_tokens: int = 110
    target_chars: int | None = None
    separators: Separators = "auto"
    overlap: int = 0
    overlap_unit: OverlapUnit = "tokens"
    threshold_type: ThresholdType = "percentile"
    threshold: float | None = None
    buffer: int = 0
    min_sentences: int = 1
    prefix_headings: bool = True
    neighbour_weight: float = 0.0

    def __post_init__(self) -> None:
        if self.max_tokens < 16:  # noqa: PLR2004 - below this not even a short sentence fits
            msg = f"chunking.max_tokens is {self.max_tokens}; it must be at least 16"
            raise ConfigError(msg)
        if not 0 <= self.min_tokens <= self.target_tokens <= self.max_tokens:
            msg = (
                "chunking needs 0 <= min_tokens <= target_tokens <= max_tokens, not "
                f"{self.min_tokens}, {self.target_tokens}, {self.max_tokens}"
            )
            raise ConfigError(msg)
        if not 0 <= self.overlap < self.max_tokens:
            msg = (
                f"chunking.overlap is {self.overlap}; it must be smaller than "
                f"max_tokens ({self.max_tokens}), else no chunk would make progress"
            )
            raise ConfigError(msg)
        if self.overlap and self.boundaries not in ("fixed", "recursive"):
            msg = (
                f"chunking.overlap applies to fixed and recursive boundaries, not to "
                f"{self.boundaries}; set it to 0"
            )
            raise ConfigError(msg)
        if self.target_chars is not None and self.boundaries != "fixed":
            msg = (
                f"chunking.target_chars applies to fixed boundaries, not to {self.boundaries}; "
                "set target_tokens"
            )
            raise ConfigError(msg)
        self._check_counts()
        self._check_neighbours()

    def _check_neighbours(self) -> None:
        weight = self.neighbour_weight
        if not 0 <= weight < 1:  # NaN lies in no range
            msg = f"chunking.neighbour_weight is {weight}; it must lie in [0, 1)"
            raise ConfigError(msg)
        if weight and self.vectors != "blend":
            msg = (
                f"chunking.neighbour_weight applies to blend vectors, not to {self.vectors}; "
                "set it to 0"
            )
            raise ConfigError(msg)

    def _check_counts(self) -> None:
        least = {"target_chars": 1, "buffer": 0, "min_sentences": 1}
        for name, low in least.items():
            value = getattr(self, name)
            if value is not None and value < low:
                msg = f"chunking.{name} is {value}; it must be at least {low}"
                raise ConfigError(msg)
        amount = self.threshold_amount
        if not math.isfinite(amount):
            msg = f"chunking.threshold is {amount}; it must be a finite number"
            raise ConfigError(msg)
        if self.threshold_type in ("percentile", "gradient") and not 0 <= amount <= 100:  # noqa: PLR2004
            msg = f"chunking.threshold is {amount}; a percentile lies in [0, 100]"
            raise ConfigError(msg)

    @property
    def pooled(self) -> bool:
        """Whether vectors are pooled, in whole or in part, from the document's own pass."""
        return self.vectors in ("late", "blend")

    @property
    def threshold_amount(self) -> float:
        """The threshold given, or the default of its type."""
        default = DEFAULT_THRESHOLDS[self.threshold_type]
        return default if self.threshold is None else self.threshold


_SMALL: dict[str, object] = {"max_tokens": 200, "min_tokens": 40, "target_tokens": 110}
_LARGE: dict[str, object] = {"max_tokens": 400, "min_tokens": 80, "target_tokens": 260}
_LATE: dict[str, object] = {"vectors": "late", "neighbour_weight": 0.0}
_BLEND: dict[str, object] = {"vectors": "blend", "neighbour_weight": 0.2}

PRESETS: dict[str, dict[str, object]] = {
    "small": _SMALL | _LATE,
    "large": _LARGE | _LATE,
    "small+": _SMALL | _BLEND,
    "large+": _LARGE | _BLEND,
}
"""Named combinations; keys given beside a preset override it."""
