"""The version chain of a bucket: the truth, of which the plain directory is a view.

``_chunkmill/buckets/00012/00000003.json`` is created if absent; whoever creates it
has committed version 3. A version is written by a run that has read the version
before, and a run never builds on a version of a later run, so run ids never
decrease along a chain.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from jobs import layout
from jobs.ports import ObjectInfo, ObjectStore
from jobs.protocol.files import DataFile
from jobs.protocol.written import get_written

__all__ = ["TOTAL", "BucketVersion", "epoch_of", "fence_of", "latest_versions", "read_version"]

TOTAL = "total."
"""Prefix of the counts that describe the whole bucket, not what was done to it."""

_VERSION = re.compile(re.escape(layout.BUCKETS_PREFIX) + r"(\d{5})/(\d{8})\.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketVersion:
    """One committed state of a bucket.

    ``kind``: ``publish``, or ``fence`` for one that only keeps an older run from
    committing and repeats the state before. ``files``: one file per table and
    partition value. ``index``: what a later run must know of each document; None in a
    bucket that was never published. ``interim``: for documents that move between
    partitions, the files from which they have gone and into which none has come yet.
    ``replaces``: data keys of the files that this version's plain copies replace.
    ``changes``: the change rows against the version before; None if nothing changed.
    ``counts``: what was done, for the report.
    """

    bucket: int
    version: int
    run_id: str
    kind: str
    files: tuple[DataFile, ...] = ()
    index: DataFile | None = None
    interim: tuple[DataFile, ...] = ()
    replaces: tuple[str, ...] = ()
    changes: DataFile | None = None
    counts: Mapping[str, int] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """Return the JSON object that is committed."""
        body = {
            "bucket": self.bucket,
            "version": self.version,
            "previous": self.version - 1,
            "run_id": self.run_id,
            "kind": self.kind,
            "files": [file.to_json() for file in self.files],
            "index": self.index.to_json() if self.index else None,
            "interim": [file.to_json() for file in self.interim],
            "replaces": list(self.replaces),
            "changes": self.changes.to_json() if self.changes else None,
            "counts": dict(self.counts),
        }
        return json.dumps(body, sort_keys=True).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> BucketVersion:
        """Return the version that :meth:`to_bytes` wrote."""
        body = json.loads(data)
        return cls(
            bucket=body["bucket"],
            version=body["version"],
            run_id=body["run_id"],
            kind=body["kind"],
            files=_files(body["files"]),
            index=_file(body["index"]),
            interim=_files(body["interim"]),
            replaces=tuple(body["replaces"]),
            changes=_file(body["changes"]),
            counts=body["counts"],
        )

    @property
    def key(self) -> str:
        """Key whose creation commits this version."""
        return layout.bucket_version(self.bucket, self.version)

    def table(self, name: str) -> tuple[DataFile, ...]:
        """Return the files of one table."""
        return tuple(file for file in self.files if file.table == name)


def _file(body: Mapping[str, Any] | None) -> DataFile | None:
    return DataFile(**body) if body is not None else None


def _files(bodies: Iterable[Mapping[str, Any]]) -> tuple[DataFile, ...]:
    return tuple(DataFile(**body) for body in bodies)


def epoch_of(run_id: str) -> int:
    """Return the lease epoch in a run id."""
    return int(run_id[:8])


def fence_of(base: BucketVersion | None, bucket: int, run_id: str) -> BucketVersion:
    """Return the version that repeats ``base``, so that no older run can commit on it."""
    if base is None:
        return BucketVersion(bucket=bucket, version=1, run_id=run_id, kind="fence")
    return replace(
        base,
        version=base.version + 1,
        run_id=run_id,
        kind="fence",
        changes=None,
        counts={name: n for name, n in base.counts.items() if name.startswith(TOTAL)},
    )


def read_version(store: ObjectStore, bucket: int, version: int) -> BucketVersion:
    """Return a committed version; ``ObjectNotFoundError`` if it was not committed."""
    return BucketVersion.from_bytes(get_written(store, layout.bucket_version(bucket, version)))


def latest_versions(objects: Iterable[ObjectInfo]) -> dict[int, int]:
    """Return the last committed version of each bucket, from a listing of the chains."""
    latest: dict[int, int] = {}
    for info in objects:
        match = _VERSION.fullmatch(info.key)
        if match:
            bucket, version = int(match[1]), int(match[2])
            latest[bucket] = max(version, latest.get(bucket, 0))
    return latest
