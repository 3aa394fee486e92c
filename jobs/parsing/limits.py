"""Resource limits of a parsing child, and how much it uses.

``RLIMIT_DATA`` rather than ``RLIMIT_AS``: docling's libraries map gigabytes that they
never touch. Data that the limit does not see (shared mappings) is watched as resident
memory by the parent.
"""

from __future__ import annotations

import ctypes
import math
import os
import resource
import signal
from pathlib import Path

from jobs.config import LimitsConfig

__all__ = ["MIB", "data_bytes", "die_with_parent", "limit_document", "limit_process", "rss_bytes"]

MIB = 1 << 20
_CPU_PER_WALL = 2.0
"""CPU seconds allowed per second of the wall time limit: one thread, and some slack."""
_MAX_FILE_BYTES = 1 << 30
_OOM_SCORE = "500"
_PR_SET_PDEATHSIG = 1
_PAGE = resource.getpagesize()


def rss_bytes(pid: int) -> int:
    """Return a process's resident memory in bytes; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
    except OSError:
        return 0
    return int(fields[1]) * _PAGE


def data_bytes() -> int:
    """Return this process's private writable memory in bytes, as RLIMIT_DATA counts it."""
    with Path("/proc/self/status").open(encoding="ascii", errors="replace") as lines:
        for line in lines:
            if line.startswith("VmData:"):
                return int(line.split()[1]) * 1024
    return 0


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when ``parent``, which forked it, ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def limit_process() -> None:
    """Set what holds for a child's whole life: no core files, no huge files, first to go."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MAX_FILE_BYTES, _MAX_FILE_BYTES))
    # The kernel's own killer shall take the child, not the actor that watches it.
    Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE, encoding="ascii")


def limit_document(limits: LimitsConfig) -> None:
    """Set the memory and CPU limits of the next document, counted from what is used now."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = used.ru_utime + used.ru_stime + _CPU_PER_WALL * limits.document_seconds
    _set_soft(resource.RLIMIT_CPU, math.ceil(seconds) + 1)
    _set_soft(resource.RLIMIT_DATA, data_bytes() + limits.document_memory_mb * MIB)


def _set_soft(what: int, value: int) -> None:
    hard = resource.getrlimit(what)[1]
    soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (soft, hard))
