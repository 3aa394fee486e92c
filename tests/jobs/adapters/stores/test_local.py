"""What only a folder does: links, pipes, foreign names, empty folders, unfinished writes."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest

from chunking.errors import AccessDeniedError, DestinationError, ObjectNotFoundError, StoreError
from jobs.adapters.stores import prove_writable
from jobs.adapters.stores.base import NoSuchRootError
from jobs.adapters.stores.local import LocalStore, is_temporary


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    """Give a store over a folder that is not there yet."""
    return LocalStore(tmp_path / "root")


def keys(store: LocalStore) -> list[str]:
    """Return all keys."""
    return [info.key for info in store.list()]


def test_unfinished_writes_are_never_listed(store: LocalStore) -> None:
    """What a killed writer left behind is no object."""
    store.put("a/b", b"x")
    (store.root / "a" / ".0123456789abcdef.chunkmill-tmp").write_bytes(b"half")
    assert is_temporary(".0123456789abcdef.chunkmill-tmp")
    assert keys(store) == ["a/b"]
    left = list(store.unfinished())
    assert [(info.key, info.size) for info in left] == [("a/.0123456789abcdef.chunkmill-tmp", 4)]
    store.delete_many([info.key for info in left])
    assert list(store.unfinished()) == []
    assert keys(store) == ["a/b"]


def test_failed_write_leaves_nothing(store: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that fails half-way keeps the old object and removes its own file."""
    store.put("a", b"old")

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    for write in (store.put, store.create):
        with pytest.raises(StoreError, match="no space left"):
            write("a", b"new")
    assert os.listdir(store.root) == ["a"]  # noqa: PTH208 - names, hidden ones too
    assert store.get("a") == b"old"


def test_delete_removes_empty_folders(store: LocalStore) -> None:
    """A delete takes the folders along that it leaves empty, but never the root."""
    store.put("a/b/c", b"x")
    store.put("a/d", b"x")
    store.delete("a/b/c")
    assert sorted(path.name for path in store.root.rglob("*")) == ["a", "d"]
    store.delete("a/d")
    assert store.root.is_dir()
    assert not list(store.root.iterdir())


def test_links(store: LocalStore, tmp_path: Path) -> None:
    """A link to a file or folder is followed, a dangling one is nothing, a loop ends."""
    store.put("folder/file", b"x")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "other").write_bytes(b"y")
    (store.root / "link").symlink_to(tmp_path / "outside")
    (store.root / "file-link").symlink_to(store.root / "folder" / "file")
    (store.root / "dangling").symlink_to("nowhere")
    (store.root / "self").symlink_to("self")
    (store.root / "folder" / "loop").symlink_to(store.root)
    (store.root / "folder" / "here").symlink_to(".")
    assert keys(store) == ["file-link", "folder/file", "link/other"]


def test_pipes_and_sockets_are_no_objects(store: LocalStore) -> None:
    """Opening a pipe would wait for ever; it is not there."""
    store.put("file", b"x")
    os.mkfifo(store.root / "pipe")
    assert keys(store) == ["file"]
    assert store.head("pipe") is None
    with pytest.raises(ObjectNotFoundError):
        store.get("pipe")


def test_names_that_are_not_utf8(store: LocalStore) -> None:
    """Any name on disk has a key that leads back to it."""
    store.root.mkdir()
    path = os.fsencode(store.root) + b"/caf\xe9.txt"
    with open(path, "wb") as file:  # noqa: PTH123 - the name is bytes
        file.write(b"x")
    (info,) = store.list()
    assert store.get(info.key) == b"x"
    assert store.uri(info.key).endswith("/caf%E9.txt")


def test_file_in_the_way_of_a_folder(store: LocalStore) -> None:
    """A key below an existing object cannot be written here, and the error says why."""
    store.put("a", b"x")
    for write in (store.put, store.create):
        with pytest.raises(StoreError, match="a file is in the way"):
            write("a/b", b"y")
    store.put("folder/b", b"y")
    with pytest.raises(StoreError):
        store.put("folder", b"x")


def test_deep_folders(store: LocalStore) -> None:
    """Listing needs no recursion: a thousand folders deep is fine."""
    store.root.mkdir()
    here = os.open(store.root, os.O_RDONLY)
    for _ in range(1050):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    try:
        assert keys(store) == ["d/" * 1050 + "file"]
    finally:  # pytest's own clean-up is recursive
        subprocess.run(["rm", "-rf", str(store.root)], check=True)


def test_missing_root(store: LocalStore, tmp_path: Path) -> None:
    """A folder that is not there, or is a file, is said so at once."""
    with pytest.raises(NoSuchRootError, match="does not exist"):
        store.check()
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NoSuchRootError, match="not a folder"):
        LocalStore(tmp_path / "file").check()


def test_proof_leaves_nothing(tmp_path: Path) -> None:
    """Proving a destination makes no folder that was not there, and removes none that was."""
    prove_writable(LocalStore(tmp_path / "new" / "deep"))
    assert not list(tmp_path.iterdir())
    (tmp_path / "mine").mkdir()
    prove_writable(LocalStore(tmp_path / "mine"))
    assert (tmp_path / "mine").is_dir()
    assert not list((tmp_path / "mine").iterdir())


def test_destination_that_is_a_file(tmp_path: Path) -> None:
    """A destination below a file is refused in one line."""
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(DestinationError, match="a file is in the way"):
        prove_writable(LocalStore(tmp_path / "file"))


def test_destination_that_is_read_only() -> None:
    """A file system that refuses writes is a destination without permission."""
    with pytest.raises(DestinationError, match=r"cannot be used|cannot write"):
        prove_writable(LocalStore(Path("/proc/chunkmill")))


def test_denied(store: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing permission is told from a missing file."""
    store.put("a", b"x")

    def refuse(*_arguments: object, **_more: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(AccessDeniedError, match="permission denied"):
        store.get("a")
