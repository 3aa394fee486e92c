from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer

from jobs.adapters import passes
from jobs.adapters.packed import PASS_TOKENS, SHARED_TOKENS, fill_passes
from jobs.adapters.passes import Features, ModelPasses, Pass, batches
from tests.models import tiny_bert

LENGTHS = [64, 7, 128, 33, 128, 100, 1, 90, 127, 41]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model of two layers."""
    return tiny_bert(tmp_path_factory.mktemp("passes"))


@pytest.fixture
def transformer(folder: Path) -> Transformer:
    """Return the transformer of a model, fresh, since packing switches it over."""
    first = next(iter(SentenceTransformer(str(folder), device="cpu").eval().children()))
    if not isinstance(first, Transformer):
        raise TypeError(type(first))
    chosen: Transformer = first
    return chosen


@pytest.fixture
def padded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no model be packed."""
    monkeypatch.setattr(passes, "find_offset", lambda *_: None)


def inputs(lengths: list[int]) -> list[NDArray[np.uint32]]:
    """Return seeded token ids."""
    rng = np.random.default_rng(3)
    return [rng.integers(1000, 20_000, n).astype(np.uint32) for n in lengths]


def means(features: Features, one: Pass, lengths: list[int]) -> torch.Tensor:
    """Return the mean token vector of each input of a pass."""
    rows = features["token_embeddings"].reshape(-1, features["token_embeddings"].shape[-1])
    pairs = zip(one.indices, one.starts, strict=True)
    return torch.stack([rows[start : start + lengths[i]].mean(0) for i, start in pairs])


def made(model: Transformer, *, budget: int = 512) -> ModelPasses:
    """Return the passes of a model."""
    return ModelPasses(model, pad=0, longest=128, budget=budget, prompt_length=1)


def results(running: ModelPasses) -> dict[int, NDArray[np.float32]]:
    """Return the mean of each input, by its index."""
    found: dict[int, NDArray[np.float32]] = {}
    for one, rows in running.run(inputs(LENGTHS), lambda f, p: means(f, p, LENGTHS)):
        found.update(zip(one.indices, rows, strict=True))
    return found


def test_packed_and_padded_passes_agree(
    folder: Path, transformer: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every input goes through once, with the same result either way."""
    packed = made(transformer)
    assert packed.packed
    found = results(packed)
    monkeypatch.setattr(passes, "find_offset", lambda *_: None)
    first = next(iter(SentenceTransformer(str(folder), device="cpu").eval().children()))
    expected = results(made(first))  # type: ignore[arg-type]
    assert sorted(found) == sorted(expected) == list(range(len(LENGTHS)))
    for i, vector in found.items():
        np.testing.assert_allclose(vector, expected[i], atol=2e-6)


def test_a_model_that_is_packed_still_takes_padded_batches(transformer: Transformer) -> None:
    """Who gives it a mask gets what the mask says."""
    (part,) = inputs([20])
    ids = torch.from_numpy(part.astype(np.int64))[None]
    ones = torch.ones_like(ids)
    with torch.inference_mode():
        before = transformer({"input_ids": ids, "attention_mask": ones})["token_embeddings"]
        assert made(transformer).packed
        longer = torch.nn.functional.pad(ids, (0, 12))
        mask = torch.nn.functional.pad(ones, (0, 12))
        after = transformer({"input_ids": longer, "attention_mask": mask})["token_embeddings"]
    np.testing.assert_allclose(after[:, :20].numpy(), before.numpy(), atol=2e-6)


@pytest.mark.parametrize("fault", ["wrong", "raises", "old"])
def test_a_model_that_cannot_be_packed_is_padded(
    transformer: Transformer, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """The trial at the start finds it out, whatever the reason, and puts everything back."""
    expected = results(made(transformer, budget=1)) if fault == "old" else None
    model: Any = transformer.model
    own = type(model).forward

    def forward(self: Any, *args: Any, position_ids: Any = None, **kwargs: Any) -> Any:
        if position_ids is not None and fault == "raises":
            msg = "no positions"
            raise TypeError(msg)
        return own(self, *args, **kwargs)

    if fault == "old":
        model.set_attn_implementation("sdpa")
        monkeypatch.setattr(type(model), "_supports_attention_backend", False)
    else:
        monkeypatch.setattr(type(model), "forward", forward)
    running = made(transformer)
    assert not running.packed
    assert model.config._attn_implementation == "sdpa"
    found = results(running)
    assert len(found) == len(LENGTHS)
    for i, vector in (expected or {}).items():
        np.testing.assert_allclose(found[i], vector, atol=2e-6)


@pytest.mark.usefixtures("padded")
@pytest.mark.parametrize("room", [128, 200, 300])
def test_passes_shrink_when_memory_is_short(
    transformer: Transformer, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """What fitted is kept, the rest goes on in smaller passes, with the same results."""
    expected = results(made(transformer, budget=128))
    sizes: list[int] = []

    def forward(features: Features) -> Features:
        sizes.append(features["input_ids"].numel())
        if sizes[-1] > room:
            msg = "out of memory"
            raise torch.OutOfMemoryError(msg)
        return own(features)

    own = transformer.forward
    monkeypatch.setattr(transformer, "forward", forward)
    running = made(transformer, budget=512)
    found = results(running)
    assert sum(size > room for size in sizes) <= 3
    assert running.budget < 512
    assert sorted(found) == list(range(len(LENGTHS)))
    for i, vector in found.items():
        np.testing.assert_allclose(vector, expected[i], atol=2e-6)


@pytest.mark.usefixtures("padded")
def test_an_input_that_alone_is_too_large_is_a_memory_error(
    transformer: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is nothing left to halve: the document's stage has to say it."""

    def forward(features: Features) -> Features:
        del features
        msg = "out of memory"
        raise torch.OutOfMemoryError(msg)

    monkeypatch.setattr(transformer, "forward", forward)
    with pytest.raises(MemoryError, match="an input of 128 tokens does not fit"):
        results(made(transformer))


def test_inputs_are_taken_pass_by_pass(transformer: Transformer) -> None:
    """No more than the next pass is made ready: memory does not grow with the inputs."""
    running = made(transformer)
    seen: list[int] = []

    def finish(features: Features, one: Pass) -> torch.Tensor:
        seen.append(len(one.indices))
        return means(features, one, lengths)

    lengths = [128] * 100
    walk: Iterator[Any] = running.run(inputs(lengths), finish)
    next(walk)
    assert len(seen) == 2
    assert sum(len(one.indices) for one, _ in walk) + seen[0] == 100


def test_batches_keep_padded_lengths_apart_and_the_budget() -> None:
    """One padded length a batch, within the budget, every input once, the longest first."""
    lengths = [3, 16, 17, 256, 250, 100, 3, 241, 300]
    found = list(batches(lengths, longest=256, budget=512))
    assert sorted(i for _, indices in found for i in indices) == list(range(len(lengths)))
    assert [padded for padded, _ in found] == sorted((p for p, _ in found), reverse=True)
    for padded_to, indices in found:
        assert padded_to * len(indices) <= 512
        for i in indices:
            assert lengths[i] <= padded_to < lengths[i] + 16


@pytest.mark.parametrize("low", [1, 100, 240])
def test_packed_passes_hold_every_input_once_and_waste_little(low: int) -> None:
    """Short inputs share passes within their room; a long one has its own."""
    draw = random.Random(low)
    long = [SHARED_TOKENS, SHARED_TOKENS + 1, 9000]
    lengths = [draw.randint(low, 256) for _ in range(500)] + long
    found = list(fill_passes(lengths))
    assert sorted(i for indices in found for i in indices) == list(range(len(lengths)))
    shared = [indices for indices in found if lengths[indices[0]] <= SHARED_TOKENS]
    sizes = [sum(lengths[i] for i in indices) for indices in shared]
    assert max(sizes) <= PASS_TOKENS
    assert all(len(indices) == 1 for indices in found if indices not in shared)
    assert sum(sizes) >= 0.95 * PASS_TOKENS * (len(sizes) - 1)


def test_nothing_makes_no_pass() -> None:
    """No input, no pass."""
    assert list(fill_passes([])) == []
    assert list(batches([], longest=256, budget=512)) == []
