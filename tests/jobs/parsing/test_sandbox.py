"""What the kernel and Python refuse a process, tried in one that does nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[3]
_TRY = """
import ctypes, socket, subprocess, threading
from jobs.parsing.sandbox import {call}
{call}(programs={programs})
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name):
    try:
        if name == "thread":
            thread = threading.Thread(target=int)
            thread.start()
            thread.join()
        elif name == "program":
            subprocess.run(["/bin/true"], check=True)
        elif name == "native":
            pid = libc.fork()
            if pid < 0:
                raise OSError(ctypes.get_errno(), "fork")
            if pid == 0:
                libc._exit(0)
        elif name == "unix":
            one, other = socket.socketpair()
            one.send(b"a")
        else:
            socket.socket(socket.AF_INET)
        return "may"
    except OSError as error:
        return type(error).__name__
print(*map(attempt, ("thread", "unix", "program", "native", "inet")))
"""


def _tried(call: str, *, programs: bool) -> list[str]:
    ended = subprocess.run(
        [sys.executable, "-c", _TRY.format(call=call, programs=programs)],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return ended.stdout.split()


@pytest.mark.parametrize(
    ("call", "programs", "outcomes"),
    [
        ("filter_calls", False, "may may PermissionError PermissionError PermissionError"),
        ("filter_calls", True, "may may may may PermissionError"),
        ("forbid_outside", False, "may may ForbiddenError PermissionError PermissionError"),
        ("forbid_outside", True, "may may may may PermissionError"),
    ],
)
def test_refuses_processes_and_the_network(call: str, outcomes: str, *, programs: bool) -> None:
    """Threads and local sockets remain; programs only where they are allowed."""
    assert _tried(call, programs=programs) == outcomes.split()
