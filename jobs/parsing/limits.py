"""Resource limits of a parsing child, and how much it uses.

``RLIMIT_DATA`` is the bound: docling's libraries map gigabytes that they never touch, so
that ``RLIMIT_AS`` is wide. What neither sees in time (shared mappings, threads, temporary
files) is watched by the parent.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import resource
import signal
import stat
from dataclasses import dataclass
from pathlib import Path

from jobs.config import LimitsConfig

__all__ = [
    "MIB",
    "Usage",
    "data_bytes",
    "die_with_parent",
    "disk_bytes",
    "limit_document",
    "limit_process",
    "rss_bytes",
    "usage",
]

MIB = 1 << 20
_CPU_PER_WALL = 2.0
"""CPU seconds allowed per second of the wall time limit: one thread, and some slack."""
_MAPPED_PER_DATA = 4
"""Address space allowed per byte of memory: what is mapped need not be touched."""
_MAX_OPEN_FILES = 1024
_OOM_SCORE = "500"
_PR_SET_PDEATHSIG = 1
_PAGE = resource.getpagesize()
_BLOCK = 512
"""Unit of ``st_blocks``, whatever the file system."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a process holds now: resident bytes and threads; both 0 when it is gone."""

    rss: int = 0
    threads: int = 0


def usage(pid: int) -> Usage:
    """Return what a process holds, from one small file of the kernel's."""
    try:
        line = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return Usage()
    # The name, in brackets, may hold anything; the fields are counted from behind it.
    fields = line[line.rindex(b")") + 2 :].split()
    return Usage(rss=int(fields[21]) * _PAGE, threads=int(fields[17]))


def rss_bytes(pid: int) -> int:
    """Return a process's resident memory in bytes; 0 when it is gone."""
    return usage(pid).rss


def disk_bytes(folder: Path, pid: int) -> int:
    """Return the bytes that a process's files take in a folder, deleted ones included.

    Links to a document count nothing: only what lies in the folder alone.
    """
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                facts = Path(place, name).lstat()
                total += facts.st_blocks * _BLOCK if facts.st_nlink == 1 else 0
    return total + _deleted_bytes(pid)


def _deleted_bytes(pid: int) -> int:
    """Return the bytes of files that a process holds open and that have no name any more."""
    total = 0
    with contextlib.suppress(OSError):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                facts = entry.stat()
                if stat.S_ISREG(facts.st_mode) and not facts.st_nlink:
                    total += facts.st_blocks * _BLOCK
    return total


def data_bytes() -> int:
    """Return this process's private writable memory in bytes, as RLIMIT_DATA counts it."""
    return _status_bytes("VmData")


def _status_bytes(field: str) -> int:
    with Path("/proc/self/status").open(encoding="ascii", errors="replace") as lines:
        for line in lines:
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024
    return 0


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when ``parent``, which forked it, ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def limit_process() -> None:
    """Set what holds for a child's whole life: no core files, few open ones, first to go."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _set_soft(resource.RLIMIT_NOFILE, _MAX_OPEN_FILES)
    # The kernel's own killer shall take the child, not the actor that watches it.
    Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE, encoding="ascii")


def limit_document(limits: LimitsConfig) -> None:
    """Set the memory, file and CPU limits of the next document, from what is used now."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = used.ru_utime + used.ru_stime + _CPU_PER_WALL * limits.document_seconds
    _set_soft(resource.RLIMIT_CPU, math.ceil(seconds) + 1)
    memory = limits.document_memory_mb * MIB
    _set_soft(resource.RLIMIT_DATA, data_bytes() + memory)
    _set_soft(resource.RLIMIT_AS, _status_bytes("VmSize") + _MAPPED_PER_DATA * memory)
    _set_soft(resource.RLIMIT_FSIZE, limits.document_disk_mb * MIB)


def _set_soft(what: int, value: int) -> None:
    hard = resource.getrlimit(what)[1]
    soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (soft, hard))
