"""The contract of :class:`jobs.ports.ObjectStore`, on every store there is."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import unquote

import pytest

from chunking.errors import ObjectNotFoundError, StoreError
from jobs.ports import ObjectStore

ODD_KEYS = [
    "a b/c  d.md",
    "percent%20%/100%.md",
    "plus+and&ampersand=.md",
    "hash#tag?query.md",
    "Ærø/日本語/emoji 😀.md",
    "e\u0301 combining.md",
    "quote'\"back\\slash.md",
    "star*[x].md",
    ".hidden/.file",
    "dots../..dots/a..b",
    "tilde~$x",
    "tab\there.md",
    "long/" + "/".join(["n" * 200] * 4) + "/" + "é" * 45,
]


def keys(store: ObjectStore, prefix: str = "") -> list[str]:
    """Return the keys below a prefix."""
    return [info.key for info in store.list(prefix)]


def test_put_creates_and_replaces(store: ObjectStore) -> None:
    """A put is seen at once, the first time and the second."""
    store.put("a/b", b"one")
    assert store.get("a/b") == b"one"
    store.put("a/b", b"two, longer")
    assert store.get("a/b") == b"two, longer"
    assert keys(store) == ["a/b"]


def test_missing_object(store: ObjectStore) -> None:
    """Every way of reading says that an object is not there."""
    for read in (store.get, lambda key: store.get_tail(key, 1)):
        with pytest.raises(ObjectNotFoundError, match="does not exist"):
            read("not/there")
    with pytest.raises(ObjectNotFoundError):
        store.copy("not/there", "target")
    assert store.head("not/there") is None
    assert keys(store) == []


def test_create_only_once(store: ObjectStore) -> None:
    """The second creator loses and changes nothing; a repeated first one finds its own bytes."""
    assert store.create("marker", b"first")
    assert not store.create("marker", b"second")
    assert store.get("marker") == b"first"
    assert store.create("marker", b"first")


def test_create_after_delete(store: ObjectStore) -> None:
    """A key can be created again once it was deleted."""
    assert store.create("marker", b"first")
    store.delete("marker")
    assert store.create("marker", b"second")
    assert store.get("marker") == b"second"


def test_create_race(store: ObjectStore) -> None:
    """Of several who create one key at the same moment exactly one wins, and its bytes stay."""
    for race in range(8):
        start = threading.Barrier(4)

        def create(data: bytes, *, race: int = race, start: threading.Barrier = start) -> bool:
            start.wait()
            return store.create(f"race/{race}", data)

        bodies = [b"%d" % i * (i + 1) for i in range(4)]
        with ThreadPoolExecutor(4) as pool:
            won = list(pool.map(create, bodies))
        assert won.count(True) == 1
        assert store.get(f"race/{race}") == bodies[won.index(True)]


def test_replace_is_atomic(store: ObjectStore) -> None:
    """A reader beside a writer sees one whole body or another, never a part or a mixture."""
    bodies = [bytes([i]) * (100_000 + i) for i in range(12)]
    store.put("hot", bodies[0])
    done = threading.Event()

    def write() -> None:
        for body in bodies:
            store.put("hot", body)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = set()
    while not done.is_set():
        seen.add(store.get("hot"))
    writer.join()
    assert seen <= set(bodies)
    assert store.get("hot") == bodies[-1]


def test_tail(store: ObjectStore) -> None:
    """The tail is the end of the object, all of a shorter one, nothing of an empty one."""
    store.put("object", b"0123456789")
    store.put("empty", b"")
    assert store.get_tail("object", 4) == b"6789"
    assert store.get_tail("object", 10) == b"0123456789"
    assert store.get_tail("object", 1000) == b"0123456789"
    assert store.get_tail("object", 0) == b""
    assert store.get_tail("empty", 8) == b""
    assert store.get("empty") == b""


def test_copy_replaces(store: ObjectStore) -> None:
    """A copy is a whole object of its own and replaces what was there."""
    store.put("target", b"old")
    store.put("so urce+%", b"new")
    store.copy("so urce+%", "target")
    store.delete("so urce+%")
    assert store.get("target") == b"new"


def test_delete_is_idempotent(store: ObjectStore) -> None:
    """Deleting what is not there is no error."""
    store.put("a/b", b"x")
    store.delete("a/b")
    store.delete("a/b")
    store.delete("never/was")
    assert keys(store) == []


def test_delete_many(store: ObjectStore) -> None:
    """Many objects go at once, odd keys and missing ones among them; others stay."""
    given = [f"many/{i:03}" for i in range(45)] + ODD_KEYS
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: store.put(key, b"x"), [*given, "stays"]))
    store.delete_many([*given, "never/was", given[0]])
    assert keys(store) == ["stays"]
    store.delete_many([])
    store.delete_many(given)
    assert list(store.unfinished()) == []


def test_head_and_etag(store: ObjectStore) -> None:
    """Head and listing agree, and the etag follows the content."""
    store.put("a", b"first")
    before = store.head("a")
    assert before is not None
    assert (before.key, before.size) == ("a", 5)
    assert before.etag
    assert list(store.list()) == [before]
    store.put("a", b"second")
    after = store.head("a")
    assert after is not None
    assert after.etag != before.etag


@pytest.mark.parametrize("key", ODD_KEYS)
def test_odd_keys(store: ObjectStore, key: str) -> None:
    """Keys with blanks, signs, Unicode and 1,000 bytes survive every operation."""
    assert store.create(key, b"body")
    assert not store.create(key, b"other")
    assert keys(store) == [key]
    assert keys(store, key) == [key]
    assert store.get(key) == b"body"
    store.copy(key, "copied/" + key[:40])
    store.put(key, b"again")
    assert store.get_tail(key, 3) == b"ain"
    assert unquote(store.uri(key)).endswith(key)
    store.delete(key)
    assert store.head(key) is None


@pytest.mark.parametrize("key", ["", "/a", "a//b", "a/", "a/../b", "..", "./a", "n\0l", "x" * 1001])
def test_refused_keys(store: ObjectStore, key: str) -> None:
    """Keys that could leave the root, or exist in one kind of store only, are not written."""
    for write in (store.put, store.create):
        with pytest.raises(StoreError, match="not a key"):
            write(key, b"x")
    assert keys(store) == []


def test_listing_order_and_prefix(store: ObjectStore) -> None:
    """A listing is in code-point order, and a prefix need not end at a slash."""
    given = [
        "a-b",
        "a.txt",
        "a/b.b",
        "a/b.c",
        "a/bc/d",
        "a0",
        "B",
        "ab",
        "é",
        "z",
        "\U0001f600",
        "\ufb01",
    ]
    for key in random.Random(7).sample(given, len(given)):
        store.put(key, key.encode())
    assert keys(store) == sorted(given)
    assert keys(store, "a/b") == ["a/b.b", "a/b.c", "a/bc/d"]
    assert keys(store, "a/") == [key for key in sorted(given) if key.startswith("a/")]
    assert keys(store, "nothing") == []
    assert keys(store, "a/nothing/at/all") == []


def test_upload_and_download(store: ObjectStore, tmp_path: Path) -> None:
    """A file above the part size arrives whole, and comes back whole."""
    body = random.Random(1).randbytes(11 * 2**20 + 17)
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(body)
    store.upload("big", source)
    store.copy("big", "copy of big")
    store.download("copy of big", target)
    assert target.read_bytes() == body
    assert store.get_tail("big", 10) == body[-10:]
    info = store.head("big")
    assert info is not None
    assert info.size == len(body)
    source.write_bytes(b"")
    store.upload("big", source)
    assert store.get("big") == b""


def test_listing_of_many(store: ObjectStore) -> None:
    """A listing goes on beyond its first page."""
    names = [f"many/{i:05d}" for i in range(101)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: store.put(name, b"x"), names))
    store.put("other", b"y")
    assert keys(store, "many/") == names
