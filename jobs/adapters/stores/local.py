"""A folder as an object store.

Every write goes to a temporary file beside its target, is flushed to the disk
(``fsync``), and only then gets its name: by ``os.replace``, or by ``os.link`` where
the name must not exist yet, which the kernel decides atomically on every file
system with hard links. The folder is flushed after a ``create``, because a commit
that was reported must outlive a power cut; plain copies can be made again.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from chunking.errors import AccessDeniedError, ObjectNotFoundError, StoreError
from jobs.adapters.stores.base import CHUNK_BYTES, NoSuchRootError
from jobs.adapters.stores.keys import check_key, encode_path, printable
from jobs.ports import ObjectInfo
from jobs.traffic import TRAFFIC, Role

__all__ = ["LocalObject", "LocalStore", "is_temporary"]

_TEMPORARY = re.compile(r"\.[0-9a-f]{16}\.chunkmill-tmp")
_MISSING = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
_DENIED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_ATTEMPTS = 8
"""Tries at a write whose folder is removed, being empty, by a delete at the same moment."""


def is_temporary(name: str) -> bool:
    """Tell whether a file name is that of an unfinished write."""
    return _TEMPORARY.fullmatch(name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalObject:
    """A regular file opened for reading."""

    info: ObjectInfo
    path: Path
    file: BinaryIO
    role: Role

    def chunks(self) -> Iterator[bytes]:
        """Yield the content in order."""
        while data := self.read(CHUNK_BYTES):
            yield data

    def read(self, n_bytes: int = -1, *, start: int | None = None) -> bytes:
        """Return the next bytes, or those from ``start``; all that are left if -1."""
        with _translate(self.path, self.role):
            if start is not None:
                self.file.seek(start)
            data = self.file.read(n_bytes)
        TRAFFIC.add(self.role, "bytes_read", len(data))
        return data


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entries:
    """The names in one folder that are yet to be visited, and which folder it is."""

    names: Iterator[str]
    identity: tuple[int, int]


class LocalStore:
    """Files below one folder; links are followed, anything but regular files is not there."""

    def __init__(self, root: Path, *, role: Role = "dataset") -> None:
        self.root = root.absolute()
        self.role = role

    @property
    def url(self) -> str:
        """Path of the folder."""
        return printable(str(self.root))

    def uri(self, key: str) -> str:
        """Return the ``file://`` URI of a key."""
        return "file://" + encode_path(f"{self.root}/{key}".replace("//", "/"))

    def check(self) -> None:
        """Prove that the folder is there and may be read."""
        if not self.root.is_dir():
            reason = "is not a folder" if self.root.exists() else "does not exist"
            msg = f"{self.root} {reason}"
            raise NoSuchRootError(msg)
        with _translate(self.root, self.role), os.scandir(self.root):
            pass

    def reach(self) -> None:
        """Return: the local file system always answers."""

    def get(self, key: str) -> bytes:
        """Return the whole object."""
        with self.open(key) as found:
            return found.read()

    def get_tail(self, key: str, n_bytes: int) -> bytes:
        """Return the last ``n_bytes`` (or all, if it is shorter)."""
        with self.open(key) as found:
            return found.read(start=max(found.info.size - n_bytes, 0))

    def read_range(self, key: str, start: int, length: int) -> bytes:
        """Return ``length`` bytes from ``start``, or fewer at the object's end."""
        with self.open(key) as found:
            return found.read(length, start=start)

    @contextmanager
    def open(self, key: str) -> Iterator[LocalObject]:
        """Open a regular file; a pipe or a device is never waited for."""
        path = self._path(key)
        TRAFFIC.request(self.role, "get")
        with _translate(path, self.role):
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            os.close(descriptor)
            raise ObjectNotFoundError(_missing(path))
        with os.fdopen(descriptor, "rb") as file:
            yield LocalObject(info=_info(key, facts), path=path, file=file, role=self.role)

    def download(self, key: str, path: Path) -> None:
        """Copy the object into a local file."""
        with self.open(key) as found, path.open("wb") as target:
            target.writelines(found.chunks())

    def put(self, key: str, data: bytes) -> None:
        """Create or replace an object."""
        TRAFFIC.request(self.role, "put")
        self._write(key, lambda file: file.write(data), _replace)

    def upload(self, key: str, path: Path) -> None:
        """Create or replace an object from a local file."""
        TRAFFIC.request(self.role, "put")
        with path.open("rb") as source:
            self._write(key, lambda file: shutil.copyfileobj(source, file, CHUNK_BYTES), _replace)

    def create(self, key: str, data: bytes) -> bool:
        """Create the object if it does not exist; False if another content is there."""
        TRAFFIC.request(self.role, "create")
        try:
            self._write(key, lambda file: file.write(data), _link)
        except FileExistsError:
            return self.get(key) == data
        return True

    def copy(self, source: str, target: str) -> None:
        """Copy an object onto another key."""
        TRAFFIC.request(self.role, "copy")
        with self.open(source) as found:
            self._write(
                target, lambda file: shutil.copyfileobj(found.file, file, CHUNK_BYTES), _replace
            )

    def delete(self, key: str) -> None:
        """Remove the object and the folders it leaves empty."""
        self.delete_many([key])

    def delete_many(self, keys: Sequence[str]) -> None:
        """Remove the objects and the folders they leave empty.

        The folders come last, each once: to find that a large one is not empty yet takes the
        longer the more of it has gone.
        """
        folders: set[Path] = set()
        try:
            for key in keys:
                if (path := self._removed(key)) is not None:
                    folders.add(path.parent)
        finally:
            self._remove_empty(folders)

    def _removed(self, key: str) -> Path | None:
        """Remove the object; return its path, or None if there was none."""
        TRAFFIC.request(self.role, "delete")
        path = self._path(key)
        try:
            path.unlink()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _store_error(path, error, self.role) from error
        return path

    def _remove_empty(self, folders: set[Path]) -> None:
        while folders:
            above: set[Path] = set()
            for folder in folders - {self.root}:
                with suppress(OSError):
                    folder.rmdir()
                    above.add(folder.parent)
            folders = above

    def unfinished(self) -> Iterator[ObjectInfo]:
        """Yield the temporary files below the root, of processes that died as well as others."""
        for folder, _, names in os.walk(self.root):
            for name in names:
                key = os.path.relpath(f"{folder}/{name}", self.root)
                if is_temporary(name) and (info := self.head(key)) is not None:
                    yield info

    def head(self, key: str) -> ObjectInfo | None:
        """Return the object's facts, or None."""
        TRAFFIC.request(self.role, "head")
        return self._facts(key)

    def _facts(self, key: str) -> ObjectInfo | None:
        path = self._path(key)
        try:
            facts = path.stat()
        except OSError as error:
            if error.errno in _MISSING:
                return None
            raise _store_error(path, error, self.role) from error
        return _info(key, facts) if stat.S_ISREG(facts.st_mode) else None

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Yield all regular files whose key starts with ``prefix``, in key order.

        Files that vanish meanwhile are left out.
        """
        folder, _, _ = prefix.rpartition("/")
        if ".." in folder.split("/"):
            return
        above = folder + "/" if folder else ""
        skip = lambda key: not (key.startswith(prefix) or prefix.startswith(key))  # noqa: E731
        for info in self.walk(above, skip=skip):
            if info.key.startswith(prefix):
                yield info

    def walk(self, above: str = "", *, skip: Callable[[str], bool]) -> Iterator[ObjectInfo]:
        """Yield the files below the folder ``above`` (empty, or ending in ``/``), in key order.

        ``skip`` is asked about folders (by their key and a ``/``): those are not opened.
        A link to a folder is followed unless it leads to a folder that it lies in.
        """
        TRAFFIC.request(self.role, "list")
        stack = [(self._entries(above), frozenset[tuple[int, int]](), above)]
        while stack:
            entries, ancestors, here = stack[-1]
            name = next(entries.names, None)
            if name is None:
                stack.pop()
                continue
            key = here + name
            if not name.endswith("/"):
                if (info := self._facts(key)) is not None:
                    yield info
            elif not skip(key):
                below = self._entries(key)
                if below.identity not in ancestors | {entries.identity}:
                    stack.append((below, ancestors | {entries.identity}, key))

    def _entries(self, above: str) -> _Entries:
        """Read one folder; names of folders end in ``/``, so they sort as keys do."""
        path = self.root / above
        try:
            facts = path.stat()
            with os.scandir(path) as entries:
                names = sorted(
                    f"{entry.name}/" if _is_folder(entry) else entry.name
                    for entry in entries
                    if not is_temporary(entry.name)
                )
        except OSError as error:
            if error.errno in _MISSING:
                return _Entries(names=iter(()), identity=(-1, -1))
            raise _store_error(path, error, self.role) from error
        return _Entries(names=iter(names), identity=(facts.st_dev, facts.st_ino))

    def _path(self, key: str) -> Path:
        if not key or "\0" in key or ".." in key.split("/"):
            msg = f"not a key below {self.root}: {key!r}"
            raise StoreError(msg)
        return self.root / key

    def _write(
        self,
        key: str,
        fill: Callable[[BinaryIO], object],
        give_name: Callable[[Path, Path], None],
    ) -> None:
        check_key(key)
        path = self._path(key)
        temporary = path.with_name(f".{secrets.token_hex(8)}.chunkmill-tmp")
        try:
            with _create_file(temporary) as file:
                fill(file)
                file.flush()
                os.fsync(file.fileno())
                TRAFFIC.add(self.role, "bytes_written", file.tell())
            give_name(temporary, path)
        except FileExistsError:
            raise
        except NotADirectoryError as error:
            msg = f"cannot write {printable(str(path))}: a file is in the way of a folder"
            raise StoreError(msg) from error
        except OSError as error:
            raise _store_error(path, error, self.role) from error
        finally:
            with suppress(OSError):
                temporary.unlink()


def _replace(temporary: Path, path: Path) -> None:
    temporary.replace(path)


def _link(temporary: Path, path: Path) -> None:
    path.hardlink_to(temporary)
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _create_file(path: Path) -> BinaryIO:
    """Open a new file, making its folder as often as somebody removes it."""
    for _ in range(_ATTEMPTS):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return path.open("xb")
        except FileNotFoundError:
            continue
        except FileExistsError as error:
            raise NotADirectoryError(errno.ENOTDIR, "a file is in the way of a folder") from error
    raise FileNotFoundError(errno.ENOENT, "the folder is removed again and again")


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Tell whether an entry is a folder or leads to one; a link in a circle leads nowhere."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _info(key: str, facts: os.stat_result) -> ObjectInfo:
    return ObjectInfo(key=key, size=facts.st_size, etag=f"{facts.st_size}-{facts.st_mtime_ns}")


@contextmanager
def _translate(path: Path, role: Role) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _store_error(path, error, role) from error


def _missing(path: Path) -> str:
    return f"{printable(str(path))} does not exist"


def _store_error(path: Path, error: OSError, role: Role) -> StoreError:
    if error.errno in _MISSING:
        return ObjectNotFoundError(_missing(path))
    TRAFFIC.add(role, "failures", 1)
    message = f"{printable(str(path))}: {(error.strerror or str(error)).lower()}"
    if error.errno in _DENIED:
        return AccessDeniedError(message)
    return StoreError(message)
