"""What every test shares: a quiet, offline, private environment and a real local Ray."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest_plugins = ["tests.servers"]

CHECKOUT = Path(__file__).resolve().parents[1]
_SOCKET_ROOM = 30  # Ray's socket names below its folder leave this much of the 107 bytes


def _short_folder() -> Path:
    """Make a private folder whose path leaves room for Ray's unix sockets."""
    parent = tempfile.gettempdir()
    if len(parent) > _SOCKET_ROOM:
        parent = "/tmp"  # noqa: S108 - the folder itself is made by mkdtemp, private to the user
    return Path(tempfile.mkdtemp(prefix="cm-", dir=parent))


RAY_FOLDER = _short_folder()
"""Ray's files of this test run; its programs inherit it, so that no other Ray is met."""

# Set at import, before any test module imports torch, transformers, botocore or Ray.
# RAY_ACCEL_...: as Ray will do by itself; unset, it warns. RAY_worker_niceness: Ray's
# workers give way to every other process, so that a test beside them would starve them.
os.environ.update(
    {
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "RAY_DEDUP_LOGS": "0",
        "RAY_TMPDIR": str(RAY_FOLDER),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",
        "TOKENIZERS_PARALLELISM": "false",
    }
)
for _name in ("AWS_ENDPOINT_URL", "AWS_PROFILE", "RAY_ADDRESS"):
    os.environ.pop(_name, None)


@cache
def _starts_ray(path: str) -> bool:
    """Whether a file has tests that start a Ray."""
    return "pytest.mark.ray" in (CHECKOUT / path).read_text("utf-8")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Where several processes share the files, leave all that start a Ray to one of them.

    Two Rays at a time would only wait for each other's processors.
    """
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415 - it calls this

    class OneForRay(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return "ray" if _starts_ray(file) else file

    return OneForRay(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name compressed bytes by their argument: they may hold the time at which they were made."""
    return argname if isinstance(val, bytes) and not val.isascii() else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the tests that take longest where several processes share them."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: not _starts_ray(item.location[0]))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove Ray's files."""
    del config
    shutil.rmtree(RAY_FOLDER, ignore_errors=True)


@pytest.fixture(scope="module")
def local_ray() -> Iterator[None]:
    """Run a real Ray of two CPUs on free ports; its workers see the same environment.

    It ends with the module: an idle Ray takes a tenth of a processor from the tests after it.
    """
    import ray  # noqa: PLC0415 - most test runs need no Ray, which is slow to import

    ray.init(
        address="local",
        num_cpus=2,
        object_store_memory=200 * 2**20,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        _temp_dir=str(RAY_FOLDER),
    )
    yield
    ray.shutdown()
