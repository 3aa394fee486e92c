"""Writes compound files ([MS-CFB], version 3), for tests of what is kept in them."""

from __future__ import annotations

import struct
from collections.abc import Mapping

Storage = Mapping[str, "Storage | bytes"]

_SECTOR, _MINI_SECTOR, _CUTOFF = 512, 64, 4096
_END, _FREE, _FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
_STORAGE, _STREAM, _ROOT = 1, 2, 5
_NONE = 0xFFFFFFFF


def compound(root: Storage) -> bytes:
    """Return a compound file of nested storages (mappings) and streams (bytes)."""
    return _Writer(root).to_bytes()


class _Writer:
    def __init__(self, root: Storage) -> None:
        self._sectors: list[bytes] = []
        self._fat: list[int] = []
        self._mini = b""
        self._mini_fat: list[int] = []
        self._entries: list[list[int | str]] = [["Root Entry", _ROOT, _NONE, _NONE, _END, 0]]
        self._entries[0][3] = self._children(root)
        self._root = self._chain(self._mini)
        self._entries[0][4:] = [self._root, len(self._mini)]

    def to_bytes(self) -> bytes:
        mini_fat = self._chain(_numbers(self._mini_fat))
        n_mini = -(-len(self._mini_fat) * 4 // _SECTOR)
        directory = self._chain(b"".join(map(_entry, self._entries)))
        n_fat = 1
        while (len(self._fat) + n_fat) * 4 > n_fat * _SECTOR:
            n_fat += 1
        places = range(len(self._fat), len(self._fat) + n_fat)
        fat = _padded(_numbers([*self._fat, *[_FAT] * n_fat]), _SECTOR, b"\xff")
        header = struct.pack(
            "<8s16x5H6x9I",
            *(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0x3E, 3, 0xFFFE, 9, 6),
            *(0, n_fat, directory, 0, _CUTOFF, mini_fat, n_mini, _END, 0),
        )
        difat = [*places, *[_FREE] * (109 - n_fat)]
        return header + _numbers(difat) + b"".join(self._sectors) + fat

    def _children(self, storage: Storage) -> int:
        """Add the entries below a storage, each the right sibling of the one before."""
        first = before = _NONE
        for name, content in storage.items():
            number = len(self._entries)
            entry: list[int | str] = [name, _STORAGE, _NONE, _NONE, 0, 0]
            self._entries.append(entry)
            if isinstance(content, bytes):
                entry[1], entry[4:] = _STREAM, [self._stream(content), len(content)]
            else:
                entry[3] = self._children(content)
            if before == _NONE:
                first = number
            else:
                self._entries[before][2] = number
            before = number
        return first

    def _stream(self, data: bytes) -> int:
        if not data:
            return _END
        if len(data) >= _CUTOFF:
            return self._chain(data)
        start = len(self._mini_fat)
        self._mini += _padded(data, _MINI_SECTOR, b"\0")
        n = len(self._mini) // _MINI_SECTOR - start
        self._mini_fat += [*range(start + 1, start + n), _END]
        return start

    def _chain(self, data: bytes) -> int:
        if not data:
            return _END
        start = len(self._sectors)
        data = _padded(data, _SECTOR, b"\0")
        parts = [data[at : at + _SECTOR] for at in range(0, len(data), _SECTOR)]
        self._sectors += parts
        self._fat += [*range(start + 1, start + len(parts)), _END]
        return start


def _entry(entry: list[int | str]) -> bytes:
    name, kind, right, child, start, size = entry
    text = f"{name}\0".encode("utf-16-le")
    facts = (kind, 1, _NONE, right, child)
    return struct.pack("<64sHBB3I16x4x16xIQ", text, len(text), *facts, start, size)


def _numbers(values: list[int]) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


def _padded(data: bytes, to: int, filler: bytes) -> bytes:
    return data + filler * (-len(data) % to)
