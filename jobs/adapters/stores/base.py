"""What the sources ask of a store beyond the port: streaming, ranges and a first look.

The commit protocol needs whole, small objects only, so these stay out of
:class:`jobs.ports.ObjectStore`. The error classes that tell a wrong setting from a
missing object stand here too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from chunking.errors import AccessDeniedError, StoreError
from jobs.ports import ObjectInfo, ObjectStore

__all__ = [
    "CHUNK_BYTES",
    "OUTAGES",
    "BrokenAnswerError",
    "CredentialsError",
    "NoSuchRootError",
    "ReadableStore",
    "StoredObject",
    "UnreachableError",
]

CHUNK_BYTES = 1024 * 1024
"""Bytes of one step of a streamed read or copy."""


class NoSuchRootError(StoreError):
    """The bucket or the root folder does not exist."""


class UnreachableError(StoreError):
    """Nothing answers at the endpoint, or it asks for fewer requests: not for want of an object."""


class BrokenAnswerError(StoreError):
    """An answer was cut off, silent or an internal error; maybe for this one object only."""


class CredentialsError(AccessDeniedError):
    """The store does not accept who we say we are: unknown key, wrong signature, expired token."""


OUTAGES = (UnreachableError, BrokenAnswerError)
"""What may pass: nothing is wrong with what was asked for, and asking again later may do."""


class StoredObject(Protocol):
    """An object opened for reading once; its facts are those of the bytes that are read."""

    @property
    def info(self) -> ObjectInfo:
        """Key, size and etag."""
        ...

    def chunks(self) -> Iterator[bytes]:
        """Yield the content in order; a broken connection is taken up where it broke."""
        ...


class ReadableStore(ObjectStore, Protocol):
    """A store that documents can be read from."""

    def check(self) -> None:
        """Prove, within seconds, that the root is there and may be listed.

        Raises:
            StoreError: one of the classes of this module, or ``AccessDeniedError``.
        """
        ...

    def reach(self) -> None:
        """Prove, within seconds, that the store answers; what it holds does not matter.

        Raises:
            StoreError: ``UnreachableError`` or ``CredentialsError``.
        """
        ...

    def open(self, key: str) -> AbstractContextManager[StoredObject]:
        """Open an object for streaming; ``ObjectNotFoundError`` if it does not exist."""
        ...

    def read_range(self, key: str, start: int, length: int) -> bytes:
        """Return ``length`` bytes from ``start``, or fewer at the object's end."""
        ...
