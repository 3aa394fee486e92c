"""Short documents and their chunks under fake tokens and vectors, for the tests of the core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from chunking.chunker import chunk_document
from chunking.model import BlockKind, Chunk, Document, Sentence
from chunking.settings import ChunkingSettings, Strategy
from chunking.units import split_units
from tests.chunking.strategies import ADDITIVE, DocumentBuilder, FakeTokenizer, vectors_of

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)

HEADER = "| Berth | Vessel |\n| --- | --- |"
ROWS = [f"| B{i} | Vessel number {i} |" for i in range(120)]


def vectors_for(units: Sequence[Sentence], kind: str = "topics") -> NDArray[np.floating]:
    """Return seeded vectors, by default with a few topic changes among them."""
    return vectors_of(kind, len(units))


def chunked(
    document: Document,
    chosen: ChunkingSettings,
    tokenizer: FakeTokenizer = ADDITIVE,
    kind: str = "topics",
) -> tuple[list[Sentence], list[Chunk]]:
    """Return the units and chunks of a document under fake vectors."""
    tokens = tokenizer(document.text)
    units = split_units(document, tokens)
    vectors = vectors_for(units, kind)
    return units, chunk_document(document, units, tokens, vectors, chosen, tokenizer.count)


def built(*blocks: tuple[BlockKind, str]) -> Document:
    """Return a document of blocks; headings are of level 1."""
    builder = DocumentBuilder()
    for kind, text in blocks:
        if kind == "heading":
            builder.heading(text)
        elif kind == "table":
            first, second, *rest = text.split("\n")
            builder.table([f"{first}\n{second}", *rest])
        else:
            builder.add(kind, text)
    return builder.build()


def texts(document: Document, chunks: Sequence[Chunk]) -> list[str]:
    """Return the texts of chunks."""
    return [document.text[chunk.start : chunk.end] for chunk in chunks]
