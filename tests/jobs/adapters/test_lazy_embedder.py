"""A recorded tokenizer stands in for the model until a vector is asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tokenizers import Tokenizer

from chunking.errors import ModelError
from jobs.adapters.hash_embedder import HashEmbedder
from jobs.adapters.lazy_embedder import LazyEmbedder
from jobs.adapters.model_files import locate
from jobs.adapters.tokenizer import FastTokenizer
from jobs.config import ModelConfig
from jobs.ports import Embedder

DOUBLE = HashEmbedder(ModelConfig(name="hash:8"))
TEXT = "Berths are let by the day, unless the harbour master says otherwise."


def lazy(loads: list[Embedder], model: Embedder = DOUBLE) -> LazyEmbedder:
    """Return the bundled model's tokenizer with the test double's facts; ``loads`` is told."""
    path = locate("bundled:all-MiniLM-L6-v2", None) / "tokenizer.json"

    def load() -> Embedder:
        loads.append(model)
        return model

    return LazyEmbedder(DOUBLE.facts, path.read_text("utf-8"), no_late=None, load=load)


def test_the_tokenizer_needs_no_model() -> None:
    """Tokens, sizes and inputs are the tokenizer's own; nothing is loaded for nothing."""
    loads: list[Embedder] = []
    embedder = lazy(loads)
    assert embedder.tokenizer_description is not None
    own = FastTokenizer(Tokenizer.from_str(embedder.tokenizer_description), "")
    assert np.array_equal(embedder.tokenize(TEXT).ids, own.tokenize(TEXT).ids)
    assert embedder.count([TEXT, ""]) == own.count([TEXT, ""])
    assert embedder.window_tokens == DOUBLE.facts.max_seq_length - 2
    assert embedder.window_input(np.array([7], np.uint32)).tolist() == [101, 7, 102]
    assert list(embedder.window_means([], [])) == []
    assert embedder.embed_texts([]).shape == (0, 8)
    assert loads == []


def test_the_model_is_loaded_once() -> None:
    """The first vector loads it, and the next ones come from the same."""
    loads: list[Embedder] = []
    embedder = lazy(loads)
    window = np.array([5, 6, 7], np.uint32)
    means = dict(embedder.window_means([window], [[(0, 2)]]))
    assert np.array_equal(means[0], dict(DOUBLE.window_means([window], [[(0, 2)]]))[0])
    assert np.array_equal(embedder.embed_texts([TEXT]), DOUBLE.embed_texts([TEXT]))
    assert loads == [DOUBLE]


def test_another_model_is_refused() -> None:
    """The line says which fact is another than the one on record."""
    other = HashEmbedder(ModelConfig(name="hash:8"))
    other.facts = replace(other.facts, revision="2")
    with pytest.raises(ModelError, match="revision '2', not '1'"):
        lazy([], other).embed_texts([TEXT])


def test_a_description_tells_the_whole_tokenizer() -> None:
    """Made again from its description, it gives the same tokens, offsets and separators."""
    path = locate("bundled:all-MiniLM-L6-v2", None) / "tokenizer.json"
    first = FastTokenizer(Tokenizer.from_file(str(path)), "passage: ")
    again = FastTokenizer(Tokenizer.from_str(first.description), "passage: ")
    one, other = first.tokenize(TEXT), again.tokenize(TEXT)
    for name in ("ids", "starts", "ends"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    assert one.separators == other.separators
    assert first.head.tolist() == again.head.tolist()
    assert first.description == again.description
