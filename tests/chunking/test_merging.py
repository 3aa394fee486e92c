"""The minimum, and headings that end a document."""

from __future__ import annotations

import numpy as np

from chunking.chunker import chunk_document
from chunking.settings import ChunkingSettings
from chunking.units import split_units
from tests.chunking.strategies import DocumentBuilder, FakeTokenizer


def test_a_closing_heading_joins_the_chunk_before_it() -> None:
    """A heading with nothing below it does not stand alone where the cap allows."""
    builder = DocumentBuilder()
    builder.add("paragraph", " ".join(f"word{i}" for i in range(60)) + ".")
    builder.heading(" ".join(f"closing{i}" for i in range(30)))
    document = builder.build()
    tokenizer = FakeTokenizer(pattern=r"\w+|[^\w\s]")
    tokens = tokenizer(document.text)
    units = split_units(document, tokens)
    vectors = np.ones((len(units), 4), np.float32)
    settings = ChunkingSettings(max_tokens=200, min_tokens=5, target_tokens=40)
    chunks = chunk_document(document, units, tokens, vectors, settings, tokenizer.count)
    assert chunks[-1].end == len(document.text)
    assert not document.text[chunks[-1].start :].startswith("closing")
