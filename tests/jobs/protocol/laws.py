"""What must hold after every single store operation, whoever did it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pyarrow as pa

from jobs import layout
from jobs.adapters.stores.memory import MemoryStore
from jobs.ports import ObjectStore
from jobs.protocol.versions import BucketVersion, epoch_of
from tests.jobs.protocol import simulation as sim

PLAYED: Counter[str] = Counter()
"""What was played in this process, for those who search for long."""

_VERSION = re.compile(r"_chunkmill/buckets/(\d{5})/\d{8}\.json")
_PLAN = re.compile(r"_chunkmill/runs/(\d{8})-\w+/plan\.parquet")
_EPOCH = re.compile(r"_chunkmill/lease/(\d{8})\.json")
_HEARTBEAT = re.compile(r"_chunkmill/lease/(\d{8})\.heartbeat")
_PLAIN = re.compile(r"(boundaries|chunks|documents)/(?:.*/)?bucket-(\d{5})\.parquet")
_REPLACED = re.compile(r"_chunkmill/(dataset\.json|view\.json|lease/.*\.heartbeat|runs/.*\.json)")
"""Private objects that may be replaced; a unit's marker is not one of them."""
_MARKER = re.compile(r"_chunkmill/runs/[^/]+/units/.*")


class Player(sim.Actor):
    """A run, or a task of one, watched by the laws.

    ``epoch``: the one it holds, None before that. ``late``: buckets whose version it
    committed, or lost, when another run held the lease already. ``strayed``: buckets whose
    plain files it changed since. ``strays``: it is a task done once more. ``cleans``: it is
    no run but a cleaning, which removes what nobody needs.
    """

    def __init__(
        self,
        store: MemoryStore,
        job: Callable[[ObjectStore], object],
        laws: Laws,
        *,
        epoch: int | None = None,
        cleans: bool = False,
    ) -> None:
        self.epoch = epoch
        self.strays = epoch is not None
        self.cleans = cleans
        self.late: set[int] = set()
        self.strayed: set[int] = set()
        super().__init__(store, job, watch=lambda operation, key: laws.watch(self, operation, key))

    def die(self) -> None:
        """End it, and count that."""
        PLAYED["crashes"] += not self.ended
        super().die()


class Laws:
    """Checks a store after every operation, from what it saw before."""

    def __init__(self, store: MemoryStore, *, partitioned: bool) -> None:
        self.store = store
        self.partitioned = partitioned
        self.dirty = False
        """Whether a run that was overtaken has changed plain files since the last whole one."""
        self.epoch = 0
        self.planned = 0
        self._fixed: dict[str, bytes] = {}
        self._chains: dict[int, list[BucketVersion]] = {}
        self._alive: dict[int, set[str]] = {}
        self._changed: set[tuple[str, str]] = set()

    def watch(self, player: Player, operation: str, key: str) -> None:
        """Check what may have become wrong by an operation."""
        PLAYED["store operations"] += 1
        if operation not in sim.WRITES.split():
            return
        if match := _HEARTBEAT.fullmatch(key):
            player.epoch = int(match[1])
        if key.startswith(layout.PRIVATE_PREFIX):
            self._private(player, operation, key)
        elif match := _PLAIN.fullmatch(key):
            self._plain(player, operation, int(match[2]))

    def overtaken(self, player: Player) -> bool:
        """Tell whether a later run has taken the dataset from this one."""
        return player.epoch is not None and player.epoch < self.epoch

    # --- below _chunkmill/

    def _private(self, player: Player, operation: str, key: str) -> None:
        if operation == "delete":
            assert player.cleans, f"{key} is gone"
            self._check_garbage(key)
            return
        self._check_fixed(key)
        if match := _EPOCH.fullmatch(key):
            self.epoch = max(self.epoch, int(match[1]))
        if match := _PLAN.fullmatch(key):
            self.planned = max(self.planned, int(match[1]))
        if match := _VERSION.fullmatch(key):
            if self.overtaken(player):
                player.late.add(int(match[1]))
            self._version(key)

    def _check_fixed(self, key: str) -> None:
        """Check that nothing is replaced but what may be."""
        if _MARKER.fullmatch(key) or not _REPLACED.fullmatch(key):
            data = self.store.objects[key]
            assert self._fixed.setdefault(key, data) == data, f"{key} was replaced"

    def _check_garbage(self, key: str) -> None:
        """Check that what a cleaning removes is none of what every later run begins with."""
        PLAYED["objects removed"] += 1
        self._fixed.pop(key, None)
        assert not _VERSION.fullmatch(key), f"the chain of versions lacks {key}"
        assert not key.startswith(layout.LEASE_PREFIX), f"{key} is gone"
        assert key != layout.DATASET, f"{key} is gone"
        newest = (chain[-1] for chain in self._chains.values() if chain)
        needed = {
            file.key
            for version in newest
            for file in (*version.files, *version.interim, version.changes)
            if file is not None
        }
        assert key not in needed, f"the newest version needs {key}"
        plan = _PLAN.fullmatch(key)
        assert plan is None or int(plan[1]) < self.planned, f"the newest plan {key} is gone"

    def _version(self, key: str) -> None:
        version = BucketVersion.from_bytes(self.store.objects[key])
        if version.version <= len(self._versions(version.bucket)):
            return  # it was there, and its creation is lost
        self._versions(version.bucket).append(version)
        if version.kind == "publish":
            assert epoch_of(version.run_id) >= self.planned, "an overtaken run has committed"
        self._replay(version)

    def _versions(self, bucket: int) -> list[BucketVersion]:
        return self._chains.setdefault(bucket, [])

    def _replay(self, version: BucketVersion) -> None:
        """Check that the bucket's change rows, replayed from empty, give its chunks."""
        alive = self._alive.setdefault(version.bucket, set())
        rows = sim.read_rows(self.store.objects[version.changes.key]) if version.changes else ()
        for row in rows:
            name = version.run_id, row["chunk_id"]
            assert name not in self._changed, f"{name} is in two change rows"
            self._changed.add(name)
            (alive.add if row["op"] == "upsert" else alive.remove)(row["chunk_id"])
        chunks = [
            row["chunk_id"]
            for file in version.table("chunks")
            for row in sim.read_rows(self.store.objects[file.key])
        ]
        assert sorted(chunks) == sorted(alive), f"the feed of {version.key} does not give it"

    # --- what everybody reads

    def _plain(self, player: Player, operation: str, bucket: int) -> None:
        if self.overtaken(player):
            self.dirty = True
            if operation in ("copy", "delete"):
                player.strayed.add(bucket)
                assert bucket not in player.late, "copied what was committed too late"
                assert len(player.strayed) == 1, "an overtaken run has gone on for too long"
        if not (self.dirty and self.partitioned):
            sim.check_each_document_once(self.store)
        if not self.dirty:
            self._check_order(bucket)

    def _check_order(self, bucket: int) -> None:
        """Check that no table runs ahead of the one that is copied before it."""
        shown = {table: self._shown(table, bucket) for table in sim.PLAIN}
        missing = [] if self.partitioned else [0]
        for first, then in (("boundaries", "chunks"), ("chunks", "documents")):
            behind = min(shown[first] or missing, default=None)
            ahead = max(shown[then], default=0)
            assert behind is None or ahead <= behind, f"{then} before {first} of bucket {bucket}"
        newest = max(shown["boundaries"], default=0)
        if newest:
            version = self._versions(bucket)[newest - 1]
            feed = layout.plain_changes(version.run_id, bucket)
            assert version.changes is None or feed in self.store.objects, f"{feed} comes too late"

    def _shown(self, table: str, bucket: int) -> list[int]:
        files = sim.plain_files(self.store, table).items()
        mine = (data for key, data in files if key.endswith(f"{bucket:05d}.parquet"))
        return [version for data in mine if (version := version_of(data)) is not None]


@lru_cache(maxsize=4096)
def version_of(data: bytes) -> int | None:
    """Return the bucket version that a plain file belongs to; None if it belongs to none."""
    metadata: dict[bytes, bytes] = sim.pq.read_metadata(pa.BufferReader(data)).metadata
    found: Any = metadata.get(b"chunkmill.bucket_version")
    return None if found is None else int(found)
