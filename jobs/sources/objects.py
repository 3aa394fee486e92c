"""Folders, prefixes, globs and single files: every object is one document."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from chunking.errors import (
    AccessDeniedError,
    DocumentError,
    ObjectNotFoundError,
    SourceError,
    StoreError,
)
from jobs.adapters.stores.base import NoSuchRootError, ReadableStore
from jobs.adapters.stores.keys import printable
from jobs.adapters.stores.local import LocalStore
from jobs.globs import KeyFilter, literal_start
from jobs.ports import ObjectInfo
from jobs.records import SourceItem
from jobs.sources.base import Fetched
from jobs.sources.reading import UriReader

__all__ = ["FolderSource", "SingleSource", "listing_errors"]


@contextmanager
def listing_errors() -> Iterator[None]:
    """Raise what the user can mend as ``SourceError``; a failing store stays a ``StoreError``."""
    try:
        yield
    except (AccessDeniedError, NoSuchRootError) as error:
        msg = f"cannot list the source: {error}"
        raise SourceError(msg) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSource:
    """All objects below one root, less what the listing rules leave out.

    ``left_out`` is the key prefix of DST inside SRC (empty if it lies elsewhere), and
    ``dst_folder`` its path, by which it is known again behind a link.
    """

    store: ReadableStore
    reader: UriReader
    keys: KeyFilter
    left_out: str = ""
    dst_folder: str | None = None

    @property
    def url(self) -> str:
        """Path or URL of the root, with the pattern of a glob."""
        return self.store.url if self.keys.below is None else f"{self.store.url}/{self.keys.below}"

    def list(self) -> Iterator[SourceItem]:
        """Yield the documents in the order of their keys."""
        with listing_errors():
            for info in self._objects():
                if self.left_out and info.key.startswith(self.left_out):
                    continue
                key = printable(info.key)
                if self.keys.takes(key, info.size):
                    yield _item(self.store, info, self._unambiguous(info.key, key))

    def fetch(self, location: str, table_row: int | None, path: Path) -> Fetched:
        """Write one document's bytes to ``path``."""
        del table_row
        try:
            return self.reader.fetch(location, path)
        except DocumentError as error:
            if isinstance(error.__cause__, ObjectNotFoundError | NoSuchRootError):
                self._refuse_if_gone()
            raise

    def _refuse_if_gone(self) -> None:
        """Raise ``NoSuchRootError`` if it is the whole folder or bucket that has gone."""
        try:
            self.store.check()
        except NoSuchRootError:
            raise
        except StoreError:
            return

    def _objects(self) -> Iterator[ObjectInfo]:
        start = literal_start(self.keys.below or "")
        if isinstance(self.store, LocalStore):
            return self.store.walk(skip=self._skip_folder(self.store, start))
        return self.store.list(start)

    def _skip_folder(self, store: LocalStore, start: str) -> Callable[[str], bool]:
        destination = None
        if self.dst_folder is not None:
            with suppress(OSError):
                destination = Path(self.dst_folder).stat()

        def skip(key: str) -> bool:
            if self.left_out and key.startswith(self.left_out):
                return True
            if start and not (key.startswith(start) or start.startswith(key)):
                return True
            if self.keys.skips_folder(printable(key)):
                return True
            if destination is None:
                return False
            try:
                return os.path.samestat((store.root / key).stat(), destination)
            except OSError:
                return False

        return skip

    def _unambiguous(self, key: str, shown: str) -> str:
        """Return the published key, which no other file may have.

        A name that is not UTF-8 looks like another that holds the percent signs
        literally: then its digits are written small.
        """
        if key == shown or self.store.head(shown) is None:
            return shown
        small = printable(key, digits="02x")
        if self.store.head(small) is None:
            return small
        msg = f"two files would have the key {small!r}; rename {self.store.uri(key)}"
        raise SourceError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleSource:
    """One object, given as SRC itself; its key is its name."""

    store: ReadableStore
    reader: UriReader
    key: str

    @property
    def url(self) -> str:
        """Path or URL of the object."""
        return f"{self.store.url}/{printable(self.key)}"

    def list(self) -> Iterator[SourceItem]:
        """Yield the one document, if it is still there."""
        with listing_errors():
            info = self.store.head(self.key)
            if info is not None:
                yield _item(self.store, info, printable(self.key))

    def fetch(self, location: str, table_row: int | None, path: Path) -> Fetched:
        """Write the document's bytes to ``path``."""
        del table_row
        return self.reader.fetch(location, path)


def _item(store: ReadableStore, info: ObjectInfo, key: str) -> SourceItem:
    uri = store.uri(info.key)
    return SourceItem(source_key=key, source_uri=uri, size=info.size, etag=info.etag, location=uri)
