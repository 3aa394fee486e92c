from __future__ import annotations

import numpy as np
import pytest

from chunking.errors import ModelError
from jobs.adapters.embedders import make_embedder
from jobs.adapters.hash_embedder import HashEmbedder
from jobs.config import Config, ModelConfig


def test_it_is_made_from_the_configuration() -> None:
    """The double can stand in for a model anywhere, by its name alone."""
    embedder = make_embedder(Config(model=ModelConfig(name="hash:32")))
    assert isinstance(embedder, HashEmbedder)
    assert embedder.dimension == embedder.facts.dimension == 32


@pytest.mark.parametrize("name", ["hash:", "hash:0", "hash:x", "hash:-3", "hash:99999"])
def test_a_wrong_size_is_refused(name: str) -> None:
    """A name that gives no size is a usage error."""
    with pytest.raises(ModelError, match="hash:N"):
        HashEmbedder(ModelConfig(name=name))


def test_tokens_slice_the_text_and_counts_include_what_is_added() -> None:
    """Offsets are those of the text; prompt and two special tokens are counted."""
    embedder = HashEmbedder(ModelConfig(name="hash:8", passage_prompt="passage: "))
    text = "Unbelievable, \u6771\u4eac \U0001f468!"
    tokens = embedder.tokenize(text)
    pieces = [text[start:end] for start, end in zip(tokens.starts, tokens.ends, strict=True)]
    assert pieces == ["Unbeli", "evable", ",", "\u6771\u4eac", "\U0001f468", "!"]
    added = len(embedder.tokenize("passage: ").ids) + 2
    assert embedder.count([text, ""]) == [len(pieces) + added, added]
    assert len(embedder.window_input(tokens.ids)) == len(pieces) + added
    assert embedder.window_tokens == 256 - added


def test_vectors_are_equal_where_the_windows_are() -> None:
    """Same window, same vectors; another neighbour changes them, another batch does not."""
    embedder = HashEmbedder(ModelConfig(name="hash:8"))
    one = np.array([1, 2, 3], np.uint32)
    other = np.array([1, 2, 4], np.uint32)
    together = dict(embedder.embed_windows([one, other, one]))
    (_, alone), *_ = embedder.embed_windows([one])
    np.testing.assert_array_equal(together[0], alone)
    np.testing.assert_array_equal(together[2], alone)
    assert not np.array_equal(together[0][0], together[1][0])
    assert together[0].dtype == np.float32


def test_texts_have_unit_vectors() -> None:
    """Texts get normalised vectors, equal for equal texts, also for none at all."""
    embedder = HashEmbedder(ModelConfig(name="hash:16"))
    vectors = embedder.embed_texts(["a b", "a b", "c", ""])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-6)
    np.testing.assert_array_equal(vectors[0], vectors[1])
    assert embedder.embed_texts([]).shape == (0, 16)
