"""A run with nothing to do asks the store little, however many documents there are."""

from __future__ import annotations

from jobs.adapters.stores.memory import MemoryStore
from tests.jobs.protocol.simulation import FakeClock, FakeSource, run_job, settings


def _idle_requests(n_buckets: int, n_documents: int) -> list[tuple[str, str]]:
    """Return what a second run over an unchanged source asks of the store."""
    source = FakeSource({f"key-{number:04}": f"text|{number}" for number in range(n_documents)})
    config = settings(n_buckets=n_buckets, unit_documents=64)
    asked: list[tuple[str, str]] = []
    store, clock = MemoryStore(), FakeClock()
    run_job(store, source, config, clock=clock)
    watched = store.view(before=lambda operation, key: asked.append((operation, key)))
    run_job(watched, source, config, clock=clock)
    return asked


def test_requests_of_an_idle_run_do_not_depend_on_the_documents() -> None:
    """Six times the documents in as many buckets are asked for by the same requests."""
    few, many = (_idle_requests(3, n_documents) for n_documents in (20, 120))
    assert len(few) == len(many)


def test_an_idle_run_asks_twice_for_each_bucket() -> None:
    """Of a bucket its version and its index are read, once each; the rest is the same for all."""
    few, many = (_idle_requests(n_buckets, 60) for n_buckets in (2, 12))
    assert len(many) - len(few) == 2 * 10
    assert len(few) - 2 * 2 <= 40
    writes = [key for operation, key in many if operation in ("put", "create", "copy", "delete")]
    assert not [key for key in writes if "bucket" in key]
