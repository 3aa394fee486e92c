"""Characters of symbol fonts, which documents name by the font's own codes.

Word stores them as ``w:sym`` or in the private use area (U+F000 plus the code). Symbol
follows Adobe's encoding of that font; of Wingdings those that stand for a word are known.
"""

# ruff: noqa: RUF001 - the characters that are meant

from __future__ import annotations

__all__ = ["symbol", "symbols_in"]

_PRIVATE = 0xF000
_SYMBOL_RUNS = (
    (0x20, "\u0020!∀#∃%&∋()∗+,−./0123456789:;<=>?"),
    (0x40, "≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_"),
    (0x60, "\u203eαβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"),
    (0xA0, "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵"),
    (0xC0, "ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓"),
    (0xE0, "◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪"),
    (0xF1, "〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭"),
)
_SYMBOL = {
    start + offset: character
    for start, characters in _SYMBOL_RUNS
    for offset, character in enumerate(characters)
}
_WINGDINGS = {
    0x4A: "☺", 0x4C: "☹", 0x6C: "●", 0x6E: "■", 0x6F: "□", 0x71: "❑", 0x72: "❒", 0x73: "⬧",
    0x74: "⧫", 0x75: "◆", 0x76: "❖", 0x9F: "•", 0xA7: "▪", 0xA8: "☐", 0xD8: "➢", 0xDF: "←",
    0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xE8: "➔", 0xF0: "⇨", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒",
    0xFE: "☑",
}  # fmt: skip
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS}


def symbol(code: int, font: str) -> str:
    """Return the character of a font's code; nothing where a private code has no known one."""
    own = code - _PRIVATE if _PRIVATE <= code < _PRIVATE + 0x100 else code
    known = _FONTS.get(font.strip().lower(), {}).get(own)
    if known is not None:
        return known
    if own != code:
        return ""
    return chr(code) if code < 0xD800 or 0xE000 <= code < 0x110000 else ""  # noqa: PLR2004


def symbols_in(text: str, font: str) -> str:
    """Return a text of a symbol font as characters; others stay as they are."""
    if font.strip().lower() not in _FONTS:
        return text
    return "".join(symbol(ord(c), font) if ord(c) >= _PRIVATE else c for c in text)
