"""Architectures at their full length, against plain forward passes of the library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from transformers import AutoModel

from jobs.adapters import passes
from jobs.adapters.sentence_transformer import SentenceTransformerEmbedder
from jobs.config import ModelConfig
from tests.models import ARCHITECTURES, tiny_transformer

LONG = [
    "eurobert",
    "gte",
    "jina_embeddings_v3",
    "modernbert",
    "nomic_bert",
    "qwen3",
    "xlm-roberta",
]
NOT_PACKED = {"deberta-v2", "mpnet"}
"""Their attention is their own: it reckons with distances between tokens."""


def load(path: Path, **keys: object) -> SentenceTransformerEmbedder:
    """Return a model of a folder."""
    config = ModelConfig.model_validate({"name": str(path), "dtype": "float32", **keys})
    return SentenceTransformerEmbedder.load(config, threads=1)


def windows(lengths: Sequence[int]) -> list[NDArray[np.uint32]]:
    """Return seeded windows of these lengths."""
    rng = np.random.default_rng(5)
    return [rng.integers(1000, 20_000, size=n).astype(np.uint32) for n in lengths]


def thirds(length: int) -> list[tuple[int, int]]:
    """Return ranges of a window's tokens, of which one is a single token."""
    return [(0, length // 3 + 1), (length // 3 + 1, length), (length - 1, length)]


class Reference:
    """The library's model, as it is: whole inputs, one a pass or padded on a side."""

    def __init__(self, path: Path, kind: str) -> None:
        self._model: Any = AutoModel.from_pretrained(path, dtype=torch.float32).eval()
        self._first_position = 1 if kind == "xlm-roberta" else 0
        self._takes_positions = kind != "mpnet"

    def means(
        self,
        asked: Sequence[NDArray[np.uint32]],
        ranges: Sequence[Sequence[tuple[int, int]]],
        *,
        left: bool = False,
    ) -> list[NDArray[np.float64]]:
        """Return the means of each window's ranges, all windows in one padded pass."""
        longest = max(len(window) for window in asked) + 2
        ids = torch.zeros(len(asked), longest, dtype=torch.long)
        mask = torch.zeros_like(ids)
        starts = [longest - len(window) - 2 if left else 0 for window in asked]
        for row, (window, start) in enumerate(zip(asked, starts, strict=True)):
            part = torch.tensor([101, *window.tolist(), 102])
            ids[row, start : start + len(part)] = part
            mask[row, start : start + len(part)] = 1
        more: dict[str, Any] = {}
        if left and self._takes_positions:
            more["position_ids"] = (mask.cumsum(1) - 1).clamp(0) + self._first_position
        with torch.inference_mode():
            states = self._model(input_ids=ids, attention_mask=mask, **more).last_hidden_state
        tokens = [
            states[row, start + 1 : start + 1 + len(window)].double().numpy()
            for row, (window, start) in enumerate(zip(asked, starts, strict=True))
        ]
        return [
            np.stack([rows[first:last].mean(axis=0) for first, last in wanted])
            for rows, wanted in zip(tokens, ranges, strict=True)
        ]


def least_cosine(found: NDArray[np.floating], expected: NDArray[np.floating]) -> float:
    """Return the least cosine of pairs of rows."""
    a, b = found.astype(np.float64), expected.astype(np.float64)
    return float(((a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)).min())


@pytest.mark.parametrize("kind", LONG)
def test_a_window_of_8192_tokens_equals_a_plain_pass(tmp_path: Path, kind: str) -> None:
    """One long document in one window, short ones beside it: all as the library has them."""
    path = tiny_transformer(tmp_path, kind, window=8192)
    embedder = load(path)
    assert embedder.facts.max_seq_length == 8192
    assert embedder.passes.packed
    asked = windows([embedder.window_tokens, 700, 5])
    ranges = [thirds(len(window)) for window in asked]
    found = dict(embedder.window_means(asked, ranges))
    reference = Reference(path, kind)
    for index, window in enumerate(asked):
        (expected,) = reference.means([window], [ranges[index]])
        assert least_cosine(found[index], expected) >= 0.99999


@pytest.mark.parametrize(
    ("kind", "packed"),
    [(kind, True) for kind in sorted(ARCHITECTURES)]
    + [(kind, False) for kind in ("bert", "modernbert", "qwen3", "xlm-roberta")],
)
def test_windows_in_common_passes_equal_padded_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, *, packed: bool
) -> None:
    """Packed or padded by us, padded on the left or the right by the reference: the same."""
    if not packed:
        monkeypatch.setattr(passes, "find_offset", lambda *_: None)
    path = tiny_transformer(tmp_path, kind, window=500)
    embedder = load(path)
    assert embedder.passes.packed == (packed and kind not in NOT_PACKED)
    asked = windows([490, 37, 1, 300, 260, 120, 498])
    ranges = [thirds(len(window)) if len(window) > 2 else [(0, 1)] for window in asked]
    found = dict(embedder.window_means(asked, ranges))
    reference = Reference(path, kind)
    for left in (False, True):
        if left and kind == "mpnet":
            continue  # its positions follow from the ids, wherever the padding is
        for index, expected in enumerate(reference.means(asked, ranges, left=left)):
            assert least_cosine(found[index], expected) >= 0.99999


@pytest.mark.parametrize(
    ("kind", "pooling"), [("modernbert", "mean"), ("qwen3", "lasttoken"), ("xlm-roberta", "cls")]
)
def test_texts_of_any_length_equal_the_models_own(tmp_path: Path, kind: str, pooling: str) -> None:
    """Texts of one word and of thousands, together, get what sentence-transformers gives."""
    path = tiny_transformer(tmp_path, kind, pooling=pooling, window=1000)
    embedder = load(path)
    assert embedder.supports_late == (pooling == "mean")
    texts = ["harbour", "the copper ledger of a river stone " * 110, "", "willow, stone; 42!" * 30]
    own = SentenceTransformer(str(path), device="cpu").encode(texts)
    assert least_cosine(embedder.embed_texts(texts), own) >= 0.99999


def test_positions_that_begin_behind_the_padding_id_are_not_counted(tmp_path: Path) -> None:
    """A table of 200 rows holds 199 tokens of a model that leaves out the rows of its padding."""
    path = tiny_transformer(tmp_path, "xlm-roberta", max_position_embeddings=200)
    embedder = load(path)
    assert embedder.facts.max_seq_length == 199
    asked = windows([embedder.window_tokens])
    ((_, found),) = embedder.window_means(asked, [[(0, embedder.window_tokens)]])
    (expected,) = Reference(path, "xlm-roberta").means(asked, [[(0, embedder.window_tokens)]])
    assert least_cosine(found, expected) >= 0.99999
