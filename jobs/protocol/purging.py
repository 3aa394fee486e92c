"""Purging: a document's text leaves every object below the dataset's root.

Order: list, plan, (per bucket) sentence store without them, next version; units of
unfinished runs without them; garbage; plans without their names; list done. The versions
are committed and fenced as those of any run, and their change rows take the vectors out of
vector stores. A crash in between leaves the list, from which the next purge goes on; all
of it may be done twice. Nobody reads what was replaced once the lease is found to be held
after the replacement: a run that takes over later has not looked at it before.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from chunking import ids, schemas
from chunking.errors import ObjectNotFoundError
from jobs import layout
from jobs.ports import ObjectInfo, ObjectStore
from jobs.protocol import fail_points
from jobs.protocol.collect import clean
from jobs.protocol.files import (
    DATA_KEY,
    DataFile,
    new_attempt,
    of_today,
    read_table,
    to_parquet,
    write_table,
)
from jobs.protocol.garbage import Garbage, files_of, stored_refs
from jobs.protocol.parallel import map_parallel
from jobs.protocol.plan import nameless
from jobs.protocol.publish import publish_bucket
from jobs.protocol.purged import PurgeList, read_purge_lists
from jobs.protocol.roll_forward import read_unit_markers
from jobs.protocol.targets import Targets, keys_of_runs
from jobs.protocol.units import UnitMarker
from jobs.protocol.upkeep import UpkeepSession
from jobs.protocol.versions import BucketVersion

__all__ = ["Purge", "Purged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """What a purge did; ``report`` is that of its run."""

    documents: frozenset[str]
    n_units: int
    n_plans: int
    garbage: Garbage
    report: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """What is to be done in a bucket: references whose files hold something of the documents.

    ``damaged``: those of which nobody can say.
    """

    refs: tuple[str, ...]
    damaged: frozenset[str]


class Purge:
    """One purge under a lease that is held; call it once.

    Beside the ``targets`` goes what an earlier purge has left.
    ``leftovers``: temporary files of processes that are gone.
    """

    def __init__(
        self,
        store: ObjectStore,
        session: UpkeepSession,
        targets: Targets,
        *,
        leftovers: Sequence[ObjectInfo] = (),
        workers: int,
    ) -> None:
        self._store = store
        self._session = session
        self._workers = workers
        self._leftovers = leftovers
        self._lists = read_purge_lists(store)
        pending = [purge for purge in self._lists if not purge.done]
        self._documents = {d: b for purge in pending for d, b in purge.documents.items()}
        self._documents.update(targets.documents)
        self._parents = targets.parents
        self._ids = pa.array(sorted(self._documents), pa.string())
        self._files = 0

    def __call__(self) -> Purged:
        """Remove the documents, whatever was done before; return what was done.

        Raises:
            LeaseLostError: another run has taken the dataset over; purge again.
        """
        session = self._session
        pending = self._list()
        self._publish()
        n_units = self._units()
        garbage = clean(self._store, session, leftovers=self._leftovers, workers=self._workers)
        n_plans = sum(map(self._plan, keys_of_runs(self._store, "plan")))
        for key in keys_of_runs(self._store, "deaths"):
            self._deaths(key)
        session.check()
        for purge in pending:
            self._store.put(purge.key, replace(purge, done=True).to_bytes())
            fail_points.hit("purge.done")
        return Purged(
            documents=frozenset(self._documents),
            n_units=n_units,
            n_plans=n_plans,
            garbage=garbage,
            report=session.finish(),
        )

    def _list(self) -> list[PurgeList]:
        """Write down what is about to go; return the lists that are not done."""
        pending = [purge for purge in self._lists if not purge.done]
        known = {doc_id for purge in pending for doc_id in purge.documents}
        fresh = {d: b for d, b in self._documents.items() if d not in known}
        if fresh:
            purge = PurgeList(run_id=self._session.run_id, documents=fresh, parents=self._parents)
            self._session.check()
            self._store.create(purge.key, purge.to_bytes())
            fail_points.hit("purge.list")
            pending.append(purge)
        return pending

    # --- published documents --------------------------------------------------------------

    def _publish(self) -> None:
        """Commit versions without the documents, in the buckets that hold anything of them."""
        session = self._session
        doomed: dict[int, list[str]] = defaultdict(list)
        for doc_id, bucket in self._documents.items():
            doomed[bucket].append(doc_id)
        work = {
            bucket: found
            for bucket in sorted(doomed)
            if bucket in session.versions
            and (found := self._examine(session.versions[bucket])) is not None
        }
        session.plan_deletions({bucket: doomed[bucket] for bucket in work})
        for job in session.ready():
            moved = self._move(work[job.bucket])
            version = publish_bucket(self._store, session.run, replace(job, moved=moved))
            session.published(version)

    def _examine(self, version: BucketVersion) -> _Work | None:
        """Return what is to be done in a bucket; None if nothing is."""
        if version.index is None:
            return None
        listed = self._held(read_table(self._store, version.index))
        # The others' files: those that only the documents name go with them.
        refs = sorted(stored_refs(self._store, version, without=frozenset(self._documents)))
        found = map_parallel(self._look, refs, self._workers)
        held = {ref: holds for ref, holds in zip(refs, found, strict=True) if holds is not False}
        if not listed and not held:
            return None
        damaged = frozenset(ref for ref, holds in held.items() if holds is None)
        return _Work(refs=tuple(held), damaged=damaged)

    def _look(self, ref: str) -> bool | None:
        """Tell whether a file has rows of the documents; None if one cannot be read."""
        for key in files_of(ref):
            try:
                table = _read(self._store, key, ["doc_id"])
            except (OSError, pa.ArrowException):
                return None
            if table is not None and self._held(table):
                return True
        return False

    def _move(self, work: _Work) -> dict[str, str | None]:
        """Write files of the sentence store without the documents; return the new keys."""
        moved: dict[str, str | None] = {}
        for ref in work.refs:
            structure, sentences = self._keys()
            new = structure if layout.is_structure(ref) else sentences
            targets = dict(zip(files_of(ref), files_of(new), strict=True))
            if ref in work.damaged:
                moved.update(dict.fromkeys(targets))
                continue
            for key, target in targets.items():
                table = _read(self._store, key)
                if table is not None:
                    self._rewrite(table, target, "sentences")
                    fail_points.hit("purge.sentences")
                    moved[key] = target
        return moved

    def _keys(self) -> tuple[str, str]:
        """Return keys of a structure and its sentences that nobody has used."""
        self._files += 1
        key = layout.structure(self._session.run_id, self._files, new_attempt())
        return key, layout.sentences_of(key)

    # --- units of unfinished runs -----------------------------------------------------------

    def _units(self) -> int:
        """Take the documents out of units that a next run may adopt; return how many units."""
        buckets = set(self._documents.values())
        groups: dict[str, list[UnitMarker]] = defaultdict(list)
        for leftover in self._session.leftovers:
            for marker in read_unit_markers(self._store, leftover.run_id, self._workers):
                if marker.bucket in buckets and not marker.withdrawn:
                    groups[marker.file("documents").key].append(marker)
        changed = 0
        for markers in groups.values():
            # What the files hold counts: a marker may name fewer documents.
            documents = read_table(self._store, markers[0].file("documents"))
            if self._held(documents):
                self._session.check()
                self._unit(markers)
                changed += len(markers)
        return changed

    def _unit(self, markers: Sequence[UnitMarker]) -> None:
        """Write a unit's files without the documents, and let all markers name those."""
        left = [
            tuple(mark for mark in marker.documents if mark.doc_id not in self._documents)
            for marker in markers
        ]
        files = self._unit_files(markers[0]) if any(left) else ()
        for marker, marks in zip(markers, left, strict=True):
            new = replace(
                marker,
                attempt=new_attempt(),
                documents=marks,
                files=files if marks else (),
            )
            self._store.put(marker.key, new.to_bytes())
            fail_points.hit("purge.marker")

    def _unit_files(self, marker: UnitMarker) -> tuple[DataFile, ...]:
        structure, sentences = self._keys()
        stored = {
            "structure": structure,
            "sentences": sentences,
            "own_vectors": layout.own_vectors_of(structure),
        }
        attempt, files = new_attempt(), []
        for file in marker.files:
            own = layout.unit_data(self._session.run_id, self._files, attempt, file.table)
            table = _read(self._store, file.key)
            if table is None:
                msg = f"{self._store.uri(file.key)} does not exist"
                raise ObjectNotFoundError(msg)
            if file.table == "documents":
                table = _with_sentences(table, sentences)
            files.append(self._rewrite(table, stored.get(file.table, own), file.table))
            fail_points.hit("purge.unit")
        return tuple(files)

    # --- plans and files --------------------------------------------------------------------

    def _plan(self, key: str) -> bool:
        """Take the documents' names out of a plan; tell whether there were any."""
        table = _read(self._store, key)
        if table is None:
            return False
        mask = pc.and_(self._mask(table), pc.not_equal(table["source_key"], pa.scalar("")))
        if not pc.any(mask).as_py():
            return False
        rows = [
            {**nameless(row["doc_id"]), "unit": row["unit"], "bucket": row["bucket"]}
            for row in table.filter(mask).select(["doc_id", "unit", "bucket"]).to_pylist()
        ]
        others = of_today(table.filter(pc.invert(mask)), schemas.PLAN)
        both = pa.concat_tables([others, pa.Table.from_pylist(rows, schemas.PLAN)])
        self._session.check()
        self._store.put(key, to_parquet(both, _facts(table)))
        fail_points.hit("purge.plan")
        return True

    def _deaths(self, key: str) -> None:
        """Take the documents out of what a run noted of workers that died of them."""
        noted: dict[str, dict[str, float]] = json.loads(self._store.get(key))
        left = {
            stage: {
                name: n
                for name, n in deaths.items()
                if self._documents.keys().isdisjoint((name, ids.doc_id(name)))
            }
            for stage, deaths in noted.items()
        }
        if left != noted:
            self._session.check()
            self._store.put(key, json.dumps(left, sort_keys=True).encode())
            fail_points.hit("purge.plan")

    def _rewrite(self, table: pa.Table, key: str, name: str) -> DataFile:
        kept = table.filter(pc.invert(self._mask(table)))
        return write_table(self._store, key, kept, name=name, facts=_facts(table))

    def _held(self, table: pa.Table) -> bool:
        return bool(pc.any(self._mask(table)).as_py())

    def _mask(self, table: pa.Table) -> pa.ChunkedArray[Any]:
        doc_ids: Any = table["doc_id"]
        mask: pa.ChunkedArray[Any] = pc.is_in(doc_ids, value_set=self._ids)
        return mask


def _read(store: ObjectStore, key: str, columns: Sequence[str] | None = None) -> pa.Table | None:
    """Return the rows of a file with its metadata; None if there is none."""
    try:
        data = store.get(key)
    except ObjectNotFoundError:
        return None
    names = list(columns) if columns is not None else None
    return pq.read_table(
        pa.BufferReader(data),
        columns=names,
        use_threads=False,
        pre_buffer=False,
        page_checksum_verification=True,
    )


def _facts(table: pa.Table) -> dict[str, str]:
    """Return what a file's metadata says of it, its own key aside."""
    prefix = schemas.METADATA_PREFIX
    facts = {
        name.decode().removeprefix(prefix): value.decode()
        for name, value in (table.schema.metadata or {}).items()
        if name.decode().startswith(prefix)
    }
    facts.pop(DATA_KEY, None)
    return facts


def _with_sentences(documents: pa.Table, key: str) -> pa.Table:
    """Return a unit's documents; those with sentences name another file of them."""
    refs = documents["sentences_ref"]
    new = pc.if_else(pc.is_valid(refs), pa.scalar(key), pa.scalar(None, pa.string()))
    place = documents.schema.get_field_index("sentences_ref")
    return documents.set_column(place, documents.schema.field("sentences_ref"), new)
