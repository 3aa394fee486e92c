"""Where a text may be cut without a change of its tokens.

Set ``CHUNKMILL_TOKENIZER_EXAMPLES`` for a longer search than the default one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st
from tokenizers import (
    AddedToken,
    Tokenizer,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast

from jobs.adapters import tokenizer as adapter
from jobs.adapters.separators import BLANKS, separators_of
from jobs.adapters.tokenizer import FastTokenizer
from tests.models import byte_level, metaspace, word_piece

TRAINING = ["The ledger of the harbour, the river and the stones.\n\n", "f(x) == 2 * x + 1;"] * 20
QUIET = profile(
    deadline=None,
    max_examples=int(os.environ.get("CHUNKMILL_TOKENIZER_EXAMPLES", "100")),
    derandomize="CHUNKMILL_TOKENIZER_EXAMPLES" not in os.environ,
)

ODD = (
    "\u0301\u0323\u200d\ufeff\u00a0\u3000\u2028\x00\x0b\x0c"
    "\x1c\x7f\x85\u00ad\ufdfa\u0130\ufb03\u3099"
)
ALPHABET = (
    "abcXYZ019.,|#[]<>_'-" + ODD + "\u6771\uac00\u1100\u1161\u05d0\u0643\u0939\u094d\U0001f468"
)
WORDS = st.one_of(
    st.text(ALPHABET, max_size=8),
    st.sampled_from(["harbour", "[SEP]", "<mask>", "the", "don't", "x" * 120, "1.5", "\u0301e"]),
)
GAPS = st.sampled_from([" ", " ", " ", "  ", "\n", "\n\n", "\t", "\r\n", " \u00a0", "\n\u0301"])


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Return words of all kinds with blanks of all kinds between them."""
    words = draw(st.lists(WORDS, max_size=12))
    return "".join(word + draw(GAPS) for word in words)


def marked_words() -> PreTrainedTokenizerFast:
    """Return a Unigram tokenizer that parts at blanks, then marks each word."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    )
    trainer = trainers.UnigramTrainer(
        vocab_size=120, show_progress=False, special_tokens=["<unk>", "<pad>"], unk_token="<unk>"
    )
    tokenizer.train_from_iterator(TRAINING, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>")


def bytes_of_words() -> PreTrainedTokenizerFast:
    """Return a byte-level BPE tokenizer that parts at blanks, with special tokens around."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.ByteLevel(add_prefix_space=True)]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<s>", "</s>", "<pad>"],
    )
    tokenizer.train_from_iterator(TRAINING, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>")


def masking() -> PreTrainedTokenizerFast:
    """Return MiniLM's tokenizer with a token that takes the blanks before it."""
    tokenizer = word_piece()
    tokenizer.add_special_tokens({"mask_token": AddedToken("<mask>", lstrip=True)})
    return tokenizer


KNOWN = [word_piece, marked_words, bytes_of_words, masking]


@pytest.mark.parametrize("maker", KNOWN)
@pytest.mark.parametrize("prompt", ["", "passage: "])
def test_tokens_between_separators_are_those_of_the_text(
    maker: Callable[[], PreTrainedTokenizerFast], prompt: str
) -> None:
    """Each slice from separator to separator has the tokens and the size the text promises."""
    tokenizer = FastTokenizer(maker(), prompt)
    special = tokenizer.count([""])[0]

    @QUIET
    @given(text=texts(), data=st.data())
    def check(text: str, data: st.DataObject) -> None:
        tokens = tokenizer.tokenize(text)
        if not tokens.separators:
            assert "<mask>" in text
            return
        assert not any(
            c in text[start:end]
            for start, end in zip(tokens.starts, tokens.ends, strict=True)
            for c in tokens.separators
        )
        edges = sorted(
            {0, len(text)}
            | {i for i, c in enumerate(text) if c in tokens.separators}
            | {i + 1 for i, c in enumerate(text) if c in tokens.separators}
        )
        start, end = sorted((data.draw(st.sampled_from(edges)), data.draw(st.sampled_from(edges))))
        first, last = np.searchsorted(tokens.starts, [start, end]).tolist()
        alone = tokenizer.tokenize(text[start:end])
        np.testing.assert_array_equal(alone.ids, tokens.ids[first:last])
        np.testing.assert_array_equal(alone.starts + start, tokens.starts[first:last])
        np.testing.assert_array_equal(alone.ends + start, tokens.ends[first:last])
        assert tokenizer.count([text[start:end]]) == [special + last - first]

    check()


@pytest.mark.parametrize("maker", [*KNOWN, byte_level, metaspace])
def test_pieces_give_the_tokens_of_the_whole(
    maker: Callable[[], PreTrainedTokenizerFast], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text cut at every separator has the ids and offsets it has when it is never cut."""
    tokenizer = FastTokenizer(maker(), "")

    @QUIET
    @given(text=texts())
    def check(text: str) -> None:
        monkeypatch.setattr(adapter, "_PIECE_CHARS", 1 << 20)
        whole = tokenizer.tokenize(text)
        monkeypatch.setattr(adapter, "_PIECE_CHARS", 1)
        cut = tokenizer.tokenize(text)
        np.testing.assert_array_equal(cut.ids, whole.ids)
        np.testing.assert_array_equal(cut.starts, whole.starts)
        np.testing.assert_array_equal(cut.ends, whole.ends)

    check()


@pytest.mark.parametrize("maker", [word_piece, marked_words, bytes_of_words])
def test_known_tokenizers_cut_at_blanks(maker: Callable[[], PreTrainedTokenizerFast]) -> None:
    """Tokenizers that part at blanks before all else are known to."""
    assert FastTokenizer(maker(), "").tokenize("a b").separators == BLANKS


@pytest.mark.parametrize("maker", [byte_level, metaspace])
def test_tokenizers_that_keep_blanks_have_no_separators(
    maker: Callable[[], PreTrainedTokenizerFast],
) -> None:
    """Where blanks make tokens, or belong to them, nothing is promised."""
    assert FastTokenizer(maker(), "").tokenize("a b").separators == ""


def test_a_prompt_that_runs_into_the_text_has_no_separators() -> None:
    """A prompt without a blank at its end changes the first word, so sizes do not add up."""
    assert FastTokenizer(word_piece(), "passage").tokenize("a b").separators == ""
    assert FastTokenizer(word_piece(), "passage: ").tokenize("a b").separators == BLANKS


@pytest.mark.parametrize(
    "change",
    [
        {"normalizer": {"type": "Precompiled"}},
        {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Prepend"}]}},
        {"pre_tokenizer": None},
        {"pre_tokenizer": {"type": "Metaspace", "prepend_scheme": "always"}},
        {
            "pre_tokenizer": {
                "type": "Sequence",
                "pretokenizers": [
                    {"type": "WhitespaceSplit"},
                    {"type": "Metaspace", "prepend_scheme": "first"},
                ],
            }
        },
        {"post_processor": {"type": "RobertaProcessing"}},
        {"model": {"type": "BPE", "dropout": 0.1}},
        {"added_tokens": [{"content": "two words"}]},
    ],
)
def test_parts_that_are_not_listed_promise_nothing(change: dict[str, object]) -> None:
    """One unknown part, one random part or one token with a blank in it, and sizes are counted."""
    description = json.loads(word_piece().backend_tokenizer.to_str())
    assert separators_of(description) == BLANKS
    assert separators_of({**description, **change}) == ""
