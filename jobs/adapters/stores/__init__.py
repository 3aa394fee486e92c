"""Object stores: the implementations of :class:`jobs.ports.ObjectStore`."""

from __future__ import annotations

from jobs.adapters.stores.memory import MemoryStore

__all__ = ["MemoryStore"]
