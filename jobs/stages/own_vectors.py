"""The model's own vectors of chunks, each embedded by itself: for ``chunk`` and ``blend``.

What was embedded before, by the same model, is known by a hash of its input.

Shapes: C chunks, D dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chunking.blending import blended
from chunking.ids import hash_fields
from jobs.ports import Embedder
from jobs.stages.results import DocumentResult
from jobs.stages.stored import StoredVectors

__all__ = ["embed_chunks_alone", "embed_tokenless", "input_hashes"]


def embed_chunks_alone(
    embedder: Embedder, results: Sequence[DocumentResult], stored: StoredVectors | None
) -> None:
    """Give chunks the model's own vectors, blended with the pooled ones where so asked."""
    asked: list[tuple[DocumentResult, int, str]] = []
    for result in results:
        inputs = _inputs(result)
        result.own_CD = np.empty((len(inputs), embedder.dimension), np.float32)
        result.model_tokens["chunks"] = 0
        known = stored.own(result.parsed.plan) if stored else {}
        for row, digest in enumerate(input_hashes(result)):
            vector = known.get(digest)
            if vector is None:
                asked.append((result, row, inputs[row]))
                result.model_tokens["chunks"] += result.chunks[row].n_tokens
            else:
                result.own_CD[row] = vector
    vectors = embedder.embed_texts([text for _, _, text in asked])
    for (result, row, _), vector in zip(asked, vectors, strict=True):
        if result.own_CD is not None:
            result.own_CD[row] = vector
    for result in results:
        _take(result)


def _take(result: DocumentResult) -> None:
    own_CD = result.own_CD
    if own_CD is None:
        return
    if result.settings.vectors == "blend" and result.embeddings_CD is not None:
        weight = result.settings.neighbour_weight
        result.embeddings_CD = blended(result.embeddings_CD, own_CD, weight)
    else:
        result.embeddings_CD = own_CD.copy()
    result.methods = [result.settings.vectors] * len(own_CD)


def embed_tokenless(embedder: Embedder, results: Sequence[DocumentResult]) -> None:
    """Give chunks whose text makes no token (control characters) the model's own vector."""
    for result in results:
        if result.embeddings_CD is None:
            continue
        empty = np.flatnonzero(~result.embeddings_CD.any(axis=1)).tolist()
        if not empty:
            continue
        inputs = _inputs(result)
        result.embeddings_CD[empty] = embedder.embed_texts([inputs[i] for i in empty])
        result.methods = [
            "chunk" if i in set(empty) else method for i, method in enumerate(result.methods)
        ]


def input_hashes(result: DocumentResult) -> list[str]:
    """Return H of each chunk's input; the task prompt is the model's."""
    return [hash_fields(text) for text in _inputs(result)]


def _inputs(result: DocumentResult) -> list[str]:
    document = result.document
    text = document.text if document else ""
    return [chunk.prefix + text[chunk.start : chunk.end] for chunk in result.chunks]
