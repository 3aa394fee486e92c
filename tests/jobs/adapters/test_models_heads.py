"""What comes after the transformer, and models of other shapes: they work, or one line says no."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Router, Transformer
from sentence_transformers.sentence_transformer.modules import (
    LSTM,
    LayerNorm,
    Pooling,
    StaticEmbedding,
    WeightedLayerPooling,
)

from chunking.errors import ModelError
from chunking.pooling import normalized
from jobs.adapters.embedders import settle
from jobs.adapters.hash_embedder import HashEmbedder
from jobs.adapters.sentence_transformer import SentenceTransformerEmbedder
from jobs.config import ChunkingConfig, ChunkingOverride, Config, ModelConfig
from tests.models import HIDDEN, dense, normalize, tiny_bert, word_piece

TEXTS = ["The harbour ledger.", "", "A river stone, unbelievably willow-like! " * 5]


def load(path: Path, **keys: object) -> SentenceTransformerEmbedder:
    """Return a model of a folder."""
    config = ModelConfig.model_validate({"name": str(path), "dtype": "float32", **keys})
    return SentenceTransformerEmbedder.load(config, threads=1)


def own_model(path: Path, truncate_dim: int | None = None) -> SentenceTransformer:
    """Return the model as sentence-transformers has it."""
    return SentenceTransformer(str(path), device="cpu", truncate_dim=truncate_dim)


def least_cosine(found: NDArray[np.floating], expected: NDArray[np.floating]) -> float:
    """Return the least cosine of pairs of rows."""
    assert found.shape == expected.shape
    return float((normalized(found).astype(np.float64) * normalized(expected)).sum(1).min())


def pooled(embedder: SentenceTransformerEmbedder, text: str) -> NDArray[np.float32]:
    """Return the late vector of a text that is a document and a chunk in one (1 x D)."""
    ids = embedder.tokenize(text).ids
    ((_, means),) = embedder.window_means([ids], [[(0, len(ids))]])
    return normalized(means) if embedder.normalize else means


@pytest.mark.parametrize("head", ["none", "normalize", "dense", "dense+normalize"])
def test_truncated_vectors_equal_the_models_own(tmp_path: Path, head: str) -> None:
    """The first values of each vector, of unit length again where the model's are."""
    modules = {
        "none": [],
        "normalize": [normalize()],
        "dense": [dense(16)],
        "dense+normalize": [dense(16), normalize()],
    }[head]
    path = tiny_bert(tmp_path, head=modules)
    embedder = load(path, truncate_dim=8)
    assert (embedder.dimension, embedder.facts.dimension) == (8, 8)
    unit = "normalize" in head
    expected = own_model(path, 8).encode(TEXTS, normalize_embeddings=unit)
    found = embedder.embed_texts(TEXTS)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    late = pooled(embedder, TEXTS[0])
    full = pooled(load(path), TEXTS[0])[:, :8]
    np.testing.assert_allclose(late, normalized(full) if unit else full, atol=1e-6)


def test_the_parts_of_a_long_text_weigh_as_their_tokens(tmp_path: Path) -> None:
    """Truncated vectors of parts have unit length before they are averaged, as whole ones have."""
    path = tiny_bert(tmp_path, head=[normalize()], window=80)
    embedder = load(path, truncate_dim=4)
    text = "harbour ledger willow stone " * 40
    ids = embedder.tokenize(text).ids
    parts = np.array_split(ids, -(-len(ids) // embedder.window_tokens))
    own = own_model(path, 4)
    rows = own.encode(
        [own.tokenizer.decode(part) for part in parts], normalize_embeddings=True
    ).astype(np.float64)
    expected = (rows * [[len(part)] for part in parts]).sum(axis=0, keepdims=True)
    assert least_cosine(embedder.embed_texts([text]), expected) >= 0.99999


def test_a_models_own_truncation_holds_unless_another_is_asked_for(tmp_path: Path) -> None:
    """What the model was saved with is the default; the key overrides it, up to the whole."""
    path = tiny_bert(tmp_path)
    config = path / "config_sentence_transformers.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "truncate_dim": 12}))
    assert load(path).facts.dimension == 12
    assert load(path).embed_texts(TEXTS).shape == (3, 12)
    assert load(path, truncate_dim=HIDDEN).embed_texts(TEXTS).shape == (3, HIDDEN)
    with pytest.raises(ModelError, match=r"truncate_dim is 33; .* has 32 dimensions"):
        load(path, truncate_dim=33)


def router(folder: Path) -> Path:
    """Save an asymmetric model: passages by a mean and a dense layer, questions otherwise."""
    backbone = tiny_bert(folder) / "."
    passages = [Transformer(str(backbone), max_seq_length=100), Pooling(HIDDEN), dense(8)]
    questions = [Transformer(str(backbone)), Pooling(HIDDEN, pooling_mode="cls"), dense(8)]
    routes = Router.for_query_document(query_modules=questions, document_modules=passages)
    SentenceTransformer(modules=[routes, normalize()], device="cpu").save(str(folder / "routed"))
    return folder / "routed"


def test_of_a_model_with_routes_passages_take_theirs(tmp_path: Path) -> None:
    """The route of documents is pooled by the mean; that of questions is not asked for."""
    path = router(tmp_path)
    embedder = load(path)
    assert embedder.facts.pooling == "mean"
    assert (embedder.facts.max_seq_length, embedder.dimension) == (100, 8)
    assert embedder.supports_late
    expected = own_model(path).encode_document(TEXTS)
    assert least_cosine(embedder.embed_texts(TEXTS), expected) >= 0.99999


def layers(folder: Path) -> Path:
    """Save a model that pools the weighted mean of its layers."""
    path = tiny_bert(folder)
    transformer = Transformer(str(path), config_kwargs={"output_hidden_states": True})
    weighted = WeightedLayerPooling(HIDDEN, num_hidden_layers=2, layer_start=1)
    modules = [transformer, weighted, Pooling(HIDDEN)]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder / "layers"))
    return folder / "layers"


def test_layers_may_be_weighed_before_the_pooling(tmp_path: Path) -> None:
    """Each token's vector is a mean over layers: it can be pooled late, and packed."""
    path = layers(tmp_path)
    embedder = load(path)
    assert embedder.supports_late
    own = own_model(path)
    assert least_cosine(embedder.embed_texts(TEXTS), own.encode(TEXTS)) >= 0.99999
    states = own.encode(TEXTS[0], output_value="token_embeddings")
    assert least_cosine(pooled(embedder, TEXTS[0]), states[1:-1].mean(dim=0).numpy()[None]) > 0.9999


@pytest.mark.parametrize("late", [False, True], ids=["pooled", "tokens"])
def test_dense_layers_on_tokens_and_with_a_residual_are_honoured(
    tmp_path: Path, *, late: bool
) -> None:
    """Before the pooling any activation will do; after it, what is added is linear too."""
    torch.manual_seed(9)
    tokens = Dense(HIDDEN, HIDDEN, module_input_name="token_embeddings")
    added = Dense(HIDDEN, 8, activation_function=None, use_residual=True)
    base = tiny_bert(tmp_path)
    modules = [Transformer(str(base)), tokens, Pooling(HIDDEN), added]
    SentenceTransformer(modules=modules, device="cpu").save(str(tmp_path / "dense"))
    embedder, own = load(tmp_path / "dense"), own_model(tmp_path / "dense")
    if not late:
        assert least_cosine(embedder.embed_texts(TEXTS), own.encode(TEXTS)) >= 0.99999
        return
    states = own.encode(TEXTS[0], output_value="token_embeddings")
    with torch.inference_mode():
        features = {"sentence_embedding": states[1:-1].mean(dim=0)[None]}
        expected = own[3](features)["sentence_embedding"].numpy()
    assert least_cosine(pooled(embedder, TEXTS[0]), expected) >= 0.99999


def test_a_layer_norm_after_the_mean_has_no_late_vectors(tmp_path: Path) -> None:
    """It is not linear, which is said; the model's own vectors are right, and truncated too."""
    norm = LayerNorm(HIDDEN)
    with torch.no_grad():
        norm.norm.bias += torch.linspace(0, 1, HIDDEN)
    path = tiny_bert(tmp_path, head=[norm])
    embedder = load(path, truncate_dim=8)
    assert embedder.no_late == "its module LayerNorm is not linear"
    assert least_cosine(embedder.embed_texts(TEXTS), own_model(path, 8).encode(TEXTS)) >= 0.99999


def test_a_normalisation_that_is_not_the_last_module_does_not_normalise(tmp_path: Path) -> None:
    """A dense layer after it gives vectors of other lengths, which are kept."""
    path = tiny_bert(tmp_path, head=[normalize(), dense(8)])
    embedder = load(path)
    assert not embedder.facts.normalize
    np.testing.assert_allclose(
        embedder.embed_texts(TEXTS), own_model(path).encode(TEXTS), atol=1e-5
    )


def static(folder: Path) -> Path:
    """Save a model of word vectors."""
    modules = [StaticEmbedding(word_piece(), embedding_dim=8)]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder / "static"))
    return folder / "static"


def recurrent(folder: Path) -> Path:
    """Save a model with a recurrent layer on its tokens."""
    base = Transformer(str(tiny_bert(folder)))
    modules = [base, LSTM(HIDDEN, 16), Pooling(32)]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder / "lstm"))
    return folder / "lstm"


def unpooled(folder: Path) -> Path:
    """Save a model that ends with its transformer."""
    modules = [Transformer(str(tiny_bert(folder)))]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder / "bare"))
    return folder / "bare"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (static, "begins with StaticEmbedding; only transformer models can be used"),
        (recurrent, "puts its token vectors through LSTM before they are pooled"),
        (unpooled, "has no pooling"),
    ],
)
def test_models_of_other_shapes_are_one_clear_line(
    tmp_path: Path, make: Callable[[Path], Path], message: str
) -> None:
    """What cannot be packed, windowed or pooled is refused by its kind of module."""
    with pytest.raises(ModelError, match=message) as caught:
        load(make(tmp_path))
    assert "\n" not in str(caught.value)


class ByFirstToken(HashEmbedder):
    """The test double as a model that has no late vectors."""

    @property
    def no_late(self) -> str:
        """Why."""
        return "it pools by 'cls'"


HASH = ModelConfig(name="hash:8")


def test_late_vectors_give_way_to_chunk_vectors_everywhere() -> None:
    """The section, presets and overrides: what asked for late or blend gets chunk, no more."""
    config = Config(
        model=HASH,
        chunking=ChunkingConfig(
            preset="large",
            overrides=(
                ChunkingOverride(format="pdf", preset="small+"),
                ChunkingOverride(format="md", vectors="blend", neighbour_weight=0.3),
                ChunkingOverride(format="csv", vectors="none"),
                ChunkingOverride(format="html", max_tokens=90),
            ),
        ),
    )
    settled, note = settle(config, ByFirstToken(HASH))
    assert note == (
        "late vectors do not apply to 'hash:8': it pools by 'cls'; "
        "each chunk is embedded by itself (vectors: chunk)"
    )
    found = settled.chunking.all_settings()
    assert [each.vectors for each in found] == ["chunk", "chunk", "chunk", "none", "chunk"]
    before = config.chunking.all_settings()
    assert [each.max_tokens for each in found] == [each.max_tokens for each in before]
    facts = settled.chunking.facts()
    assert facts["vectors"] == "chunk"
    assert [each["vectors"] for each in facts["overrides"]] == ["chunk", "chunk", "none", "chunk"]
    asked = config.chunking.model_copy(update={"vectors": "chunk"})
    alike = Config(model=HASH, chunking=ChunkingConfig(preset="large", vectors="chunk"))
    assert asked.settings() == alike.chunking.settings() == found[0]
    assert settle(settled, ByFirstToken(HASH)) == (settled, None)


def test_the_fingerprint_is_that_of_what_is_carried_out() -> None:
    """Late vectors that became chunk vectors, and chunk vectors asked for: one and the same."""
    settled, _ = settle(Config(model=HASH), ByFirstToken(HASH))
    asked = Config(
        model=ModelConfig(name="hash:8", without_late="refuse"),
        chunking=ChunkingConfig(vectors="chunk"),
    )
    assert settled.fingerprint("1") == asked.fingerprint("1")
    assert settled.fingerprint("1") != Config(model=HASH).fingerprint("1")
    short = Config(model=ModelConfig(name="hash:8", truncate_dim=4))
    assert short.fingerprint("1") != Config(model=HASH).fingerprint("1")


def test_a_model_without_late_vectors_can_be_refused() -> None:
    """By configuration, with the reason and both ways out; not where nobody asks for late ones."""
    model = ModelConfig(name="hash:8", without_late="refuse")
    with pytest.raises(ModelError) as caught:
        settle(Config(model=model), ByFirstToken(model))
    assert str(caught.value) == (
        "late vectors do not apply to 'hash:8': it pools by 'cls'; "
        "set chunking.vectors=chunk, or model.without_late=chunk"
    )
    for vectors in ("chunk", "none"):
        config = Config(model=model, chunking=ChunkingConfig(vectors=vectors))
        assert settle(config, ByFirstToken(model)) == (config, None)
    assert settle(Config(model=model), HashEmbedder(model)) == (Config(model=model), None)
