"""Processes that a parsing child has left behind: adopted by the zygote, and ended."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["adopt_orphans", "descendants", "end_orphans"]

_PR_SET_CHILD_SUBREAPER = 36
_PATIENCE_S = 5.0
_PAUSE_S = 0.01


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_orphans() -> None:
    """Kill and reap all children of this process and what they leave, until there is none.

    Gives up after some seconds on what the kernel cannot end.
    """
    end = time.monotonic() + _PATIENCE_S
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < end:
            reaped, _ = os.waitpid(-1, os.WNOHANG)
            if not reaped:
                for pid in descendants(os.getpid()):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                time.sleep(_PAUSE_S)


def descendants(pid: int) -> Iterator[int]:
    """Yield the process ids of all that descend from a process, parents first."""
    below: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                line = (entry / "stat").read_bytes()
                parent = int(line[line.rindex(b")") + 2 :].split()[1])
                below.setdefault(parent, []).append(int(entry.name))
    waiting = list(below.get(pid, ()))
    while waiting:
        current = waiting.pop(0)
        yield current
        waiting += below.get(current, ())
