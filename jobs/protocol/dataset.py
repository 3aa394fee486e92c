"""``dataset.json``: what a dataset is, fixed at its creation, and how it was last made.

Source, number of buckets, partitioning and vector type never change afterwards;
fingerprint, model and chunking are those of the last run that wrote. The object is
replaced without a condition, so a run that was overtaken may still put its own there:
it is a view, too. The truth is what the last plan says, as no two runs share one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from chunking import ids, schemas
from chunking.errors import DestinationError, ObjectNotFoundError
from jobs import layout
from jobs.ports import ObjectStore
from jobs.protocol import fail_points
from jobs.protocol.files import read_fact
from jobs.protocol.run import RunSettings

__all__ = [
    "PLAN_FACT",
    "Dataset",
    "check_settings",
    "keep_tokenizer",
    "planned_dataset",
    "read_dataset",
    "settings_of",
    "settle_dataset",
    "tokenizer_digest",
]

PLAN_FACT = "dataset"
"""Metadata key (prefixed) under which a plan repeats ``dataset.json``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """The contents of ``dataset.json``; ``sources`` maps the names of further sources.

    ``settings`` is private: the configuration and what must be known of the model to make
    chunks anew; empty in a dataset of an earlier release.
    """

    source: str
    n_buckets: int
    partition_by: str | None
    vector_dtype: str
    fingerprint: str
    model: Mapping[str, object]
    chunking: Mapping[str, object]
    sources: Mapping[str, str] = field(default_factory=dict)
    schema_version: int = schemas.FORMAT_VERSION
    settings: Mapping[str, Any] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """Return the JSON object."""
        body = {name: getattr(self, name) for name in self.__slots__}
        return (json.dumps(body, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()

    def facts(self) -> dict[str, str]:
        """Return what every Parquet file repeats in its schema metadata."""
        return {
            "schema_version": str(self.schema_version),
            "source": self.source,
            "n_buckets": str(self.n_buckets),
            "partition_by": self.partition_by or "",
            "fingerprint": self.fingerprint,
            "model": json.dumps(self.model, sort_keys=True),
            "chunking": json.dumps(self.chunking, sort_keys=True),
        }


def read_dataset(store: ObjectStore) -> Dataset | None:
    """Return the dataset below the store's root, or None if the root is free.

    Raises:
        DestinationError: something else lies there, or a dataset of a newer format.
    """
    try:
        data = store.get(layout.DATASET)
    except ObjectNotFoundError:
        _check_free(store)
        return None
    return _parsed(data, store.url, store.uri(layout.DATASET))


def planned_dataset(store: ObjectStore, run_ids: Iterable[str]) -> Dataset | None:
    """Return the dataset as the first of these runs with a plan has settled it, if one has.

    ``run_ids``: newest first.
    """
    for run_id in run_ids:
        key = layout.plan(run_id)
        try:
            stated = read_fact(store, key, PLAN_FACT)
        except ObjectNotFoundError:
            continue
        return None if stated is None else _parsed(stated.encode(), store.url, store.uri(key))
    return None


def settings_of(dataset: Dataset, *, lease_seconds: float) -> RunSettings:
    """Return the settings of a run that changes nothing of how a dataset is made."""
    return RunSettings(
        source=dataset.source,
        fingerprint=dataset.fingerprint,
        model=dataset.model,
        chunking=dataset.chunking,
        partition_by=dataset.partition_by,
        vector_dtype=_vector_type(dataset.vector_dtype),
        n_buckets=dataset.n_buckets,
        sources=dataset.sources,
        record=dataset.settings,
        lease_seconds=lease_seconds,
    )


def _vector_type(name: str) -> schemas.VectorType:
    return "float16" if name == "float16" else "float32"


def settle_dataset(
    store: ObjectStore, dataset: Dataset | None, settings: RunSettings, n_buckets: int
) -> Dataset:
    """Create ``dataset.json``, or bring it up to this run's configuration.

    Only the holder of the lease calls this. ``dataset``: as the run before has left it,
    whatever lies there now. What was fixed at creation is kept, also when another run
    was quicker to create it.
    """
    if dataset is None:
        created = _new(settings, n_buckets)
        won = store.create(layout.DATASET, created.to_bytes())
        fail_points.hit("dataset.create")
        if won:
            return created
        dataset = read_dataset(store)
        if dataset is None:
            msg = f"{store.url} changes while it is being read"
            raise DestinationError(msg)
        check_settings(store.url, dataset, settings)
    current = _updated(dataset, settings)
    if current != read_dataset(store):
        store.put(layout.DATASET, current.to_bytes())
        fail_points.hit("dataset.update")
    return current


def keep_tokenizer(store: ObjectStore, description: str) -> None:
    """Keep a tokenizer's description, under the hash by which settings name it."""
    data = description.encode()
    store.create(layout.tokenizer(tokenizer_digest(data)), data)
    fail_points.hit("dataset.tokenizer")


def tokenizer_digest(description: bytes) -> str:
    """Return the hash that names a tokenizer's description."""
    return ids.content_version(description)


def check_settings(url: str, dataset: Dataset, settings: RunSettings) -> None:
    """Refuse what a dataset cannot change.

    Raises:
        DestinationError: another source without a name, or another partitioning,
            dimension, vector type or number of buckets.
    """
    _check_source(url, dataset, settings)
    fixed = {
        "output.partition_by": (dataset.partition_by, settings.partition_by),
        "output.dtype": (dataset.vector_dtype, settings.vector_dtype),
        "the model's dimension": (int(str(dataset.model["dimension"])), settings.dimension),
    }
    if settings.n_buckets is not None:
        fixed["output.n_buckets"] = (dataset.n_buckets, settings.n_buckets)
    for name, (was, asked) in fixed.items():
        if was != asked:
            msg = f"{url} was made with {name} = {was}, asked for is {asked}: write to a new DST"
            raise DestinationError(msg)


def _parsed(data: bytes, url: str, uri: str) -> Dataset:
    try:
        body: dict[str, Any] = json.loads(data)
        version = int(body["schema_version"])
        if version > schemas.FORMAT_VERSION:
            raise DestinationError(_newer(url, version))
        body.setdefault("settings", {})
        return Dataset(**{name: body[name] for name in Dataset.__slots__})
    except (ValueError, KeyError, TypeError) as error:
        msg = f"{uri} is not a chunkmill dataset description: {error}"
        raise DestinationError(msg) from error


def _check_source(url: str, dataset: Dataset, settings: RunSettings) -> None:
    name = settings.source_name
    known = dataset.source if name is None else dataset.sources.get(name, settings.source)
    if known != settings.source:
        hint = "give this one a name of its own" if name else "add another with --source-name NAME"
        msg = f"{url} holds documents of {known}, not of {settings.source}; {hint}"
        raise DestinationError(msg)


def _new(settings: RunSettings, n_buckets: int) -> Dataset:
    name = settings.source_name
    return Dataset(
        source=settings.source,
        n_buckets=n_buckets,
        partition_by=settings.partition_by,
        vector_dtype=settings.vector_dtype,
        fingerprint=settings.fingerprint,
        model=dict(settings.model),
        chunking=dict(settings.chunking),
        sources={**settings.sources, **({name: settings.source} if name else {})},
        settings=dict(settings.record),
    )


def _updated(dataset: Dataset, settings: RunSettings) -> Dataset:
    name = settings.source_name
    return replace(
        dataset,
        fingerprint=settings.fingerprint,
        model=dict(settings.model),
        chunking=dict(settings.chunking),
        sources={**dataset.sources, **({name: settings.source} if name else {})},
        settings=dict(settings.record),
    )


def _check_free(store: ObjectStore) -> None:
    for info in store.list():
        if not info.key.startswith(layout.PRIVATE_PREFIX):
            msg = f"{store.url} holds something else ({info.key}); give an empty or new DST"
            raise DestinationError(msg)


def _newer(url: str, version: int) -> str:
    return (
        f"{url} has dataset format {version}, this chunkmill reads up to "
        f"{schemas.FORMAT_VERSION}: update chunkmill"
    )
