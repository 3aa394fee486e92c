from __future__ import annotations

import sys
from itertools import pairwise

import pytest

from chunking.errors import ConfigError
from chunking.model import Block, Document
from chunking.sentences import split_sentences
from chunking.units import split_units
from jobs.adapters.words import find_word_breaks
from tests.chunking.strategies import FakeTokenizer

THAI = "การเปลี่ยนแปลงสภาพภูมิอากาศส่งผลกระทบต่อการเกษตรของประเทศไทยอย่างมาก"
CHINESE = "中华人民共和国公民在法律面前一律平等国家尊重和保障人权"
JAPANESE = "東京都の人口は約千四百万人であり日本最大の都市である"


def words(text: str, language: str | None) -> list[str]:
    """Return a text cut where ICU finds words; skip where it is not installed."""
    pytest.importorskip("icu4py", reason="needs the extra icu: pip install 'chunkmill[icu]'")
    finder = find_word_breaks("icu")
    assert finder is not None
    cuts = [0, *finder(text, language)]
    return [text[a:b] for a, b in pairwise(cuts)]


@pytest.mark.parametrize(
    ("text", "language", "word"),
    [
        (THAI, "th", "ประเทศไทย"),
        (THAI, None, "ประเทศไทย"),
        (CHINESE, "zh", "法律"),
        (JAPANESE, "ja", "東京"),
        ("ភាសាខ្មែរជាភាសាផ្លូវការ", "km", "ជា"),
        ("ພາສາລາວເປັນພາສາ", "lo", "ພາສາ"),
        ("ကျွန်တော်စာအုပ်ဖတ်သည်", "my", "စာအုပ်"),
        ("plain words", "en", "plain"),
    ],
)
def test_words_are_found(text: str, language: str | None, word: str) -> None:
    """Each script is cut into words of its dictionary, and nothing is lost."""
    found = words(text, language)
    assert "".join(found) == text
    assert word in found


def test_offsets_are_code_points() -> None:
    """Characters of two UTF-16 units, and lone surrogates, shift nothing."""
    text = "\U0001f600\U00020000" + CHINESE + "\ud800" + CHINESE
    found = words(text, "zh")
    assert "".join(found) == text
    assert found.count("法律") == 2


def test_no_long_sentence_is_cut_inside_a_word() -> None:
    """With ICU, units and sentences of Thai begin at words; without, never inside a cluster."""
    text = THAI * 40
    inner = set()
    position = 0
    for word in words(text, "th"):
        inner.add(position)
        position += len(word)
    finder = find_word_breaks("icu")
    block = Block(start=0, end=len(text), index=0, kind="paragraph")
    document = Document(text=text, blocks=(block,), language="th")
    tokens = FakeTokenizer(pattern=r".")(text)
    assert {unit.start for unit in split_units(document, tokens, finder)} <= inner
    spans = split_sentences(text, 0, len(text), "th", finder)
    assert len(spans) > 1
    bare = {unit.start for unit in split_units(document, tokens)}
    assert not bare <= inner


def test_the_default_needs_nothing() -> None:
    """Characters are the default; there is no finder."""
    assert find_word_breaks("characters") is None


def test_a_missing_extra_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for without the package, ICU is a configuration error that names the extra."""
    monkeypatch.setitem(sys.modules, "icu4py.breakers", None)
    with pytest.raises(ConfigError, match=r"chunkmill\[icu\]"):
        find_word_breaks("icu")
