"""Reaching Ray: a cluster by its address, the one of a Ray job, or a local one; quietly."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from chunking.errors import ConfigError, JobError
from jobs.adapters.ray_engine import Cluster

__all__ = ["check_answers", "connect", "is_local"]

# Ray's C++ layer writes to stderr by itself; it reads these when it is imported.
_QUIET = {
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
}
_ANSWER_SECONDS = 10.0


@contextlib.contextmanager
def connect(
    address: str | None,
    cpus: int = 0,
    *,
    verbose: bool = False,
    attempts: int = 3,
    deaths: Mapping[str, Mapping[str, float]] | None = None,
) -> Iterator[Cluster]:
    """Join the Ray cluster at ``address``, or the one of this Ray job, or start a local one.

    ``attempts`` and ``deaths``: see :class:`jobs.journal.Journal`.

    Raises:
        ConfigError: no cluster answers at the address.
        JobError: a local Ray does not start.
    """
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    level = logging.INFO if verbose else logging.ERROR
    for name in ("ray", "ray.data", "ray._private"):
        logging.getLogger(name).setLevel(level)
    import ray  # noqa: PLC0415 - the environment above must be set first

    where = _where(address)
    options: dict[str, Any] = {"log_to_driver": verbose, "logging_level": level}
    if where == "local":
        options |= {"include_dashboard": False, "num_cpus": cpus or None}
    try:
        with contextlib.nullcontext() if verbose else _silent_stderr():
            ray.init(address=where, **options)
    except Exception as error:  # Ray raises bare exceptions when a node starts too slowly
        reason = " ".join(str(error).split())[:200]
        if where == "local":
            msg = f"cannot start a local Ray: {reason}"
            raise JobError(msg) from error
        msg = f"cannot reach a Ray cluster at {where!r}: {reason}"
        raise ConfigError(msg) from error
    if not verbose:
        _silence_logs()
    try:
        yield Cluster(ray, attempts=attempts, deaths=deaths)
    finally:
        sys.stdout.flush()
        ray.shutdown()


def _silence_logs() -> None:
    """Keep Ray's words off the terminal; its log files keep them, and failures are told by us."""
    import ray.data  # noqa: PLC0415 - its logging is configured when it is imported

    del ray
    # Ray prints of every worker's death, whatever ``log_to_driver`` says, to standard output.
    # Its debugger turns that off in the same way; there is no other.
    worker: Any = sys.modules.get("ray._private.worker")
    if hasattr(worker, "_worker_logs_enabled"):
        worker._worker_logs_enabled = False  # noqa: SLF001
    for name in ("ray", "ray.data"):
        for handler in logging.getLogger(name).handlers:
            to_terminal = isinstance(handler, logging.StreamHandler)
            if to_terminal and not isinstance(handler, logging.FileHandler):
                handler.setLevel(logging.CRITICAL + 1)


@contextlib.contextmanager
def _silent_stderr() -> Iterator[None]:
    """Drop what Ray's C++ layer writes to file descriptor 2 while it starts."""
    sys.stderr.flush()
    kept = os.dup(2)
    with Path(os.devnull).open("wb") as nothing:
        os.dup2(nothing.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def check_answers(address: str | None) -> None:
    """Find out at once that nothing listens at an address; Ray itself would try for long.

    Raises:
        ConfigError: no cluster answers.
    """
    where = _where(address)
    host, colon, port = where.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER_SECONDS).close()
    except OSError as error:
        reason = error.strerror or error
        msg = f"no Ray cluster answers at {where!r} ({reason}); give host:port of its head node"
        raise ConfigError(msg) from error


def is_local(address: str | None) -> bool:
    """Return whether a Ray of this machine alone will be started."""
    return _where(address) == "local"


def _where(address: str | None) -> str:
    return address or os.environ.get("RAY_ADDRESS") or "local"
