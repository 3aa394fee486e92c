"""Immutable Parquet files with their hashes: written once, and verified when read.

The data key of a file stands in its own Parquet metadata, so a copy under a plain
name tells which file it is a copy of; the last bytes of the object are enough.
"""

from __future__ import annotations

import hashlib
import io
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from chunking import schemas
from jobs import layout
from jobs.ports import ObjectStore
from jobs.protocol.written import get_verified

__all__ = [
    "DATA_KEY",
    "DataFile",
    "column",
    "conform",
    "data_key",
    "new_attempt",
    "of_today",
    "read_fact",
    "read_table",
    "to_parquet",
    "write_table",
]

DATA_KEY = "data_key"
"""Metadata key (prefixed) under which a file names itself."""

_TAIL_BYTES = 32 * 1024
_FOOTER_BYTES = 8
_DICTIONARY_COLUMNS = frozenset(
    {
        "doc_id", "source_key", "source_uri", "doc_version", "kind", "prefix", "language", "format",
        "code_language", "boundaries", "vectors", "split_reason", "reason", "status", "parser",
        "error_kind", "error_stage", "fingerprint", "run_id", "op", "model", "value",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One immutable Parquet file below ``_chunkmill/``.

    ``table``: which table its rows belong to. ``value``: the partition value, None in
    a dataset without partitions. ``sha256``: of the bytes, in hex. ``size``: bytes.
    """

    table: str
    key: str
    sha256: str
    rows: int
    size: int
    value: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return the file as JSON values."""
        return asdict(self)


def new_attempt() -> str:
    """Return a random name that keeps the files of two attempts apart."""
    return secrets.token_hex(layout.ATTEMPT_DIGITS // 2)


def column(table: pa.Table, name: str) -> list[Any]:
    """Return the values of one column."""
    return table[name].to_pylist()


def conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the table with exactly the schema's columns, types and nullability.

    Raises:
        pyarrow.ArrowInvalid: a value does not fit its column, or is null where it must not be.
    """
    columns: dict[str, Any] = {
        field.name: _without_null_items(table[field.name], field.type) for field in schema
    }
    return pa.table(columns).cast(schema)


def _without_null_items(vectors: pa.ChunkedArray[Any], kind: pa.DataType) -> pa.ChunkedArray[Any]:
    """Return vectors that may be absent in a type whose items may not.

    Parquet gives an absent vector null items, and Arrow does not cast those.
    """
    if not pa.types.is_fixed_size_list(kind) or not vectors.null_count:
        return vectors
    return pa.chunked_array([_filled(chunk, kind) for chunk in vectors.chunks])


def _filled(chunk: Any, kind: Any) -> pa.Array[Any]:  # noqa: ANN401 - of the list's own kind
    absent = np.asarray(chunk.is_null())
    items = chunk.values.slice(chunk.offset * kind.list_size, len(chunk) * kind.list_size)
    values = items.to_numpy(zero_copy_only=False).copy()
    values[np.repeat(absent, kind.list_size)] = 0
    flat = pa.array(values, kind.value_type)
    filled: pa.Array[Any] = pa.FixedSizeListArray.from_arrays(
        flat, type=kind, mask=pa.array(absent)
    )
    return filled


def of_today(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a private table of an earlier release in the schema: columns it lacks are null."""
    missing: dict[str, Any] = {
        field.name: pa.nulls(table.num_rows, field.type)
        for field in schema
        if field.nullable and field.name not in table.column_names
    }
    for name, nulls in missing.items():
        table = table.append_column(name, nulls)
    return conform(table, schema)


def to_parquet(table: pa.Table, facts: Mapping[str, str]) -> bytes:
    """Return the table as Parquet bytes that depend on rows and facts only."""
    sink = io.BytesIO()
    dictionaries = [name for name in table.column_names if name in _DICTIONARY_COLUMNS]
    pq.write_table(
        table.replace_schema_metadata(schemas.with_facts(table.schema, facts).metadata),
        sink,
        compression="zstd",
        write_page_checksum=True,
        use_dictionary=dictionaries,  # type: ignore[arg-type] # the stubs know of bool only
    )
    return sink.getvalue()


def write_table(
    store: ObjectStore,
    key: str,
    table: pa.Table,
    *,
    name: str,
    facts: Mapping[str, str],
    value: str | None = None,
) -> DataFile:
    """Write ``table`` to a key that nobody else uses and return what names it."""
    data = to_parquet(table, {**facts, DATA_KEY: key})
    store.put(key, data)
    return DataFile(
        table=name,
        key=key,
        sha256=hashlib.sha256(data).hexdigest(),
        rows=table.num_rows,
        size=len(data),
        value=value,
    )


def read_table(store: ObjectStore, file: DataFile) -> pa.Table:
    """Return the rows of a file.

    Raises:
        StoreError: the bytes are not those that were committed, also when read once more.
    """
    data = get_verified(
        store, file.key, lambda data: hashlib.sha256(data).hexdigest() == file.sha256
    )
    table = pq.read_table(pa.BufferReader(data), use_threads=False, pre_buffer=False)
    return table.replace_schema_metadata(None)


def data_key(store: ObjectStore, key: str) -> str | None:
    """Return the data key that the Parquet file at ``key`` names, or None if it names none."""
    return read_fact(store, key, DATA_KEY)


def read_fact(store: ObjectStore, key: str, name: str) -> str | None:
    """Return a fact that the Parquet file at ``key`` states in its metadata, or None.

    Raises:
        ObjectNotFoundError: there is no such file.
    """
    tail = store.get_tail(key, _TAIL_BYTES)
    if tail[-4:] != b"PAR1":
        return None
    needed = int.from_bytes(tail[-_FOOTER_BYTES:-4], "little") + _FOOTER_BYTES
    if needed > len(tail):
        tail = store.get_tail(key, needed)
    try:
        metadata = pq.read_metadata(pa.BufferReader(tail)).metadata or {}
    except pa.ArrowException:
        return None
    value = metadata.get(f"{schemas.METADATA_PREFIX}{name}".encode())
    return value.decode() if value is not None else None
