"""Giving freed memory back: glibc keeps what passes of many sizes leave in its heap."""

from __future__ import annotations

import ctypes
import sys

__all__ = ["release"]


def release() -> None:
    """Return the free pages of the heap to the system, where the C library can."""
    if sys.platform != "linux":
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
