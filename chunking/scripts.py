"""Writing systems told by code points: the cheap half of telling a paragraph's language."""

from __future__ import annotations

import re

__all__ = ["LANGUAGES_OF_SCRIPT", "script_of"]

LANGUAGES_OF_SCRIPT: dict[str, tuple[str, ...]] = {
    "arabic": ("ar", "fa", "ur", "ps", "ug", "ckb", "sd"),
    "bengali": ("bn", "as"),
    "cyrillic": ("ru", "uk", "bg", "sr", "be", "mk", "kk", "ky", "mn", "tg"),
    "devanagari": ("hi", "mr", "ne", "sa"),
    "greek": ("el", "grc"),
    "han": ("zh", "ja"),
    "hangul": ("ko",),
    "hebrew": ("he", "yi"),
    "kana": ("ja",),
    "khmer": ("km",),
    "lao": ("lo",),
    "burmese": ("my",),
    "tamil": ("ta",),
    "thai": ("th",),
}
"""ISO 639 codes written in a script; the first one is meant where nothing else is known."""

_SHARE = 0.6
"""Smallest share of the letters that makes a script the script of a text."""
_KANA_SHARE = 0.05
"""Japanese has this much kana among its letters at least; quoted words in Chinese less."""

_LETTERS = {
    "arabic": "\u0620-\u064a\u066e-\u06d3\u06fa-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc",
    "bengali": "\u0980-\u09e5",
    "cyrillic": "\u0400-\u052f",
    "devanagari": "\u0900-\u0963",
    "greek": "\u0370-\u03ff\u1f00-\u1fff",
    "han": "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",
    "hangul": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af",
    "hebrew": "\u05d0-\u05f2\ufb1d-\ufb4f",
    "kana": "\u3041-\u3096\u30a1-\u30fa\uff66-\uff9d",
    "khmer": "\u1780-\u17d3",
    "lao": "\u0e81-\u0edf",
    "burmese": "\u1000-\u109f",
    "tamil": "\u0b80-\u0bff",
    "thai": "\u0e01-\u0e4e",
}
_SCRIPTS = {name: re.compile(f"[{letters}]") for name, letters in _LETTERS.items()}
_ANY = re.compile(f"[{''.join(_LETTERS.values())}]")


def script_of(text: str) -> str | None:
    """Return the script of most letters, a key of :data:`LANGUAGES_OF_SCRIPT`.

    None for Latin and all other scripts, and where no script has most letters. Costs one
    pass over a text in Latin letters, and one per script otherwise.
    """
    if _ANY.search(text) is None:
        return None
    counts = {name: len(pattern.findall(text)) for name, pattern in _SCRIPTS.items()}
    letters = sum(counts.values()) + sum(c.isalpha() for c in _ANY.sub("", text))
    if counts["kana"] + counts["han"] >= _SHARE * letters:
        return "kana" if counts["kana"] >= _KANA_SHARE * letters else "han"
    name = max(counts, key=lambda name: counts[name])
    return name if counts[name] >= _SHARE * letters else None
