"""Prompts: put before every window and text, counted, never pooled; whatever their ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from transformers import AutoModel, PreTrainedTokenizerFast

from jobs.adapters.sentence_transformer import SentenceTransformerEmbedder
from jobs.adapters.tokenizer import FastTokenizer
from jobs.config import ModelConfig
from tests.corpus import multilingual_e5, requires_e5
from tests.models import byte_level, metaspace, tiny_bert, word_piece

MULTILINGUAL = [
    "Søren købte æblegrød på havnen i Ærøskøbing; det kostede 35 kr.",
    "Die Überprüfung der Straßenbeläge dauert länger als geplant.",
    "東京の港には毎朝たくさんの船が入ります。銅の価格が上がった。",
    "سفينة الشحن وصلت إلى الميناء في الصباح الباكر.",
    "Ήταν μια βροχερή μέρα στο λιμάνι του Πειραιά.",
    "नाव सुबह बंदरगाह पर पहुँची और ताँबा उतारा गया।",
    "Ｆｕｌｌ ｗｉｄｔｈ  and   blanks, ﬁne ligatures, \U0001f468\u200d\U0001f469 and e\u0301.",
]


def load(path: Path, **keys: object) -> SentenceTransformerEmbedder:
    """Return a model of a folder."""
    config = ModelConfig.model_validate({"name": str(path), "dtype": "float32", **keys})
    return SentenceTransformerEmbedder.load(config, threads=1)


def least_cosine(found: NDArray[np.floating], expected: NDArray[np.floating]) -> float:
    """Return the least cosine of pairs of rows."""
    a, b = found.astype(np.float64), expected.astype(np.float64)
    return float(((a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)).min())


@pytest.mark.parametrize("make", [byte_level, metaspace, word_piece])
@pytest.mark.parametrize("prompt", ["", "query: ", "query:  ", "f(x):\n", "the river: \n\n", "f("])
def test_a_window_has_the_prompts_own_tokens(
    make: Callable[[], PreTrainedTokenizerFast], prompt: str
) -> None:
    """Head and text together are what the tokenizer makes of prompt and text in one."""
    tokenizer = make()
    fast = FastTokenizer(tokenizer, prompt)
    whole = tokenizer(prompt + "harbour stones", add_special_tokens=True)["input_ids"]
    n = len(fast.head)
    assert fast.head.tolist() == whole[:n]
    rest = tokenizer.decode(whole[n:], skip_special_tokens=True)
    assert "".join(rest.replace("▁", " ").split()) == "harbourstones"
    assert fast.count(["harbour stones"]) == [len(whole)]


def bert_without_prompt_in_the_pool(folder: Path) -> Path:
    """Save a model that leaves its prompt out of the mean."""
    base = Transformer(str(tiny_bert(folder)))
    modules = [base, Pooling(32, include_prompt=False)]
    prompts = {"query": "the question: ", "document": "the ledger  "}
    model = SentenceTransformer(
        modules=modules, device="cpu", prompts=prompts, default_prompt_name="query"
    )
    model.save(str(folder / "prompted"))
    return folder / "prompted"


@pytest.mark.parametrize("packed", [True, False], ids=["packed", "padded"])
def test_a_prompt_may_be_left_out_of_the_models_own_mean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, packed: bool
) -> None:
    """Pooling without the prompt is honoured; the default prompt is not that of passages."""
    if not packed:
        monkeypatch.setattr("jobs.adapters.passes.find_offset", lambda *_: None)
    path = bert_without_prompt_in_the_pool(tmp_path)
    embedder = load(path)
    assert embedder.facts.passage_prompt == "the ledger  "
    assert embedder.facts.query_prompt == "the question: "
    texts = ["A river stone.", "An unbelievably long harbour ledger of copper " * 9]
    own = SentenceTransformer(str(path), device="cpu")
    assert least_cosine(embedder.embed_texts(texts), own.encode_document(texts)) >= 0.99999
    own.set_pooling_include_prompt(include_prompt=True)
    assert least_cosine(embedder.embed_texts(texts), own.encode_document(texts)) < 0.99999


@pytest.mark.parametrize(
    ("prompts", "default", "expected"),
    [
        ({"passage": "passage: ", "query": "query: "}, None, ("query: ", "passage: ")),
        ({"document": "d: ", "passage": "p: "}, None, ("", "d: ")),
        ({"corpus": "c: "}, None, ("", "c: ")),
        ({"query": "q: "}, "query", ("q: ", "")),
        ({"s2s": "same: "}, "s2s", ("", "")),
        ({}, None, ("", "")),
    ],
)
def test_of_a_models_prompts_those_for_passages_and_questions_are_taken(
    tmp_path: Path, prompts: dict[str, str], default: str | None, expected: tuple[str, str]
) -> None:
    """By their usual names; a default prompt, meant for texts of unknown purpose, is not."""
    path = tiny_bert(tmp_path)
    config = path / "config_sentence_transformers.json"
    told = {**json.loads(config.read_text()), "prompts": prompts, "default_prompt_name": default}
    config.write_text(json.dumps(told))
    facts = load(path).facts
    assert (facts.query_prompt, facts.passage_prompt) == expected


@requires_e5
@pytest.mark.slow
def test_multilingual_e5_pools_without_its_prompt(
    e5: Path, e5_embedder: SentenceTransformerEmbedder
) -> None:
    """Late vectors of texts in many scripts equal a plain pass; prompt and ends are left out."""
    document = "\n\n".join(MULTILINGUAL)
    tokens = e5_embedder.tokenize(document)
    tokenizer = SentenceTransformer(str(e5), device="cpu").tokenizer
    whole = tokenizer("passage: " + document)["input_ids"]
    head = tokenizer("passage:", add_special_tokens=False)["input_ids"]
    assert whole == [0, *head, *tokens.ids.tolist(), 2]
    bounds = np.cumsum([0, *(len(text) + 2 for text in MULTILINGUAL)])
    edges = np.searchsorted(tokens.starts, bounds).tolist()
    ranges = list(pairwise(edges))
    ((_, found),) = e5_embedder.window_means([tokens.ids], [ranges])
    model = AutoModel.from_pretrained(e5, dtype=torch.float32).eval()
    with torch.inference_mode():
        states = model(input_ids=torch.tensor([whole])).last_hidden_state[0, 1 + len(head) : -1]
    expected = [states[first:last].mean(dim=0).numpy() for first, last in ranges]
    assert least_cosine(found, np.stack(expected)) >= 0.99999


@requires_e5
def test_multilingual_e5_has_offsets_into_the_text(
    e5_embedder: SentenceTransformerEmbedder,
) -> None:
    """Every letter of every script lies in a token; tokens stand in order; lengths are counted."""
    document = "\n\n".join(MULTILINGUAL)
    tokens = e5_embedder.tokenize(document)
    covered = np.zeros(len(document), bool)
    for start, end in zip(tokens.starts, tokens.ends, strict=True):
        covered[start:end] = True
    assert [c for c, seen in zip(document, covered, strict=True) if c.isalnum() and not seen] == []
    assert (np.diff(tokens.starts) >= 0).all()
    head = len(e5_embedder.window_input(tokens.ids[:0])) - 1
    assert e5_embedder.count([document]) == [len(tokens.ids) + head + 1]


@requires_e5
def test_multilingual_e5_embeds_chunks_as_its_library(
    e5: Path, e5_embedder: SentenceTransformerEmbedder
) -> None:
    """With its prompt, in windows of 512 tokens, normalised."""
    assert e5_embedder.facts.max_seq_length == 512
    assert e5_embedder.facts.normalize
    own = SentenceTransformer(str(e5), device="cpu", model_kwargs={"dtype": "float32"})
    expected = own.encode(MULTILINGUAL, prompt="passage: ")
    assert least_cosine(e5_embedder.embed_texts(MULTILINGUAL), expected) >= 0.99999


@pytest.fixture(scope="module")
def e5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the model, made once."""
    return multilingual_e5(tmp_path_factory.mktemp("e5"))


@pytest.fixture(scope="module")
def e5_embedder(e5: Path) -> SentenceTransformerEmbedder:
    """Return the model as chunkmill has it, with its prompts."""
    return load(e5, passage_prompt="passage: ", query_prompt="query: ")
