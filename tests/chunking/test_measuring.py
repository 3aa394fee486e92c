from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as profile
from hypothesis import strategies as st

from chunking.chunker import chunk_document
from chunking.model import Document
from chunking.settings import ChunkingSettings
from chunking.text import read_text
from chunking.units import split_units
from jobs.adapters.tokenizer import FastTokenizer
from tests.chunking.strategies import documents, settings
from tests.models import byte_level, metaspace, word_piece

QUIET = profile(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    derandomize=True,
)
TOKENIZERS = {
    "word pieces": lambda: FastTokenizer(word_piece(), ""),
    "word pieces after a prompt": lambda: FastTokenizer(word_piece(), "passage: "),
    "word pieces after a prompt without a blank": lambda: FastTokenizer(word_piece(), "passage:"),
    "byte-level pairs": lambda: FastTokenizer(byte_level(), ""),
    "marked blanks": lambda: FastTokenizer(metaspace(), ""),
}


@pytest.mark.parametrize("name", TOKENIZERS)
def test_sizes_are_those_of_an_independent_count(name: str) -> None:
    """Whatever is read off the document's tokens, each chunk's size is what its input counts.

    And the chunks are those that come out where every size is counted.
    """
    tokenizer = TOKENIZERS[name]()

    @QUIET
    @given(document=documents(), chosen=settings(), seed=st.integers(0, 3))
    def check(document: Document, chosen: ChunkingSettings, seed: int) -> None:
        tokens = tokenizer.tokenize(document.text)
        units = split_units(document, tokens)
        vectors = np.random.default_rng(seed).normal(size=(len(units), 6)).astype(np.float32)
        chunks = chunk_document(document, units, tokens, vectors, chosen, tokenizer.count)
        inputs = [chunk.prefix + document.text[chunk.start : chunk.end] for chunk in chunks]
        counts = tokenizer.count(inputs) if inputs else []
        assert [chunk.n_tokens for chunk in chunks] == [max(1, n) for n in counts]
        bare = replace(tokens, separators="")
        assert chunks == chunk_document(document, units, bare, vectors, chosen, tokenizer.count)

    check()


def test_prose_is_not_counted_where_sizes_add_up() -> None:
    """With a tokenizer that cuts at blanks, chunks of sentences cost no second tokenisation."""
    tokenizer = FastTokenizer(word_piece(), "")
    document = read_text("The tide came in again, said the captain. " * 400).document
    tokens = tokenizer.tokenize(document.text)
    units = split_units(document, tokens)
    read: list[str] = []

    def count(inputs: Sequence[str]) -> list[int]:
        read.extend(inputs)
        return tokenizer.count(inputs)

    chosen = ChunkingSettings(boundaries="recursive")
    assert len(chunk_document(document, units, tokens, None, chosen, count)) > 10
    assert read == [""]
