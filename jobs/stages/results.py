"""What embedding and chunking gave for one document, and its rows in the published tables.

Shapes: U units, C chunks, D dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from chunking import ids, schemas
from chunking.errors import DocumentError
from chunking.model import Chunk, Document, Sentence, Tokens, TokenWindow
from chunking.settings import ChunkingSettings
from jobs.blocks import blocks_array, boxes_array
from jobs.records import ParsedDocument

__all__ = [
    "DocumentResult",
    "boundaries_table",
    "chunks_table",
    "documents_table",
    "new_ids",
    "sentences_table",
]

_MESSAGE_CHARS = 1000


@dataclass(slots=True, kw_only=True)
class DocumentResult:
    """A document on its way through the stage; the one value here that is filled in steps.

    ``model_tokens``: document tokens that went through the model, by what for;
    ``reused_tokens``: those of windows whose vectors were known.

    ``vectors_UD``: the units' means as stored; None where no model pass was made.
    ``own_CD``: the model's own vectors of the chunks, each embedded alone; None where
    none was asked for. ``embeddings_CD``: the chunks' vectors, blended if so asked; None
    where there are none. ``methods``: how each was made. ``error`` ends the way.
    """

    parsed: ParsedDocument
    settings: ChunkingSettings
    tokens: Tokens | None = None
    units: Sequence[Sentence] = ()
    windows: Sequence[TokenWindow] = ()
    window_hashes: Sequence[str] = ()
    vectors_UD: NDArray[np.float32] | None = None  # noqa: N815
    distances: NDArray[np.float64] | None = None
    chunks: Sequence[Chunk] = ()
    chunk_ids: Sequence[str] = ()
    own_CD: NDArray[np.float32] | None = None  # noqa: N815
    embeddings_CD: NDArray[np.float32] | None = None  # noqa: N815
    methods: Sequence[str] = ()
    error: DocumentError | None = None
    seconds: float = 0.0
    model_tokens: dict[str, int] = field(default_factory=dict)
    reused_tokens: int = 0

    @property
    def document(self) -> Document | None:
        """The text, unless it could not be parsed or the document has failed since."""
        return None if self.error is not None else self.parsed.outcome.document

    @property
    def published(self) -> list[tuple[int, Chunk]]:
        """The chunks with their position; none of a document that has failed."""
        return [] if self.error is not None else list(enumerate(self.chunks))


def documents_table(
    results: Sequence[DocumentResult], *, fingerprint: str, run_id: str
) -> pa.Table:
    """Return one ``documents`` row per result, failed and skipped ones included."""
    rows = [_document_row(result) for result in results]
    for row in rows:
        row["fingerprint"] = row["fingerprint"] or fingerprint
    constants = {"run_id": run_id}
    columns: dict[str, Any] = {
        "blocks": blocks_array(
            [r.document.blocks if r.document and r.chunks else None for r in results]
        )
    }
    for name in schemas.DOCUMENTS.names:
        if name not in columns:
            columns[name] = [constants.get(name, row.get(name)) for row in rows]
    return _table(schemas.DOCUMENTS, columns)


def _document_row(result: DocumentResult) -> dict[str, Any]:
    plan, outcome, document = result.parsed.plan, result.parsed.outcome, result.document
    row: dict[str, Any] = {
        "doc_id": plan.doc_id,
        "source_key": plan.source_key,
        "source_uri": plan.source_uri,
        "parent_doc_id": plan.parent_doc_id,
        "etag": result.parsed.etag,
        "size_bytes": result.parsed.size_bytes,
        "format": outcome.format,
        "attempts": plan.attempts + 1,
        "parse_seconds": outcome.seconds,
        "embed_seconds": result.seconds,
        "parser": outcome.parser,
        "metadata": _metadata(result, document.metadata if document else {}),
        "warnings": [_safe(warning) for warning in outcome.warnings],
        "furniture": [],
        "n_chars": 0,
        "n_tokens": 0,
        "n_chunks": 0,
        "stale": result.parsed.stale and result.error is None,
        "fingerprint": result.parsed.fingerprint,
    }
    return row | _status(result) | (_text_facts(result, document) if document else {})


def _status(result: DocumentResult) -> dict[str, Any]:
    outcome, error = result.parsed.outcome, result.error
    if error is not None:
        return {
            "status": "failed",
            "error_stage": error.stage,
            "error_kind": error.kind,
            "error_message": _safe(str(error)),
            "retryable": error.retryable,
        }
    return {
        "status": outcome.status,
        "error_stage": result.parsed.error_stage,
        "error_kind": outcome.error_kind,
        "error_message": _safe(outcome.error_message) if outcome.error_message else None,
        "retryable": outcome.retryable,
    }


def _text_facts(result: DocumentResult, document: Document) -> dict[str, Any]:
    warnings = [_safe(warning) for warning in result.parsed.outcome.warnings]
    if not document.text.strip() and "no_text" not in warnings:
        warnings.append("no_text")
    # These describe the published chunks: where there are none, there is nothing to describe.
    published = bool(result.chunks)
    return {
        "doc_version": result.parsed.doc_version if published else None,
        "text": document.text if published else None,
        "warnings": warnings,
        "title": document.title,
        "language": document.language,
        "n_pages": document.n_pages or None,
        "n_chars": len(document.text) if published else 0,
        "n_tokens": len(result.tokens.ids) if result.tokens else 0,
        "n_chunks": len(result.chunks),
        "furniture": list(document.furniture),
    }


def _metadata(result: DocumentResult, own: Mapping[str, str]) -> list[tuple[str, str]]:
    # The source's metadata wins: a document must not change its own permissions.
    return sorted({**own, **result.parsed.plan.metadata}.items())


def _safe(message: str) -> str:
    """Return a message that Arrow can hold: lone surrogates replaced, not too long."""
    return message[:_MESSAGE_CHARS].encode("utf-8", "replace").decode("utf-8")


def chunks_table(results: Sequence[DocumentResult], schema: pa.Schema) -> pa.Table:
    """Return the ``chunks`` rows of all results, in their order, then by position."""
    found = [(result, i, chunk) for result in results for i, chunk in result.published]
    rows = [_chunk_row(result, i, chunk) for result, i, chunk in found]
    own = {"boxes", "embedding"}
    columns: dict[str, Any] = {
        name: [row[name] for row in rows] for name in schema.names if name not in own
    }
    columns["boxes"] = boxes_array([chunk.boxes for _, _, chunk in found])
    parts = [(r.embeddings_CD, len(r.published)) for r in results if r.published]
    columns["embedding"] = _vectors(parts, schema.field("embedding").type)
    return _table(schema, columns)


def _chunk_row(result: DocumentResult, i: int, chunk: Chunk) -> dict[str, Any]:
    plan = result.parsed.plan
    return {
        "chunk_id": result.chunk_ids[i],
        "doc_id": plan.doc_id,
        "source_key": plan.source_key,
        "source_uri": plan.source_uri,
        "doc_version": result.parsed.doc_version,
        "chunk_index": chunk.index,
        "text": _slice(result, chunk),
        "prefix": chunk.prefix,
        "start_char": chunk.start,
        "end_char": chunk.end,
        "n_tokens": chunk.n_tokens,
        "kind": chunk.kind,
        "heading_path": list(chunk.heading_path),
        "page_start": chunk.page_start,
        "page_end": chunk.page_end,
        "language": chunk.language,
        "code_language": chunk.code_language,
        "boundaries": chunk.boundaries,
        "vectors": result.methods[i],
        "split_reason": chunk.boundary.reason,
        "metadata": _metadata(result, chunk.metadata),
    }


def _slice(result: DocumentResult, chunk: Chunk) -> str:
    document = result.document
    return document.text[chunk.start : chunk.end] if document else ""


def boundaries_table(results: Sequence[DocumentResult]) -> pa.Table:
    """Return one ``boundaries`` row per chunk: why it ends there."""
    found = [(result, i, chunk.boundary) for result in results for i, chunk in result.published]
    return _table(
        schemas.BOUNDARIES,
        {
            "doc_id": [result.parsed.plan.doc_id for result, _, _ in found],
            "doc_version": [result.parsed.doc_version for result, _, _ in found],
            "chunk_id": [result.chunk_ids[i] for result, i, _ in found],
            "position": [boundary.position for _, _, boundary in found],
            "distance": [boundary.distance for _, _, boundary in found],
            "threshold": [boundary.threshold for _, _, boundary in found],
            "reason": [boundary.reason for _, _, boundary in found],
        },
    )


def sentences_table(results: Sequence[DocumentResult], schema: pa.Schema) -> pa.Table:
    """Return one row per unit of every document that went through the model in windows."""
    kept = [r for r in results if r.document and r.vectors_UD is not None and r.windows]
    units = [(result, unit) for result in kept for unit in result.units]
    vectors = [(result.vectors_UD, len(result.units)) for result in kept]
    return _table(
        schema,
        {
            "doc_id": [result.parsed.plan.doc_id for result, _ in units],
            "doc_version": [result.parsed.doc_version for result, _ in units],
            "sentence_index": [unit.index for _, unit in units],
            "start_char": [unit.start for _, unit in units],
            "end_char": [unit.end for _, unit in units],
            "n_tokens": [unit.n_tokens for _, unit in units],
            "distance_next": list(chain.from_iterable(_distances(result) for result in kept)),
            "window_hash": list(chain.from_iterable(_hashes(result) for result in kept)),
            "vector": _vectors(vectors, schema.field("vector").type),
        },
    )


def _distances(result: DocumentResult) -> list[float | None]:
    if result.distances is None:
        return [None] * len(result.units)
    return [*result.distances.tolist(), None]


def _hashes(result: DocumentResult) -> list[str]:
    return [
        digest
        for window, digest in zip(result.windows, result.window_hashes, strict=True)
        for _ in range(window.first_unit, window.last_unit)
    ]


def _vectors(
    parts: Sequence[tuple[NDArray[np.float32] | None, int]], kind: pa.FixedSizeListType[Any, Any]
) -> pa.Array[Any]:
    """Return the rows of all parts as fixed-size lists, nulls for the parts without vectors.

    A part is its vectors, or None, and its number of rows.
    """
    dtype = np.float16 if pa.types.is_float16(kind.value_type) else np.float32
    rows = [
        np.zeros((n, kind.list_size), dtype) if part is None else part.astype(dtype)
        for part, n in parts
    ]
    flat = np.concatenate([part.reshape(-1) for part in rows]) if rows else np.empty(0, dtype)
    missing = np.repeat([part is None for part, _ in parts], [n for _, n in parts])
    from_arrays: Any = pa.FixedSizeListArray.from_arrays  # the stubs know no ``type``
    mask = pa.array(missing.astype(bool)) if missing.any() else None
    column: pa.Array[Any] = from_arrays(pa.array(flat), type=kind, mask=mask)
    return column


def _table(schema: pa.Schema, columns: Mapping[str, Any]) -> pa.Table:
    arrays = [
        column if isinstance(column, pa.Array) else pa.array(column, field.type)
        for field, column in ((field, columns[field.name]) for field in schema)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def new_ids(result: DocumentResult) -> list[str]:
    """Return the ids of a document's chunks."""
    texts = (_slice(result, chunk) for chunk in result.chunks)
    return ids.chunk_ids(result.parsed.plan.doc_id, texts)
