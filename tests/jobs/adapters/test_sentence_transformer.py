from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, AutoTokenizer

from chunking.errors import ModelError
from jobs.adapters.model_files import locate
from jobs.adapters.sentence_transformer import SentenceTransformerEmbedder
from jobs.config import ModelConfig
from tests.models import MINILM, dense, normalize, tiny_bert

SENTENCES = [
    "The harbour ledger lists every copper ingot.",
    "R\u00f8dgr\u00f8d med fl\u00f8de, and \u6771\u4eac too.",
    "",
    "A river stone, unbelievably willow-like!",
    "nul\x00 and \U0001f468\u200d\U0001f469 and [SEP] inside",
]


@pytest.fixture(scope="module")
def minilm() -> SentenceTransformerEmbedder:
    """Return the default model."""
    return SentenceTransformerEmbedder.load(ModelConfig(dtype="float32"), threads=1)


def load(path: Path, **keys: object) -> SentenceTransformerEmbedder:
    """Return a model of a folder."""
    return SentenceTransformerEmbedder.load(
        ModelConfig.model_validate({"name": str(path), "dtype": "float32", **keys})
    )


def plain_states(path: Path, inputs: Sequence[NDArray[np.integer]]) -> list[NDArray[np.float32]]:
    """Return the last hidden states of whole inputs, one at a time, without padding."""
    model = AutoModel.from_pretrained(path, dtype=torch.float32).eval()
    with torch.inference_mode():
        return [
            model(input_ids=torch.tensor([[int(i) for i in ids]])).last_hidden_state[0].numpy()
            for ids in inputs
        ]


def cosines(one: NDArray[np.floating], other: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the cosine of each pair of rows."""
    a, b = one.astype(np.float64), other.astype(np.float64)
    return (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


def windows(lengths: Sequence[int]) -> list[NDArray[np.uint32]]:
    """Return seeded windows of these lengths."""
    rng = np.random.default_rng(5)
    return [rng.integers(1000, 20_000, size=n).astype(np.uint32) for n in lengths]


def test_token_vectors_equal_a_plain_forward_pass(minilm: SentenceTransformerEmbedder) -> None:
    """Special tokens around the window, none in the output, padding without effect."""
    asked = windows([1, 5, 30, 31, 100, 200, 254])
    inputs = [np.array([101, *window, 102]) for window in asked]
    expected = plain_states(locate(MINILM, None), inputs)
    for index, vectors in minilm.embed_windows(asked):
        assert vectors.shape == (len(asked[index]), 384)
        assert cosines(vectors, expected[index][1:-1]).min() >= 0.99999
        np.testing.assert_array_equal(minilm.window_input(asked[index]), inputs[index])


def test_vectors_do_not_depend_on_the_batch(minilm: SentenceTransformerEmbedder) -> None:
    """Bit for bit the same alone, together, and in any order."""
    asked = windows([254, 40, 254, 7, 100, 41, 254, 100, 250, 12])
    together = dict(minilm.embed_windows(asked))
    backwards = dict(minilm.embed_windows(asked[::-1]))
    assert sorted(together) == list(range(len(asked)))
    for i, vectors in together.items():
        np.testing.assert_array_equal(backwards[len(asked) - 1 - i], vectors)
    for i in (0, 3):
        ((_, alone),) = minilm.embed_windows([asked[i]])
        np.testing.assert_array_equal(together[i], alone)


def test_text_vectors_equal_the_models_own(minilm: SentenceTransformerEmbedder) -> None:
    """A chunk alone gets what sentence-transformers gives it, an empty text too."""
    own = SentenceTransformer(str(locate(MINILM, None)), device="cpu")
    expected = own.encode(SENTENCES, convert_to_numpy=True)
    found = minilm.embed_texts(SENTENCES)
    assert cosines(found, expected).min() >= 0.99999
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-6)
    assert minilm.embed_texts([]).shape == (0, 384)


def test_long_texts_are_embedded_in_windows(minilm: SentenceTransformerEmbedder) -> None:
    """A text above the window is not truncated: its parts' vectors, weighted by tokens."""
    text = "harbour ledger willow stone " * 100 + "a last word"
    ids = minilm.tokenize(text).ids
    parts = [np.array([101, *part, 102]) for part in np.array_split(ids, 2)]
    assert max(len(part) for part in parts) <= 256
    states = plain_states(locate(MINILM, None), parts)
    means = [state.astype(np.float64).mean(axis=0) for state in states]
    unit = [mean / np.linalg.norm(mean) for mean in means]
    expected = sum(u * (len(part) - 2) for u, part in zip(unit, parts, strict=True))
    found = minilm.embed_texts(["short", text, "short"])
    assert cosines(found[1:2], np.array([expected])).min() >= 0.99999
    np.testing.assert_array_equal(found[0], found[2])


def test_facts_are_those_of_the_model(minilm: SentenceTransformerEmbedder) -> None:
    """The window is the length the model was trained at, not its number of positions."""
    facts = minilm.facts
    assert (facts.dimension, facts.max_seq_length, facts.pooling) == (384, 256, "mean")
    assert facts.normalize
    assert facts.name == MINILM
    assert len(facts.revision) == 40
    assert minilm.window_tokens == 254
    assert minilm.supports_late


def test_prompts_are_in_the_window_and_not_in_the_pool(tmp_path: Path) -> None:
    """The prompt's tokens precede the window's, are counted, and give no vectors."""
    path = tiny_bert(tmp_path)
    embedder = load(path, passage_prompt="passage: ")
    window = windows([20])[0]
    prompt = AutoTokenizer.from_pretrained(path)("passage:", add_special_tokens=False)["input_ids"]
    full = np.array([101, *prompt, *window, 102])
    np.testing.assert_array_equal(embedder.window_input(window), full)
    ((_, vectors),) = embedder.embed_windows([window])
    expected = plain_states(path, [full])[0][1 + len(prompt) : -1]
    assert cosines(vectors, expected).min() >= 0.99999
    assert embedder.count(["one two"]) == [2 + len(prompt) + 2]
    assert embedder.window_tokens == 128 - 2 - len(prompt)
    own = SentenceTransformer(str(path), device="cpu").encode(["passage: one two"])
    assert cosines(embedder.embed_texts(["one two"]), own).min() >= 0.99999


def test_a_models_own_prompts_are_the_default(tmp_path: Path) -> None:
    """What the model was trained with is used unless something else, or nothing, is asked for."""
    path = tiny_bert(tmp_path)
    config = path / "config_sentence_transformers.json"
    settings = json.loads(config.read_text())
    settings["prompts"] = {"query": "query: ", "passage": "passage: "}
    config.write_text(json.dumps(settings))
    own = load(path)
    assert (own.facts.query_prompt, own.facts.passage_prompt) == ("query: ", "passage: ")
    assert own.count(["word"]) == [5]
    none = load(path, query_prompt="", passage_prompt="")
    assert (none.facts.query_prompt, none.facts.passage_prompt) == ("", "")
    assert none.count(["word"]) == [3]


def test_a_linear_head_is_honoured(tmp_path: Path) -> None:
    """The mean of the token vectors, normalised, is the model's vector of the same pool."""
    path = tiny_bert(tmp_path, head=[dense(8), normalize()])
    embedder = load(path)
    assert (embedder.dimension, embedder.facts.normalize) == (8, True)
    own = SentenceTransformer(str(path), device="cpu")
    window = windows([30])[0]
    ((_, vectors),) = embedder.embed_windows([window])
    pooled = plain_states(path, [embedder.window_input(window)])[0][1:-1].mean(axis=0)
    with torch.inference_mode():
        features = {"sentence_embedding": torch.from_numpy(pooled)[None]}
        expected = own[2](features)["sentence_embedding"].numpy()
    assert vectors.shape == (30, 8)
    assert cosines(vectors.mean(axis=0)[None], expected).min() >= 0.99999
    assert cosines(embedder.embed_texts(SENTENCES), own.encode(SENTENCES)).min() >= 0.99999


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda folder: tiny_bert(folder, pooling="cls"), "pools by 'cls'"),
        (lambda folder: tiny_bert(folder, pooling="lasttoken"), "pools by 'lasttoken'"),
        (
            lambda folder: tiny_bert(folder, head=[dense(8, torch.nn.Tanh())]),
            "activation Tanh",
        ),
        (
            lambda folder: tiny_bert(folder, head=[normalize(), dense(8)]),
            "after the normalisation",
        ),
    ],
)
def test_models_without_late_vectors_say_why(
    tmp_path: Path, make: Callable[[Path], Path], reason: str
) -> None:
    """The reason is told; late pooling is refused; the model's own vectors work."""
    path = make(tmp_path)
    alone = load(path)
    assert not alone.supports_late
    assert reason in (alone.no_late or "")
    with pytest.raises(ModelError, match="late vectors do not apply"):
        list(alone.embed_windows(windows([5])))
    own = SentenceTransformer(str(path), device="cpu").encode(SENTENCES)
    assert cosines(alone.embed_texts(SENTENCES), own).min() >= 0.99999


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"max_seq_length": 161}, "160 positions"),
        ({"max_seq_length": 40}, "must leave 64"),
        ({"device": "cuda"}, "no GPU"),
    ],
)
def test_windows_and_devices_that_cannot_be_are_refused(
    tmp_path: Path, keys: dict[str, object], message: str
) -> None:
    """A window beyond the positions, or too small for a unit, or a GPU that is not there."""
    if keys.get("device") == "cuda" and torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(ModelError, match=message):
        load(tiny_bert(tmp_path), **keys)


def test_a_damaged_model_is_one_clear_line(tmp_path: Path) -> None:
    """Weights cut short, or a folder that holds no model, are usage errors on one line."""
    path = tiny_bert(tmp_path)
    weights = path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    empty = tmp_path / "empty"
    empty.mkdir()
    for folder in (path, empty):
        with pytest.raises(ModelError, match="cannot load the model") as caught:
            load(folder)
        assert "\n" not in str(caught.value)


def test_half_precision_is_close_and_finite(tmp_path: Path) -> None:
    """bfloat16 gives float32 arrays that point nearly the same way."""
    path = tiny_bert(tmp_path)
    shutil.rmtree(tmp_path / "backbone")
    exact = dict(load(path).embed_windows(windows([30])))[0]
    half = dict(load(path, dtype="bfloat16").embed_windows(windows([30])))[0]
    assert half.dtype == np.float32
    assert cosines(half, exact).min() > 0.99
