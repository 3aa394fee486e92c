"""What a run plans from: the published documents, and what dead runs had committed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from sys import intern
from typing import Any

import pyarrow as pa

from chunking import schemas
from jobs.ports import ObjectStore
from jobs.protocol.files import DataFile, column, new_attempt, of_today, read_table
from jobs.protocol.parallel import map_parallel
from jobs.protocol.plan import KnownDocument, PlannedUnit
from jobs.protocol.roll_forward import Leftover, read_unit_markers
from jobs.protocol.run import Run
from jobs.protocol.units import UnitMarker
from jobs.protocol.versions import BucketVersion

__all__ = ["Harvest", "read_harvest", "read_known"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Harvest:
    """Committed but unpublished units of unfinished runs, and their documents by id."""

    documents: Mapping[str, KnownDocument]
    markers: Mapping[tuple[str, int], UnitMarker]

    def adopted(self, origin: tuple[str, int], unit: PlannedUnit, run: Run) -> UnitMarker:
        """Return the marker that makes ``origin``'s rows of the unit's documents this run's."""
        marker = self.markers[origin]
        wanted = frozenset(document.doc_id for document in unit.documents)
        return replace(
            marker,
            run_id=run.run_id,
            unit=unit.unit,
            attempt=new_attempt(),
            documents=marker.of(wanted),
        )


def read_known(
    store: ObjectStore, versions: Iterable[BucketVersion], workers: int
) -> dict[str, KnownDocument]:
    """Return every published document by id: one request per bucket."""
    files = [version.index for version in versions if version.index is not None]
    known: dict[str, KnownDocument] = {}
    for rows in map_parallel(lambda file: _known(store, file), files, workers):
        known.update((row.doc_id, row) for row in rows)
    return known


def read_harvest(
    store: ObjectStore,
    leftovers: Iterable[Leftover],
    workers: int,
    *,
    unpacks: bool = True,
    purged: AbstractSet[str] = frozenset(),
) -> Harvest:
    """Return what unfinished runs, oldest first, had committed in units.

    ``unpacks``: see :class:`jobs.protocol.run.RunSettings`; the others' units are of no use.
    So are those with a document of ``purged`` in them: a purge would have to look for its
    text here, too. Where two of them hold the same document, the later one counts. Rows that were
    published since do no harm: their documents are known, and need no work.
    """
    documents: dict[str, KnownDocument] = {}
    markers: dict[tuple[str, int], UnitMarker] = {}
    for leftover in leftovers:
        for marker in read_unit_markers(store, leftover.run_id, workers):
            held = {mark.doc_id for mark in marker.documents}
            if marker.unpacks != unpacks or not held.isdisjoint(purged):
                continue
            markers[marker.run_id, marker.unit] = marker
            documents.update((row.doc_id, row) for row in _marked(marker))
    return Harvest(documents=documents, markers=markers)


_KNOWN = tuple(name for name in schemas.INDEX.names if name not in ("value", "model"))
_REPEATED = frozenset({"source_name", "fingerprint", "status", "structure_ref"})
"""Columns with few values: of each one string is kept, however many documents have it."""


def _known(store: ObjectStore, file: DataFile) -> list[KnownDocument]:
    rows = of_today(read_table(store, file), schemas.INDEX)
    columns = [_values(rows, name) for name in _KNOWN]
    # Column by column: a dictionary for each row would hold several times its values.
    return [
        KnownDocument(**dict(zip(_KNOWN, values, strict=True)))
        for values in zip(*columns, strict=True)
    ]


def _values(rows: pa.Table, name: str) -> list[Any]:
    values = column(rows, name)
    if name in _REPEATED:
        values = [intern(value) if value is not None else None for value in values]
    return values


def _marked(marker: UnitMarker) -> Iterator[KnownDocument]:
    for mark in marker.documents:
        yield KnownDocument(
            doc_id=mark.doc_id,
            source_key="",
            etag=mark.etag,
            fingerprint=marker.fingerprint,
            status=mark.status,
            retryable=mark.retryable,
            attempts=mark.attempts,
            source_name=mark.source_name,
            parent_doc_id=mark.parent_doc_id,
            adoptable=(marker.run_id, marker.unit),
        )
