"""An object store in memory: the reference for the port, and the place to crash on purpose.

The commit protocol is tested by ending a run between any two store operations. The
hooks here are those places: one is called before an operation takes effect, one
after it has; whatever a hook raises is what the caller sees, like a process that
died before or after the store did its work.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import RLock
from urllib.parse import quote

from chunking.errors import ObjectNotFoundError
from jobs.adapters.stores.keys import check_key
from jobs.ports import ObjectInfo

__all__ = ["Hook", "MemoryStore"]

Hook = Callable[[str, str], None]
"""Called with the operation's name (``get``, ``put``, ...) and its key, target or prefix."""


def _no_hook(_operation: str, _key: str) -> None:
    """Let the operation pass."""


class MemoryStore:
    """Objects in a dictionary, safe to use from several threads.

    Several views of the same objects, each with its own hooks, stand for several
    processes at one store: see :meth:`view`.
    """

    def __init__(self, *, before: Hook = _no_hook, after: Hook = _no_hook) -> None:
        self.objects: dict[str, bytes] = {}
        self.before = before
        self.after = after
        self._lock = RLock()

    def view(self, *, before: Hook = _no_hook, after: Hook = _no_hook) -> MemoryStore:
        """Return a store over the same objects with hooks of its own."""
        other = MemoryStore(before=before, after=after)
        other.objects = self.objects
        other._lock = self._lock
        return other

    @property
    def url(self) -> str:
        """URL of the root."""
        return "memory://"

    def uri(self, key: str) -> str:
        """Return the URI of a key."""
        return f"memory:///{quote(key, safe='/')}"

    def get(self, key: str) -> bytes:
        """Return the whole object."""
        self.before("get", key)
        data = self._read(key)
        self.after("get", key)
        return data

    def get_tail(self, key: str, n_bytes: int) -> bytes:
        """Return the last ``n_bytes`` (or all, if it is shorter)."""
        self.before("get_tail", key)
        data = self._read(key)
        self.after("get_tail", key)
        return data[max(len(data) - n_bytes, 0) :]

    def download(self, key: str, path: Path) -> None:
        """Write the object into a local file."""
        self.before("download", key)
        path.write_bytes(self._read(key))
        self.after("download", key)

    def put(self, key: str, data: bytes) -> None:
        """Create or replace an object."""
        check_key(key)
        self.before("put", key)
        self._write(key, data)
        self.after("put", key)

    def upload(self, key: str, path: Path) -> None:
        """Create or replace an object from a local file."""
        check_key(key)
        self.before("upload", key)
        self._write(key, path.read_bytes())
        self.after("upload", key)

    def create(self, key: str, data: bytes) -> bool:
        """Create the object if it does not exist; False if another content is there."""
        check_key(key)
        self.before("create", key)
        with self._lock:
            created = self.objects.setdefault(key, bytes(data)) == data
        self.after("create", key)
        return created

    def copy(self, source: str, target: str) -> None:
        """Copy an object onto another key."""
        check_key(target)
        self.before("copy", target)
        self._write(target, self._read(source))
        self.after("copy", target)

    def delete(self, key: str) -> None:
        """Remove the object; no error if it does not exist."""
        self.before("delete", key)
        with self._lock:
            self.objects.pop(key, None)
        self.after("delete", key)

    def delete_many(self, keys: Sequence[str]) -> None:
        """Remove objects one by one, so that a test can stop between any two."""
        for key in keys:
            self.delete(key)

    def unfinished(self) -> Iterator[ObjectInfo]:
        """Yield nothing: a write in memory is whole or not there."""
        return iter(())

    def head(self, key: str) -> ObjectInfo | None:
        """Return the object's facts, or None."""
        self.before("head", key)
        with self._lock:
            data = self.objects.get(key)
        self.after("head", key)
        return None if data is None else _info(key, data)

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Yield the objects below ``prefix`` as they were at the first step, in key order."""
        self.before("list", prefix)
        with self._lock:
            found = sorted(pair for pair in self.objects.items() if pair[0].startswith(prefix))
        self.after("list", prefix)
        for key, data in found:
            yield _info(key, data)

    def _read(self, key: str) -> bytes:
        with self._lock:
            data = self.objects.get(key)
        if data is None:
            msg = f"{self.uri(key)} does not exist"
            raise ObjectNotFoundError(msg)
        return data

    def _write(self, key: str, data: bytes) -> None:
        with self._lock:
            self.objects[key] = bytes(data)


def _info(key: str, data: bytes) -> ObjectInfo:
    etag = hashlib.blake2b(data, digest_size=16).hexdigest()
    return ObjectInfo(key=key, size=len(data), etag=etag)
