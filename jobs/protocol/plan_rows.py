"""The rows of a plan, made column by column: a million rows as objects would fill the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa

from chunking import schemas
from jobs.protocol.plan import DELETED, KnownDocument
from jobs.records import SourceItem

__all__ = ["PlanEntry", "deletion_rows", "planned_rows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanEntry:
    """A listed document that is to be processed or adopted.

    ``attempts``: earlier ones at this version. ``adoptable``: the unit (run id, number) that
    holds its committed rows, if they are to be adopted.
    """

    item: SourceItem
    doc_id: str
    attempts: int
    adoptable: tuple[str, int] | None
    source_name: str | None
    structure_ref: str | None


_COLUMNS: Mapping[str, Callable[[PlanEntry], object]] = {
    "doc_id": attrgetter("doc_id"),
    "source_key": attrgetter("item.source_key"),
    "source_uri": attrgetter("item.source_uri"),
    "parent_doc_id": attrgetter("item.parent_doc_id"),
    "etag": attrgetter("item.etag"),
    "size_bytes": attrgetter("item.size"),
    "attempts": attrgetter("attempts"),
    "metadata": lambda entry: sorted(entry.item.metadata.items()),
    "location": attrgetter("item.location"),
    "table_row": attrgetter("item.table_row"),
    "source_name": attrgetter("source_name"),
    "structure_ref": attrgetter("structure_ref"),
}


def planned_rows(units: Sequence[tuple[int, Sequence[PlanEntry]]]) -> pa.Table:
    """Return the rows of units, each a bucket and its documents, numbered from 0."""
    numbers = np.repeat(np.arange(len(units)), [len(entries) for _, entries in units])
    buckets = np.array([bucket for bucket, _ in units], np.int64)
    given = {"unit": numbers, "bucket": buckets[numbers]}
    arrays: list[Any] = [
        pa.array(given[field.name], field.type)
        if field.name in given
        else pa.array(list(_values(units, _COLUMNS[field.name])), field.type)
        for field in schemas.PLAN
    ]
    return pa.Table.from_arrays(arrays, schema=schemas.PLAN)


def _values(
    units: Sequence[tuple[int, Sequence[PlanEntry]]], value: Callable[[PlanEntry], object]
) -> Iterator[object]:
    return (value(entry) for _, entries in units for entry in entries)


def deletion_rows(missing: Iterable[KnownDocument], bucket_of: Callable[[str], int]) -> pa.Table:
    """Return a row for each document that goes."""
    rows = [_deletion_row(bucket_of(gone.doc_id), gone) for gone in missing]
    return pa.Table.from_pylist(rows, schemas.PLAN)


def _deletion_row(bucket: int, gone: KnownDocument) -> dict[str, object]:
    return {
        "unit": DELETED,
        "bucket": bucket,
        "doc_id": gone.doc_id,
        "source_key": gone.source_key,
        "source_uri": "",
        "parent_doc_id": gone.parent_doc_id,
        "etag": gone.etag,
        "size_bytes": 0,
        "attempts": gone.attempts,
        "metadata": [],
        "location": "",
        "table_row": None,
        "source_name": gone.source_name,
        "structure_ref": None,
    }
