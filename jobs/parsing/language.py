"""The language of a document, told from a sample of its prose."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from itertools import islice

from py3langid.langid import MODEL_FILE, LanguageIdentifier

__all__ = ["detect_language"]

_SAMPLE_CHARS = 5_000
_ENOUGH_LETTERS = 24
"""Fewer letters say too little."""
_ISO_639_1 = 2
_SURE = 0.5
"""Smallest normalised probability of a language that is believed."""


def detect_language(pieces: Iterable[str]) -> str | None:
    """Return the ISO 639-1 code of the prose, or None where it is too short or unsure."""
    sample = _sample(pieces)
    if sum(map(str.isalpha, sample)) < _ENOUGH_LETTERS:
        return None
    language, probability = _identifier().classify(sample)
    sure = float(probability) >= _SURE and len(language) == _ISO_639_1
    return str(language) if sure else None


def _sample(pieces: Iterable[str]) -> str:
    parts: list[str] = []
    size = 0
    for piece in islice(pieces, _SAMPLE_CHARS):
        parts.append(piece[: _SAMPLE_CHARS - size])
        size += len(parts[-1])
        if size >= _SAMPLE_CHARS:
            break
    return "\n".join(parts)


@functools.cache
def _identifier() -> LanguageIdentifier:
    """Return the model, loaded once per process."""
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
