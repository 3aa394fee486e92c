"""A reader of the plain directories at all times: each document at most once, never half.

It lists a directory, which is one moment of it, and reads the files that it has not
seen. What a file holds never changes under one etag, so the listing alone tells later
what a reader of that moment would have seen.
"""

from __future__ import annotations

import io
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from botocore.exceptions import BotoCoreError, ClientError

from scripts.chaos.harness.listing import etags

__all__ = ["FolderTables", "PlainReader", "S3Tables", "Tables"]

TABLES = ("boundaries", "chunks", "documents")
_COLUMNS = {
    "boundaries": ["doc_id", "doc_version"],
    "chunks": ["doc_id", "doc_version", "chunk_index"],
    "documents": ["doc_id", "doc_version", "n_chunks"],
}
_POLL_S = 0.25


class S3Tables:
    """The plain directories of a dataset below a prefix, by a direct connection."""

    def __init__(self, client: Any, bucket: str, prefix: str) -> None:  # noqa: ANN401
        self._client, self._bucket, self._prefix = client, bucket, prefix

    def list(self, table: str) -> dict[str, str]:
        """Return the etags of a table's files by key."""
        prefix = f"{self._prefix}{table}/"
        found = etags(self._client, self._bucket, prefix)
        return {key[len(self._prefix) :]: etag for key, etag in found.items()}

    def read(self, key: str) -> tuple[str, bytes] | None:
        """Return a file's etag and content; None if there is none."""
        try:
            answer = self._client.get_object(Bucket=self._bucket, Key=self._prefix + key)
        except ClientError:
            return None
        return answer["ETag"], answer["Body"].read()


class FolderTables:
    """The plain directories of a dataset in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def list(self, table: str) -> dict[str, str]:
        """Return what tells the content of a table's files, by key."""
        found: dict[str, str] = {}
        for path in (self._folder / table).rglob("*.parquet"):
            tag = _tag(path)
            if tag is not None:
                found[str(path.relative_to(self._folder))] = tag
        return found

    def read(self, key: str) -> tuple[str, bytes] | None:
        """Return what tells a file's content, and the content; None if there is none."""
        path = self._folder / key
        before = _tag(path)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        after = _tag(path)
        return (before, data) if before is not None and before == after else None


Tables = S3Tables | FolderTables


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A file's documents, with version and number of rows, and what is wrong in it."""

    documents: Mapping[str, tuple[str | None, int]]
    faults: tuple[str, ...] = ()


@dataclass(slots=True)
class PlainReader:
    """Looks until it is told to stop; ``faults`` are violations, ``wholes`` what was read."""

    tables: Tables
    faults: list[str] = field(default_factory=list)
    wholes: dict[str, set[tuple[str, str | None, int]]] = field(default_factory=dict)
    looks: int = 0
    _files: dict[tuple[str, str], _Seen] = field(default_factory=dict)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to look."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look a last time."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self.look()

    def look(self) -> None:
        """Look at every table once; a store that is down shows nothing."""
        for table in TABLES:
            try:
                self._look_at(table)
            except (BotoCoreError, ClientError, OSError):
                continue
        self.looks += 1

    def differences(self, expected: Mapping[tuple[str, str], int]) -> Iterator[str]:
        """Yield what was seen half: other numbers of chunks than the versions have."""
        for table in TABLES:
            for doc_id, version, count in sorted(self.wholes.get(table, ()), key=str):
                if version is not None and expected.get((doc_id, version)) != count:
                    whole = expected.get((doc_id, version))
                    yield f"{table}: document {doc_id} was seen with {count} chunks, not {whole}"

    def _run(self) -> None:
        while not self._stop.wait(_POLL_S):
            self.look()

    def _look_at(self, table: str) -> None:
        listed = self.tables.list(table)
        where: dict[str, list[str]] = defaultdict(list)
        for key, etag in listed.items():
            seen = self._file(table, key, etag)
            for doc_id in seen.documents if seen else ():
                where[doc_id].append(key)
        for doc_id, keys in where.items():
            if len(keys) > 1:
                self._blame(f"{table}: document {doc_id} is in {' and '.join(sorted(keys))}")

    def _file(self, table: str, key: str, etag: str) -> _Seen | None:
        if (table, etag) not in self._files:
            read = self.tables.read(key)
            if read is None:
                return None
            found, data = read
            if (table, found) not in self._files:
                self._files[table, found] = seen = _parsed(table, data)
                for fault in seen.faults:
                    self._blame(f"{key}: {fault}")
                wholes = self.wholes.setdefault(table, set())
                wholes.update((doc, *facts) for doc, facts in seen.documents.items())
        return self._files.get((table, etag))

    def _blame(self, fault: str) -> None:
        if fault not in self.faults:
            self.faults.append(fault)


def _tag(path: Path) -> str | None:
    try:
        facts = path.stat()
    except OSError:
        return None
    return f"{facts.st_ino}-{facts.st_mtime_ns}-{facts.st_size}"


def _parsed(table: str, data: bytes) -> _Seen:
    try:
        rows = pq.read_table(io.BytesIO(data), columns=_COLUMNS[table]).to_pylist()
    except (pa.ArrowException, OSError) as error:
        return _Seen(documents={}, faults=(f"cannot be read: {error}",))
    if table == "documents":
        found = {row["doc_id"]: (row["doc_version"], row["n_chunks"]) for row in rows}
        faults = () if len(found) == len(rows) else ("a document has two rows",)
        return _Seen(documents=found, faults=faults)
    by_document: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_document[row["doc_id"]].append(row)
    return _Seen(
        documents={
            doc: (group[0]["doc_version"], len(group)) for doc, group in by_document.items()
        },
        faults=tuple(fault for doc, group in by_document.items() for fault in _half(doc, group)),
    )


def _half(doc_id: str, rows: list[dict[str, Any]]) -> Iterator[str]:
    if len({row["doc_version"] for row in rows}) > 1:
        yield f"document {doc_id} in two versions"
    if "chunk_index" in rows[0] and [row["chunk_index"] for row in rows] != list(range(len(rows))):
        yield f"the chunks of document {doc_id} are not 0 to {len(rows) - 1}, each once"
