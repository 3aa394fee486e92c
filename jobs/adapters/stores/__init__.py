"""Object stores: the implementations of :class:`jobs.ports.ObjectStore`."""

from __future__ import annotations

from jobs.adapters.stores.memory import MemoryStore
from jobs.adapters.stores.opening import open_store
from jobs.adapters.stores.probe import prove_writable

__all__ = ["MemoryStore", "open_store", "prove_writable"]
