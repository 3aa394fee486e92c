"""A model that is loaded when its weights are needed first; until then its tokenizer serves.

To make chunks anew from stored vectors takes a tokenizer and a few facts, which the
dataset keeps, and no network: importing torch and loading weights alone would cost more
than the whole job.

Shapes: D dimensions, R ranges of tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from chunking.errors import ModelError
from chunking.model import Tokens
from chunking.pooling import TokenRange
from jobs.adapters.tokenizer import FastTokenizer
from jobs.ports import Embedder, ModelFacts

__all__ = ["LazyEmbedder"]


class LazyEmbedder:
    """Implements :class:`jobs.ports.Embedder` by a recorded tokenizer, then by the model.

    ``load`` loads the model when a vector is asked for; it must be the recorded one.
    """

    def __init__(
        self,
        facts: ModelFacts,
        description: str,
        *,
        no_late: str | None,
        load: Callable[[], Embedder],
    ) -> None:
        self.facts = facts
        self.no_late = no_late
        self.tokenizer_description: str | None = description
        self._description = description
        self._load = load
        self._model: Embedder | None = None

    @cached_property
    def _tokenizer(self) -> FastTokenizer:
        return FastTokenizer(Tokenizer.from_str(self._description), self.facts.passage_prompt)

    @property
    def dimension(self) -> int:
        """Values of one vector."""
        return self.facts.dimension

    @property
    def window_tokens(self) -> int:
        """Document tokens that fit one window."""
        return self.facts.max_seq_length - self._tokenizer.added

    @property
    def supports_late(self) -> bool:
        """Whether token vectors can be pooled."""
        return self.no_late is None

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
        """Yield each window's index and the means of its ranges (R x D), by the model."""
        if windows:
            yield from self._loaded().window_means(windows, ranges)

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the model's own vector of each text (n x D)."""
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        return self._loaded().embed_texts(texts)

    def _loaded(self) -> Embedder:
        if self._model is None:
            model = self._load()
            if model.facts != self.facts:
                raise ModelError(_differs(self.facts, model.facts))
            self._model = model
        return self._model


def _differs(recorded: ModelFacts, found: ModelFacts) -> str:
    changed = [
        f"{name} {getattr(found, name)!r}, not {getattr(recorded, name)!r}"
        for name in ModelFacts.__slots__
        if getattr(found, name) != getattr(recorded, name)
    ]
    return (
        f"the model {recorded.name!r} is not the one that made the dataset: it has "
        f"{'; '.join(changed)}; use that one, or make the dataset anew with 'chunkmill run'"
    )
