"""How an S3 store is reached: settings without secrets, and one client per process.

Credentials come from botocore's own chain (environment, profile, files, container and
instance roles) when a client is made, and are kept nowhere else.
"""

from __future__ import annotations

import os
import re
import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import boto3
from botocore import UNSIGNED
from botocore.config import Config as ClientConfig

from chunking.errors import ConfigError
from jobs.adapters.stores.s3_retry import RetryPolicy
from jobs.patience import ceiling
from jobs.traffic import Role

__all__ = ["Connection"]

_HASTY_SECONDS = 30.0
"""Patience below which a silent server, too, must be given up soon."""
_TIME_LIMITS = {True: (5, 15), False: (20, 60)}
"""Seconds to connect and to wait for an answer, by whether it is for hasty work."""
_MAKING = threading.Lock()  # boto3's sessions are not safe to make clients from several threads
_ENDPOINT = re.compile(r"https?://[^/?#@\s]+(/[^?#\s]*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How an S3 store is reached; it holds no secret, and clients are made from it.

    ``retry_seconds``: how long a request that fails is tried again.
    """

    endpoint_url: str | None = None
    region: str | None = None
    profile: str | None = None
    anonymous: bool = False
    role: Role = "dataset"
    retry_seconds: float = 600.0

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

    def client(self) -> Any:  # noqa: ANN401 - boto3 makes its classes at run time
        """Return this process's client; making one reads the credential chain."""
        with _MAKING:
            return _client(self, ceiling() <= _HASTY_SECONDS, os.getpid())

    def renew(self) -> bool:
        """Read the credential chain again; return whether it gives other credentials by now.

        botocore renews those that say when they expire. Others, in a file that somebody
        rewrites, it reads once.
        """
        with _MAKING:
            before = self._credentials()
            _session.cache_clear()
            _client.cache_clear()
            after = self._credentials()
        return before != after

    def _credentials(self) -> tuple[str, str | None] | None:
        found = _session(self.profile, self.region, os.getpid()).get_credentials()
        return (found.access_key, found.token) if found else None

    @property
    def policy(self) -> RetryPolicy:
        """Which of its requests are sent again."""
        return RetryPolicy(role=self.role, seconds=self.retry_seconds)


@lru_cache(maxsize=16)
def _session(profile: str | None, region: str | None, _process: int) -> boto3.Session:
    """Make a session, which keeps the service's description that every client needs."""
    return boto3.Session(profile_name=profile, region_name=region)


@lru_cache(maxsize=16)
def _client(connection: Connection, hasty: bool, process: int) -> Any:  # noqa: ANN401, FBT001
    """Make a client; a forked child makes its own, since sockets must not be shared."""
    given = connection.endpoint_url or os.environ.get("AWS_ENDPOINT_URL_S3")
    connect_seconds, read_seconds = _TIME_LIMITS[hasty]
    settings = ClientConfig(
        retries={"mode": "standard", "total_max_attempts": 1},
        connect_timeout=connect_seconds,
        read_timeout=read_seconds,
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
    client = session.client("s3", endpoint_url=connection.endpoint_url, config=settings)
    connection.policy.register(client)
    return client
