"""Prove, before anything is written, that the destination can carry the commit protocol.

Exactly-once rests on one promise: of two who create the same key, one is told that it
lost. Some stores accept the condition and ignore it, so the promise is tried out.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from chunking.errors import AccessDeniedError, ChunkmillError, DestinationError, StoreError
from jobs import layout
from jobs.adapters.stores.base import OUTAGES, UnreachableError
from jobs.adapters.stores.local import LocalStore
from jobs.adapters.stores.s3 import S3Store
from jobs.ports import ObjectStore

__all__ = ["prove_writable"]


def prove_writable(store: ObjectStore) -> None:
    """Write, create twice, replace and delete one object; leave nothing behind.

    Raises:
        DestinationError: DST cannot be written, or its store ignores create-if-absent.
        UnreachableError: the store does not answer (now).
    """
    key = layout.probe(secrets.token_hex(layout.ATTEMPT_DIGITS // 2))
    try:
        with _no_new_folders(store):
            if isinstance(store, S3Store):
                store.check()
            try:
                _prove(store, key)
            except ChunkmillError:
                with suppress(StoreError):
                    store.delete(key)
                raise
            store.delete(key)
    except AccessDeniedError as error:
        msg = f"cannot write to {store.url}: {error}"
        raise DestinationError(msg) from error
    except OUTAGES as error:
        msg = f"{store.url} cannot be used as a destination now: {error}"
        raise UnreachableError(msg) from error
    except StoreError as error:
        msg = f"{store.url} cannot be used as a destination: {error}"
        raise DestinationError(msg) from error


def _prove(store: ObjectStore, key: str) -> None:
    first, second, third = (f"{key} {number}".encode() for number in ("first", "second", "third"))
    if not store.create(key, first) or store.get(key) != first:
        msg = f"{store.url} does not return what is written to it"
        raise DestinationError(msg)
    if store.create(key, second) or store.get(key) != first:
        msg = (
            f"{store.url} does not honour create-if-absent (If-None-Match: *), without which "
            "two writers could overwrite each other; use a store that does"
        )
        raise DestinationError(msg)
    store.put(key, third)
    if store.get(key) != third:
        msg = f"{store.url} does not show a replaced object at once"
        raise DestinationError(msg)
    if [found.key for found in store.list(key)] != [key]:
        msg = f"{store.url} does not list what is written to it"
        raise DestinationError(msg)


@contextmanager
def _no_new_folders(store: ObjectStore) -> Iterator[None]:
    """Remove the folders of a local destination that did not exist before."""
    missing: list[Path] = []
    if isinstance(store, LocalStore):
        missing = [path for path in (store.root, *store.root.parents) if not path.exists()]
    try:
        yield
    finally:
        for path in missing:
            with suppress(OSError):
                path.rmdir()
