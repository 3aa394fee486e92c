"""What the tests of the sources share: lists of keys, fetched bytes, an S3 prefix."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from jobs.config import Config
from jobs.config_load import load_config
from jobs.sources import Source
from tests.servers import S3Server

Put = Callable[[Mapping[str, bytes]], str]


def keys(source: Source) -> list[str]:
    """Return the source keys, in the order of the listing."""
    return [item.source_key for item in source.list()]


def fetched(source: Source, path: Path) -> dict[str, bytes]:
    """Fetch everything; return the bytes by source key."""
    found = {}
    for item in source.list():
        source.fetch(item.location, item.table_row, path)
        found[item.source_key] = path.read_bytes()
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give an empty folder with an odd name."""
    path = tmp_path / "src ü+%20"
    path.mkdir()
    return path


@pytest.fixture
def s3_config(swift: S3Server, monkeypatch: pytest.MonkeyPatch) -> Config:
    """Give the configuration for Swift, its credentials in the environment."""
    for name, value in swift.environment.items():
        monkeypatch.setenv(name, value)
    return load_config(None, [f"source.endpoint_url={swift.endpoint}"])


@pytest.fixture(scope="session")
def source_bucket(swift: S3Server) -> str:
    """Make one bucket for all tests of the sources."""
    return swift.make_bucket("sources")


@pytest.fixture
def put(swift: S3Server, source_bucket: str) -> Put:
    """Give a function that puts objects below a new prefix and returns its URL."""
    client = swift.client()

    def put_objects(objects: Mapping[str, bytes]) -> str:
        prefix = f"in put/{secrets.token_hex(6)}"
        for key, body in objects.items():
            client.put_object(Bucket=source_bucket, Key=f"{prefix}/{key}", Body=body)
        return f"s3://{source_bucket}/{prefix}"

    return put_objects
