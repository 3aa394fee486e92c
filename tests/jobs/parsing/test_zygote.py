"""How the zygote tells the end of a child."""

from __future__ import annotations

import signal
import subprocess

import pytest

from jobs.parsing import zygote


@pytest.mark.parametrize(("command", "status"), [("exit 3", 3), ("kill -SEGV $$", -signal.SIGSEGV)])
def test_tells_the_status(command: str, status: int) -> None:
    """As Python does: negative for a signal."""
    process = subprocess.Popen(["/bin/sh", "-c", command])
    assert zygote._status(process.pid) == status
    process.returncode = status


def test_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that the kernel cannot end yet counts as killed, and holds up nothing."""
    monkeypatch.setattr(zygote, "_END_TIMEOUT_S", 0.05)
    process = subprocess.Popen(["/bin/sleep", "60"])
    try:
        assert zygote._status(process.pid) == -signal.SIGKILL
    finally:
        process.kill()
        process.wait()
