"""The Arrow schemas say what the contract says: names, order, types, and what may be null."""

from __future__ import annotations

import pyarrow as pa
import pytest

from chunking import schemas

DIMENSION = 384

# Column lists as the contract writes them: a trailing ? may be null, all others are not.
CHUNKS = """chunk_id doc_id source_key source_uri doc_version chunk_index text prefix start_char
    end_char n_tokens kind heading_path page_start? page_end? boxes language? code_language?
    boundaries vectors split_reason embedding? metadata"""
BOUNDARIES = "doc_id doc_version chunk_id position distance? threshold? reason"
SENTENCES = """doc_id doc_version sentence_index start_char end_char n_tokens distance_next?
    window_hash vector"""
DOCUMENTS = """doc_id source_key source_uri parent_doc_id? doc_version? etag? size_bytes format
    status error_stage? error_kind? error_message? retryable attempts stale warnings title?
    language? n_pages? n_chars n_tokens n_chunks parse_seconds embed_seconds parser text? blocks?
    furniture metadata sentences_ref? fingerprint run_id"""
CHANGES = "op chunk_id doc_id doc_version? vector_changed"


def _written(schema: pa.Schema) -> list[str]:
    return [f"{field.name}{'?' if field.nullable else ''}" for field in schema]


@pytest.mark.parametrize(
    ("schema", "contract"),
    [
        (schemas.chunks_schema(DIMENSION), CHUNKS),
        (schemas.BOUNDARIES, BOUNDARIES),
        (schemas.sentences_schema(DIMENSION), SENTENCES),
        (schemas.DOCUMENTS, DOCUMENTS),
        (schemas.CHANGES, CHANGES),
    ],
    ids=["chunks", "boundaries", "sentences", "documents", "changes"],
)
def test_columns_and_nullability_are_the_contract(schema: pa.Schema, contract: str) -> None:
    """Each table has the contract's columns in its order, nullable only where it says so."""
    assert _written(schema) == contract.split()


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("chunk_index", pa.int32()),
        ("start_char", pa.int64()),
        ("end_char", pa.int64()),
        ("n_tokens", pa.int32()),
        ("page_start", pa.int32()),
        ("page_end", pa.int32()),
    ],
)
def test_integer_widths_of_chunks(column: str, kind: pa.DataType) -> None:
    """Offsets are 64 bit, counts 32 bit."""
    assert schemas.chunks_schema(DIMENSION).field(column).type == kind


@pytest.mark.parametrize(("dtype", "value"), [("float32", pa.float32()), ("float16", pa.float16())])
def test_embedding_is_a_fixed_size_list(dtype: schemas.VectorType, value: pa.DataType) -> None:
    """The vector column states the dimension and holds no null inside a vector."""
    kind = schemas.chunks_schema(DIMENSION, dtype).field("embedding").type
    assert kind == pa.list_(pa.field("item", value, nullable=False), DIMENSION)


def test_boxes_hold_page_and_four_sides() -> None:
    """A box is a page and left, top, right, bottom in float32."""
    kind = schemas.chunks_schema(DIMENSION).field("boxes").type
    fields = [(field.name, field.type) for field in kind.value_type]
    sides = [(name, pa.float32()) for name in ("left", "top", "right", "bottom")]
    assert fields == [("page", pa.int32()), *sides]


def test_all_null_columns_keep_their_type() -> None:
    """A column without a single value still has its declared type."""
    names = schemas.BOUNDARIES.names
    row = {**dict.fromkeys(names), "doc_id": "d", "doc_version": "v", "chunk_id": "c"}
    table = pa.Table.from_pylist([{**row, "position": 1, "reason": "block"}], schemas.BOUNDARIES)
    table.validate(full=True)
    assert table.schema.field("distance").type == pa.float32()


def test_facts_are_sorted_and_prefixed() -> None:
    """Facts ride in the schema metadata, in one order whatever order they came in."""
    facts = schemas.with_facts(schemas.CHANGES, {"run_id": "r", "model": "m"})
    assert list((facts.metadata or {}).items()) == [
        (b"chunkmill.model", b"m"),
        (b"chunkmill.run_id", b"r"),
    ]
    assert facts.equals(schemas.CHANGES, check_metadata=False)
