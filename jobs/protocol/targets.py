"""From what a user names to the documents that a purge removes, and where they may be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from chunking import ids
from jobs import layout
from jobs.ports import ObjectStore
from jobs.protocol.files import column, read_table
from jobs.protocol.parallel import map_parallel
from jobs.protocol.plan import ancestry
from jobs.protocol.purged import PurgeList
from jobs.protocol.roll_forward import read_unit_markers
from jobs.protocol.versions import BucketVersion

__all__ = ["Targets", "find_targets", "keys_of_runs"]

_DOC_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What was named: ``documents`` with their buckets, all that is inside them included.

    ``parents``: by id, what those came in that came in another document. ``unknown``: names
    of which the dataset knows nothing.
    """

    documents: Mapping[str, int]
    parents: Mapping[str, str]
    unknown: tuple[str, ...]


def find_targets(
    store: ObjectStore,
    names: Iterable[str],
    versions: Mapping[int, BucketVersion],
    unfinished: Sequence[str],
    lists: Iterable[PurgeList],
    *,
    workers: int,
) -> Targets:
    """Return the documents that are named by id or source key.

    They are looked for among the published ones, in the units of ``unfinished`` runs, in
    the plans that are kept, and among those purged before, so that a document is found
    though its source or its last run has it no more.
    """
    candidates = {name: _candidates(name) for name in dict.fromkeys(names)}
    wanted = frozenset(doc_id for found in candidates.values() for doc_id in found)
    documents: dict[str, int] = {}
    parents: dict[str, str] = {}
    for purge in lists:
        documents.update((d, purge.documents[d]) for d in wanted & purge.documents.keys())
    for bucket, rows in _known(store, versions, unfinished, workers):
        for doc_id in _family(rows, wanted):
            documents[doc_id] = bucket
            parents.update({doc_id: up} if (up := rows[doc_id]) is not None else {})
    for key in keys_of_runs(store, "plan"):
        documents.update(_planned(store, key, wanted))
    unknown = [name for name, found in candidates.items() if documents.keys().isdisjoint(found)]
    return Targets(documents=documents, parents=parents, unknown=tuple(unknown))


def keys_of_runs(store: ObjectStore, kind: str) -> list[str]:
    """Return the keys of one kind (see :func:`jobs.layout.recognise`) of all runs."""
    named = ((info.key, layout.recognise(info.key)) for info in store.list(layout.RUNS_PREFIX))
    return [key for key, name in named if name is not None and name.kind == kind]


def _candidates(name: str) -> tuple[str, ...]:
    """Return the ids that a name may mean: it is a source key, or an id itself."""
    own = (name,) if _DOC_ID.fullmatch(name) else ()
    return *own, ids.doc_id(name)


def _known(
    store: ObjectStore,
    versions: Mapping[int, BucketVersion],
    unfinished: Sequence[str],
    workers: int,
) -> Iterator[tuple[int, Mapping[str, str | None]]]:
    """Yield documents of a bucket, and what each came in."""
    found = map_parallel(lambda version: _parents(store, version), versions.values(), workers)
    yield from zip(versions, found, strict=True)
    for run_id in unfinished:
        for marker in read_unit_markers(store, run_id, workers):
            yield marker.bucket, {mark.doc_id: mark.parent_doc_id for mark in marker.documents}


def _parents(store: ObjectStore, version: BucketVersion) -> Mapping[str, str | None]:
    if version.index is None:
        return {}
    index = read_table(store, version.index)
    return dict(zip(column(index, "doc_id"), column(index, "parent_doc_id"), strict=True))


def _family(parents: Mapping[str, str | None], wanted: frozenset[str]) -> Iterator[str]:
    """Yield the wanted documents and all that is inside them, at any depth."""
    for doc_id, parent in parents.items():
        if doc_id in wanted or (
            parent is not None and not wanted.isdisjoint(ancestry(doc_id, parents))
        ):
            yield doc_id


def _planned(store: ObjectStore, key: str, wanted: frozenset[str]) -> dict[str, int]:
    names = ["doc_id", "bucket"]
    table = pq.read_table(pa.BufferReader(store.get(key)), columns=names, use_threads=False)
    values: pa.Array[Any] = pa.array(sorted(wanted), pa.string())
    rows = table.filter(pc.is_in(table["doc_id"], value_set=values))
    return dict(zip(column(rows, "doc_id"), column(rows, "bucket"), strict=True))
