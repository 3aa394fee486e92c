from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, note
from hypothesis import settings as profile
from hypothesis import strategies as st
from numpy.typing import NDArray

from chunking.chunker import chunk_document
from chunking.errors import AlignmentError, ConfigError
from chunking.model import Chunk, Document, Sentence
from chunking.settings import ChunkingSettings
from chunking.units import split_units
from tests.chunking.laws import violations
from tests.chunking.strategies import (
    ADDITIVE,
    EXACT,
    TOKENIZERS,
    DocumentBuilder,
    FakeTokenizer,
    documents,
    settings,
)

QUIET = profile(
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    derandomize=True,
)


def vectors_for(units: Sequence[Sentence], seed: int = 0) -> NDArray[np.float32]:
    """Return seeded vectors with a few topic changes among them."""
    rng = np.random.default_rng(seed)
    topics = rng.normal(size=(8, 12))
    chosen = np.cumsum(rng.random(len(units)) < 0.2) % 8
    noise = rng.normal(size=(len(units), 12)) * 0.4
    return (topics[chosen] + noise).astype(np.float32)


def chunked(
    document: Document, chosen: ChunkingSettings, tokenizer: FakeTokenizer = ADDITIVE
) -> tuple[list[Sentence], list[Chunk]]:
    """Return the units and chunks of a document under fake vectors."""
    tokens = tokenizer(document.text)
    units = split_units(document, tokens)
    vectors = vectors_for(units)
    return units, chunk_document(document, units, tokens, vectors, chosen, tokenizer.count)


@QUIET
@given(document=documents(), chosen=settings(), tokenizer=st.sampled_from(EXACT))
def test_every_law_holds(
    document: Document, chosen: ChunkingSettings, tokenizer: FakeTokenizer
) -> None:
    """Any document under any settings keeps every law, by an independent check."""
    units, chunks = chunked(document, chosen, tokenizer)
    note(repr([(c.start, c.end, c.n_tokens, c.boundary.reason) for c in chunks]))
    assert not violations(document, units, chunks, chosen, tokenizer.count)


@QUIET
@given(document=documents(), chosen=settings(), tokenizer=st.sampled_from(TOKENIZERS))
def test_laws_hold_under_counters_that_do_not_add_up(
    document: Document, chosen: ChunkingSettings, tokenizer: FakeTokenizer
) -> None:
    """A counter that disagrees with the tokens costs neither text nor cap nor order."""
    units, chunks = chunked(document, chosen, tokenizer)
    slack = chosen.max_tokens // 3
    found = violations(document, units, chunks, chosen, tokenizer.count, slack=slack)
    soft = ("minimum",)
    assert not [line for line in found if not line.startswith(soft)]
