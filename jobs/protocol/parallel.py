"""Many small requests at once: a store answers hundreds in the time of a few."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["map_parallel"]

T = TypeVar("T")
R = TypeVar("R")


def map_parallel(function: Callable[[T], R], items: Iterable[T], workers: int) -> list[R]:
    """Return ``function`` of each item, in order; with one worker, in this thread."""
    if workers <= 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(workers, thread_name_prefix="chunkmill-store") as pool:
        return list(pool.map(function, items))
