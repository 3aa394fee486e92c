"""A test double for a model: vectors from hashes, fast and the same everywhere.

Chosen in the configuration as ``model.name: hash:64`` (64 dimensions). It has what
the tests of protocol and pipeline need: words cut into sub-words with exact offsets,
special tokens, vectors that depend on their window, equal texts with equal vectors.
Its vectors mean nothing; never search with them.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from chunking.errors import ModelError
from chunking.model import Tokens
from chunking.pooling import TokenRange, normalized, range_means
from jobs.config import ModelConfig
from jobs.ports import ModelFacts

__all__ = ["PREFIX", "HashEmbedder"]

PREFIX = "hash:"
"""What model names of this double begin with."""

_TRAINED_AT = 256
_SPECIAL = np.array([101, 102], np.uint32)
_TOKEN = re.compile(r"\w{1,6}|[^\w\s]")
_CONTEXT = 0.1


class HashEmbedder:
    """Implements :class:`jobs.ports.Embedder` without a model."""

    def __init__(self, config: ModelConfig) -> None:
        digits = config.name.removeprefix(PREFIX)
        if not (digits.isascii() and digits.isdigit() and 1 <= int(digits) <= 4096):  # noqa: PLR2004
            msg = f"model.name is {config.name!r}; the test double is hash:N with N in 1..4096"
            raise ModelError(msg)
        passage_prompt = config.passage_prompt or ""
        self._prompt = self.tokenize(passage_prompt).ids
        self.facts = ModelFacts(
            name=config.name,
            revision="1",
            dimension=int(digits),
            max_seq_length=config.max_seq_length or _TRAINED_AT,
            pooling="mean",
            normalize=True,
            query_prompt=config.query_prompt or "",
            passage_prompt=passage_prompt,
            dtype="float32",
        )

    @property
    def supports_late(self) -> bool:
        """Whether token vectors can be pooled: always."""
        return True

    @property
    def no_late(self) -> str | None:
        """Why token vectors cannot be pooled: they can."""
        return None

    @property
    def dimension(self) -> int:
        """Values of one vector."""
        return self.facts.dimension

    @property
    def window_tokens(self) -> int:
        """Document tokens that fit one window."""
        return self.facts.max_seq_length - len(_SPECIAL) - len(self._prompt)

    @property
    def tokenizer_description(self) -> str | None:
        """Nothing: the double itself is as light as its tokenizer."""
        return None

    def tokenize(self, text: str) -> Tokens:
        """Return pieces of words of at most six letters, and each sign."""
        found = list(_TOKEN.finditer(text))
        words = (match.group().lower().encode("utf-8", "surrogatepass") for match in found)
        return Tokens(
            ids=np.fromiter((zlib.crc32(word) for word in words), np.uint32, len(found)),
            starts=np.fromiter((match.start() for match in found), np.int64, len(found)),
            ends=np.fromiter((match.end() for match in found), np.int64, len(found)),
        )

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the input size of each text, prompt and special tokens included."""
        added = len(_SPECIAL) + len(self._prompt)
        return [added + sum(1 for _ in _TOKEN.finditer(text)) for text in texts]

    def window_input(self, window: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return the ids with prompt and special tokens added."""
        return np.concatenate([_SPECIAL[:1], self._prompt, window, _SPECIAL[1:]])

    def window_means(
        self, windows: Sequence[NDArray[np.uint32]], ranges: Sequence[Sequence[TokenRange]]
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield each window's index and the means of its ranges (R x D)."""
        for index, vectors in self.embed_windows(windows):
            yield index, range_means(vectors, ranges[index])

    def embed_windows(
        self, windows: Sequence[NDArray[np.uint32]]
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield each window's token vectors: a hash of the id, and a tenth of the window's mean."""
        for index, window in enumerate(windows):
            alone = self._hashed(window)
            yield index, (alone + _CONTEXT * alone.mean(axis=0)).astype(np.float32)

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the normalised mean of each text's input."""
        rows = [
            self._hashed(self.window_input(self.tokenize(text).ids)).mean(axis=0) for text in texts
        ]
        return normalized(np.array(rows, np.float64).reshape(len(rows), self.dimension))

    def _hashed(self, ids: NDArray[np.uint32]) -> NDArray[np.float64]:
        """Return values in [-1, 1) from a mix of token id and dimension (Steele's SplitMix64)."""
        dimensions = np.arange(1, self.dimension + 1, dtype=np.uint64)
        state: NDArray[np.uint64] = (ids[:, None].astype(np.uint64) << np.uint64(20)) + dimensions
        state = state * np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
        return state.astype(np.float64) / 2.0**63 - 1.0
