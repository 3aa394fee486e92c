"""One store of each kind, empty, for the tests that every store must pass."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.adapters.stores import MemoryStore
from jobs.adapters.stores.local import LocalStore
from jobs.adapters.stores.s3 import S3Store
from jobs.adapters.stores.s3_client import Connection, _client, _session
from jobs.ports import ObjectStore
from tests.servers import S3Server

PART_BYTES = 5 * 2**20  # the smallest part that S3 allows
PAGE_KEYS = 20


def empty_store(server: S3Server, buckets: dict[str, str]) -> S3Store:
    """Return an empty prefix, with an odd name, of the server's bucket."""
    if server.endpoint not in buckets:
        buckets[server.endpoint] = server.make_bucket()
    return S3Store(
        buckets[server.endpoint],
        f"a b+ü/{secrets.token_hex(6)}/",
        Connection(endpoint_url=server.endpoint),
        part_bytes=PART_BYTES,
        page_keys=PAGE_KEYS,
    )


def use(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the server's credentials into the environment."""
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def fresh_clients() -> Iterator[None]:
    """Forget the clients made before and after, and with them their credentials."""
    _client.cache_clear()
    _session.cache_clear()
    yield
    _client.cache_clear()
    _session.cache_clear()


@pytest.fixture(scope="session")
def buckets() -> dict[str, str]:
    """Keep one bucket per server for the whole run; every test has its own prefix."""
    return {}


@pytest.fixture(params=["swift", "moto"])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """Give each real S3 server, its credentials in the environment."""
    server: S3Server = request.getfixturevalue(request.param)
    use(server, monkeypatch)
    return server


@pytest.fixture
def s3_store(server: S3Server, buckets: dict[str, str]) -> S3Store:
    """Give an empty prefix, with an odd name, of a bucket on a real server."""
    return empty_store(server, buckets)


@pytest.fixture
def swift_store(
    swift: S3Server, buckets: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> S3Store:
    """Give an empty prefix on the server that checks signatures."""
    use(swift, monkeypatch)
    bucket = buckets.get(swift.endpoint) or swift.make_bucket()
    buckets[swift.endpoint] = bucket
    return S3Store(bucket, f"{secrets.token_hex(8)}/", Connection(endpoint_url=swift.endpoint))


@pytest.fixture(
    params=[
        "memory",
        "local",
        pytest.param("swift", marks=pytest.mark.s3),
        pytest.param("moto", marks=pytest.mark.s3),
    ]
)
def store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ObjectStore:
    """Give an empty store of each kind."""
    if request.param == "memory":
        return MemoryStore()
    if request.param == "local":
        return LocalStore(tmp_path / "root")
    server: S3Server = request.getfixturevalue(request.param)
    use(server, monkeypatch)
    return empty_store(server, request.getfixturevalue("buckets"))
