"""A unit's way from parsed documents to its commit, and a bucket's to its publication.

A unit's rows travel from the embedding actor to the committing task as one row of
Arrow streams, so that the engine moves one block per unit and the driver moves none.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chunking.errors import JobError, UsageError
from jobs.adapters.embedders import make_embedder
from jobs.config import Config
from jobs.journal import UNWATCHED, Watch
from jobs.meter import Report, Sample, measure
from jobs.ports import Embedder, ObjectStore
from jobs.protocol import fail_points
from jobs.protocol.plan import PlannedDocument, PlannedUnit
from jobs.protocol.publish import BucketJob, publish_bucket
from jobs.protocol.run import Run
from jobs.protocol.units import UnitMarker, commit_unit
from jobs.protocol.versions import BucketVersion
from jobs.recorded import Recorded, recorded_embedder
from jobs.records import ParsedDocument, PlanRow, UnitTables
from jobs.stages.embed import EmbedStage
from jobs.stages.members import without_purged
from jobs.stages.reread import DatasetFacts, Reread

__all__ = ["Committed", "EmbedUnit", "Published", "RechunkUnit", "commit", "plan_table", "publish"]

RESULT = pa.schema(
    [
        *(
            pa.field(name, pa.large_binary(), nullable=False)
            for name in ("plan", "documents", "chunks", "boundaries")
        ),
        *(pa.field(name, pa.large_binary()) for name in ("sentences", "structure", "own_vectors")),
    ]
)
"""One row: the Arrow streams of a unit's plan rows and result tables."""

_TABLES = ("documents", "chunks", "boundaries", "sentences", "structure", "own_vectors")


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """What a committing task gives back to the driver."""

    marker: UnitMarker
    sample: Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What a publishing task gives back to the driver."""

    version: BucketVersion
    sample: Sample


class EmbedUnit:
    """The embedding stage as an actor: the model is loaded once, units come one by one."""

    def __init__(
        self,
        config: Config,
        run: Run,
        report: Report,
        threads: int | None,
        store: ObjectStore | None = None,
    ) -> None:
        fail_points.hit("embed.start")
        self._report = report
        self._purged = run.purged
        self._stage = EmbedStage(
            _loaded(config, run.settings.model["revision"], threads),
            config,
            fingerprint=run.settings.fingerprint,
            run_id=run.run_id,
            store=store,
        )

    def __call__(self, unit: pa.Table, watch: Watch = UNWATCHED) -> pa.Table:
        """Return the unit's result as one :data:`RESULT` row."""
        began = time.monotonic()
        documents = without_purged(ParsedDocument.from_table(unit), self._purged)
        tables = self._stage(documents, watch)
        self._report(measure("embed", time.monotonic() - began, _counts(tables)))
        # What came inside a document was not planned.
        planned = [document.plan for document in documents if not document.plan.parent_doc_id]
        return _pack(planned, tables)


def _loaded(config: Config, revision: object, threads: int | None) -> Embedder:
    """Return the model that the run was planned with.

    Raises:
        JobError: it cannot be loaded on this node, or other files lie here under its name.
    """
    try:
        embedder = make_embedder(config, threads=threads)
    except UsageError as error:
        msg = f"the model cannot be loaded on {platform.node()}: {error}"
        raise JobError(msg) from error
    if embedder.facts.revision != revision:
        msg = (
            f"the files of {config.model.name!r} on {platform.node()} are not those that the run "
            "began with; give every node the same"
        )
        raise JobError(msg)
    return embedder


class RechunkUnit:
    """Reading back, embedding and chunking as one actor: there is nothing to wait for between."""

    def __init__(  # noqa: PLR0917 - the engine passes arguments by position
        self,
        config: Config,
        recorded: Recorded,
        run: Run,
        report: Report,
        threads: int | None,
        source: ObjectStore,
        facts: DatasetFacts,
    ) -> None:
        self._report = report
        self._reread = Reread(source, facts)
        self._stage = EmbedStage(
            recorded_embedder(config, recorded, threads=threads),
            config,
            fingerprint=run.settings.fingerprint,
            run_id=run.run_id,
            store=source,
            same_texts=True,
        )

    def __call__(self, unit: pa.Table, watch: Watch = UNWATCHED) -> pa.Table:
        """Return the unit's result as one :data:`RESULT` row."""
        began = time.monotonic()
        documents = [self._reread(row) for row in PlanRow.from_table(unit)]
        tables = self._stage(documents, watch)
        self._report(measure("embed", time.monotonic() - began, _counts(tables)))
        return _pack([document.plan for document in documents], tables)


def plan_table(unit: PlannedUnit) -> pa.Table:
    """Return a unit's plan rows, as they go into the first stage."""
    return PlanRow.to_table(
        [
            PlanRow(
                unit=unit.unit,
                bucket=unit.bucket,
                **{name: getattr(document, name) for name in PlannedDocument.__slots__},
            )
            for document in unit.documents
        ]
    )


def commit(result: pa.Table, store: ObjectStore, run: Run) -> Committed:
    """Write a unit's result and commit it, in a task of its own."""
    began = time.monotonic()
    unit, tables = _unpack(result)
    marker = commit_unit(store, run, unit, tables)
    sample = measure("commit", time.monotonic() - began, {"documents": len(unit.documents)})
    return Committed(marker=marker, sample=sample)


def publish(job: BucketJob, store: ObjectStore, run: Run) -> Published:
    """Commit a bucket's next version and copy it to its plain files, in a task of its own."""
    began = time.monotonic()
    version = publish_bucket(store, run, job)
    return Published(
        version=version, sample=measure("publish", time.monotonic() - began, {"buckets": 1})
    )


def _counts(tables: UnitTables) -> dict[str, float]:
    documents = tables.documents
    return {
        "documents": documents.num_rows,
        "failed": documents["status"].to_pylist().count("failed"),
        "tokens": pc.sum(documents["n_tokens"]).as_py() or 0,
        "model_tokens": tables.model_tokens,
        "reused_tokens": tables.reused_tokens,
        "chunks": tables.chunks.num_rows,
    }


def _pack(plan: Sequence[PlanRow], tables: UnitTables) -> pa.Table:
    streams: dict[str, pa.Buffer | None] = {"plan": _stream(PlanRow.to_table(plan))}
    for name in _TABLES:
        table = getattr(tables, name)
        streams[name] = None if table is None else _stream(table)
    return pa.Table.from_arrays([_cell(streams[name]) for name in RESULT.names], schema=RESULT)


def _cell(data: pa.Buffer | None) -> pa.Array[Any]:
    """Return an array of one value around the buffer, which is not copied."""
    if data is None:
        return pa.nulls(1, pa.large_binary())
    offsets = pa.py_buffer(np.array([0, data.size], np.int64).tobytes())
    return pa.Array.from_buffers(pa.large_binary(), 1, [None, offsets, data])


def _unpack(result: pa.Table) -> tuple[PlannedUnit, UnitTables]:
    rows = PlanRow.from_table(_read(result["plan"]))
    documents = tuple(
        PlannedDocument(**{name: getattr(row, name) for name in PlannedDocument.__slots__})
        for row in rows
    )
    unit = PlannedUnit(unit=rows[0].unit, bucket=rows[0].bucket, documents=documents)
    documents_table, chunks, boundaries = (_read(result[name]) for name in _TABLES[:3])
    return unit, UnitTables(
        documents=documents_table,
        chunks=chunks,
        boundaries=boundaries,
        sentences=_kept(result["sentences"]),
        structure=_kept(result["structure"]),
        own_vectors=_kept(result["own_vectors"]),
    )


def _kept(column: pa.ChunkedArray[Any]) -> pa.Table | None:
    return None if column.null_count else _read(column)


def _stream(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _read(column: pa.ChunkedArray[Any]) -> pa.Table:
    """Return the table in a column's only cell, without copying it."""
    cell: Any = column[0]
    return pa.ipc.open_stream(cell.as_buffer()).read_all()
