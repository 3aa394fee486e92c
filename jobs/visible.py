"""Text from documents, made safe to look at: what is invisible or acts is shown as a sign.

A control character can drive a terminal, a bidirectional override can turn the order of
what is read, and a zero-width or tag character can hide words from the reader that the
embedding model sees. Letters, marks, joiners and emoji stay as they are.
"""

from __future__ import annotations

import re

__all__ = ["visible", "visible_line"]

_PICTURES = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"},
    0x7F: "\u2421",
}
"""The Unicode control pictures, U+2400 to U+2421."""

_NAMED = re.compile(
    "["
    "\x80-\x9f"  # C1 controls: a terminal may obey them
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional controls
    "\u200b\u2060-\u2064\ufeff\u180e"  # invisible without joining anything
    "\u2028\u2029"  # breaks of line and paragraph that no reader expects
    "\ufff9-\ufffb\u206a-\u206f"  # interlinear annotation, deprecated format characters
    "\ud800-\udfff"  # half a character
    "\U000e0000-\U000e007f"  # tags: hidden ASCII
    "]"
)


def visible(text: str) -> str:
    r"""Return the text with controls as pictures and invisible characters by their number.

    Tabs and line feeds stay; a ``\r\n`` shows its ``\r``.
    """
    shown = text.translate(_PICTURES)
    return _NAMED.sub(lambda match: f"\u27e8U+{ord(match[0]):04X}\u27e9", shown)


def visible_line(text: str, limit: int | None = None) -> str:
    """Return the text on one line, runs of blanks as one, cut at ``limit`` code points."""
    line = " ".join(text.split())
    if limit is not None and len(line) > limit:
        line = line[: limit - 1] + "\u2026"
    return visible(line)
