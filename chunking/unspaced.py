"""Scripts written without blanks between words, and the port that finds their words.

Chinese, Japanese, Thai, Lao, Khmer and Burmese need a dictionary, which the core does
not carry: whoever has one passes it in. Without it the core cuts between characters,
never between a character and its marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

__all__ = ["WordBreaks", "has_unspaced", "word_starts"]

WordBreaks = Callable[[str, str | None], Sequence[int]]
"""From a text and its language (ISO 639, None: unknown) to the places where words begin.

Offsets in code points of the text, ascending; 0 and the end may be among them. It must
answer the same for the same text, in about linear time.
"""

_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1a20-\u1aad\u3040-\u30ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua9e0-\ua9ff\uaa60-\uaa7f\uf900-\ufaff\U00020000-\U0003ffff]"
)


def has_unspaced(text: str, start: int, end: int) -> bool:
    """Return whether ``text[start:end]`` has characters of a script without blanks."""
    return _UNSPACED.search(text, start, end) is not None


def word_starts(
    text: str, start: int, end: int, language: str | None, word_breaks: WordBreaks | None
) -> frozenset[int]:
    """Return the absolute places inside ``text[start:end]`` where words begin, as found.

    Empty without a finder, and where the script has blanks to go by.
    """
    if word_breaks is None or not has_unspaced(text, start, end):
        return frozenset()
    return frozenset(start + at for at in word_breaks(text[start:end], language))
