"""Late chunking by its authors' method, from token vectors of transformers: what ours is held to.

Written after the paper (Guenther et al., 2024, "Late Chunking", sections 3 and 3.1) and
its published evaluation. A document is tokenized whole, between its special tokens. If
the model's window holds it, it is one pass; else *long late chunking* cuts the ids into
macro-windows of that length, each begun some tokens before the end of the one before;
a later window's first tokens are context only. Such windows have no special tokens but
at the document's two ends; these are pooled, too, with the first and the last chunk.

Shapes: T tokens of a document, L of one input, C chunks, D dimensions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModel, AutoTokenizer

__all__ = ["TokenPasses", "macro_windows", "reference_vectors"]

_BATCH_TOKENS = 4096

TokenSpan = tuple[int, int]
"""Half-open range of a document's tokens, special ones left out."""


@dataclass(kw_only=True)
class TokenPasses:
    """Token vectors straight from transformers; ``cache`` is a folder that outlives the run.

    ``spent`` counts the tokens of all inputs so far, those answered from the cache too.
    """

    model: Path
    cache: Path | None
    spent: int = 0
    _loaded: torch.nn.Module | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.cache is not None:
            self.cache.mkdir(parents=True, exist_ok=True)
        tokenizer = AutoTokenizer.from_pretrained(self.model)
        self.head, self.tail = tokenizer.cls_token_id, tokenizer.sep_token_id

    def __call__(self, inputs: Sequence[NDArray[np.integer]]) -> list[NDArray[np.float32]]:
        """Return the token vectors (L x D) of each input of complete token ids."""
        self.spent += sum(map(len, inputs))
        known = None if self.cache is None else self.cache / f"{_key(self.model, inputs)}.npz"
        ends = np.cumsum([len(ids) for ids in inputs])[:-1]
        if known is not None and known.exists():
            with np.load(known) as file:
                return np.split(file["vectors"].astype(np.float32), ends)
        found = self._run(inputs)
        if known is not None:
            np.savez(known, vectors=np.concatenate(found).astype(np.float16))
        return found

    def _run(self, inputs: Sequence[NDArray[np.integer]]) -> list[NDArray[np.float32]]:
        if self._loaded is None:
            self._loaded = AutoModel.from_pretrained(self.model).eval()
        found: dict[int, NDArray[np.float32]] = {}
        for batch in _batches([len(ids) for ids in inputs]):
            ids = torch.from_numpy(np.stack([inputs[i] for i in batch]).astype(np.int64))
            with torch.inference_mode():
                hidden = self._loaded(input_ids=ids, attention_mask=torch.ones_like(ids))
            found.update(zip(batch, hidden.last_hidden_state.float().numpy(), strict=True))
        return [found[i] for i in range(len(inputs))]


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield indices of inputs of one length, so that none is padded."""
    groups: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        groups.setdefault(length, []).append(index)
    for length, group in groups.items():
        size = max(_BATCH_TOKENS // length, 1)
        yield from (group[i : i + size] for i in range(0, len(group), size))


def _key(model: Path, inputs: Sequence[NDArray[np.integer]]) -> str:
    digest = hashlib.blake2b(str(model).encode(), digest_size=16)
    for ids in inputs:
        digest.update(len(ids).to_bytes(8) + np.asarray(ids, "<u4").tobytes())
    return digest.hexdigest()


def macro_windows(n_tokens: int, *, length: int, overlap: int) -> list[tuple[int, int, int]]:
    """Return ``(start, end, keep)`` of each window: tokens from ``keep`` on are taken from it."""
    if n_tokens <= length:
        return [(0, n_tokens, 0)]
    windows = [(0, length, 0)]
    while windows[-1][1] < n_tokens:
        done = windows[-1][1]
        start = done - overlap
        windows.append((start, min(start + length, n_tokens), done))
    return windows


def reference_vectors(
    passes: TokenPasses,
    ids: NDArray[np.integer],
    chunks: Sequence[TokenSpan],
    *,
    length: int,
    overlap: int,
) -> NDArray[np.float64]:
    """Return the mean of each chunk's token vectors (C x D), by long late chunking if need be.

    ``ids``: the T tokens of a document; ``length``: the tokens of a window at most.
    """
    whole = np.concatenate([[passes.head], ids, [passes.tail]])
    windows = macro_windows(len(whole), length=length, overlap=overlap)
    vectors = passes([whole[start:end] for start, end, _ in windows])
    kept = [found[keep - start :] for found, (start, _, keep) in zip(vectors, windows, strict=True)]
    vectors_TD = np.concatenate(kept)
    last = len(chunks) - 1
    return np.stack(
        [
            vectors_TD[a + (i > 0) : b + 1 + (i == last)].mean(axis=0, dtype=np.float64)
            for i, (a, b) in enumerate(chunks)
        ]
    )
