"""Temporary folders that do not outlive their process: what a killed one left is swept.

A folder in use is locked (``flock`` on the folder itself), and the kernel lets go of the
lock however its holder dies. So what can be locked belongs to nobody.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["scratch_folder", "sweep"]

_PREFIX = "chunkmill-tmp-"
_YOUNG_S = 60.0
"""A folder may be made and not yet locked; none is that for so long."""


@contextlib.contextmanager
def scratch_folder(parent: str | None = None) -> Iterator[Path]:
    """Make a folder below ``parent`` (the system's place if None) and remove it in the end."""
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
    lock = _locked(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def sweep(parent: str | None = None) -> int:
    """Remove the folders that killed processes have left below ``parent``; return how many."""
    removed = 0
    place = Path(parent or tempfile.gettempdir())
    for folder in place.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            facts = folder.lstat()
            if facts.st_uid != os.getuid() or time.time() - facts.st_ctime < _YOUNG_S:
                continue
            lock = _locked(folder)
            if lock is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)
                removed += 1
    return removed


def _locked(folder: Path) -> int | None:
    """Return a descriptor that locks the folder; None where another has, or none can."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
