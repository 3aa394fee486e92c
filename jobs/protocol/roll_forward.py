"""Rolling forward: what every run does first with whatever its predecessors left.

1. Fence: in every bucket that an unfinished older run could still publish, commit a
   version that repeats the last one. From then on the older run's conditional puts
   lose there, whenever it wakes up.
2. Mend: bring every plain file that is not of its bucket's last version forward, and
   copy the change rows that are missing.

Only after that does a run read the state that it plans from: no older run can change
it any more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from chunking.errors import LeaseLostError, ObjectNotFoundError
from jobs import layout
from jobs.ports import ObjectInfo, ObjectStore
from jobs.protocol import fail_points
from jobs.protocol.files import column
from jobs.protocol.parallel import map_parallel
from jobs.protocol.units import UnitMarker
from jobs.protocol.versions import (
    BucketVersion,
    epoch_of,
    fence_of,
    latest_versions,
    read_version,
)
from jobs.protocol.view import copy_changes
from jobs.protocol.written import get_written

__all__ = [
    "Leftover",
    "fence",
    "list_data",
    "mend_changes",
    "read_deaths",
    "read_leftovers",
    "read_unit_markers",
    "read_versions",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """An unfinished older run, and the buckets in which it had planned something."""

    run_id: str
    buckets: frozenset[int]


def read_leftovers(store: ObjectStore, run_ids: Iterable[str]) -> list[Leftover]:
    """Return the unfinished older runs that have a plan.

    One without a plan can publish nothing: should it still write its plan, it looks at
    the lease afterwards, before it commits.
    """
    found = (_leftover(store, run_id) for run_id in run_ids)
    return [leftover for leftover in found if leftover is not None]


def _leftover(store: ObjectStore, run_id: str) -> Leftover | None:
    try:
        data = store.get(layout.plan(run_id))
    except ObjectNotFoundError:
        return None
    table = pq.read_table(pa.BufferReader(data), columns=["bucket"], use_threads=False)
    return Leftover(run_id=run_id, buckets=frozenset(column(table, "bucket")))


def read_deaths(store: ObjectStore, run_ids: Iterable[str]) -> dict[str, dict[str, float]]:
    """Return the deaths by document, by stage, that unfinished runs had noted.

    Each run begins with what was known before it, so the largest number is the whole.
    """
    deaths: dict[str, dict[str, float]] = {}
    for run_id in run_ids:
        try:
            noted = json.loads(store.get(layout.deaths(run_id)))
        except ObjectNotFoundError:
            continue
        for stage, documents in noted.items():
            found = deaths.setdefault(stage, {})
            found.update((key, max(n, found.get(key, 0))) for key, n in documents.items())
    return deaths


def list_data(store: ObjectStore) -> dict[str, ObjectInfo]:
    """Return everything that lies in the version chains."""
    return {info.key: info for info in store.list(layout.BUCKETS_PREFIX)}


def read_versions(
    store: ObjectStore, data: Mapping[str, ObjectInfo], workers: int
) -> dict[int, BucketVersion]:
    """Return the last committed version of every bucket."""
    latest = sorted(latest_versions(data.values()).items())
    versions = map_parallel(lambda pair: read_version(store, *pair), latest, workers)
    return {version.bucket: version for version in versions}


def fence(
    store: ObjectStore,
    run_id: str,
    versions: Mapping[int, BucketVersion],
    leftovers: Sequence[Leftover],
    workers: int,
) -> dict[int, BucketVersion]:
    """Return the last versions after every bucket that needs it was fenced."""
    pending = sorted(
        {
            bucket
            for leftover in leftovers
            for bucket in leftover.buckets
            if _may_publish(leftover.run_id, versions.get(bucket))
        }
    )
    fenced = map_parallel(
        lambda bucket: _fence_bucket(store, run_id, bucket, versions.get(bucket)),
        pending,
        workers,
    )
    return {**versions, **{version.bucket: version for version in fenced}}


def _may_publish(run_id: str, last: BucketVersion | None) -> bool:
    """Tell whether a run that had planned work here may still commit it."""
    if last is None or epoch_of(last.run_id) < epoch_of(run_id):
        return True
    return last.run_id == run_id and last.kind == "fence"


def _fence_bucket(
    store: ObjectStore, run_id: str, bucket: int, last: BucketVersion | None
) -> BucketVersion:
    while True:
        fenced = fence_of(last, bucket, run_id)
        won = store.create(fenced.key, fenced.to_bytes())
        fail_points.hit("fence.version")
        if won:
            return fenced
        last = read_version(store, bucket, fenced.version)
        if epoch_of(last.run_id) > epoch_of(run_id):
            msg = f"run {run_id} has lost the dataset to run {last.run_id}"
            raise LeaseLostError(msg)


def mend_changes(
    store: ObjectStore, versions: Mapping[int, BucketVersion], run_ids: Iterable[str]
) -> int:
    """Copy the change rows of unfinished runs that are missing in the plain directory.

    Returns the number of files that were copied.
    """
    unfinished = set(run_ids)
    present = {
        info.key for run_id in sorted(unfinished) for info in store.list(layout.plain_run(run_id))
    }
    copied = 0
    for version in versions.values():
        for link in _links_of(store, version, unfinished):
            target = layout.plain_changes(link.run_id, link.bucket)
            if link.changes is not None and target not in present:
                copy_changes(store, link)
                fail_points.hit("roll.changes")
                copied += 1
    return copied


def _links_of(
    store: ObjectStore, last: BucketVersion, unfinished: set[str]
) -> Iterable[BucketVersion]:
    """Yield the links at the end of a chain that are not older than the unfinished runs."""
    oldest = min((epoch_of(run_id) for run_id in unfinished), default=None)
    link = last
    while oldest is not None and epoch_of(link.run_id) >= oldest:
        if link.run_id in unfinished:
            yield link
        if link.version == 1:
            return
        link = read_version(store, link.bucket, link.version - 1)


def read_unit_markers(store: ObjectStore, run_id: str, workers: int) -> list[UnitMarker]:
    """Return the committed units of a run, in order."""
    pattern = re.compile(re.escape(layout.unit_markers(run_id)) + r"\d{6}\.json")
    listed = (info.key for info in store.list(layout.unit_markers(run_id)))
    keys = [key for key in listed if pattern.fullmatch(key)]
    return map_parallel(lambda key: UnitMarker.from_bytes(get_written(store, key)), keys, workers)
