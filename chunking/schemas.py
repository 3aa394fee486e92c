"""The Arrow schemas of every table, in one place; nothing is inferred from rows.

Columns that may be null say so; all others are declared non-null. Dataset facts
ride in the schema metadata under the keys named here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import pyarrow as pa

__all__ = [
    "BLOCK",
    "BOUNDARIES",
    "BOX",
    "CHANGES",
    "DOCUMENTS",
    "FORMAT_VERSION",
    "INDEX",
    "METADATA_PREFIX",
    "PLAN",
    "TABLES",
    "chunks_schema",
    "sentences_schema",
    "with_facts",
]

FORMAT_VERSION = 1
"""``schema_version`` of ``dataset.json``: raised when a reader must be changed."""

METADATA_PREFIX = "chunkmill."
"""Prefix of every key that chunkmill puts into a file's schema metadata."""

TABLES = ("changes", "boundaries", "chunks", "documents")
"""The published tables, in the order in which a bucket's plain copies are made."""

VectorType = Literal["float32", "float16"]


def _required(name: str, kind: pa.DataType) -> pa.Field[Any]:
    return pa.field(name, kind, nullable=False)


_text = pa.string()
_strings = pa.list_(pa.field("item", pa.string(), nullable=False))
_string_map = pa.map_(pa.string(), pa.string())

BOX = pa.struct(
    [
        _required("page", pa.int32()),
        _required("left", pa.float32()),
        _required("top", pa.float32()),
        _required("right", pa.float32()),
        _required("bottom", pa.float32()),
    ]
)
"""A rectangle in points from the page's top left."""

BLOCK = pa.struct(
    [
        _required("index", pa.int32()),
        _required("kind", _text),
        _required("start", pa.int64()),
        _required("end", pa.int64()),
        pa.field("level", pa.int32()),
        _required("heading_path", _strings),
        pa.field("page_start", pa.int32()),
        pa.field("page_end", pa.int32()),
        pa.field("code_language", _text),
        _required("row_starts", pa.list_(pa.field("item", pa.int64(), nullable=False))),
    ]
)

DOCUMENTS = pa.schema(
    [
        _required("doc_id", _text),
        _required("source_key", _text),
        _required("source_uri", _text),
        pa.field("parent_doc_id", _text),
        pa.field("doc_version", _text),  # of the published chunks; null if there are none
        pa.field("etag", _text),  # of the last attempt
        _required("size_bytes", pa.int64()),
        _required("format", _text),  # by content: md html docx ... or "unknown"
        _required("status", _text),  # ok | partial | failed | skipped
        pa.field("error_stage", _text),
        pa.field("error_kind", _text),
        pa.field("error_message", _text),
        _required("retryable", pa.bool_()),
        _required("attempts", pa.int32()),
        _required("stale", pa.bool_()),  # its chunks are of an earlier version
        _required("warnings", _strings),
        pa.field("title", _text),
        pa.field("language", _text),  # ISO 639-1
        pa.field("n_pages", pa.int32()),
        _required("n_chars", pa.int64()),
        _required("n_tokens", pa.int64()),  # of the text, special tokens not counted
        _required("n_chunks", pa.int32()),
        _required("parse_seconds", pa.float64()),
        _required("embed_seconds", pa.float64()),
        _required("parser", _text),
        pa.field("text", _text),
        pa.field("blocks", pa.list_(pa.field("item", BLOCK, nullable=False))),
        _required("furniture", _strings),
        _required("metadata", _string_map),
        pa.field("sentences_ref", _text),  # key of its sentence file, below DST
        _required("fingerprint", _text),
        _required("run_id", _text),
    ]
)

BOUNDARIES = pa.schema(
    [
        _required("doc_id", _text),
        _required("doc_version", _text),
        _required("chunk_id", _text),
        _required("position", pa.int64()),  # the chunk's end_char
        pa.field("distance", pa.float32()),
        pa.field("threshold", pa.float32()),
        _required("reason", _text),
    ]
)

CHANGES = pa.schema(
    [
        _required("op", _text),  # upsert | delete
        _required("chunk_id", _text),
        _required("doc_id", _text),
        pa.field("doc_version", _text),
        _required("vector_changed", pa.bool_()),
    ]
)

PLAN = pa.schema(
    [
        _required("unit", pa.int32()),  # -1: a document that is no longer listed and goes
        _required("bucket", pa.int32()),
        _required("doc_id", _text),
        _required("source_key", _text),
        _required("source_uri", _text),
        pa.field("parent_doc_id", _text),
        pa.field("etag", _text),
        _required("size_bytes", pa.int64()),
        _required("attempts", pa.int32()),  # earlier attempts at this version
        _required("metadata", _string_map),
        _required("location", _text),  # what the source needs to read it: key, URI or table file
        pa.field("table_row", pa.int64()),  # row in a table file; null elsewhere
        pa.field("source_name", _text),  # null for the dataset's first source
        pa.field("structure_ref", _text),  # what an earlier version of the document left
    ]
)
"""One row per planned document; the immutable plan of a run."""

INDEX = pa.schema(
    [
        _required("doc_id", _text),
        _required("source_key", _text),
        pa.field("source_name", _text),  # null for the dataset's first source
        pa.field("parent_doc_id", _text),
        pa.field("etag", _text),
        _required("fingerprint", _text),
        _required("status", _text),
        _required("retryable", pa.bool_()),
        _required("attempts", pa.int32()),
        pa.field("value", _text),  # partition value; null in a dataset without partitions
        _required("model", _text),  # H of the model that made the published vectors
        pa.field("structure_ref", _text),  # key of the file with the published structure
    ]
)
"""One row per document of a bucket version: what the next run must know, without texts."""


def _vector(dimension: int, dtype: VectorType) -> pa.DataType:
    value = pa.float16() if dtype == "float16" else pa.float32()
    return pa.list_(pa.field("item", value, nullable=False), dimension)


def chunks_schema(dimension: int, dtype: VectorType = "float32") -> pa.Schema:
    """Return the schema of ``chunks`` for vectors of ``dimension`` values."""
    return pa.schema(
        [
            _required("chunk_id", _text),
            _required("doc_id", _text),
            _required("source_key", _text),
            _required("source_uri", _text),
            _required("doc_version", _text),
            _required("chunk_index", pa.int32()),
            _required("text", _text),
            _required("prefix", _text),  # empty, or ends in a newline
            _required("start_char", pa.int64()),
            _required("end_char", pa.int64()),
            _required("n_tokens", pa.int32()),  # prompt + prefix + text + special tokens
            _required("kind", _text),
            _required("heading_path", _strings),
            pa.field("page_start", pa.int32()),
            pa.field("page_end", pa.int32()),
            _required("boxes", pa.list_(pa.field("item", BOX, nullable=False))),
            pa.field("language", _text),
            pa.field("code_language", _text),
            _required("boundaries", _text),
            _required("vectors", _text),
            _required("split_reason", _text),
            pa.field("embedding", _vector(dimension, dtype)),
            _required("metadata", _string_map),
        ]
    )


def sentences_schema(dimension: int, dtype: VectorType = "float16") -> pa.Schema:
    """Return the schema of the sentence store: one row per unit of embedding.

    ``vector`` is the un-normalised mean of the unit's token vectors.
    """
    return pa.schema(
        [
            _required("doc_id", _text),
            _required("doc_version", _text),
            _required("sentence_index", pa.int32()),
            _required("start_char", pa.int64()),
            _required("end_char", pa.int64()),
            _required("n_tokens", pa.int32()),
            pa.field("distance_next", pa.float32()),
            _required("window_hash", _text),
            _required("vector", _vector(dimension, dtype)),
        ]
    )


def with_facts(schema: pa.Schema, facts: Mapping[str, str]) -> pa.Schema:
    """Return the schema with ``facts`` in its metadata, keys prefixed, sorted by key."""
    metadata = {f"{METADATA_PREFIX}{key}": facts[key] for key in sorted(facts)}
    return schema.with_metadata(metadata)
