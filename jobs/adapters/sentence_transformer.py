"""The embedding model, by sentence-transformers: token vectors of windows, vectors of texts.

How inputs are put through the transformer is :mod:`jobs.adapters.passes`; here is what
comes before (the model, its tokenizer and window) and after (its head, the means).

Shapes: D dimensions, T tokens of a window, R ranges of tokens.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from safetensors import SafetensorError
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Dropout, Pooling

from chunking.errors import ModelError
from chunking.model import Tokens
from chunking.pooling import TokenRange, normalized
from chunking.units import MAX_UNIT_TOKENS
from jobs.adapters.model_files import files_revision, locate
from jobs.adapters.passes import Finish, ModelPasses, Pass
from jobs.adapters.tokenizer import FastTokenizer
from jobs.config import ModelConfig
from jobs.ports import ModelFacts

__all__ = ["SentenceTransformerEmbedder"]

_LONG = 1_000_000
_LOAD_ERRORS = (
    AttributeError,
    ImportError,
    KeyError,
    OSError,
    RuntimeError,
    SafetensorError,
    TypeError,
    ValueError,
    pickle.UnpicklingError,
)
"""What loading a damaged or unfitting model raises."""

_DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


class SentenceTransformerEmbedder:
    """Implements :class:`jobs.ports.Embedder` with one sentence-transformers model."""

    def __init__(self, model: SentenceTransformer, config: ModelConfig, path: Path) -> None:
        self._model = model.eval()
        self._config = config
        self._path = path
        self._transformer = _transformer(model, config.name)
        tokenizer = self._transformer.tokenizer
        if tokenizer is None:
            msg = f"{config.name!r} has no tokenizer"
            raise ModelError(msg)
        self._prompt = _prompt(config.passage_prompt, model, ("document", "passage", "corpus"))
        self._tokenizer = FastTokenizer(tokenizer, self._prompt)
        self._longest = _window(model, self._transformer, config)
        self._head = list(model.children())[1:]
        self._late_head, self._no_late = _late_head(self._head)
        self._check_window()
        self._passes = ModelPasses(
            self._transformer,
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
        transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
        transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        try:
            model = SentenceTransformer(
                str(path),
                device=_device(config.device),
                trust_remote_code=config.trust_remote_code,
                local_files_only=not config.trust_remote_code,
                model_kwargs={"dtype": _DTYPES[config.dtype]},
            )
        except _LOAD_ERRORS as error:
            reason = " ".join(str(error).split())[:300]
            msg = f"cannot load the model {config.name!r}: {reason}"
            raise ModelError(msg) from error
        return cls(model, config, path)

    @cached_property
    def facts(self) -> ModelFacts:
        """What is recorded of the model; the revision of a local one is a hash of its files."""
        config = self._config
        return ModelFacts(
            name=config.name,
            revision=files_revision(self._path),
            dimension=self.dimension,
            max_seq_length=self._longest,
            pooling=_pooling_name(self._model),
            normalize=self.normalize,
            query_prompt=_prompt(config.query_prompt, self._model, ("query",)),
            passage_prompt=self._prompt,
            dtype=config.dtype,
        )

    @property
    def normalize(self) -> bool:
        """Whether the model scales its vectors to unit length."""
        return any(isinstance(module, Normalize) for module in self._model.children())

    @property
    def dimension(self) -> int:
        """Values of one vector."""
        return int(self._model.get_embedding_dimension() or 0)

    @property
    def window_tokens(self) -> int:
        """Document tokens that fit one window."""
        return self._longest - len(self._tokenizer.head) - len(self._tokenizer.tail)

    @property
    def supports_late(self) -> bool:
        """Whether token vectors can be pooled."""
        return self._no_late is None

    def require_late(self) -> None:
        """Raise a :class:`ModelError` that says why, if the model has no late vectors."""
        if self._no_late is not None:
            msg = (
                f"late vectors do not apply to {self._config.name!r}: {self._no_late}; "
                "set chunking.vectors=chunk"
            )
            raise ModelError(msg)

    def tokenize(self, text: str) -> Tokens:
        """Return the text's tokens with offsets, special tokens left out."""
        return self._tokenizer.tokenize(text)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the exact model input size of each text: prompt and special tokens included."""
        return self._tokenizer.count(texts)

    def window_input(self, window: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return a window's token ids as the model sees them."""
        return np.concatenate([self._tokenizer.head, window, self._tokenizer.tail])

    def window_means(
        self, windows: Sequence[NDArray[np.uint32]], ranges: Sequence[Sequence[TokenRange]]
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield each window's index and the means of its ranges (R x D), pass by pass.

        Summed in float64 on a CPU, in float32 on a GPU, and never off the device.
        """
        self.require_late()
        inputs = [self.window_input(window) for window in windows]
        first = len(self._tokenizer.head)

        def finish(features: dict[str, Any], one: Pass) -> torch.Tensor:
            spans = [
                (first + at + start, first + at + end)
                for index, at in zip(one.indices, one.starts, strict=True)
                for start, end in ranges[index]
            ]
            return _means(self._late_vectors(features), spans)

        for one, means in self._passes.run(inputs, finish):
            row = 0
            for index in one.indices:
                yield index, means[row : row + len(ranges[index])]
                row += len(ranges[index])

    def embed_windows(
        self, windows: Sequence[NDArray[np.uint32]]
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield each window's index and token vectors (T x D), pass by pass."""
        self.require_late()
        inputs = [self.window_input(window) for window in windows]
        first = len(self._tokenizer.head)
        finish: Finish = lambda features, _: self._late_vectors(features)  # noqa: E731
        for one, vectors_TD in self._passes.run(inputs, finish):
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
        for one, vectors in self._passes.run(inputs, self._sentence_vectors):
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
        for module in self._late_head:
            if isinstance(module, Pooling):
                features["sentence_embedding"] = features["token_embeddings"]
            else:
                features = module(features)
        vectors: torch.Tensor = features["sentence_embedding"][..., : self.dimension]
        return vectors.reshape(-1, vectors.shape[-1])

    def _sentence_vectors(self, features: dict[str, Any], one: Pass) -> torch.Tensor:
        """Return the model's own vector of each input of a pass."""
        if self._passes.packed:
            used = int(features["cu_seq_lens_q"][-1])
            features["token_embeddings"] = features["token_embeddings"][:, :used]
        for module in self._head:
            features = module(features)
        vectors: torch.Tensor = features["sentence_embedding"][: len(one.indices)]
        return vectors[..., : self.dimension]

    def _check_window(self) -> None:
        if self.window_tokens < MAX_UNIT_TOKENS:
            msg = (
                f"the window of {self._config.name!r} leaves {self.window_tokens} tokens beside "
                f"prompt and special tokens; it must leave {MAX_UNIT_TOKENS} "
                "(model.max_seq_length, model.passage_prompt)"
            )
            raise ModelError(msg)


def _device(asked: str) -> str:
    if asked == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if asked == "cuda" and not torch.cuda.is_available():
        msg = "model.device is cuda, but torch sees no GPU here"
        raise ModelError(msg)
    return asked


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


def _transformer(model: SentenceTransformer, name: str) -> Transformer:
    first = next(iter(model.children()))
    if not isinstance(first, Transformer):
        msg = f"{name!r} is no transformer, but {type(first).__name__}"
        raise ModelError(msg)
    return cast("Transformer", first)


def _prompt(asked: str | None, model: SentenceTransformer, names: Sequence[str]) -> str:
    """Return the configured prompt, else the first of these names that the model brings along."""
    if asked is not None:
        return asked
    own = (model.prompts.get(name) for name in names)
    return next((prompt for prompt in own if prompt), "")


def _window(model: SentenceTransformer, transformer: Transformer, config: ModelConfig) -> int:
    """Return the window: configured, else as trained, never beyond the model's positions."""
    positions = getattr(transformer.config, "max_position_embeddings", None) or _LONG
    trained = model.max_seq_length
    if trained is None or trained > _LONG:
        trained = positions if positions < _LONG else 512
    window = config.max_seq_length or trained
    if window > positions:
        msg = f"model.max_seq_length is {window}; {config.name!r} has {positions} positions"
        raise ModelError(msg)
    return int(window)


def _pooling_name(model: SentenceTransformer) -> str:
    for module in model.children():
        if isinstance(module, Pooling):
            mode = module.pooling_mode
            return mode if isinstance(mode, str) else "+".join(mode)
    return "none"


def _late_head(modules: Sequence[torch.nn.Module]) -> tuple[list[torch.nn.Module], str | None]:
    """Return the modules to put token vectors through, or why there are none.

    Late pooling swaps mean and head, so the head must be linear: what comes after the
    mean may be dense without activation, dropout (idle here), and, last, a normalisation.
    """
    head: list[torch.nn.Module] = []
    pooled = normalised = False
    for module in modules:
        if isinstance(module, Pooling):
            if module.pooling_mode != "mean" or pooled:
                return [], f"it pools by {module.pooling_mode!r}, not by the mean of its tokens"
            pooled = True
        elif isinstance(module, Normalize):
            normalised = True
            continue
        elif isinstance(module, Dense):
            if pooled and not isinstance(module.activation_function, torch.nn.Identity):
                return (
                    [],
                    f"its head has the activation {type(module.activation_function).__name__}",
                )
        elif not isinstance(module, Dropout):
            return [], f"its module {type(module).__name__} is not linear"
        if normalised:
            return [], "its head goes on after the normalisation"
        head.append(module)
    if not pooled:
        return [], "it does not pool its token vectors"
    return head, None
