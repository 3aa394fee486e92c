"""A disk that is full, broken or taken away: nothing half-written is seen, nothing is left."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from chunking.errors import AccessDeniedError, ObjectNotFoundError, StoreError
from jobs.adapters.stores.local import LocalStore

WRITES: dict[str, Callable[[LocalStore], object]] = {
    "put": lambda store: store.put("f/k", b"new"),
    "create": lambda store: store.create("f/new", b"new"),
    "copy": lambda store: store.copy("f/other", "f/k"),
    "upload": lambda store: store.upload("f/k", store.root / "f" / "other"),
}
ERRORS = {errno.ENOSPC: "no space left", errno.EDQUOT: "quota", errno.EIO: "input/output error"}


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    """Give a store with an old object and another one."""
    store = LocalStore(tmp_path / "root")
    store.put("f/k", b"old")
    store.put("f/other", b"new")
    return store


def names(store: LocalStore) -> set[str]:
    """Return the names of all files, temporary ones too."""
    return {path.name for path in store.root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("number", ERRORS)
@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("call", ["open", "fsync", "replace", "link"])
def test_a_write_that_fails_changes_nothing(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch, call: str, name: str, number: int
) -> None:
    """Wherever in a write the disk fails: the old object stands, and no file of ours is left."""
    if call in ("replace", "link") and (call == "link") != (name == "create"):
        pytest.skip("not a step of this write")
    _fail(monkeypatch, call, number)
    with pytest.raises(StoreError, match=ERRORS[number]) as caught:
        WRITES[name](store)
    monkeypatch.undo()
    assert str(store.root / "f") in str(caught.value)
    assert "\n" not in str(caught.value)
    assert names(store) == {"k", "other"}
    assert store.get("f/k") == b"old"
    WRITES[name](store)
    assert store.get("f/new" if name == "create" else "f/k") == b"new"


def _fail(monkeypatch: pytest.MonkeyPatch, call: str, number: int) -> None:
    def fail(*_arguments: object, **_more: object) -> object:
        raise OSError(number, os.strerror(number))

    if call == "open":
        right = Path.open
        monkeypatch.setattr(
            Path,
            "open",
            lambda path, mode="r", *more: (fail if mode == "xb" else right)(path, mode, *more),
        )
    else:
        monkeypatch.setattr(os, call, fail)


def test_a_folder_that_cannot_be_flushed(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A create that is there, but perhaps not for good, is an error; tried again, it is ours."""
    right, calls = os.fsync, []

    def fail_second(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 2:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        right(descriptor)

    monkeypatch.setattr(os, "fsync", fail_second)
    with pytest.raises(StoreError, match="input/output error"):
        store.create("f/new", b"new")
    assert names(store) == {"k", "other", "new"}
    assert store.create("f/new", b"new")
    assert not store.create("f/new", b"theirs")


def test_a_folder_that_is_removed_meanwhile(store: LocalStore) -> None:
    """Writes make their folders anew; reads say that the object is gone."""
    shutil.rmtree(store.root)
    with pytest.raises(ObjectNotFoundError, match="does not exist"):
        store.get("f/k")
    with pytest.raises(ObjectNotFoundError):
        store.copy("f/k", "f/copy")
    assert list(store.list()) == []
    store.delete("f/k")
    assert store.create("f/new", b"new")
    assert names(store) == {"new"}


FULL = """
import os, subprocess, sys
from pathlib import Path
from chunking.errors import AccessDeniedError, StoreError
from jobs.adapters.stores.local import LocalStore

root = Path(sys.argv[1])
mount = lambda *options: subprocess.run(["mount", *options, str(root)], check=True)
mount("-t", "tmpfs", "-o", "size=256k", "tmpfs")
store = LocalStore(root)
store.put("k", b"old")
(Path(sys.argv[2])).write_bytes(bytes(300_000))
for write in (
    lambda: store.put("k", bytes(300_000)),
    lambda: store.create("new", bytes(300_000)),
    lambda: store.upload("k", Path(sys.argv[2])),
):
    try:
        write()
    except StoreError as error:
        print(str(error).replace(str(root), "ROOT"))
    print(sorted(os.listdir(root)), store.get("k"))
store.put("k", b"new")
mount("-o", "remount,ro")
for write, *given in ((store.put, "k", b"x"), (store.create, "l", b"x"), (store.delete, "k")):
    try:
        write(*given)
    except AccessDeniedError as error:
        print(str(error).replace(str(root), "ROOT"))
print(sorted(os.listdir(root)), store.get("k"))
"""


def test_a_full_and_a_read_only_file_system(tmp_path: Path) -> None:
    """A real small one: every write fails in one line, and what was there is whole."""
    private = ["unshare", "--user", "--map-root-user", "--mount"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*private, "true"], check=False).returncode
    ):
        pytest.skip("no private mounts here")
    (tmp_path / "root").mkdir()
    done = subprocess.run(
        [*private, sys.executable, "-c", FULL, tmp_path / "root", tmp_path / "large"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        *("ROOT/k: no space left on device", "['k'] b'old'"),
        *("ROOT/new: no space left on device", "['k'] b'old'"),
        *("ROOT/k: no space left on device", "['k'] b'old'"),
        *["ROOT/k: read-only file system", "ROOT/l: read-only file system"],
        *("ROOT/k: read-only file system", "['k'] b'new'"),
    ]


def test_a_read_that_fails_names_the_file(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of the disk while reading is told in one line, and is no missing file."""

    def fail(*_arguments: object, **_more: object) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "open", fail)
    with pytest.raises(StoreError, match="f/k: input/output error") as caught:
        store.get("f/k")
    assert not isinstance(caught.value, ObjectNotFoundError | AccessDeniedError)
