"""An object as a seekable file, read by ranges: what Parquet and CSV readers ask for."""

from __future__ import annotations

import io
from typing import Any

from jobs.adapters.stores.base import ReadableStore
from jobs.ports import ObjectInfo

__all__ = ["RangedFile", "open_buffered"]

BUFFER_BYTES = 1024 * 1024
"""Bytes that a sequential reader asks for at once."""


class RangedFile(io.RawIOBase):
    """Read-only; each read is one request, so put a buffer in front for small reads."""

    def __init__(self, store: ReadableStore, info: ObjectInfo) -> None:
        super().__init__()
        self._store = store
        self._info = info
        self._position = 0

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def seekable(self) -> bool:
        """Say that it can be read in any order."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Move the position."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._info.size}
        self._position = max(base[whence] + offset, 0)
        return self._position

    def readinto(self, buffer: Any, /) -> int:  # noqa: ANN401 - the base class names no public type
        """Fill the buffer from the position on."""
        view = memoryview(buffer).cast("B")
        length = min(len(view), self._info.size - self._position)
        if length <= 0:
            return 0
        data = self._store.read_range(self._info.key, self._position, length)
        view[: len(data)] = data
        self._position += len(data)
        return len(data)


def open_buffered(store: ReadableStore, info: ObjectInfo) -> io.BufferedReader:
    """Return the object as a buffered binary file."""
    return io.BufferedReader(RangedFile(store, info), BUFFER_BYTES)
