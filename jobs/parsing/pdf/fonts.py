"""What a font's name tells of its letters: weight, pitch, and symbols that are misread."""

from __future__ import annotations

import functools
import re
import unicodedata

__all__ = ["is_bold", "is_monospaced", "meant"]

_BOLD = re.compile(r"bold|black|heavy|demi|cmbx|(?<=[-,])medi\b|[-,]bd\b", re.IGNORECASE)
_MONOSPACED = re.compile(r"mono|courier|consol|typewriter|cmtt|tt\d+$|menlo|code", re.IGNORECASE)
_TEX_SYMBOLS = re.compile(r"\bCMSY\d", re.IGNORECASE)
_SYMBOLS = {"h": "\u27e8", "i": "\u27e9", "\u03b7": "\u27e8", "\u03b9": "\u27e9"}
"""Angle brackets of TeX's symbol font, which readers without its encoding take for letters."""
_UNNAMED = re.compile(r"[cg](?:id)?[0-9a-f]{2,5}|glyph\d+|G\d+|\.notdef", re.IGNORECASE)
"""A glyph's name in place of a character: the font does not tell what it means."""
_COMPATIBLE = re.compile("[\ufb00-\ufdff\ufe70-\ufefc]")
"""Ligatures, and the forms that Hebrew and Arabic letters take beside others."""
_TATWEEL = "\u0640"


@functools.lru_cache(maxsize=1024)
def is_bold(font: str) -> bool:
    """Tell whether a font is bold by its name."""
    return bool(_BOLD.search(font))


@functools.lru_cache(maxsize=1024)
def is_monospaced(font: str) -> bool:
    """Tell whether all letters of a font are equally wide, by its name."""
    return bool(_MONOSPACED.search(font))


@functools.lru_cache(maxsize=16384)
def meant(text: str, font: str) -> str:
    """Return the letters that a glyph means: empty for none, ``" "`` for any blank."""
    if text.isspace():
        return " "
    if _TEX_SYMBOLS.search(font):
        text = _SYMBOLS.get(text, text)
    if len(text) > 1 and _UNNAMED.fullmatch(text):
        return "\ufffd"
    plain = _COMPATIBLE.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    return "".join(plain.replace("\0", "").replace(_TATWEEL, "").split())
