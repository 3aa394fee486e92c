"""The Ray of the tests is real and private."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.mark.ray
@pytest.mark.usefixtures("local_ray")
def test_workers_share_the_test_environment() -> None:
    """A task runs in another process, offline, with Ray's files in the private folder."""
    import ray  # noqa: PLC0415 - only after the fixture has set its environment

    @ray.remote
    def look() -> tuple[int, str, str]:
        return os.getpid(), os.environ["HF_HUB_OFFLINE"], os.environ["OMP_NUM_THREADS"]

    pid, offline, threads = ray.get(look.remote())
    assert (offline, threads) == ("1", "1")
    assert pid != os.getpid()
    folder = Path(os.environ["RAY_TMPDIR"])
    assert any(folder.glob("session_*"))
