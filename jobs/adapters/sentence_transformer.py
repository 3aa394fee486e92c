"""The embedding model, by sentence-transformers: token vectors of windows, vectors of texts.

How inputs are put through the transformer is :mod:`jobs.adapters.passes`; here is what
comes before (the model, its tokenizer and window) and after (its head, the means).

Shapes: D dimensions, T tokens of a window, R ranges of tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling

from chunking.errors import ModelError
from chunking.model import Tokens
from chunking.pooling import TokenRange, normalized
from chunking.units import MAX_UNIT_TOKENS
from jobs.adapters.model_files import files_revision, locate
from jobs.adapters.model_loading import load_model, loading
from jobs.adapters.model_modules import find_window, own_prompt, take_apart
from jobs.adapters.passes import Finish, ModelPasses, Pass
from jobs.adapters.tokenizer import FastTokenizer
from jobs.config import ModelConfig
from jobs.ports import ModelFacts

__all__ = ["SentenceTransformerEmbedder"]


class SentenceTransformerEmbedder:
    """Implements :class:`jobs.ports.Embedder` with one sentence-transformers model."""

    def __init__(self, model: SentenceTransformer, config: ModelConfig, path: Path) -> None:
        self._model = model
        self._config = config
        self._path = path
        self._modules = take_apart(model, config.name)
        tokenizer = self._modules.transformer.tokenizer
        if tokenizer is None:
            msg = f"{config.name!r} has no tokenizer"
            raise ModelError(msg)
        self._prompt = self._chosen(config.passage_prompt, ("document", "passage", "corpus"))
        self._tokenizer = FastTokenizer(tokenizer, self._prompt)
        self._longest = find_window(self._modules.transformer, config)
        self._dimension = _dimension(self._modules.width, model.truncate_dim, config)
        self._check_window()
        self.passes = ModelPasses(
            self._modules.transformer,
            pad=int(tokenizer.pad_token_id or 0),
            longest=self._longest,
            budget=config.batch_tokens,
            prompt_length=len(self._tokenizer.head),
        )

    @classmethod
    def load(
        cls, config: ModelConfig, *, threads: int | None = None
    ) -> SentenceTransformerEmbedder:
        """Load the configured model onto its device; ``threads`` bounds torch on the CPU.

        Raises:
            ModelError: there is no such model, it cannot be loaded or used.
        """
        path = locate(config.name, config.revision)
        if threads is not None:
            torch.set_num_threads(threads)
        embedder = cls(load_model(config, path), config, path)
        loading(config.name, embedder._warm_up)
        return embedder

    def _warm_up(self) -> None:
        """Make one pass, so that a model that fails does so now and not on a document.

        A first pass takes a GPU seconds; on a CPU its passes were tried when they were made.
        """
        if self.passes.packed:
            return
        ids = np.full(MAX_UNIT_TOKENS, self._tokenizer.tail[0] if len(self._tokenizer.tail) else 0)
        for _ in self.passes.run(
            [self.window_input(ids.astype(np.uint32))], self._sentence_vectors
        ):
            pass

    @cached_property
    def facts(self) -> ModelFacts:
        """What is recorded of the model; the revision of a local one is a hash of its files."""
        config = self._config
        return ModelFacts(
            name=config.name,
            revision=files_revision(self._path),
            dimension=self.dimension,
            max_seq_length=self._longest,
            pooling=self._modules.pooling,
            normalize=self.normalize,
            query_prompt=self._chosen(config.query_prompt, ("query",)),
            passage_prompt=self._prompt,
            dtype=str(next(self._modules.transformer.parameters()).dtype).removeprefix("torch."),
        )

    def _chosen(self, asked: str | None, names: Sequence[str]) -> str:
        return own_prompt(self._model, names) if asked is None else asked

    @property
    def normalize(self) -> bool:
        """Whether the model scales its vectors to unit length."""
        return self._modules.normalize

    @property
    def dimension(self) -> int:
        """Values of one vector."""
        return self._dimension

    @property
    def window_tokens(self) -> int:
        """Document tokens that fit one window."""
        return self._longest - self._tokenizer.added

    @property
    def no_late(self) -> str | None:
        """Why token vectors cannot be pooled; None if they can."""
        return self._modules.no_late

    @property
    def supports_late(self) -> bool:
        """Whether token vectors can be pooled."""
        return self._modules.no_late is None

    def _require_late(self) -> None:
        if self.no_late is not None:
            msg = f"late vectors do not apply to {self._config.name!r}: {self.no_late}"
            raise ModelError(msg)

    @property
    def tokenizer_description(self) -> str | None:
        """The tokenizer as JSON."""
        return self._tokenizer.description

    def tokenize(self, text: str) -> Tokens:
        """Return the text's tokens with offsets, special tokens left out."""
        return self._tokenizer.tokenize(text)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the exact model input size of each text: prompt and special tokens included."""
        return self._tokenizer.count(texts)

    def window_input(self, window: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return a window's token ids as the model sees them."""
        return self._tokenizer.window_input(window)

    def window_means(
        self, windows: Sequence[NDArray[np.uint32]], ranges: Sequence[Sequence[TokenRange]]
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield each window's index and the means of its ranges (R x D), pass by pass.

        Summed in float64 on a CPU, in float32 on a GPU, and never off the device.
        """
        self._require_late()
        inputs = [self.window_input(window) for window in windows]
        first = len(self._tokenizer.head)

        def finish(features: dict[str, Any], one: Pass) -> torch.Tensor:
            spans = [
                (first + at + start, first + at + end)
                for index, at in zip(one.indices, one.starts, strict=True)
                for start, end in ranges[index]
            ]
            return _means(self._late_vectors(features), spans)

        for one, means in self.passes.run(inputs, finish):
            row = 0
            for index in one.indices:
                yield index, means[row : row + len(ranges[index])]
                row += len(ranges[index])

    def embed_windows(
        self, windows: Sequence[NDArray[np.uint32]]
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield each window's index and token vectors (T x D), pass by pass."""
        self._require_late()
        inputs = [self.window_input(window) for window in windows]
        first = len(self._tokenizer.head)
        finish: Finish = lambda features, _: self._late_vectors(features)  # noqa: E731
        for one, vectors_TD in self.passes.run(inputs, finish):
            for index, at in zip(one.indices, one.starts, strict=True):
                start = first + at
                yield index, vectors_TD[start : start + len(windows[index])]

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the model's own vector of each text (n x D).

        A text above the window is embedded in even parts, weighted by their tokens.
        """
        owners: list[int] = []
        weights: list[int] = []
        inputs: list[NDArray[np.uint32]] = []
        for owner, text_input in enumerate(self._tokenizer.inputs(texts)):
            for weight, part in self._parts(texts[owner], text_input):
                owners.append(owner)
                weights.append(weight)
                inputs.append(part)
        parts_PD = np.zeros((len(inputs), self.dimension), np.float64)
        for one, vectors in self.passes.run(inputs, self._sentence_vectors):
            parts_PD[one.indices] = vectors
        totals = np.bincount(owners, weights=weights, minlength=len(texts))
        vectors_nD = np.zeros((len(texts), self.dimension), np.float64)
        for row, owner in enumerate(owners):
            vectors_nD[owner] += parts_PD[row] * (weights[row] / totals[owner])
        return normalized(vectors_nD) if self.normalize else vectors_nD.astype(np.float32)

    def _parts(
        self, text: str, text_input: NDArray[np.uint32]
    ) -> Iterator[tuple[int, NDArray[np.uint32]]]:
        if len(text_input) <= self._longest:
            yield 1, text_input
            return
        ids = self._tokenizer.tokenize(text).ids
        for part in np.array_split(ids, -(-len(ids) // self.window_tokens)):
            yield len(part), self.window_input(part)

    def _late_vectors(self, features: dict[str, Any]) -> torch.Tensor:
        """Return the token vectors of a pass after the model's head, in one row."""
        for module in self._modules.late_head:
            if isinstance(module, Pooling):
                features["sentence_embedding"] = features["token_embeddings"]
            else:
                features = module(features)
        vectors: torch.Tensor = features["sentence_embedding"][..., : self.dimension]
        return vectors.reshape(-1, vectors.shape[-1])

    def _sentence_vectors(self, features: dict[str, Any], one: Pass) -> torch.Tensor:
        """Return the model's own vector of each input of a pass."""
        if self.passes.packed:
            _drop_filling(features)
        for module in self._modules.head:
            features = module(features)
        vectors: torch.Tensor = features["sentence_embedding"][: len(one.indices)]
        if self.dimension == vectors.shape[-1]:
            return vectors
        vectors = vectors[..., : self.dimension]
        return torch.nn.functional.normalize(vectors, dim=-1) if self.normalize else vectors

    def _check_window(self) -> None:
        if self.window_tokens < MAX_UNIT_TOKENS:
            msg = (
                f"the window of {self._config.name!r} leaves {self.window_tokens} tokens beside "
                f"prompt and special tokens; it must leave {MAX_UNIT_TOKENS} "
                "(model.max_seq_length, model.passage_prompt)"
            )
            raise ModelError(msg)


def _dimension(width: int, truncated: int | None, config: ModelConfig) -> int:
    """Return the values of a vector; ``truncated`` is what is asked for, or the model's own."""
    if config.truncate_dim is not None and config.truncate_dim > width:
        msg = f"model.truncate_dim is {config.truncate_dim}; {config.name!r} has {width} dimensions"
        raise ModelError(msg)
    return min(width, truncated or width)


def _drop_filling(features: dict[str, Any]) -> None:
    """Leave the tokens that only fill a packed pass out of what the head reads."""
    used = int(features["cu_seq_lens_q"][-1])
    features["token_embeddings"] = features["token_embeddings"][:, :used]
    layers = features.get("all_layer_embeddings")
    if layers is not None:
        features["all_layer_embeddings"] = [layer[:, :used] for layer in layers]


def _means(vectors_TD: torch.Tensor, spans: Sequence[TokenRange]) -> torch.Tensor:
    """Return the means of ranges of rows (R x D), in float32."""
    lengths = np.array([end - start for start, end in spans], np.int64)
    rows = np.concatenate([np.arange(start, end) for start, end in spans] or [np.empty(0, int)])
    device = vectors_TD.device
    exact = torch.float64 if device.type == "cpu" else torch.float32
    owners = torch.from_numpy(np.repeat(np.arange(len(spans)), lengths)).to(device)
    chosen = vectors_TD[torch.from_numpy(rows).to(device)].to(exact)
    sums_RD = chosen.new_zeros(len(spans), vectors_TD.shape[1]).index_add_(0, owners, chosen)
    return (sums_RD / torch.from_numpy(lengths).to(device)[:, None]).float()
