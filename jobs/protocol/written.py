"""Reading back what is known to have been written: a store may show it late, or wrong once.

Most stores show every write at once. Some do so through one of several front ends first:
for a moment an object that was just created, or listed, is said not to exist. Where the
protocol knows that an object must be there, it looks again before it believes that.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from chunking.errors import ObjectNotFoundError, StoreError
from jobs import patience
from jobs.patience import Backoff
from jobs.ports import ObjectStore

__all__ = ["copy_written", "get_json", "get_verified", "get_written"]

_LATE_SECONDS = 4.0
"""How long an object that must exist is looked for again."""

T = TypeVar("T")


def get_written(store: ObjectStore, key: str) -> bytes:
    """Return an object that must exist; ``ObjectNotFoundError`` if it does not turn up."""
    return _expected(lambda: store.get(key))


def copy_written(store: ObjectStore, source: str, target: str) -> None:
    """Copy an object that must exist; ``ObjectNotFoundError`` if it does not turn up."""
    _expected(lambda: store.copy(source, target))


def get_verified(store: ObjectStore, key: str, is_right: Callable[[bytes], bool]) -> bytes:
    """Return an object that must exist, read once more if it is not what was written.

    Raises:
        StoreError: it is wrong both times.
    """
    for _ in range(2):
        data = get_written(store, key)
        if is_right(data):
            return data
    msg = (
        f"{store.uri(key)} does not hold the bytes that were committed: it is damaged, or was "
        "written by something else; 'chunkmill verify' finds what else is"
    )
    raise StoreError(msg)


def get_json(store: ObjectStore, key: str) -> dict[str, Any]:
    """Return an object of JSON that must exist.

    Raises:
        StoreError: it is no JSON object, also when it is read once more.
    """
    return dict(json.loads(get_verified(store, key, _is_json_object)))


def _is_json_object(data: bytes) -> bool:
    try:
        return isinstance(json.loads(data), dict)
    except ValueError:
        return False


def _expected(operation: Callable[[], T]) -> T:
    backoff = Backoff(patience=_LATE_SECONDS)
    while True:
        try:
            return operation()
        except ObjectNotFoundError:
            wait = backoff.next_wait()
            if wait is None:
                raise
            patience.sleep(wait)
