"""``dataset.json``: what is fixed, what is updated, what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chunking import schemas
from chunking.errors import DestinationError
from jobs import layout
from jobs.adapters.stores.memory import MemoryStore
from jobs.protocol.dataset import Dataset, check_settings, read_dataset, settle_dataset
from tests.jobs.protocol.simulation import settings


def created(store: MemoryStore, **changes: Any) -> Dataset:
    """Create a dataset of three buckets."""
    return settle_dataset(store, None, settings(**changes), 3)


def test_created_and_read_back() -> None:
    """What was created is what is read, with the keys of the contract."""
    store = MemoryStore()
    dataset = created(store)
    assert read_dataset(store) == dataset
    body = json.loads(store.objects[layout.DATASET])
    keys = {"schema_version", "source", "n_buckets", "partition_by", "fingerprint", "model"}
    assert keys <= body.keys()
    assert body["schema_version"] == schemas.FORMAT_VERSION


def test_free_destination() -> None:
    """An empty root is free; so is one where a first run died before it created anything."""
    store = MemoryStore()
    assert read_dataset(store) is None
    store.put(layout.lease_epoch(1), b"{}")
    assert read_dataset(store) is None


def test_foreign_destination_is_refused() -> None:
    """A root that holds something else is never written to."""
    store = MemoryStore()
    store.put("holiday/photo.jpg", b"")
    with pytest.raises(DestinationError, match=r"something else \(holiday/photo.jpg\)"):
        read_dataset(store)


def test_newer_format_is_refused() -> None:
    """A dataset of a newer format says what to do."""
    store = MemoryStore()
    body = json.loads(created(store).to_bytes())
    body["schema_version"] = schemas.FORMAT_VERSION + 1
    body["unknown"] = "yet"
    store.put(layout.DATASET, json.dumps(body).encode())
    with pytest.raises(DestinationError, match="update chunkmill"):
        read_dataset(store)


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"schema_version": 1}', b"\xff"])
def test_damaged_description_is_refused(data: bytes) -> None:
    """A file of that name that is something else is one clear error."""
    store = MemoryStore()
    store.put(layout.DATASET, data)
    with pytest.raises(DestinationError, match="not a chunkmill dataset"):
        read_dataset(store)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source": "s3://other"}, "--source-name"),
        ({"partition_by": "format"}, "partition_by"),
        ({"vector_dtype": "float16"}, "dtype"),
        ({"n_buckets": 5}, "n_buckets"),
        ({"model": {"dimension": 4}}, "dimension"),
    ],
)
def test_what_cannot_change_is_refused(changes: dict[str, Any], message: str) -> None:
    """Source, partitions, vector type, dimension and buckets are fixed at creation."""
    dataset = created(MemoryStore())
    with pytest.raises(DestinationError, match=message):
        check_settings("memory://", dataset, settings(**changes))


def test_configuration_is_updated() -> None:
    """Fingerprint and model are those of the last run; an unchanged run writes nothing."""
    store = MemoryStore()
    dataset = created(store)
    updated = settle_dataset(store, dataset, settings("A2"), 3)
    assert read_dataset(store) == updated
    assert updated.fingerprint == "A2"
    assert updated.model["revision"] == "2"
    before = dict(store.objects)
    settle_dataset(store, updated, settings("A2"), 3)
    assert store.objects == before


def test_named_sources() -> None:
    """A second source has a name of its own, which then stands for it."""
    store = MemoryStore()
    dataset = created(store)
    second = settings(source="s3://other", source_name="other")
    check_settings("memory://", dataset, second)
    dataset = settle_dataset(store, dataset, second, 3)
    assert dataset.sources == {"other": "s3://other"}
    check_settings("memory://", dataset, settings())
    third = settings(source="s3://third", source_name="other")
    with pytest.raises(DestinationError, match="a name of its own"):
        check_settings("memory://", dataset, third)


def test_slower_creator_takes_what_is_there() -> None:
    """Who comes second keeps the number of buckets that the first has fixed."""
    store = MemoryStore()
    created(store)
    assert settle_dataset(store, None, settings(n_buckets=None), 7).n_buckets == 3
