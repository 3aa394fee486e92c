"""Units: a worker's result becomes real when its marker is created, and not before.

Data goes to keys unique to the attempt; then the marker, created if absent, names
keys and hashes. Whoever comes second finds the marker there and has changed nothing.
A marker may name the data of an earlier run's unit: that is how a run adopts what a
dead predecessor had finished.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from chunking import schemas
from chunking.errors import AlignmentError, LeaseLostError
from jobs import layout
from jobs.ports import ObjectStore
from jobs.protocol import fail_points
from jobs.protocol.files import DataFile, column, conform, new_attempt, read_table, write_table
from jobs.protocol.plan import PlannedDocument, PlannedUnit, ancestry
from jobs.protocol.run import Run
from jobs.protocol.written import get_written
from jobs.records import UnitTables

__all__ = [
    "DocumentMark",
    "UnitMarker",
    "UnitRows",
    "commit_unit",
    "read_marker",
    "read_unit",
    "withdraw_unit",
]

NO_BUCKET = -1
"""Bucket of a unit that was withdrawn before it was committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentMark:
    """What a later run must know of one document's attempt before it reads any row.

    ``source_name``: name of the source that it is from, None for the dataset's first.
    ``parent_doc_id``: of a document that came inside another.
    """

    doc_id: str
    etag: str | None
    status: str
    error_kind: str | None
    retryable: bool
    attempts: int
    source_name: str | None = None
    parent_doc_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitMarker:
    """The object whose creation commits a unit.

    Only the rows of ``documents`` count: an adopting run may take over fewer
    documents than the files hold. ``model``: identity of the model that was used.
    ``n_chunks`` counts all rows of the chunk file. ``unpacks``: what is inside its
    documents is in it, too, and all of it.
    """

    run_id: str
    unit: int
    bucket: int
    attempt: str
    fingerprint: str
    model: str
    documents: tuple[DocumentMark, ...]
    files: tuple[DataFile, ...]
    unpacks: bool = True

    @property
    def key(self) -> str:
        """Key whose creation commits the unit."""
        return layout.unit_marker(self.run_id, self.unit)

    @property
    def withdrawn(self) -> bool:
        """Whether this only keeps attempts that are going on from being committed."""
        return not self.files

    @property
    def n_chunks(self) -> int:
        """Chunks of the unit."""
        return self.file("chunks").rows

    @property
    def structure_ref(self) -> str | None:
        """Key of the file with the structure of the unit's documents, if it is kept."""
        return next((file.key for file in self.files if file.table == "structure"), None)

    def file(self, table: str) -> DataFile:
        """Return the unit's file of one table."""
        return next(file for file in self.files if file.table == table)

    def of(self, doc_ids: AbstractSet[str]) -> tuple[DocumentMark, ...]:
        """Return the marks of the documents with these ids, and of all that is inside them."""
        parents = {mark.doc_id: mark.parent_doc_id for mark in self.documents}
        return tuple(
            mark
            for mark in self.documents
            if not doc_ids.isdisjoint(ancestry(mark.doc_id, parents))
        )

    def to_bytes(self) -> bytes:
        """Return the JSON object that is created."""
        return json.dumps(asdict(self), sort_keys=True).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> UnitMarker:
        """Return the marker that :meth:`to_bytes` wrote."""
        body = json.loads(data)
        body["documents"] = tuple(DocumentMark(**mark) for mark in body["documents"])
        body["files"] = tuple(DataFile(**file) for file in body["files"])
        return cls(**body)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitRows:
    """The rows of a committed unit that count."""

    marker: UnitMarker
    documents: pa.Table
    chunks: pa.Table
    boundaries: pa.Table


def commit_unit(store: ObjectStore, run: Run, unit: PlannedUnit, tables: UnitTables) -> UnitMarker:
    """Write a unit's result and commit it; return the marker that counts.

    That is this attempt's, or that of an earlier attempt at the same unit, in which
    case nothing of this one is ever read.

    Raises:
        AlignmentError: the rows are not those of the planned documents.
        LeaseLostError: another run has taken the dataset over, and cleaned it.
    """
    attempt = new_attempt()
    roots = _roots(tables.documents, unit)
    _check(tables)
    tables = replace(tables, documents=_with_etags(tables.documents, roots))
    files = tuple(_write(store, run, unit, attempt, tables))
    marker = UnitMarker(
        run_id=run.run_id,
        unit=unit.unit,
        bucket=unit.bucket,
        attempt=attempt,
        fingerprint=run.settings.fingerprint,
        model=run.settings.model_id,
        documents=_marks(tables.documents, roots),
        files=files,
        unpacks=run.settings.unpacks,
    )
    won = store.create(marker.key, marker.to_bytes())
    fail_points.hit("unit.marker")
    counts = marker if won else read_marker(store, run.run_id, unit.unit)
    if counts.withdrawn:
        msg = f"run {run.run_id} has lost {store.url}: its unit {unit.unit} was withdrawn"
        raise LeaseLostError(msg)
    return counts


def withdraw_unit(store: ObjectStore, run_id: str, unit: int) -> bool:
    """Keep an older run from committing a unit for ever; False if it has committed it.

    Only then may the data of attempts at it be removed: who wakes up and has written them
    would commit what is no longer there.
    """
    marker = UnitMarker(
        run_id=run_id,
        unit=unit,
        bucket=NO_BUCKET,
        attempt=new_attempt(),
        fingerprint="",
        model="",
        documents=(),
        files=(),
    )
    won = store.create(marker.key, marker.to_bytes())
    fail_points.hit("gc.withdraw")
    return won or read_marker(store, run_id, unit).withdrawn


def read_marker(store: ObjectStore, run_id: str, unit: int) -> UnitMarker:
    """Return the marker of a committed unit; ``ObjectNotFoundError`` if there is none."""
    return UnitMarker.from_bytes(get_written(store, layout.unit_marker(run_id, unit)))


def read_unit(store: ObjectStore, marker: UnitMarker) -> UnitRows:
    """Return the rows of a committed unit, hashes verified, only those that count."""
    wanted = pa.array([mark.doc_id for mark in marker.documents], pa.string())
    documents, chunks, boundaries = (
        _only(read_table(store, marker.file(name)), wanted)
        for name in ("documents", "chunks", "boundaries")
    )
    return UnitRows(marker=marker, documents=documents, chunks=chunks, boundaries=boundaries)


def _only(table: pa.Table, doc_ids: pa.Array[Any]) -> pa.Table:
    return table.filter(pc.is_in(table["doc_id"], value_set=doc_ids))


def _write(
    store: ObjectStore, run: Run, unit: PlannedUnit, attempt: str, tables: UnitTables
) -> Iterable[DataFile]:
    facts = {**run.facts, "run_id": run.run_id, "unit": str(unit.unit), "attempt": attempt}
    documents = tables.documents
    if tables.sentences is not None:
        key = layout.sentences(run.run_id, unit.unit, attempt)
        documents = _refer(documents, tables.sentences, key)
        yield write_table(store, key, tables.sentences, name="sentences", facts=facts)
        fail_points.hit("unit.sentences")
    if tables.structure is not None:
        key = layout.structure(run.run_id, unit.unit, attempt)
        yield write_table(store, key, tables.structure, name="structure", facts=facts)
        fail_points.hit("unit.structure")
        if tables.own_vectors is not None:
            key = layout.own_vectors_of(key)
            yield write_table(store, key, tables.own_vectors, name="own_vectors", facts=facts)
            fail_points.hit("unit.own_vectors")
    for name, table, schema in (
        ("documents", documents, schemas.DOCUMENTS),
        ("chunks", tables.chunks, run.chunks_schema),
        ("boundaries", tables.boundaries, schemas.BOUNDARIES),
    ):
        key = layout.unit_data(run.run_id, unit.unit, attempt, name)
        yield write_table(store, key, conform(table, schema), name=name, facts=facts)
        fail_points.hit(f"unit.{name}")


def _with_etags(documents: pa.Table, roots: Mapping[str, PlannedDocument]) -> pa.Table:
    """Fill in the listed etag where a document could not even be fetched.

    Without it the next run could not tell that it is the same version that failed.
    """
    pairs = zip(column(documents, "doc_id"), column(documents, "etag"), strict=True)
    etags = [roots[doc].etag if etag is None else etag for doc, etag in pairs]
    return _replaced(documents, "etag", pa.array(etags, pa.string()))


def _replaced(documents: pa.Table, name: str, values: pa.Array[Any]) -> pa.Table:
    position = documents.schema.get_field_index(name)
    return documents.set_column(position, schemas.DOCUMENTS.field(name), values)


def _refer(documents: pa.Table, sentences: pa.Table, key: str) -> pa.Table:
    """Name the sentence file in the rows of the documents that have sentences in it."""
    kept = pc.is_in(documents["doc_id"], value_set=pc.unique(sentences["doc_id"]))
    refs = pc.if_else(kept, pa.scalar(key, pa.string()), pa.scalar(None, pa.string()))
    return _replaced(documents, "sentences_ref", refs)


def _marks(documents: pa.Table, roots: Mapping[str, PlannedDocument]) -> tuple[DocumentMark, ...]:
    names = [
        *("doc_id", "etag", "status", "error_kind", "retryable", "attempts", "parent_doc_id"),
    ]
    return tuple(
        DocumentMark(**row, source_name=roots[row["doc_id"]].source_name)
        for row in documents.select(names).to_pylist()
    )


def _roots(documents: pa.Table, unit: PlannedUnit) -> dict[str, PlannedDocument]:
    """Return the planned document of every row: itself, or the one that it came in.

    Raises:
        AlignmentError: the rows are not those of the planned documents and what is inside.
    """
    planned = {document.doc_id: document for document in unit.documents}
    given: Sequence[str] = column(documents, "doc_id")
    parents = dict(zip(given, column(documents, "parent_doc_id"), strict=True))
    roots = {
        doc: next((planned[a] for a in ancestry(doc, parents) if a in planned), None)
        for doc in parents
    }
    found = {doc: root for doc, root in roots.items() if root is not None}
    if len(found) != len(given) or not planned.keys() <= parents.keys():
        msg = f"unit {unit.unit} gave rows of {len(given)} documents, planned were {len(planned)}"
        raise AlignmentError(msg)
    return found


def _check(tables: UnitTables) -> None:
    counts = dict(zip(*_count(tables.chunks), strict=True))
    names = ["doc_id", "status", "stale", "n_chunks"]
    for row in tables.documents.select(names).to_pylist():
        n_chunks = counts.pop(row["doc_id"], 0)
        has_chunks = row["status"] in ("ok", "partial") or row["stale"]
        expected = row["n_chunks"] if has_chunks else 0
        if n_chunks != expected:
            msg = f"document {row['doc_id']} has {n_chunks} chunks, its row says {expected}"
            raise AlignmentError(msg)
    if counts:
        msg = f"a unit gave chunks of documents that it does not hold: {sorted(counts)}"
        raise AlignmentError(msg)


def _count(chunks: pa.Table) -> tuple[Sequence[str], Sequence[int]]:
    counted = chunks.group_by("doc_id").aggregate([("doc_id", "count")])
    return column(counted, "doc_id"), column(counted, "doc_id_count")
