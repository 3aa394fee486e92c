"""The plain directory, a view of the committed versions: made, checked, and mended.

Every plain file is a byte copy of a data file and names it in its metadata, so what
a plain file shows can be told from the file alone. In a partitioned dataset a
document may move from one file to another: files are then written first without the
documents that come in, so that a reader of the directory sees none twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from chunking import schemas
from chunking.errors import ObjectNotFoundError
from jobs import layout
from jobs.ports import ObjectInfo, ObjectStore
from jobs.protocol import fail_points
from jobs.protocol.files import DATA_KEY, DataFile, data_key, to_parquet
from jobs.protocol.parallel import map_parallel
from jobs.protocol.partitions import DEFAULT_VALUE, plain_key
from jobs.protocol.versions import BucketVersion
from jobs.protocol.written import copy_written

__all__ = ["PLAIN_TABLES", "PlainView", "copy_bucket", "copy_changes"]

PLAIN_TABLES = tuple(name for name in schemas.TABLES if name != "changes")
"""Tables with one plain file per bucket and partition value, in the order of copying."""

_PLACEHOLDER = "placeholder"
_PLAIN = re.compile(r"(?:boundaries|chunks|documents)/(?:.*/)?bucket-(\d{5})\.parquet")


def copy_changes(store: ObjectStore, version: BucketVersion) -> None:
    """Copy a version's change rows to their plain key, if it has any."""
    if version.changes is not None:
        target = layout.plain_changes(version.run_id, version.bucket)
        copy_written(store, version.changes.key, target)


def copy_bucket(
    store: ObjectStore, version: BucketVersion, base: BucketVersion | None, column: str | None
) -> None:
    """Make the plain files of a version whose predecessor's stand there."""
    copy_changes(store, version)
    fail_points.hit("copy.changes")
    before = _targets(base, column) if base else {}
    after = _targets(version, column)
    interim = _keyed(version.interim, version.bucket, column)
    for table in PLAIN_TABLES:
        for key in sorted(before.keys() - after.keys()):
            if before[key].table == table:
                store.delete(key)
                fail_points.hit("copy.remove")
        for key, file in interim.items():
            if file.table == table:
                copy_written(store, file.key, key)
                fail_points.hit("copy.interim")
        for key, file in after.items():
            if file.table == table and interim.get(key) != file:
                copy_written(store, file.key, key)
                fail_points.hit(f"copy.{table}")


def _targets(version: BucketVersion, column: str | None) -> dict[str, DataFile]:
    return _keyed(version.files, version.bucket, column)


def _keyed(files: Iterable[DataFile], bucket: int, column: str | None) -> dict[str, DataFile]:
    return {plain_key(file.table, bucket, column, file.value): file for file in files}


@dataclass(kw_only=True)
class PlainView:
    """The plain directory of a dataset, compared with the committed versions.

    ``column``: partition column, or None. ``seen`` remembers, per plain key, an etag and
    the data key that the file with this etag names: a fact that cannot become wrong,
    kept in ``_chunkmill/view.json``, so that unchanged files need no look.
    """

    store: ObjectStore
    column: str | None
    workers: int
    seen: dict[str, tuple[str, str]] = field(default_factory=dict)

    def load(self) -> None:
        """Read what an earlier run saw; nothing, if that is missing or damaged."""
        try:
            body = json.loads(self.store.get(layout.VIEW))
            self.seen = {key: (str(etag), str(name)) for key, (etag, name) in body.items()}
        except (ObjectNotFoundError, ValueError, AttributeError, TypeError):
            self.seen = {}

    def save(self) -> None:
        """Remember for the next run what is known."""
        body = json.dumps(self.seen, sort_keys=True).encode()
        self.store.put(layout.VIEW, body)
        fail_points.hit("finish.view")

    def mend(
        self,
        versions: Mapping[int, BucketVersion],
        data: Mapping[str, ObjectInfo],
        check: Callable[[], None],
    ) -> int:
        """Bring every plain file that is not of its bucket's last version forward.

        ``data``: listed facts of data files; a plain file with a data file's etag is a
        copy of it. ``check`` is called before the first change of each bucket.
        Returns the number of files that were written or removed.
        """
        listed = {info.key: info for table in PLAIN_TABLES for info in self.store.list(f"{table}/")}
        wanted = {
            key: file
            for version in versions.values()
            for key, file in _targets(version, self.column).items()
        }
        names = self._names(listed, wanted, data)
        stale: dict[int, set[str]] = {}
        for key in wanted.keys() | names.keys():
            harmless = (wanted[key].key,) if key in wanted else (None, _PLACEHOLDER)
            match = _PLAIN.fullmatch(key)
            if match and (key not in names or names[key] not in harmless):
                stale.setdefault(int(match[1]), set()).add(key)
        for bucket in sorted(stale):
            check()
            self._mend_bucket(versions.get(bucket), stale[bucket], names)
        return sum(len(keys) for keys in stale.values())

    def fill_empty_tables(self, chunks_schema: pa.Schema, facts: Mapping[str, str]) -> None:
        """Give every table without a file one with zero rows, so that readers open it."""
        for table, schema in (
            ("changes", schemas.CHANGES),
            ("boundaries", schemas.BOUNDARIES),
            ("chunks", chunks_schema),
            ("documents", schemas.DOCUMENTS),
        ):
            if next(iter(self.store.list(f"{table}/")), None) is None:
                if table == "changes":
                    key = layout.plain_changes(facts["run_id"], 0)
                else:
                    key = plain_key(table, 0, self.column, DEFAULT_VALUE)
                named = {**facts, DATA_KEY: _PLACEHOLDER}
                self.store.put(key, to_parquet(schema.empty_table(), named))
                fail_points.hit("finish.placeholder")

    def _names(
        self,
        listed: Mapping[str, ObjectInfo],
        wanted: Mapping[str, DataFile],
        data: Mapping[str, ObjectInfo],
    ) -> dict[str, str | None]:
        """Return, per plain file of ours, the data key that it names."""
        names: dict[str, str | None] = {}
        unknown = []
        for key, info in listed.items():
            if _PLAIN.fullmatch(key) is None:
                continue
            etag, name = self.seen.get(key, ("", ""))
            source = data.get(wanted[key].key) if key in wanted else None
            if etag == info.etag:
                names[key] = name
            elif source is not None and (source.etag, source.size) == (info.etag, info.size):
                names[key] = wanted[key].key
            else:
                unknown.append(key)
        found = map_parallel(self._look, unknown, self.workers)
        names.update(zip(unknown, found, strict=True))
        self.seen = {
            key: (listed[key].etag, name) for key, name in names.items() if name is not None
        }
        return names

    def _look(self, key: str) -> str | None:
        try:
            return data_key(self.store, key)
        except ObjectNotFoundError:
            return None

    def _mend_bucket(
        self, version: BucketVersion | None, stale: set[str], names: Mapping[str, str | None]
    ) -> None:
        """Mend one table after the other, so that none runs ahead of those before it."""
        after = _targets(version, self.column) if version else {}
        for table in PLAIN_TABLES:
            own = {key for key in stale if key.startswith(f"{table}/")}
            self._empty(version, own, names, after)
            for key, file in after.items():
                if key in own:
                    copy_written(self.store, file.key, key)
                    fail_points.hit("roll.copy")

    def _empty(
        self,
        version: BucketVersion | None,
        stale: set[str],
        names: Mapping[str, str | None],
        after: Mapping[str, DataFile],
    ) -> None:
        """Take out of a table's stale files what must not be there any longer."""
        if self.column is not None:
            interim = _keyed(version.interim, version.bucket, self.column) if version else {}
            replaces = set(version.replaces) if version else set()
            for key in sorted(stale & names.keys()):
                self._take_out(key, names[key], after, interim, replaces)
        else:
            for key in sorted(stale - after.keys()):
                self.store.delete(key)
                fail_points.hit("roll.remove")

    def _take_out(
        self,
        key: str,
        name: str | None,
        after: Mapping[str, DataFile],
        interim: Mapping[str, DataFile],
        replaces: set[str],
    ) -> None:
        """Remove from a stale file the documents that belong elsewhere by now.

        A file of the version before still holds only documents that stay or that the
        interim file is without. Of an older one nothing is known: it is removed.
        """
        if key not in after:
            self.store.delete(key)
            fail_points.hit("roll.remove")
        elif name in replaces:
            if key in interim:
                copy_written(self.store, interim[key].key, key)
                fail_points.hit("roll.interim")
        elif key not in interim or name != interim[key].key:
            self.store.delete(key)
            fail_points.hit("roll.clear")
