"""Which documents were purged: a list per purge, that outlives it.

The list is written before anything is removed. It says what a purge that died has still to
remove, and it keeps the documents out: no later run reads, adopts or publishes them, though
their source may hold them still. It holds ids only, which are hashes of the names.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from chunking import ids
from jobs import layout
from jobs.ports import ObjectStore
from jobs.protocol import fail_points
from jobs.protocol.plan import ancestry

__all__ = [
    "UNFINISHED_PURGE",
    "PurgeList",
    "carry_over",
    "pending_purge",
    "purged_ids",
    "read_purge_lists",
    "readmit",
]

UNFINISHED_PURGE = "a purge was not finished; 'chunkmill purge {}' goes on with it"
"""What every command says then, with the URL of the dataset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeList:
    """The documents of one purge, with their buckets; ``done``: nothing of them is left.

    ``parents``: by id, what those came in that came in another document.
    """

    run_id: str
    documents: Mapping[str, int]
    parents: Mapping[str, str] = field(default_factory=dict)
    done: bool = False

    @property
    def key(self) -> str:
        """Key of the list."""
        return layout.purged(self.run_id)

    def to_bytes(self) -> bytes:
        """Return the JSON object."""
        body = {
            "run_id": self.run_id,
            "documents": dict(self.documents),
            "parents": dict(self.parents),
            "done": self.done,
        }
        return (json.dumps(body, sort_keys=True) + "\n").encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> PurgeList:
        """Return the list that :meth:`to_bytes` wrote."""
        body: dict[str, Any] = json.loads(data)
        return cls(**body)


def read_purge_lists(store: ObjectStore) -> list[PurgeList]:
    """Return all lists, oldest first: one request where nothing was ever purged."""
    keys = [info.key for info in store.list(layout.PURGED_PREFIX)]
    return [PurgeList.from_bytes(store.get(key)) for key in keys]


def pending_purge(store: ObjectStore) -> frozenset[str]:
    """Return the ids of the documents whose purge was not finished."""
    return purged_ids(purge for purge in read_purge_lists(store) if not purge.done)


def purged_ids(lists: Iterable[PurgeList]) -> frozenset[str]:
    """Return the ids of all documents on the lists."""
    return frozenset(doc_id for purge in lists for doc_id in purge.documents)


def carry_over(old: ObjectStore, new: ObjectStore, run_id: str, n_buckets: int) -> None:
    """Keep out of a dataset made from another what was purged there: their source is the same.

    To be called before its plan is made. ``n_buckets``: of the new one.
    """
    purged = purged_ids(read_purge_lists(old)) - purged_ids(read_purge_lists(new))
    if purged:
        places = {doc_id: ids.bucket_of(doc_id, n_buckets) for doc_id in purged}
        copied = PurgeList(run_id=run_id, documents=places, done=True)
        new.create(copied.key, copied.to_bytes())
        fail_points.hit("purge.list")


def readmit(store: ObjectStore, doc_ids: Iterable[str]) -> None:
    """Take documents, and what was inside them, off the lists: the next run may read them again.

    Only the holder of the lease calls this, and not for what a purge has still to remove.
    """
    wanted = frozenset(doc_ids)
    for purge in read_purge_lists(store):
        left = {
            doc_id: bucket
            for doc_id, bucket in purge.documents.items()
            if wanted.isdisjoint(ancestry(doc_id, purge.parents))
        }
        if len(left) == len(purge.documents):
            continue
        if left:
            store.put(purge.key, replace(purge, documents=left).to_bytes())
        else:
            store.delete(purge.key)
        fail_points.hit("purge.readmit")
