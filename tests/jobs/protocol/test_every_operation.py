"""Systematic: a run dies, or falls asleep and wakes up as a zombie, at every write."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from chunking.errors import LeaseLostError
from jobs.adapters.stores.memory import MemoryStore
from tests.jobs.protocol import simulation as sim
from tests.jobs.protocol.simulation import Actor, FakeSource, run_job, settings
from tests.jobs.protocol.sleepers import sleepers

# Documents change, move, fail, come and go; so does what came inside some of them.
OLD = {"d0": "a|b>x=c>y=#html#d", "d1": "!corrupt", "d2": "#html#x", "d3": "b>x=a"}
NEW = {"d0": "a|c>x=#html#c|e>z=f>z!/q=g", "d1": "ok", "d2": "y", "d4": "#html#b>x=!corrupt"}
OTHER = {"d0": "!corrupt", "d2": "#html#y|z>x=a", "d3": "b>x=", "d4": "c"}


@pytest.fixture(autouse=True)
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files be of a format that is faster for a few rows."""
    sim.without_parquet(monkeypatch)


def settled(store: MemoryStore) -> dict[str, Any]:
    """Return what a plain reader sees, without what depends on the run; check every law."""
    sim.check_dataset(store)
    rows = {table: sim.plain_rows(store, table) for table in sim.PLAIN}
    return {**rows, "documents": [sim.stable(row) for row in rows["documents"]]}


def prepared(config: sim.RunSettings) -> MemoryStore:
    """Return a store of its own with the old documents published."""
    store = MemoryStore()
    store.objects.update(_old_objects(config.partition_by))
    return store


@cache
def _old_objects(partition_by: str | None) -> dict[str, bytes]:
    store = MemoryStore()
    config = settings(partition_by=partition_by, n_buckets=2)
    run_job(store, FakeSource(dict(OLD)), config)
    return store.objects


def asleep(config: sim.RunSettings) -> Iterator[tuple[MemoryStore, Actor, str]]:
    """Yield stores where a run over the new documents sleeps, each time before another write."""
    return sleepers(
        lambda: prepared(config),
        lambda store: run_job(store, FakeSource(dict(NEW)), config),
        least=30,
    )


@pytest.mark.chaos
@pytest.mark.parametrize("partition_by", [None, pytest.param("format", marks=pytest.mark.slow)])
def test_killed_at_every_write(partition_by: str | None) -> None:
    """Run again, a killed run gives the rows of an undisturbed one, wherever it died."""
    config = settings(partition_by=partition_by, n_buckets=2)
    store = prepared(config)
    run_job(store, FakeSource(dict(NEW)), config)
    expected = settled(store)
    for store, actor, where in asleep(config):
        actor.die()
        sim.check_each_document_once(store)
        run_job(store, FakeSource(dict(NEW)), config)
        assert settled(store) == expected, where


@pytest.mark.chaos
@pytest.mark.parametrize(
    "documents",
    [
        pytest.param(OLD, id="reverted"),
        pytest.param(OTHER, id="changed", marks=pytest.mark.slow),
    ],
)
def test_zombie_at_every_write(documents: dict[str, str]) -> None:
    """Overtaken by a whole run and woken up, a run changes nothing, wherever it slept."""
    config = settings(n_buckets=2)
    for store, zombie, where in asleep(config):
        run_job(store, FakeSource(dict(documents)), config)
        expected, chains = settled(store), sim.chains(store)
        zombie.run()
        assert zombie.error is None or isinstance(zombie.error, LeaseLostError), where
        assert sim.chains(store) == chains, where
        run_job(store, FakeSource(dict(documents)), config)
        assert settled(store) == expected, where
