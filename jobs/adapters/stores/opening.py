"""From what a user types to a store: the one place that knows the URL schemes."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from chunking.errors import ConfigError
from jobs.adapters.stores.base import ReadableStore
from jobs.adapters.stores.keys import decode_path
from jobs.adapters.stores.local import LocalStore
from jobs.adapters.stores.s3 import S3Store
from jobs.adapters.stores.s3_client import Connection
from jobs.config import SourceConfig
from jobs.traffic import Role

__all__ = ["Location", "open_root", "open_store", "parse_location"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_LATER = frozenset({"gs", "gcs", "az", "abfs", "abfss"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A place in a store; ``bucket`` is None on the local file system, and ``path`` absolute."""

    bucket: str | None
    path: str

    @property
    def is_local(self) -> bool:
        """Tell whether it is on the local file system."""
        return self.bucket is None


def parse_location(url: str) -> Location:
    """Return the place that a path or URL names.

    ``s3://bucket/key`` is taken as it stands, as the AWS command line does; a
    ``file://`` URL is percent-decoded; anything without ``://`` is a local path.

    Raises:
        ConfigError: the scheme is not supported, or the bucket is missing.
    """
    match = _SCHEME.fullmatch(url)
    if match is None:
        # Not Path.resolve(): a link stays what the user called it.
        return Location(bucket=None, path=os.path.abspath(Path(url).expanduser()))  # noqa: PTH100
    scheme, rest = match[1].lower(), match[2]
    if scheme == "file":
        host, slash, path = rest.partition("/")
        if host not in ("", "localhost") or not slash:
            msg = f"{url!r} must look like file:///path"
            raise ConfigError(msg)
        return Location(bucket=None, path=decode_path("/" + path))
    if scheme in ("s3", "s3a", "s3n"):
        bucket, _, key = rest.partition("/")
        if "@" in bucket:
            msg = "credentials do not belong into a URL; use the environment or source.profile"
            raise ConfigError(msg)
        if not bucket:
            msg = f"{url!r} names no bucket; it must look like s3://bucket/prefix"
            raise ConfigError(msg)
        return Location(bucket=bucket, path=key)
    if scheme in _LATER:
        msg = f"{scheme}:// is not supported yet; use s3:// or a local path"
    else:
        msg = f"unknown scheme {scheme}://; use s3://, file:// or a local path"
    raise ConfigError(msg)


def open_root(
    location: Location, source: SourceConfig, *, anonymous: bool = False, role: Role = "source"
) -> ReadableStore:
    """Return the store whose root is the folder or prefix ``location``; nothing is sent yet."""
    if location.bucket is None:
        return LocalStore(Path(location.path), role=role)
    prefix = location.path.rstrip("/")
    connection = Connection(
        endpoint_url=source.endpoint_url,
        region=source.region,
        profile=source.profile,
        anonymous=anonymous,
        role=role,
        retry_seconds=source.retry_seconds,
    )
    return S3Store(location.bucket, prefix + "/" if prefix else "", connection)


def open_store(
    url: str, source: SourceConfig, *, anonymous: bool = False, role: Role = "dataset"
) -> ReadableStore:
    """Return the store at ``url``: a folder or an ``s3://bucket/prefix``.

    The store is picklable and makes its client when it is first used in a process.

    Raises:
        ConfigError: the scheme is not supported, or the bucket is missing.
    """
    return open_root(parse_location(url), source, anonymous=anonymous, role=role)
