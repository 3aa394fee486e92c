"""Bring one document from its URI to a file: streamed, hashed and bounded."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from chunking.errors import DocumentError, StoreError
from jobs.adapters.stores.base import CredentialsError, ReadableStore, UnreachableError
from jobs.adapters.stores.keys import decode_path
from jobs.adapters.stores.opening import Location, open_root
from jobs.config import Config, SourceConfig
from jobs.sources.base import Fetched
from jobs.sources.health import Health

__all__ = ["UriReader", "fetch_errors", "refuse_above", "write_hashed"]

_URI = re.compile(r"(file|s3)://([^/]*)/(.*)", re.DOTALL)


def write_hashed(chunks: Iterator[bytes], path: Path, max_bytes: int) -> tuple[int, str]:
    """Write the chunks to ``path``; return their size and the SHA-256 in hex.

    Raises:
        DocumentError: they go on after ``max_bytes``.
    """
    digest = hashlib.sha256()
    size = 0
    with path.open("wb") as file:
        for data in chunks:
            size += len(data)
            refuse_above(max_bytes, size)
            digest.update(data)
            file.write(data)
    return size, digest.hexdigest()


def refuse_above(max_bytes: int, size: int) -> None:
    """Raise ``DocumentError`` (``too_large``) for a size above the limit."""
    if size > max_bytes:
        msg = f"larger than limits.document_bytes ({max_bytes:,})"
        raise DocumentError(msg, kind="too_large", stage="fetch")


@contextmanager
def fetch_errors() -> Iterator[None]:
    """Turn a store's failure with a document, or a full disk, into the document's own.

    Raises:
        DocumentError: see :meth:`jobs.sources.base.Source.fetch`.
        UnreachableError: the store as a whole fails; so no document is to blame.
        CredentialsError: as before.
    """
    try:
        yield
    except (UnreachableError, CredentialsError):
        raise
    except StoreError as error:
        raise DocumentError(str(error), kind="network", stage="fetch", retryable=True) from error
    except OSError as error:
        msg = f"cannot write the temporary file: {error.strerror}"
        raise DocumentError(msg, kind="internal", stage="fetch", retryable=True) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class UriReader:
    """Reads objects by the URIs that stores give to them (RFC 3986, percent-encoded)."""

    source: SourceConfig
    max_bytes: int
    health: Health = field(compare=False, repr=False)

    @classmethod
    def of(cls, config: Config) -> UriReader:
        """Return the reader that a configuration describes."""
        health = Health(seconds=config.source.retry_seconds)
        return cls(source=config.source, max_bytes=config.limits.document_bytes, health=health)

    def locate(self, uri: str) -> tuple[ReadableStore, str]:
        """Return the store and key of a URI.

        Raises:
            StoreError: it is not the URI of an object in a store we know.
        """
        match = _URI.fullmatch(uri)
        if match is None:
            msg = f"not the URI of a document: {uri!r}"
            raise StoreError(msg)
        bucket = match[2] if match[1] == "s3" else None
        root = Location(bucket=bucket, path="" if bucket else "/")
        return open_root(root, self.source, anonymous=self.source.anonymous), decode_path(match[3])

    def fetch(self, uri: str, path: Path) -> Fetched:
        """Write the object to ``path``; see :meth:`jobs.sources.base.Source.fetch`."""
        with fetch_errors():
            store, key = self.locate(uri)
            return self.health.reading(store, key, lambda: self._read(store, key, path))

    def _read(self, store: ReadableStore, key: str, path: Path) -> Fetched:
        with store.open(key) as found:
            refuse_above(self.max_bytes, found.info.size)
            size, digest = write_hashed(found.chunks(), path, self.max_bytes)
            return Fetched(size=size, etag=found.info.etag, doc_version=digest)
