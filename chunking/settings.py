"""What a user can choose about chunking, as one frozen and checked value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from chunking.errors import ConfigError

__all__ = ["PRESETS", "ChunkingSettings"]

Strategy = Literal["fixed", "recursive", "structural", "semantic", "optimal", "auto"]
ThresholdType = Literal["percentile", "absolute", "stddev", "interquartile", "gradient"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkingSettings:
    """Strategy and sizes. Sizes are in tokens of the embedding model.

    ``max_tokens`` is the hard cap on the exact model input (prompt + prefix + text,
    special tokens included). ``threshold`` is read as ``threshold_type`` says: a
    percentile in [0, 100], a cosine distance, or a factor. ``buffer`` is the number
    of neighbours on either side that are pooled into a sentence's vector before
    distances are taken. ``prefix_headings`` puts the heading path in the prefix.
    """

    boundaries: Strategy = "semantic"
    vectors: Literal["late", "chunk", "blend", "none"] = "late"
    max_tokens: int = 200
    min_tokens: int = 40
    target_tokens: int = 120
    overlap: int = 0
    overlap_unit: Literal["tokens", "sentences"] = "tokens"
    threshold_type: ThresholdType = "percentile"
    threshold: float = 95.0
    buffer: int = 0
    min_sentences: int = 1
    prefix_headings: bool = True

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
        if self.threshold_type == "percentile" and not 0 <= self.threshold <= 100:  # noqa: PLR2004
            msg = f"chunking.threshold is {self.threshold}; a percentile lies in [0, 100]"
            raise ConfigError(msg)


PRESETS: dict[str, dict[str, object]] = {
    "small": {"max_tokens": 200, "min_tokens": 40, "target_tokens": 120, "vectors": "late"},
    "large": {"max_tokens": 400, "min_tokens": 80, "target_tokens": 260, "vectors": "late"},
    "small+": {"max_tokens": 200, "min_tokens": 40, "target_tokens": 120, "vectors": "blend"},
    "large+": {"max_tokens": 400, "min_tokens": 80, "target_tokens": 260, "vectors": "blend"},
}
"""Named combinations; keys given beside a preset override it."""
