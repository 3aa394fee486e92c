"""A tiny job over the commit protocol: a source, a chunker, an oracle, and runs that can die.

Runs are threads that stop before every store operation until the test lets them go
on, so that any interleaving of several runs can be played, and any run can be ended
between any two operations.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chunking import ids, schemas
from chunking.errors import ChunkmillError
from jobs import layout
from jobs.adapters.stores.memory import MemoryStore
from jobs.ports import ObjectStore
from jobs.protocol import files, roll_forward
from jobs.protocol.collect import clean
from jobs.protocol.dataset import Dataset, read_dataset, settings_of
from jobs.protocol.garbage import Garbage
from jobs.protocol.lease import run_ids_since_completed
from jobs.protocol.plan import PlannedDocument, PlannedUnit
from jobs.protocol.publish import publish_bucket
from jobs.protocol.purged import read_purge_lists
from jobs.protocol.purging import Purge, Purged
from jobs.protocol.roll_forward import list_data, read_versions
from jobs.protocol.run import RunSettings
from jobs.protocol.session import RunSession
from jobs.protocol.targets import find_targets
from jobs.protocol.units import commit_unit
from jobs.protocol.upkeep import UpkeepSession
from jobs.protocol.versions import BucketVersion, epoch_of
from jobs.records import SourceItem, UnitTables

DIMENSION = 2
PLAIN = ("boundaries", "chunks", "documents")
WRITES = "copy create delete put upload"
MAX_OPERATIONS = 5000
Task = Callable[..., Any]
"""What a worker does at a store: commit a unit, or publish a bucket."""

VARIES = {"run_id", "attempts", "parse_seconds", "embed_seconds"}
"""Columns of ``documents`` that depend on the run."""


class FakeClock:
    """Time that passes only when somebody sleeps or looks at the calendar."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.offset = 0.0

    def monotonic(self) -> float:
        """Return the seconds slept."""
        return self.seconds

    def now(self) -> float:
        """Return a calendar time, later each time, unless somebody sets it."""
        self.seconds += 1
        return 1_800_000_000 + self.offset + self.seconds

    def jump(self, seconds: float) -> None:
        """Set the calendar, which may go back."""
        self.offset += seconds

    def sleep(self, seconds: float) -> None:
        """Pass the time."""
        self.seconds += seconds


@dataclass
class FakeSource:
    """Documents by key; the content says how they behave.

    ``a|b`` gives the chunks a and b; ``!corrupt`` fails, ``!network`` fails and may be
    retried, and so does ``?a|b`` while the source is ``down``; the empty content is
    skipped. A leading ``#html#`` is the format. After each ``>`` follows a document that
    came inside: ``a>x=b|c>x!/y=d`` holds x, which holds y. ``name``: of a second source.
    """

    documents: dict[str, str] = field(default_factory=dict)
    name: str | None = None
    down: bool = False

    def items(self) -> list[SourceItem]:
        """List the documents in key order."""
        return [
            SourceItem(
                source_key=f"{self.name}/{key}" if self.name else key,
                source_uri=f"memory:///{key}",
                size=len(content),
                etag=etag_of(content),
                location=key,
            )
            for key, content in sorted(self.documents.items())
        ]


def etag_of(content: str) -> str:
    """Return the etag of a content."""
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def settings(fingerprint: str = "A", **changes: Any) -> RunSettings:
    """Return settings; the fingerprint ``A2`` is another model's, ``B`` another chunker's."""
    revision = "2" if "2" in fingerprint else "1"
    base = RunSettings(
        source="memory://source",
        fingerprint=fingerprint,
        model={"name": "tiny", "revision": revision, "dimension": DIMENSION},
        chunking={"separator": fingerprint[:1]},
        n_buckets=3,
        unit_documents=2,
    )
    return replace(base, **changes)


def process(unit: PlannedUnit, source: FakeSource, config: RunSettings) -> UnitTables:
    """Parse, chunk and embed a unit's documents as they are now."""
    documents, chunks, boundaries = [], [], []
    for planned in unit.documents:
        content = source.documents.get(planned.location, "!network")
        for row, parts in family(planned, content, config, down=source.down):
            documents.append(row)
            chunks += parts
            boundaries += [boundary_row(part) for part in parts]
    schema = schemas.chunks_schema(DIMENSION, config.vector_dtype)
    sentences = pa.Table.from_pylist(
        [sentence_row(chunk) for chunk in chunks], schemas.sentences_schema(DIMENSION)
    )
    return UnitTables(
        documents=pa.Table.from_pylist(documents, schemas.DOCUMENTS),
        chunks=pa.Table.from_pylist(chunks, schema),
        boundaries=pa.Table.from_pylist(boundaries, schemas.BOUNDARIES),
        sentences=sentences,
        structure=pa.table({"doc_id": pa.array([row["doc_id"] for row in documents])}),
        own_vectors=pa.table({"doc_id": pa.array([row["doc_id"] for row in chunks])}),
    )


def family(
    planned: PlannedDocument, content: str, config: RunSettings, *, down: bool
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yield the ``documents`` row and the chunk rows of a document, and of all inside it."""
    own = content.partition(">")[0]
    root = outcome(planned, own, config, etag=etag_of(content), down=down)
    yield root
    if root[0]["status"] == "ok":
        for member, text in members_of(planned, content):
            yield outcome(member, text, config, etag=etag_of(content), down=down)


def members_of(planned: PlannedDocument, content: str) -> Iterator[tuple[PlannedDocument, str]]:
    """Yield what came inside a document, as if it had been planned itself, and its content."""
    for part in content.split(">")[1:]:
        name, _, text = part.partition("=")
        key = f"{planned.source_key}{ids.MEMBER_MARK}{name}"
        outer = ids.doc_id(key.rpartition(ids.MEMBER_MARK)[0])
        yield replace(planned, doc_id=ids.doc_id(key), source_key=key, parent_doc_id=outer), text


def outcome(
    planned: PlannedDocument, content: str, config: RunSettings, *, etag: str, down: bool = False
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the ``documents`` row and the chunk rows of one document by itself."""
    kind, text = "txt", content
    if content.startswith("#"):
        kind, _, text = content[1:].partition("#")
    if text.startswith("?"):
        text = "!network" if down else text[1:]
    status, error = "ok", None
    if text.startswith("!"):
        status, error = "failed", text[1:]
    elif not text:
        status, error = "skipped", "empty"
    good = status == "ok"
    version = ids.content_version(content.encode()) if good else None
    parts = chunk_rows(planned, text, version, config) if good else []
    row = {
        "doc_id": planned.doc_id,
        "source_key": planned.source_key,
        "source_uri": planned.source_uri,
        "parent_doc_id": planned.parent_doc_id,
        "doc_version": version,
        "etag": etag,
        "size_bytes": len(content),
        "format": kind,
        "status": status,
        "error_kind": error,
        "error_stage": "parse" if error else None,
        "retryable": error == "network",
        "attempts": planned.attempts + 1,
        "stale": False,
        "warnings": [],
        "n_chars": len(text) if good else 0,
        "n_tokens": len(text) if good else 0,
        "n_chunks": len(parts),
        "parse_seconds": 0.0,
        "embed_seconds": 0.0,
        "parser": "fake",
        "text": text if good else None,
        "blocks": [] if good else None,
        "furniture": [],
        "metadata": [],
        "fingerprint": config.fingerprint,
        "run_id": "",
    }
    return row, parts


def chunk_rows(
    planned: PlannedDocument, text: str, version: str | None, config: RunSettings
) -> list[dict[str, Any]]:
    """Return one chunk per part; configuration ``B`` also cuts after every third character."""
    parts = [part for part in text.split("|") if part]
    if config.fingerprint.startswith("B"):
        parts = [part[i : i + 3] for part in parts for i in range(0, len(part), 3)]
    rows = []
    position = 0
    names = ids.chunk_ids(planned.doc_id, parts)
    for index, (name, part) in enumerate(zip(names, parts, strict=True)):
        rows.append(
            {
                "chunk_id": name,
                "doc_id": planned.doc_id,
                "source_key": planned.source_key,
                "source_uri": planned.source_uri,
                "doc_version": version,
                "chunk_index": index,
                "text": part,
                "prefix": "",
                "start_char": position,
                "end_char": position + len(part),
                "n_tokens": len(part),
                "kind": "paragraph",
                "heading_path": [],
                "boxes": [],
                "boundaries": "fixed",
                "vectors": "late",
                "split_reason": "separator",
                "embedding": vector(part, str(config.model["revision"])),
                "metadata": [],
            }
        )
        position += len(part)
    return rows


def vector(text: str, revision: str) -> list[float]:
    """Return a unit vector that depends on text and model."""
    angle = int(hashlib.sha256(f"{text}/{revision}".encode()).hexdigest()[:6], 16)
    return [float(np.float32(np.cos(angle))), float(np.float32(np.sin(angle)))]


def boundary_row(chunk: Mapping[str, Any]) -> dict[str, Any]:
    """Return the boundary at a chunk's end."""
    return {
        "doc_id": chunk["doc_id"],
        "doc_version": chunk["doc_version"],
        "chunk_id": chunk["chunk_id"],
        "position": chunk["end_char"],
        "reason": chunk["split_reason"],
    }


def sentence_row(chunk: Mapping[str, Any]) -> dict[str, Any]:
    """Return a chunk as one sentence."""
    return {
        "doc_id": chunk["doc_id"],
        "doc_version": chunk["doc_version"],
        "sentence_index": chunk["chunk_index"],
        "start_char": chunk["start_char"],
        "end_char": chunk["end_char"],
        "n_tokens": chunk["n_tokens"],
        "window_hash": "w",
        "vector": np.array(chunk["embedding"], np.float16),
    }


def run_job(
    store: ObjectStore,
    source: FakeSource,
    config: RunSettings,
    *,
    clock: FakeClock | None = None,
    take_over: bool = True,
    twins: bool = False,
    interrupt_after: int | None = None,
    deaths: dict[str, dict[str, int]] | None = None,
    on_task: Callable[[str, Task], object] = lambda _run_id, _task: None,
    **plan: Any,
) -> dict[str, object]:
    """Do one whole run; ``twins`` makes every attempt twice, an interruption stops early.

    ``on_task`` gets the id of the run and each of its tasks, that it may be done once more.
    ``deaths``: to be noted after each unit.
    """
    with RunSession.open(
        store,
        config,
        clock=clock or FakeClock(),
        take_over=take_over,
        heartbeat=False,
        workers=1,
    ) as session:
        session.make_plan(source.items(), tokenizer="{}", **plan)
        for done, number in enumerate(session.units_to_do()):
            if done == interrupt_after:
                break
            unit, run = session.unit(number), session.run
            commit: Task = lambda s, u=unit, r=run: commit_unit(s, r, u, process(u, source, config))  # noqa: E731
            on_task(session.run_id, commit)
            for _ in range(1 + twins):
                marker = commit(store)
            session.unit_done(marker)
            if deaths is not None:
                session.note_deaths(deaths)
            publish(store, session, session.ready(), twins=twins, on_task=on_task)
        publish(store, session, session.ready(), twins=twins, on_task=on_task)
        publish(store, session, session.remaining(), twins=twins, on_task=on_task)
        return session.finish()


def publish(
    store: ObjectStore,
    session: RunSession,
    jobs: Sequence[Any],
    *,
    twins: bool,
    on_task: Callable[[str, Task], object],
) -> None:
    """Publish buckets, each twice if asked."""
    for job in jobs:
        task: Task = lambda s, j=job, r=session.run: publish_bucket(s, r, j)  # noqa: E731
        on_task(session.run_id, task)
        for _ in range(1 + twins):
            version = task(store)
        session.published(version)


def gc_job(store: ObjectStore, *, clock: FakeClock | None = None) -> Garbage | None:
    """Do what ``gc --delete`` does; nothing where there is no dataset yet."""
    dataset = read_dataset(store)
    if dataset is None:
        return None
    leftovers = list(store.unfinished())
    with upkeep(store, dataset, clock) as session:
        garbage = clean(store, session, leftovers=leftovers, workers=1)
        session.end()
    return garbage


def purge_job(store: ObjectStore, *names: str, clock: FakeClock | None = None) -> Purged | None:
    """Do what ``purge`` does; nothing where there is no dataset yet."""
    dataset = read_dataset(store)
    if dataset is None:
        return None
    versions = read_versions(store, list_data(store), 1)
    unfinished = run_ids_since_completed(store, before=10**8)
    lists = read_purge_lists(store)
    found = find_targets(store, names, versions, unfinished, lists, workers=1)
    assert not found.unknown
    with upkeep(store, dataset, clock) as session:
        return Purge(store, session, found, workers=1)()


def upkeep(store: ObjectStore, dataset: Dataset, clock: FakeClock | None) -> UpkeepSession:
    """Open a session that changes nothing of how the dataset is made, taking over."""
    return UpkeepSession.open(
        store,
        settings_of(dataset, lease_seconds=60),
        clock=clock or FakeClock(),
        take_over=True,
        heartbeat=False,
        workers=1,
    )


class Crash(BaseException):
    """The process is gone: nothing catches this, and no store operation follows it."""


class Actor:
    """A run in a thread of its own that does one store operation per :meth:`step`.

    ``next`` is the operation that it sleeps before, and its key. ``error``: how it ended,
    if not well. Whatever is none of this project's errors is raised by the step it
    happened in: also what ``watch`` finds after an operation.
    """

    def __init__(
        self,
        store: MemoryStore,
        job: Callable[[ObjectStore], object],
        *,
        watch: Callable[[str, str], object] = lambda _operation, _key: None,
    ) -> None:
        self.ended = False
        self.error: BaseException | None = None
        self.next: tuple[str, str] = ("", "")
        self.operations = 0
        self._broken: AssertionError | None = None
        self._refusal: Exception | None = None
        self._doubt: Exception | None = None
        self._again = False
        self._dead = False
        self._watch = watch
        self._go = threading.Semaphore(0)
        self._paused = threading.Semaphore(0)
        view = _Retrying(store.view(before=self._before, after=self._after), self)
        self._thread = threading.Thread(target=self._main, args=(job, view), daemon=True)
        self._thread.start()
        self._paused.acquire()

    def step(self) -> bool:
        """Let the next store operation happen; False if the run has ended."""
        if self.ended:
            return False
        self._go.release()
        self._paused.acquire()
        if self._broken is not None:
            raise self._broken
        if not isinstance(self.error, Crash | ChunkmillError | None):
            raise self.error
        return not self.ended

    def run(self, steps: int | None = None) -> None:
        """Let so many operations happen, or all."""
        while steps is None or steps > 0:
            if not self.step():
                return
            steps = None if steps is None else steps - 1

    def run_until(self, operation: str, pattern: str, times: int = 1) -> None:
        """Sleep before the so-manieth next operation of a kind on a key that matches.

        ``operation``: its name, or several with a blank between.
        """
        while not self.ended:
            name, key = self.next
            times -= name in operation.split() and re.search(pattern, key) is not None
            if times <= 0:
                return
            self.step()

    def die(self) -> None:
        """End the run here, as by SIGKILL."""
        self._dead, self._broken = True, None
        self.run()
        self._thread.join()

    def fail_next(self, error: Exception, *, done: bool = True) -> None:
        """Tell the run that the next operation has failed, whether or not it is done."""
        if done:
            self._doubt = error
        else:
            self._refusal = error
        self.step()

    def repeat_next(self) -> None:
        """Let the next operation happen, and sleep before it is done once more.

        So does a store's client where an answer was lost. Of what changes nothing nobody
        notices.
        """
        self._again = self.next[0] in WRITES.split()
        self.step()

    def again(self) -> bool:
        """Tell whether the operation that has happened is to be done once more."""
        again, self._again = self._again, False
        return again

    def _before(self, operation: str, key: str) -> None:
        if self._dead:
            raise Crash
        self.next = operation, key
        self._paused.release()
        self._go.acquire()
        if self._dead:
            raise Crash
        error, self._refusal = self._refusal, None
        if error is not None:
            raise error

    def _after(self, operation: str, key: str) -> None:
        self.operations += 1
        assert self.operations < MAX_OPERATIONS, "the run does not end"
        try:
            self._watch(operation, key)
        except AssertionError as error:
            self._broken = error  # the run itself may end by something else
            raise
        error, self._doubt = self._doubt, None
        if error is not None:
            raise error

    def _main(self, job: Callable[[ObjectStore], object], view: ObjectStore) -> None:
        try:
            job(view)
        except BaseException as error:  # noqa: BLE001 - step() raises what is no way to end
            self.error = error
        finally:
            self.ended = True
            self._paused.release()


class _Retrying:
    """A store whose client may do a write a second time."""

    def __init__(self, store: MemoryStore, actor: Actor) -> None:
        self._store = store
        self._actor = actor

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._store, name)
        if name not in WRITES.split():
            return value

        def write(*args: Any) -> Any:
            result = value(*args)
            return value(*args) if self._actor.again() else result

        return write


# --- files without Parquet ------------------------------------------------------------------


def write_light(table: pa.Table, sink: Any, **_options: Any) -> None:
    """Write a table in Arrow's own format, with the end by which Parquet is known."""
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    sink.write(b"\0\0\0\0PAR1")


def read_light(source: Any, columns: list[str] | None = None, **_options: Any) -> pa.Table:
    """Return the table that :func:`write_light` wrote."""
    table = pa.ipc.open_stream(source).read_all()
    return table if columns is None else table.select(columns)


LIGHT = SimpleNamespace(
    write_table=write_light,
    read_table=read_light,
    read_metadata=lambda source: SimpleNamespace(
        metadata=pa.ipc.open_stream(source).schema.metadata
    ),
)
"""What of ``pyarrow.parquet`` the protocol uses, several times as fast for a few rows."""


def without_parquet(patch: pytest.MonkeyPatch) -> None:
    """Let the protocol write another format of files, where only the order of things counts."""
    for module in (files, roll_forward):
        patch.setattr(module, "pq", LIGHT)
    patch.setitem(globals(), "pq", LIGHT)


# --- the oracle ---------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def read_rows(data: bytes) -> tuple[dict[str, Any], ...]:
    """Return the rows of Parquet bytes."""
    return tuple(pq.read_table(pa.BufferReader(data)).to_pylist())


def plain_files(store: MemoryStore, table: str) -> dict[str, bytes]:
    """Return the plain files of a table by key."""
    return {k: v for k, v in sorted(store.objects.items()) if k.startswith(f"{table}/")}


def plain_rows(store: MemoryStore, table: str) -> list[dict[str, Any]]:
    """Return all rows that a plain reader sees, in key order."""
    return [row for data in plain_files(store, table).values() for row in read_rows(data)]


def chains(store: MemoryStore) -> dict[int, list[BucketVersion]]:
    """Return the version chain of every bucket."""
    found: dict[int, list[BucketVersion]] = defaultdict(list)
    for key, data in sorted(store.objects.items()):
        if key.startswith("_chunkmill/buckets/") and key.endswith(".json"):
            version = BucketVersion.from_bytes(data)
            found[version.bucket].append(version)
    return found


def committed_rows(store: MemoryStore, table: str) -> list[dict[str, Any]]:
    """Return all rows of the last committed versions."""
    return [
        row
        for chain in chains(store).values()
        for file in chain[-1].table(table)
        for row in read_rows(store.objects[file.key])
    ]


def stable(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a ``documents`` row without what depends on the run."""
    return {k: v for k, v in row.items() if k not in VARIES and k != "sentences_ref"}


def planned_of(item: SourceItem) -> PlannedDocument:
    """Return a listed document as it would be planned."""
    return PlannedDocument(
        doc_id=ids.doc_id(item.source_key),
        source_key=item.source_key,
        source_uri=item.source_uri,
        parent_doc_id=None,
        etag=item.etag,
        size_bytes=item.size,
        attempts=0,
        metadata={},
        location=item.location,
        table_row=None,
    )


def check_each_document_once(store: MemoryStore) -> None:
    """Check that a reader of any plain directory sees no document in two files."""
    for table in PLAIN:
        seen: dict[str, str] = {}
        for key, data in plain_files(store, table).items():
            for doc_id in {row["doc_id"] for row in read_rows(data)}:
                assert seen.setdefault(doc_id, key) == key, f"{doc_id} in {seen[doc_id]} and {key}"


def check_dataset(store: MemoryStore) -> None:
    """Check that plain rows, feed, documents and version chains agree."""
    check_chains(store)
    check_each_document_once(store)
    for table in PLAIN:
        rows, committed = plain_rows(store, table), committed_rows(store, table)
        key = lambda row: (row["doc_id"], row.get("chunk_index", row.get("position", 0)))  # noqa: E731
        assert sorted(rows, key=key) == sorted(committed, key=key), table
        for name, data in plain_files(store, table).items():
            order = [key(row) for row in read_rows(data)]
            assert order == sorted(order), f"{name} is not sorted"
    chunks = plain_rows(store, "chunks")
    names = [row["chunk_id"] for row in chunks]
    assert len(set(names)) == len(names)
    check_feeds(store)
    assert replay(feeds(store)) == set(names)
    boundaries = plain_rows(store, "boundaries")
    assert sorted(row["chunk_id"] for row in boundaries) == sorted(names)
    check_documents(plain_rows(store, "documents"), chunks)


def check_documents(
    documents: Sequence[Mapping[str, Any]], chunks: Sequence[Mapping[str, Any]]
) -> None:
    """Check that each documents row describes the published chunks."""
    of: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for chunk in chunks:
        of[chunk["doc_id"]].append(chunk)
    for row in documents:
        mine = of.pop(row["doc_id"], [])
        assert row["n_chunks"] == len(mine), row
        assert {chunk["doc_version"] for chunk in mine} <= {row["doc_version"]}
        assert "".join(c["text"] for c in mine) == (row["text"] or "").replace("|", "")
        assert row["stale"] == (row["status"] == "failed" and row["doc_version"] is not None)
    assert not of, f"chunks without a document: {sorted(of)}"


def check_chains(store: MemoryStore) -> None:
    """Check that versions are numbered without a gap and that run ids never decrease."""
    for bucket, chain in chains(store).items():
        assert [version.version for version in chain] == list(range(1, len(chain) + 1)), bucket
        epochs = [epoch_of(version.run_id) for version in chain]
        assert epochs == sorted(epochs), (bucket, epochs)
        published = [v.run_id for v in chain if v.kind == "publish"]
        assert len(set(published)) == len(published), (bucket, published)
        for before, after in pairwise(chain):
            assert after.kind == "publish" or _state(after) == _state(before), after
        for file in chain[-1].files:
            assert hashlib.sha256(store.objects[file.key]).hexdigest() == file.sha256


def _state(version: BucketVersion) -> tuple[Any, ...]:
    return version.files, version.index, version.interim, version.replaces


def check_feeds(store: MemoryStore) -> None:
    """Check that the plain feed holds the committed change rows, and no others."""
    committed = {
        layout.plain_changes(version.run_id, version.bucket): store.objects[version.changes.key]
        for chain in chains(store).values()
        for version in chain
        if version.changes is not None
    }
    plain = plain_files(store, "changes")
    assert {key: plain.get(key) for key in committed} == committed
    assert not [key for key in plain if key not in committed and read_rows(plain[key])]


def feeds(store: MemoryStore) -> Iterator[dict[str, Any]]:
    """Yield the rows of the plain change feed in run order."""
    for key, data in plain_files(store, "changes").items():
        run_id = key.split("/")[1].removeprefix("run=")
        for row in read_rows(data):
            yield {**row, "run_id": run_id}


def replay(rows: Iterator[dict[str, Any]]) -> set[str]:
    """Return the chunk ids that are left after all changes, checking each change."""
    alive: set[str] = set()
    seen: set[tuple[str, str]] = set()
    for row in rows:
        name = row["chunk_id"]
        assert (row["run_id"], name) not in seen, f"{name} twice in {row['run_id']}"
        seen.add((row["run_id"], name))
        if row["op"] == "delete":
            assert name in alive, f"{row['run_id']} deletes {name}, which is not there"
            alive.discard(name)
        else:
            assert row["vector_changed"] or name in alive
            alive.add(name)
    return alive
