"""The minimum, and headings that end a document."""

from __future__ import annotations

import numpy as np
import pytest

from chunking.chunker import chunk_document
from chunking.settings import ChunkingSettings, Strategy
from chunking.units import split_units
from tests.chunking.laws import violations
from tests.chunking.making import STRATEGIES, chunked, texts
from tests.chunking.strategies import ADDITIVE, DocumentBuilder, FakeTokenizer


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


def test_a_merge_that_would_exceed_the_cap_is_not_made() -> None:
    """A small chunk between two full ones stays small: the cap stands before the minimum."""
    builder = DocumentBuilder()
    for name, n in (("One", 39), ("Two", 2), ("Three", 39)):
        builder.heading(name)
        builder.add("paragraph", " ".join(f"w{i}" for i in range(n)) + ".")
    document = builder.build()
    settings = ChunkingSettings(max_tokens=44, min_tokens=20, target_tokens=40)
    units, chunks = chunked(document, settings)
    assert not violations(document, units, chunks, settings, ADDITIVE.count)
    assert "Two\n\nw0 w1." in texts(document, chunks)


@pytest.mark.parametrize("boundaries", STRATEGIES)
def test_a_small_section_joins_its_sibling_before_its_parent_s(boundaries: Strategy) -> None:
    """The next section is tried first, unless it lies higher in the hierarchy."""
    builder = DocumentBuilder()
    for name, level, n in (("A", 1, 60), ("A1", 2, 60), ("A2", 2, 4), ("B", 1, 60)):
        builder.heading(name, level=level)
        builder.add("paragraph", " ".join(f"word{i}" for i in range(n)) + ".")
    document = builder.build()
    settings = ChunkingSettings(
        boundaries=boundaries, max_tokens=80, min_tokens=20, target_tokens=70, threshold=100.0
    )
    found = texts(document, chunked(document, settings)[1])
    (small,) = [text for text in found if "A2" in text]
    assert "B\n" not in small
