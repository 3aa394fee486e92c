"""Publishing: a bucket's next version becomes real when its object is created.

Files first, to keys unique to the attempt; then the version, created if absent on
top of the one that was read; then the plain copies. A run publishes a bucket at most
once, so each chunk id is in its feed at most once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from chunking import schemas
from chunking.errors import JobError, LeaseLostError
from jobs import layout
from jobs.ports import ObjectStore
from jobs.protocol import fail_points
from jobs.protocol.files import (
    DataFile,
    column,
    conform,
    new_attempt,
    of_today,
    read_table,
    write_table,
)
from jobs.protocol.lease import check_lease
from jobs.protocol.merge import BucketRows, Merged, merge
from jobs.protocol.partitions import partition_column, partition_function
from jobs.protocol.run import Run
from jobs.protocol.units import read_marker, read_unit
from jobs.protocol.versions import BucketVersion, epoch_of, read_version
from jobs.protocol.view import PLAIN_TABLES, copy_bucket

__all__ = ["BucketJob", "publish_bucket", "read_bucket"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketJob:
    """What one run does to one bucket; small, immutable and picklable.

    ``base``: the version it builds on, 0 for none. ``units``: numbers of this run's
    committed units. ``deletions``: ids of documents that go. ``moved``: files of the
    sentence store that were written anew, by the key that documents name; None for one that
    is no longer of use.
    """

    bucket: int
    base: int
    units: tuple[int, ...]
    deletions: tuple[str, ...] = ()
    moved: Mapping[str, str | None] = field(default_factory=dict)


def publish_bucket(store: ObjectStore, run: Run, job: BucketJob) -> BucketVersion:
    """Commit the bucket's next version and make its plain copies; return the version.

    Running it again, or twice at once, gives the same version.

    Raises:
        LeaseLostError: another run has taken the dataset over; nothing was committed.
    """
    column = partition_column(run.settings.partition_by)
    base = read_version(store, job.bucket, job.base) if job.base else None
    version, base = _commit(store, run, job, base)
    check_lease(store, run.run_id)
    copy_bucket(store, version, base, column)
    return version


def read_bucket(
    store: ObjectStore, version: BucketVersion | None, chunks_schema: pa.Schema
) -> BucketRows:
    """Return all rows of a committed version, hashes verified."""
    if version is None or version.index is None:
        return BucketRows.empty(chunks_schema)
    tables = {
        "documents": schemas.DOCUMENTS,
        "chunks": chunks_schema,
        "boundaries": schemas.BOUNDARIES,
    }
    rows = {
        name: pa.concat_tables(
            [conform(read_table(store, file), schema) for file in version.table(name)]
            or [schema.empty_table()]
        )
        for name, schema in tables.items()
    }
    index = of_today(read_table(store, version.index), schemas.INDEX)
    return BucketRows(**rows, index=index)


def _commit(
    store: ObjectStore, run: Run, job: BucketJob, base: BucketVersion | None
) -> tuple[BucketVersion, BucketVersion | None]:
    """Create the next version; return it with the one it follows."""
    units = [
        read_unit(store, read_marker(store, run.run_id, number)) for number in sorted(job.units)
    ]
    while True:
        previous = _with_refs(read_bucket(store, base, run.chunks_schema), job.moved)
        merged = merge(
            previous,
            units,
            job.deletions,
            source_name=run.settings.source_name,
            partition_value=partition_function(run.settings.partition_by),
        )
        writer = _Writer(store, run, job.bucket, base.version + 1 if base else 1)
        version = _write(writer, run, base, previous, merged)
        check_lease(store, run.run_id)
        won = store.create(version.key, version.to_bytes())
        fail_points.hit("publish.version")
        if won:
            return version, base
        winner = read_version(store, job.bucket, version.version)
        if winner.run_id == run.run_id and winner.kind == "publish":
            return winner, base
        base = _rebased(run, winner)


def _with_refs(rows: BucketRows, moved: Mapping[str, str | None]) -> BucketRows:
    """Return the rows, naming files of the sentence store by their new keys."""
    if not moved:
        return rows
    return replace(
        rows,
        documents=_renamed(rows.documents, "sentences_ref", moved),
        index=_renamed(rows.index, "structure_ref", moved),
    )


def _renamed(table: pa.Table, name: str, moved: Mapping[str, str | None]) -> pa.Table:
    values: list[Any] = [moved.get(key, key) if key else key for key in column(table, name)]
    place = table.schema.get_field_index(name)
    return table.set_column(place, table.schema.field(name), pa.array(values, pa.string()))


def _rebased(run: Run, winner: BucketVersion) -> BucketVersion:
    """Return the version to build on after a lost creation.

    A fence by an older run repeats the state before, so the work is done again on top
    of it. Nothing else of an older run can come in: this run has fenced every bucket
    that an older one could still have published.
    """
    if epoch_of(winner.run_id) > run.epoch:
        msg = f"run {run.run_id} has lost the dataset to run {winner.run_id}"
        raise LeaseLostError(msg)
    if winner.kind != "fence":
        msg = f"bucket {winner.bucket} was published by run {winner.run_id} out of turn; run again"
        raise JobError(msg)
    return winner


def _write(
    writer: _Writer, run: Run, base: BucketVersion | None, previous: BucketRows, merged: Merged
) -> BucketVersion:
    """Write all files of an attempt at the next version and return that version."""
    rows = merged.rows
    index = writer.write("index", rows.index, None)
    where = _values(rows.index)
    groups = _groups(where, partitioned=run.settings.partition_by is not None)
    tables = {name: getattr(rows, name) for name in PLAIN_TABLES}
    files = [
        writer.write(name, _of(table, doc_ids), value)
        for name, table in tables.items()
        for value, doc_ids in groups.items()
    ]
    arrivals = _arrivals(_values(previous.index), where, groups)
    interim = [
        writer.write(name, _of(table, groups[value] - coming), value, label="interim")
        if coming
        else next(file for file in files if (file.table, file.value) == (name, value))
        for name, table in tables.items()
        for value, coming in arrivals.items()
    ]
    changes = merged.changes
    return BucketVersion(
        bucket=writer.bucket,
        version=writer.version,
        run_id=run.run_id,
        kind="publish",
        files=tuple(files),
        index=index,
        interim=tuple(interim),
        replaces=tuple(file.key for file in base.files) if base else (),
        changes=writer.write("changes", changes, None) if changes.num_rows else None,
        counts={**merged.counts, "bytes": writer.n_bytes},
    )


class _Writer:
    """Writes the files of one attempt, each to a key of its own."""

    def __init__(self, store: ObjectStore, run: Run, bucket: int, version: int) -> None:
        self.bucket = bucket
        self.version = version
        self.n_bytes = 0
        self._store = store
        self._attempt = new_attempt()
        self._facts = run.file_facts(bucket, version, self._attempt)
        self._n_files = 0

    def write(self, table: str, rows: pa.Table, value: str | None, *, label: str = "") -> DataFile:
        """Write one file; partition values are numbered, as they need not fit a key."""
        name = f"{table}-{self._n_files:05d}" if value is not None else table
        self._n_files += 1
        key = layout.bucket_data(self.bucket, self.version, self._attempt, name)
        file = write_table(self._store, key, rows, name=table, facts=self._facts, value=value)
        fail_points.hit(f"publish.{label or table}")
        self.n_bytes += file.size
        return file


def _values(index: pa.Table) -> dict[str, str | None]:
    return dict(zip(column(index, "doc_id"), column(index, "value"), strict=True))


def _groups(
    where: Mapping[str, str | None], *, partitioned: bool
) -> dict[str | None, frozenset[str]]:
    """Return the documents of each partition value, in order of the values."""
    if not partitioned:
        return {None: frozenset(where)}
    groups: dict[str, set[str]] = {}
    for doc_id, value in where.items():
        groups.setdefault(value or "", set()).add(doc_id)
    return {value: frozenset(groups[value]) for value in sorted(groups)}


def _arrivals(
    before: Mapping[str, str | None],
    after: Mapping[str, str | None],
    groups: Mapping[str | None, frozenset[str]],
) -> dict[str | None, frozenset[str]]:
    """Return, per value that documents leave for another, those that come into it."""
    movers = [doc for doc, value in after.items() if doc in before and before[doc] != value]
    left = sorted({str(before[doc]) for doc in movers})
    return {
        value: frozenset(doc for doc in movers if after[doc] == value)
        for value in left
        if value in groups
    }


def _of(table: pa.Table, doc_ids: Sequence[str] | frozenset[str]) -> pa.Table:
    return table.filter(pc.is_in(table["doc_id"], value_set=pa.array(sorted(doc_ids), pa.string())))
