from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable

import numpy as np
import pytest
from transformers import PreTrainedTokenizerFast

from chunking.errors import ModelError
from jobs.adapters import tokenizer as adapter
from jobs.adapters.tokenizer import FastTokenizer
from tests.models import byte_level, metaspace, word_piece

MAKERS = [word_piece, byte_level, metaspace]
ODD = [
    "plain text, with signs: f(x) == 1.5!",
    "e\u0301 combining \u0301\u0301 q\u0323\u0307",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 family \U0001f1e9\U0001f1f0",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd \u0645\u062f\u064a\u0646\u0629",
    "nul\x00inside \x01\x02 and \ufeff mark",
    "\ud55c\uad6d\uc5b4 \u6771\u4eac\u90fd \u0936\u0939\u0930",
    "tabs\tand\r\nlines\n\n\n  and   blanks\u00a0\u3000end  ",
    "\ufdfa \ufb03 \u0130stanbul",
    "a[SEP]b [MASK] </s>",
]


def make(maker: Callable[[], PreTrainedTokenizerFast], prompt: str = "") -> FastTokenizer:
    """Return the adapter over one of the tokenizers."""
    return FastTokenizer(maker(), prompt)


def long_text(seed: int) -> str:
    """Return a text with everything that a cut could fall into."""
    rng = random.Random(seed)
    words = [
        "harbour",
        "ledger",
        "unbelievable",
        "x",
        "\u6771\u4eac",
        "caf\u00e9",
        "\u0645\u062f",
        *ODD,
    ]
    gaps = [" ", " ", " ", "  ", "\n", "\n\n", "\t", ", ", ""]
    parts = [rng.choice(words) + rng.choice(gaps) for _ in range(1500)]
    parts[300] = "y" * 700
    parts[600] = " " * 900
    parts[900] = "\n" * 500
    return "".join(parts)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("seed", [1, 2])
def test_segments_give_the_tokens_of_the_whole(
    maker: Callable[[], PreTrainedTokenizerFast], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text tokenized in many segments has the ids and offsets it has in one."""
    tokenizer = make(maker)
    text = long_text(seed)
    whole = tokenizer.tokenize(text)
    monkeypatch.setattr(adapter, "_SEGMENT_CHARS", 600)
    monkeypatch.setattr(adapter, "_OVERLAP_CHARS", 200)
    calls: list[int] = []
    segment = FastTokenizer._segment

    def counted(self: FastTokenizer, text: str, begin: int, size: int) -> object:
        calls.append(size)
        return segment(self, text, begin, size)

    monkeypatch.setattr(FastTokenizer, "_segment", counted)
    split = tokenizer.tokenize(text)
    assert len(calls) > 20
    np.testing.assert_array_equal(split.ids, whole.ids)
    np.testing.assert_array_equal(split.starts, whole.starts)
    np.testing.assert_array_equal(split.ends, whole.ends)


def test_one_word_without_end_is_one_segment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no two segments agree, the segment grows to the end of the text."""
    tokenizer = make(word_piece)
    monkeypatch.setattr(adapter, "_SEGMENT_CHARS", 600)
    monkeypatch.setattr(adapter, "_OVERLAP_CHARS", 200)
    tokens = tokenizer.tokenize("z" * 20_000)
    assert (tokens.starts.tolist(), tokens.ends.tolist()) == ([0], [20_000])


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("text", ODD)
def test_offsets_are_ordered_code_points(
    maker: Callable[[], PreTrainedTokenizerFast], text: str
) -> None:
    """Offsets count code points, in order, within the text, whatever the script."""
    tokens = make(maker).tokenize(text)
    assert len(tokens.ids) == len(tokens.starts) == len(tokens.ends)
    assert np.all(np.diff(tokens.starts) >= 0)
    assert np.all(tokens.starts <= tokens.ends)
    assert tokens.ends.max() <= len(text)


@pytest.mark.parametrize("text", ODD)
def test_word_pieces_are_what_their_offsets_say(text: str) -> None:
    """Each known piece is its slice of the text, lower-cased and without accents."""
    tokens = make(word_piece).tokenize(text)
    pieces = word_piece().convert_ids_to_tokens(tokens.ids.tolist())
    for piece, start, end in zip(pieces, tokens.starts, tokens.ends, strict=True):
        if not piece.startswith("["):
            found = unicodedata.normalize("NFD", text[start:end].lower())
            kept = "".join(c for c in found if unicodedata.category(c)[0] not in "MC")
            assert piece.removeprefix("##") in kept


def test_counts_are_those_of_the_model_input() -> None:
    """Prompt and special tokens are counted; nothing is truncated."""
    tokenizer = make(word_piece, "passage: ")
    texts = ["", "one", "word " * 3000, "x" * 10]
    reference = word_piece()
    expected = [len(reference("passage: " + text, verbose=False)["input_ids"]) for text in texts]
    assert tokenizer.count(texts) == expected
    assert [len(ids) for ids in tokenizer.inputs(texts)] == expected
    assert tokenizer.count([]) == []


def test_long_texts_are_counted_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text above a segment is counted by segments, with the same result."""
    tokenizer = make(word_piece, "passage: ")
    text = long_text(3)
    expected = tokenizer.count([text])
    monkeypatch.setattr(adapter, "_SEGMENT_CHARS", 600)
    monkeypatch.setattr(adapter, "_OVERLAP_CHARS", 200)
    monkeypatch.setattr(adapter, "_COUNT_BATCH_CHARS", 1000)
    assert tokenizer.count(["a b", text, "c"]) == [4 + 2, *expected, 3 + 2]


def test_prompt_and_special_tokens_go_around_a_window() -> None:
    """The head is the first special tokens and the prompt, the tail the last special tokens."""
    tokenizer = make(word_piece, "passage: ")
    reference = word_piece()
    assert reference.convert_ids_to_tokens(tokenizer.head.tolist()) == ["[CLS]", "passage", ":"]
    assert reference.convert_ids_to_tokens(tokenizer.tail.tolist()) == ["[SEP]"]
    assert len(make(byte_level).head) == len(make(byte_level).tail) == 0


def test_slow_tokenizers_are_refused() -> None:
    """Without offsets, spans cannot be mapped; the message says what to do."""

    class Slow:
        is_fast = False

    with pytest.raises(ModelError, match=r"tokenizer\.json"):
        FastTokenizer(Slow(), "")  # type: ignore[arg-type]
