"""What is known to exist is looked for again, and what is wrong is read once more."""

from __future__ import annotations

import pyarrow as pa
import pytest

from chunking.errors import ObjectNotFoundError, StoreError
from jobs import patience
from jobs.adapters.stores.memory import MemoryStore
from jobs.protocol.files import read_table, write_table
from jobs.protocol.written import copy_written, get_json, get_written


class LateStore(MemoryStore):
    """A store that shows an object only after so many looks, or wrong at first."""

    late = 0
    wrong = 0

    def _read(self, key: str) -> bytes:
        if self.late:
            self.late -= 1
            msg = f"{key} does not exist"
            raise ObjectNotFoundError(msg)
        data = super()._read(key)
        if self.wrong:
            self.wrong -= 1
            return bytes([data[0] ^ 1]) + data[1:]
        return data


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> LateStore:
    """Give a store with one object, and wait no time for it."""
    clock = [0.0]
    monkeypatch.setattr(patience.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(patience, "sleep", lambda wait: clock.__setitem__(0, clock[0] + wait))
    store = LateStore()
    store.put("k", b'{"a": 1}')
    return store


def test_an_object_that_is_shown_late(store: LateStore) -> None:
    """A few misses of what must exist are waited out, for reads and copies alike."""
    store.late = 3
    assert get_written(store, "k") == b'{"a": 1}'
    store.late = 3
    copy_written(store, "k", "copy")
    assert store.get("copy") == b'{"a": 1}'


def test_an_object_that_never_turns_up(store: LateStore) -> None:
    """The look ends, with the store's own word."""
    with pytest.raises(ObjectNotFoundError, match="none does not exist"):
        get_written(store, "none")


def test_a_table_that_comes_wrong_once_is_read_again(store: LateStore) -> None:
    """The hash tells; wrong twice, the object is named and nothing of it is used."""
    file = write_table(store, "t", pa.table({"a": [1, 2]}), name="t", facts={})
    store.wrong = 1
    assert read_table(store, file).num_rows == 2
    store.wrong = 2
    with pytest.raises(StoreError, match=r"memory:///t does not hold the bytes that were commit"):
        read_table(store, file)


def test_json_that_comes_wrong_once_is_read_again(store: LateStore) -> None:
    """What is no JSON object is read once more, and then named."""
    store.wrong = 1
    assert get_json(store, "k") == {"a": 1}
    store.put("k", b"[1]")
    with pytest.raises(StoreError, match="memory:///k does not hold"):
        get_json(store, "k")
