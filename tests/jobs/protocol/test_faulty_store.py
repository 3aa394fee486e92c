"""Whole runs against a real S3 server whose answers fail all the time."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from jobs import patience
from jobs.adapters.stores import open_store
from jobs.config import Config, SourceConfig
from jobs.traffic import TRAFFIC
from tests.faults import faulty_proxy
from tests.local_jobs import compare, config_of, make_dataset, report_text
from tests.servers import S3Server

pytestmark = [pytest.mark.s3, pytest.mark.slow]

FAULTS = ["slow_down", "internal", "gateway", "reset", "refuse", "lose_answer", "cut"]


def _config(endpoint: str) -> Config:
    return config_of().model_copy(update={"source": SourceConfig(endpoint_url=endpoint)})


def test_every_fifth_request_fails_and_the_rows_are_the_same(
    swift: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A first run, and one that changes, adds and deletes, through seeded faults of all kinds."""
    for name, value in swift.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(patience, "sleep", lambda _: None)
    rng = random.Random(11)
    first = {f"doc-{number}": report_text(number, 2) for number in range(4)}
    second = {**first, "doc-1": report_text(1, 2, {0: "Another start."}), "new": report_text(9, 1)}
    del second["doc-3"]
    url = f"s3://{swift.make_bucket()}/out"
    TRAFFIC.take()
    with faulty_proxy(swift.endpoint) as proxy:
        proxy.method = None
        proxy.faults = [rng.choice(FAULTS) if rng.random() < 0.2 else "" for _ in range(5000)]
        for documents in (first, second):
            make_dataset(url, _config(proxy.endpoint), documents)
            make_dataset(tmp_path / "calm", config_of(), documents)
        assert len(proxy.faults) < 4900
    assert TRAFFIC.take()["dataset.retries"] > 10
    store = open_store(url, _config(swift.endpoint).source)
    for info in store.list():
        if not info.key.startswith("_chunkmill/"):
            path = tmp_path / "stormy" / info.key
            path.parent.mkdir(parents=True, exist_ok=True)
            store.download(info.key, path)
    compare(tmp_path / "calm", tmp_path / "stormy", 1 - 1e-6)
