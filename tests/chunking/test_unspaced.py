from __future__ import annotations

import pytest

from chunking.unspaced import has_unspaced, word_starts


@pytest.mark.parametrize(
    "text", ["漢字", "かな", "ไทย", "ລາວ", "ខ្មែរ", "မြန်မာ", "a 漢", "\U00020000"]
)
def test_scripts_without_blanks_are_told(text: str) -> None:
    """One character of such a script is enough."""
    assert has_unspaced(text, 0, len(text))


@pytest.mark.parametrize("text", ["plain", "한국어", "العربية", "हिन्दी", "русский", ""])
def test_scripts_with_blanks_are_not(text: str) -> None:
    """Korean and all alphabets write blanks between words."""
    assert not has_unspaced(text, 0, len(text))


def test_the_finder_sees_only_the_range() -> None:
    """Its answers come back as places of the whole text; it is not asked where blanks are."""
    asked = []

    def pairs(text: str, language: str | None) -> list[int]:
        asked.append((text, language))
        return list(range(0, len(text), 2))

    assert word_starts("xx漢字漢字yy", 2, 6, "zh", pairs) == {2, 4}
    assert word_starts("plain", 0, 5, "en", pairs) == frozenset()
    assert word_starts("漢字", 0, 2, "zh", None) == frozenset()
    assert asked == [("漢字漢字", "zh")]
