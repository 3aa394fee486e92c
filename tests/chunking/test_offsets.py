"""Spans slice the text exactly, whatever characters stand in it."""

from __future__ import annotations

import pytest

from chunking.settings import ChunkingSettings, Strategy
from tests.chunking.laws import violations
from tests.chunking.making import STRATEGIES, built, chunked, texts
from tests.chunking.strategies import ADDITIVE, TOKENIZERS

ODD = {
    "runs of blanks": "It   rained\t\tall  day.    The tide   came in.  ",
    "carriage returns": "It rained.\r\nThe tide came in.\r\n",
    "tabs": "It\trained.\tThe\ttide came\tin.\t",
    "no-break spaces": "It\u00a0rained\u202fall day.\u00a0The tide\u3000came in. ",
    "combining marks": "It rai\u0301ned e\u0301\u0327 q\u0323\u0307. The ti\u0308de came in. ",
    "emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467 came. \U0001f1e9\U0001f1f0 went. ",
    "skin tones": "It waved \U0001f44b\U0001f3fd. It went \u2708\ufe0f. ",
    "right to left": "\u05e9\u05dc\u05d5\u05dd. \u0645\u062f\u064a\u0646\u0629 \u202etide\u202c. ",
    "nul": "It \x00rained\x00. The\x01 tide came in. ",
    "lone surrogates": "It \ud800rained. The tide\udfff came in. ",
    "byte order marks": "\ufeffIt rained.\ufeff The tide came in. ",
    "zero width": "It\u200brained\u200b. The\u00adtide\u2060came in. ",
    "separators": "It rained.\u2028The tide\u2029came in.\x0b\x0c\x85Then. ",
    "private use": "\ue000 rained. The \U0010ffff tide. ",
    "many bytes": "\u6771\u4eac\u3067\u96e8\u304c\u964d\u3063\u305f\u3002\U00020000\u3002",
}  # fmt: skip


@pytest.mark.parametrize("boundaries", STRATEGIES)
@pytest.mark.parametrize("what", ODD)
def test_odd_characters_move_no_offset(what: str, boundaries: Strategy) -> None:
    """Chunks of odd text are exact slices in order, lose nothing and keep every law."""
    document = built(
        ("heading", ODD[what].strip()),
        ("paragraph", (ODD[what] * 30).strip()),
        ("list_item", "- " + ODD[what].strip()),
        ("paragraph", (ODD[what] * 15).strip()),
    )
    chosen = ChunkingSettings(boundaries=boundaries, max_tokens=60, min_tokens=10, target_tokens=40)
    for tokenizer in TOKENIZERS[:4]:
        units, chunks = chunked(document, chosen, tokenizer)
        broken = violations(
            document, units, chunks, chosen, tokenizer.count, slack=chosen.max_tokens // 3
        )
        assert not [line for line in broken if not line.startswith("minimum")]
        if tokenizer is ADDITIVE:
            assert len(chunks) > 1


def test_what_stands_between_sentences_stays() -> None:
    """Blanks and line ends inside a chunk are those of the text, never one blank each."""
    text = ("It rained.  The tide came in.\nThe boats\t\twent out.   " * 40).strip()
    document = built(("paragraph", text))
    found = texts(document, chunked(document, ChunkingSettings(boundaries="recursive"))[1])
    assert all(part in text for part in found)
    assert sum("rained.  The" in part for part in found) == len(found)
    assert any("in.\nThe boats\t\twent" in part for part in found)


@pytest.mark.parametrize("boundaries", STRATEGIES)
def test_characters_are_cut_between_graphemes(boundaries: Strategy) -> None:
    """A word above the cap is cut, but no mark is parted from its letter."""
    document = built(("paragraph", "e\u0301\u0327" * 400))
    found = texts(document, chunked(document, ChunkingSettings(boundaries=boundaries))[1])
    assert len(found) > 1
    assert all(part.startswith("e") for part in found)
