"""Removing garbage: withdraw, make sure that the lease is held, delete, a thousand at a time.

A crash anywhere in between leaves garbage for the next time, and nothing else.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

from jobs.ports import ObjectInfo, ObjectStore
from jobs.protocol import fail_points
from jobs.protocol.garbage import Garbage, find_garbage
from jobs.protocol.parallel import map_parallel
from jobs.protocol.units import read_marker, withdraw_unit
from jobs.protocol.upkeep import UpkeepSession

__all__ = ["clean", "collect"]

_BATCH = 1000


def clean(
    store: ObjectStore,
    session: UpkeepSession,
    *,
    leftovers: Sequence[ObjectInfo] = (),
    workers: int,
) -> Garbage:
    """Remove what no committed state needs, under a lease that is held; return what that was.

    ``leftovers``: temporary files that were there before the lease was taken.

    Raises:
        LeaseLostError: another run has taken the dataset over; what is left is garbage still.
    """
    garbage = find_garbage(
        store, session.versions, session.resumed, before=session.epoch, workers=workers
    )
    garbage.objects["temporary"] += leftovers
    collect(store, garbage, session.check, workers=workers)
    return garbage


def collect(
    store: ObjectStore,
    garbage: Garbage,
    check: Callable[[], None],
    *,
    workers: int,
) -> None:
    """Remove garbage; ``check`` raises unless the lease is held."""
    check()
    committed = _withdraw(store, garbage, workers)
    for phase in _phases(garbage):
        keys = (key for key in phase if key not in committed)
        while batch := list(itertools.islice(keys, _BATCH)):
            check()
            store.delete_many(batch)
            fail_points.hit("gc.delete")


def _withdraw(store: ObjectStore, garbage: Garbage, workers: int) -> set[str]:
    """Withdraw the open units; return the keys of what was committed in the meantime."""
    units = sorted(garbage.open_units)
    withdrawn = map_parallel(lambda unit: withdraw_unit(store, *unit), units, workers)
    return {
        file.key
        for unit, gone in zip(units, withdrawn, strict=True)
        if not gone
        for file in read_marker(store, *unit).files
    }


def _phases(garbage: Garbage) -> Iterator[Iterator[str]]:
    """Yield the keys in groups, of which each is gone before the next begins.

    Change rows go first, as what is left of an attempt tells what it was; plans go last, as
    they tell which documents the rest may be of.
    """
    keys = {kind: [info.key for info in infos] for kind, infos in garbage.objects.items()}
    changes = {key for key in keys["versions"] if key.endswith("/changes.parquet")}
    yield iter(sorted(changes))
    yield (
        key
        for kind, found in keys.items()
        if kind != "plans"
        for key in found
        if key not in changes
    )
    yield iter(keys["plans"])
