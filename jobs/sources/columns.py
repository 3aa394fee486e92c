"""Columns of manifests and tables: which there must be, and how values become text."""

from __future__ import annotations

import datetime as dt
import decimal
import difflib
import json
from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa
import pyarrow.parquet as pq

from chunking.errors import SourceError
from jobs.adapters.stores.base import ReadableStore
from jobs.ports import ObjectInfo
from jobs.sources.ranged import open_buffered

__all__ = [
    "as_metadata",
    "as_text",
    "encode_text",
    "missing_column",
    "open_parquet",
    "parquet_rows",
    "scalar_columns",
    "well_formed",
]

_STEP_BYTES = 8 * 1024 * 1024


def missing_column(what: str, wanted: str, setting: str, columns: Iterable[str]) -> SourceError:
    """Return the error for a column that is not there, naming the nearest ones."""
    names = [str(name) for name in columns]
    nearest = difflib.get_close_matches(wanted, names, n=3, cutoff=0.4) or names[:8]
    shown = ", ".join(repr(name) for name in nearest) or "none at all"
    return SourceError(f"{what} has no column {wanted!r} (nearest: {shown}); set {setting}")


def as_text(value: object) -> str:
    """Return a scalar or nested value as text, the same for every reader of the same data."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, int | float | decimal.Decimal):
        return str(value)
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def well_formed(text: str) -> str:
    """Return the text with surrogate pairs joined and lone surrogates as U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def encode_text(value: object) -> bytes:
    """Return a text column's value as UTF-8; null is the empty text."""
    return well_formed(as_text(value)).encode("utf-8") if value is not None else b""


def as_metadata(row: Mapping[str, object], without: Iterable[str]) -> dict[str, str]:
    """Return the other columns of a row as text; nulls are left out."""
    hidden = set(without)
    return {
        well_formed(str(name)): well_formed(as_text(value))
        for name, value in row.items()
        if name not in hidden and value is not None
    }


def open_parquet(store: ReadableStore, info: ObjectInfo) -> pq.ParquetFile:
    """Open a Parquet object for reading in bounded memory.

    Raises:
        SourceError: it is not readable as Parquet.
    """
    # Small row groups are read from the buffer in front, large ones in bounded steps.
    source = pa.PythonFile(open_buffered(store, info), mode="r")
    try:
        return pq.ParquetFile(source, pre_buffer=False, buffer_size=_STEP_BYTES)
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        msg = f"{store.uri(info.key)} is not a readable Parquet file: {reason}"
        raise SourceError(msg) from error


def scalar_columns(schema: pa.Schema) -> list[str]:
    """Return the columns that can be metadata: neither nested nor binary."""
    return [field.name for field in schema if _is_scalar(field.type)]


def _is_scalar(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_scalar(kind.value_type)
    binary = (
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or pa.types.is_binary_view(kind)
    )
    return not (binary or pa.types.is_nested(kind))


def parquet_rows(
    file: pq.ParquetFile, columns: list[str], what: str
) -> Iterator[dict[str, object]]:
    """Yield the rows as dictionaries, a bounded batch at a time."""
    try:
        for batch in file.iter_batches(batch_size=1024, columns=columns):
            yield from batch.to_pylist()
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())
        msg = f"{what} is damaged: {reason}"
        raise SourceError(msg) from error
