"""What no committed state needs any more, found by one listing of the whole dataset.

Needed are the files of every bucket's last version, the change rows of all its versions,
the sentence store of the documents in it, and what the markers of unfinished runs name:
the next run may adopt it. A run is settled once a later one has completed (see
:func:`jobs.protocol.lease.run_ids_since_completed`): nobody reads its units again.

Garbage never becomes needed again. A later version can only name files of the versions and
markers that are looked at here, or new ones under keys that nobody has used yet. So a list
of garbage stays right, however late it is acted on; but for attempts at units that an
unfinished run might still commit, which are withdrawn first (:mod:`jobs.protocol.collect`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from chunking import schemas
from jobs import layout
from jobs.ports import ObjectInfo, ObjectStore
from jobs.protocol.files import column, of_today, read_table
from jobs.protocol.parallel import map_parallel
from jobs.protocol.roll_forward import read_unit_markers
from jobs.protocol.units import UnitMarker
from jobs.protocol.versions import BucketVersion, epoch_of, read_version

__all__ = ["KINDS", "Garbage", "files_of", "find_garbage", "stored_refs"]

KINDS = {
    "versions": "data files of superseded bucket versions, and of attempts that lost",
    "units": "units, and notes of workers' deaths, of runs that a later run has settled",
    "attempts": "attempts at units that were never committed",
    "sentences": "sentence store of documents that were replaced or removed",
    "plans": "plans of earlier runs",
    "probes": "probes of what the store can do",
    "temporary": "temporary files of writes that were cut off",
}
"""Kinds of garbage, in the order in which they are removed, and what they are."""

_CHANGES = "changes"
_OF_RUNS = frozenset({"unit marker", "unit data", "sentences", "deaths"})
"""Kinds of objects that are of use to the next run only."""
_TEXT = pa.array(["ok", "partial"])


@dataclass(kw_only=True)
class Garbage:
    """Objects that may be removed, by kind; and what stays.

    ``open_units``: (run id, number) of uncommitted units of unfinished runs, with the keys
    of the attempts at them that are listed here, too. ``foreign``: keys that nothing here
    has named, which are left alone.
    """

    objects: dict[str, list[ObjectInfo]] = field(default_factory=lambda: {k: [] for k in KINDS})
    open_units: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    n_kept: int = 0
    kept_bytes: int = 0
    foreign: int = 0

    @property
    def n_objects(self) -> int:
        """Objects that may be removed."""
        return sum(map(len, self.objects.values()))

    @property
    def n_bytes(self) -> int:
        """Their bytes."""
        return sum(info.size for infos in self.objects.values() for info in infos)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Needed:
    """What the committed state names.

    Runs up to the epoch ``settled`` are settled; those from ``before`` on are not looked
    at. ``committed``: units of unfinished runs with a marker. ``last``: last version of
    each bucket.
    """

    settled: int
    before: int
    keys: frozenset[str]
    committed: frozenset[tuple[str, int]]
    last: Mapping[int, int]


def find_garbage(
    store: ObjectStore,
    versions: Mapping[int, BucketVersion],
    unfinished: Sequence[str],
    *,
    before: int,
    workers: int,
) -> Garbage:
    """Return what may go: one listing, and a read per bucket and unit of an unfinished run.

    ``versions``: the last of each bucket. ``unfinished``: ids of the runs since the last
    completed one. ``before``: lease epoch from which on nothing is judged.
    """
    needed = _needed(store, versions, unfinished, before=before, workers=workers)
    garbage = Garbage()
    superseded: dict[tuple[int, int], list[tuple[layout.Named, ObjectInfo]]] = defaultdict(list)
    plans: list[ObjectInfo] = []
    for info in store.list():
        named = layout.recognise(info.key)
        if named is None:
            garbage.foreign += 1
        elif named.kind == "plan" and epoch_of(named.run_id) <= needed.settled:
            plans.append(info)
        elif named.kind == "bucket data" and info.key not in needed.keys:
            superseded[named.number, named.version].append((named, info))
        else:
            _judge(garbage, needed, named, info)
    _keep(garbage, plans[-1:])
    garbage.objects["plans"] += plans[:-1]
    _judge_versions(store, garbage, needed, superseded, workers)
    return garbage


def _judge(garbage: Garbage, needed: _Needed, named: layout.Named, info: ObjectInfo) -> None:
    """Judge one object by its name."""
    kind = _kind(needed, named, info.key)
    if kind is None:
        _keep(garbage, [info])
        return
    garbage.objects[kind].append(info)
    unit = (named.run_id, named.number)
    if kind == "attempts" and unit not in needed.committed:
        garbage.open_units.setdefault(unit, []).append(info.key)


def _kind(needed: _Needed, named: layout.Named, key: str) -> str | None:
    """Return which kind of garbage an object is; None if it is needed, or not ours to judge."""
    if named.kind == "probe":
        return "probes"
    if named.kind not in _OF_RUNS or key in needed.keys:
        return None
    epoch = epoch_of(named.run_id)
    if epoch >= needed.before:
        return None
    if epoch <= needed.settled:
        return "sentences" if named.kind == "sentences" else "units"
    return "attempts" if named.kind in ("unit data", "sentences") else None


def _keep(garbage: Garbage, infos: Iterable[ObjectInfo]) -> None:
    for info in infos:
        garbage.n_kept += 1
        garbage.kept_bytes += info.size


def _judge_versions(
    store: ObjectStore,
    garbage: Garbage,
    needed: _Needed,
    superseded: Mapping[tuple[int, int], Sequence[tuple[layout.Named, ObjectInfo]]],
    workers: int,
) -> None:
    """Judge what is not of the last versions: of a committed one the change rows stay.

    Where nothing but one file of change rows is left, an earlier look has found that it is
    the committed one: an attempt writes its change rows last, and they are removed first.
    """
    keep = {
        place: objects
        for place, objects in superseded.items()
        if place[1] < needed.last.get(place[0], 0)
        and [named.table for named, _ in objects] == [_CHANGES]
    }
    unsure = [
        (bucket, version)
        for bucket, version in sorted(superseded.keys() - keep.keys())
        if version < needed.last.get(bucket, 0)
        and any(named.table == _CHANGES for named, _ in superseded[bucket, version])
    ]
    read = map_parallel(lambda place: read_version(store, *place), unsure, workers)
    feed = {version.changes.key for version in read if version.changes is not None}
    for place, objects in superseded.items():
        for _, info in objects:
            if place in keep or info.key in feed:
                _keep(garbage, [info])
            else:
                garbage.objects["versions"].append(info)


def _needed(
    store: ObjectStore,
    versions: Mapping[int, BucketVersion],
    unfinished: Sequence[str],
    *,
    before: int,
    workers: int,
) -> _Needed:
    markers = [
        marker for run_id in unfinished for marker in read_unit_markers(store, run_id, workers)
    ]
    refs = map_parallel(lambda version: stored_refs(store, version), versions.values(), workers)
    keys = {
        *(key for version in versions.values() for key in _files(version)),
        *(file.key for marker in markers for file in marker.files),
        *(key for found in refs for ref in found for key in files_of(ref)),
    }
    return _Needed(
        settled=min(map(epoch_of, unfinished), default=before) - 1,
        before=before,
        keys=frozenset(keys),
        committed=frozenset(map(_unit, markers)),
        last={bucket: version.version for bucket, version in versions.items()},
    )


def _unit(marker: UnitMarker) -> tuple[str, int]:
    return marker.run_id, marker.unit


def _files(version: BucketVersion) -> Iterator[str]:
    for file in (*version.files, *version.interim, version.index, version.changes):
        if file is not None:
            yield file.key


def stored_refs(
    store: ObjectStore, version: BucketVersion, without: AbstractSet[str] = frozenset()
) -> set[str]:
    """Return the keys by which a version's documents name what is stored of them.

    That is their structure; and the sentences of those that have none, made by an earlier
    release. ``without``: ids of documents that are left out.
    """
    if version.index is None:
        return set()
    others = pa.array(sorted(without), pa.string())
    index = _without(of_today(read_table(store, version.index), schemas.INDEX), others)
    refs = {ref for ref in column(index, "structure_ref") if ref is not None}
    if _hides_sentences(index, version):
        for file in version.table("documents"):
            documents = _without(read_table(store, file), others)
            found = pc.unique(documents["sentences_ref"]).to_pylist()
            # Those beside a structure are known by that.
            refs.update({ref for ref in found if ref is not None} - _sentences(refs))
    return refs


def _without(table: pa.Table, doc_ids: pa.Array[Any]) -> pa.Table:
    return table.filter(pc.invert(pc.is_in(table["doc_id"], value_set=doc_ids)))


def _sentences(refs: Iterable[str]) -> set[str]:
    return {layout.sentences_of(ref) for ref in refs if layout.is_structure(ref)}


def _hides_sentences(index: pa.Table, version: BucketVersion) -> bool:
    """Tell whether a document may have sentences, but no structure by which they are found."""
    without = index.filter(pc.is_null(index["structure_ref"]))
    has_text = pc.any(pc.is_in(without["status"], value_set=_TEXT)).as_py()
    return bool(has_text) or bool(without.num_rows and version.counts.get("total.stale", 0))


def files_of(ref: str) -> tuple[str, ...]:
    """Return the keys of the files that a document's reference stands for."""
    if not layout.is_structure(ref):
        return (ref,)
    return ref, layout.sentences_of(ref), layout.own_vectors_of(ref)
