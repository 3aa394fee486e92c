"""The hooks of the store in memory, by which tests crash a run between two operations."""

from __future__ import annotations

import pytest

from jobs.adapters.stores import MemoryStore, prove_writable


class CrashError(Exception):
    """The process has died."""


def crash(_operation: str, _key: str) -> None:
    """Die."""
    raise CrashError


def test_crash_before_has_no_effect() -> None:
    """What a process was about to write is not there."""
    store = MemoryStore()
    for write in (store.view(before=crash).put, store.view(before=crash).create):
        with pytest.raises(CrashError):
            write("a", b"x")
    assert store.head("a") is None


def test_crash_after_keeps_the_effect() -> None:
    """What a process wrote before it died stays."""
    store = MemoryStore()
    with pytest.raises(CrashError):
        store.view(after=crash).create("a", b"x")
    assert store.get("a") == b"x"
    with pytest.raises(CrashError):
        store.view(after=crash).delete("a")
    assert store.head("a") is None


def test_hooks_see_every_operation() -> None:
    """Each operation calls each hook once, with the key that it writes or reads."""
    seen: list[tuple[str, str]] = []
    store = MemoryStore(before=lambda name, key: seen.append((name, key)))
    store.put("a", b"x")
    store.copy("a", "b")
    list(store.list("b"))
    store.delete("a")
    assert seen == [("put", "a"), ("copy", "b"), ("list", "b"), ("delete", "a")]


def test_it_can_be_a_destination() -> None:
    """The store in memory keeps the promises that a destination must keep."""
    store = MemoryStore()
    prove_writable(store)
    assert not store.objects


def test_views_share_objects() -> None:
    """Views are processes at one store."""
    store = MemoryStore()
    assert store.view().create("a", b"1")
    assert not store.view().create("a", b"2")
