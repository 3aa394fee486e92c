"""Partitioning: which folder of a plain directory a document's rows go to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from chunking.errors import ConfigError
from jobs import layout

__all__ = ["DEFAULT_VALUE", "partition_column", "partition_function", "plain_key"]

DEFAULT_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""Where a document without a value goes; every Hive-style reader takes it for null."""

_METADATA = "metadata."


def partition_column(partition_by: str | None) -> str | None:
    """Return the column in folder names ``by_<column>=<value>``; None without partitions.

    Raises:
        ConfigError: ``partition_by`` is none of ``format``, ``folder``, ``metadata.KEY``.
    """
    if partition_by is None or partition_by in ("format", "folder"):
        return partition_by
    key = partition_by.removeprefix(_METADATA)
    if key == partition_by or not key:
        msg = f"output.partition_by is {partition_by!r}; give format, folder or metadata.KEY"
        raise ConfigError(msg)
    return key


def partition_function(partition_by: str | None) -> Callable[[Mapping[str, Any]], str | None]:
    """Return the function from a ``documents`` row to its partition value."""
    column = partition_column(partition_by)
    if column is None:
        return lambda _: None
    if partition_by == "format":
        return lambda row: row["format"] or DEFAULT_VALUE
    if partition_by == "folder":
        return lambda row: _first_folder(row["source_key"])
    return lambda row: dict(row["metadata"]).get(column) or DEFAULT_VALUE


def _first_folder(source_key: str) -> str:
    path = source_key.partition("://")[2] or source_key
    folder, slash, _ = path.partition("/")
    return folder if slash and folder else DEFAULT_VALUE


def plain_key(table: str, bucket: int, column: str | None, value: str | None) -> str:
    """Return the plain key of a bucket's file of one table and partition value."""
    if column is None:
        return layout.plain(table, bucket)
    return layout.plain(table, bucket, (column, value or DEFAULT_VALUE))
