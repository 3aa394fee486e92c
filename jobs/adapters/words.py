"""Words of scripts without blanks, from the dictionaries of ICU (the extra ``icu``)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chunking.errors import ConfigError
from chunking.unspaced import WordBreaks

__all__ = ["find_word_breaks", "icu_word_breaks"]

_BEYOND_THE_BASIC_PLANE = 0xFFFF
_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), 0xFFFD)


def find_word_breaks(words: str) -> WordBreaks | None:
    """Return the finder that ``parser.words`` names; None for ``characters``.

    Raises:
        ConfigError: ICU is asked for and is not installed.
    """
    if words != "icu":
        return None
    try:
        import icu4py.breakers  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        msg = "parser.words is icu, which needs another package: pip install 'chunkmill[icu]'"
        raise ConfigError(msg) from error
    return icu_word_breaks


def icu_word_breaks(text: str, language: str | None) -> Sequence[int]:
    """Return where words, blanks and marks begin in a text, 0 left out (UAX 29, section 4)."""
    from icu4py.breakers import WordBreaker  # noqa: PLC0415 - an extra

    # ICU takes UTF-8, and counts UTF-16 units.
    plain = text.translate(_SURROGATES)
    ends = np.fromiter((end for _, end in WordBreaker(plain, language or "").segments()), np.int64)
    codes = np.frombuffer(plain.encode("utf-32-le"), np.uint32)
    units = np.cumsum(1 + (codes > _BEYOND_THE_BASIC_PLANE))
    found: list[int] = (np.searchsorted(units, ends) + 1).tolist()
    return found
