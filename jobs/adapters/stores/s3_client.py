"""How an S3 store is reached: settings without secrets, and one client per process.

Credentials come from botocore's own chain (environment, profile, files, container and
instance roles) when a client is made, and are kept nowhere else.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import boto3
from botocore import UNSIGNED
from botocore.config import Config as ClientConfig

from chunking.errors import ConfigError

__all__ = ["ATTEMPTS", "FIRST_ATTEMPTS", "Connection"]

ATTEMPTS = 8
"""Attempts at one request, first included; botocore waits longer after each."""
FIRST_ATTEMPTS = 2
"""Attempts of the first look, which must tell a wrong setting within seconds."""
_ENDPOINT = re.compile(r"https?://[^/?#@\s]+(/[^?#\s]*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How an S3 store is reached; it holds no secret, and clients are made from it."""

    endpoint_url: str | None = None
    region: str | None = None
    profile: str | None = None
    anonymous: bool = False

    def __post_init__(self) -> None:
        if self.endpoint_url is None or _ENDPOINT.fullmatch(self.endpoint_url):
            return
        if "@" in self.endpoint_url:
            msg = "source.endpoint_url must hold no credentials; use the environment or a profile"
        else:
            msg = (
                f"source.endpoint_url is {self.endpoint_url!r}; it must look like "
                "https://host or http://host:port"
            )
        raise ConfigError(msg)

    @property
    def endpoint(self) -> str:
        """Name of the server, for messages."""
        return self.endpoint_url or os.environ.get("AWS_ENDPOINT_URL_S3", "AWS S3")

    def client(self, *, attempts: int = ATTEMPTS) -> Any:  # noqa: ANN401 - boto3 makes its classes at run time
        """Return this process's client; making one reads the credential chain."""
        return _client(self, attempts, os.getpid())


@lru_cache(maxsize=16)
def _session(profile: str | None, region: str | None, _process: int) -> boto3.Session:
    """Make a session, which keeps the service's description that every client needs."""
    return boto3.Session(profile_name=profile, region_name=region)


@lru_cache(maxsize=16)
def _client(connection: Connection, attempts: int, process: int) -> Any:  # noqa: ANN401
    """Make a client; a forked child makes its own, since sockets must not be shared."""
    given = connection.endpoint_url or os.environ.get("AWS_ENDPOINT_URL_S3")
    settings = ClientConfig(
        retries={"mode": "standard", "total_max_attempts": attempts},
        connect_timeout=5 if attempts == FIRST_ATTEMPTS else 20,
        read_timeout=20 if attempts == FIRST_ATTEMPTS else 60,
        max_pool_connections=32,
        tcp_keepalive=True,
        # Stores other than AWS know neither the newer checksums nor host names per bucket.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"addressing_style": "path" if given else "auto"},
        signature_version=UNSIGNED if connection.anonymous else None,
        user_agent_extra="chunkmill",
    )
    session = _session(connection.profile, connection.region, process)
    return session.client("s3", endpoint_url=connection.endpoint_url, config=settings)
