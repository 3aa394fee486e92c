"""The plan of a run: which documents are processed, in which units, and which go.

Built from the listing, the committed state and what dead predecessors had finished;
written once, as one immutable Parquet file, before anything is processed. Rows with
the unit :data:`DELETED` are documents that are no longer listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from chunking import schemas

__all__ = [
    "DELETED",
    "KnownDocument",
    "Plan",
    "PlannedDocument",
    "PlannedUnit",
    "ancestry",
    "deletion_plan",
    "nameless",
]

DELETED = -1
"""``unit`` of a planned deletion."""


def ancestry(doc_id: str, parents: Mapping[str, str | None]) -> tuple[str, ...]:
    """Return a document's id, that of the document it came in, and so on outwards.

    The last one is of the outermost: its members lie in its bucket. ``parents``: ids by
    the id of what came inside; others came in nothing.
    """
    path = {doc_id: None}
    while (parent := parents.get(doc_id)) is not None and parent not in path:
        path[parent] = None
        doc_id = parent
    return tuple(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDocument:
    """What an earlier attempt left: the version it saw, and how it ended.

    ``adoptable``: key of the unit (run id, number) that holds its committed but
    unpublished rows; None for a published document.
    """

    doc_id: str
    source_key: str
    etag: str | None
    fingerprint: str
    status: str
    retryable: bool
    attempts: int
    parent_doc_id: str | None = None
    source_name: str | None = None
    structure_ref: str | None = None
    adoptable: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDocument:
    """One row of the plan; ``attempts`` counts earlier attempts at this version.

    ``structure_ref``: key of the file with the structure of the version before.
    """

    doc_id: str
    source_key: str
    source_uri: str
    parent_doc_id: str | None
    etag: str | None
    size_bytes: int
    attempts: int
    metadata: Mapping[str, str]
    location: str
    table_row: int | None
    source_name: str | None = None
    structure_ref: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedUnit:
    """Documents of one bucket that are processed and committed together."""

    unit: int
    bucket: int
    documents: tuple[PlannedDocument, ...]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The immutable plan.

    ``table``: rows of :data:`chunking.schemas.PLAN` in unit order, deletions last.
    ``buckets``: bucket of each unit, by unit number. ``adopted``: units whose rows a
    predecessor had committed, with the unit (run id, number) that holds them.
    ``n_listed`` documents were listed, ``n_unchanged`` of them need no work; ``n_purged``
    more were listed, but were purged and stay out.
    """

    table: pa.Table = field(repr=False)
    buckets: tuple[int, ...] = field(repr=False)
    starts: tuple[int, ...] = field(repr=False)
    deletions: Mapping[int, tuple[str, ...]] = field(repr=False)
    adopted: Mapping[int, tuple[str, int]] = field(repr=False)
    n_listed: int
    n_unchanged: int
    n_purged: int = 0

    @property
    def n_units(self) -> int:
        """Units, adopted ones included."""
        return len(self.buckets)

    @property
    def n_documents(self) -> int:
        """Planned documents, those of adopted units included."""
        return self.starts[-1]

    @property
    def n_deletions(self) -> int:
        """Documents that are removed."""
        return self.table.num_rows - self.n_documents

    def size_of(self, number: int) -> int:
        """Return how many documents a unit has, without reading its rows."""
        return self.starts[number + 1] - self.starts[number]

    def unit(self, number: int) -> PlannedUnit:
        """Return one unit with its documents."""
        start, end = self.starts[number], self.starts[number + 1]
        rows = self.table.slice(start, end - start).drop_columns(["unit", "bucket"]).to_pylist()
        documents = (PlannedDocument(**{**row, "metadata": dict(row["metadata"])}) for row in rows)
        return PlannedUnit(unit=number, bucket=self.buckets[number], documents=tuple(documents))


def deletion_plan(deletions: Mapping[int, Sequence[str]]) -> Plan:
    """Return the plan of a run that only removes documents, given by bucket, and names none."""
    rows = [
        {**nameless(doc_id), "unit": DELETED, "bucket": bucket}
        for bucket in sorted(deletions)
        for doc_id in sorted(deletions[bucket])
    ]
    return Plan(
        table=pa.Table.from_pylist(rows, schemas.PLAN),
        buckets=(),
        starts=(0,),
        deletions={bucket: tuple(sorted(gone)) for bucket, gone in deletions.items()},
        adopted={},
        n_listed=0,
        n_unchanged=0,
    )


def nameless(doc_id: str) -> dict[str, object]:
    """Return what a row of a plan says of a document that is not to be known by name."""
    return {
        "doc_id": doc_id,
        "source_key": "",
        "source_uri": "",
        "parent_doc_id": None,
        "etag": None,
        "size_bytes": 0,
        "attempts": 0,
        "metadata": [],
        "location": "",
        "table_row": None,
        "source_name": None,
        "structure_ref": None,
    }
