"""What ``gc`` and ``purge`` share: a dataset, opened for work that is no run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from chunking.errors import DestinationError
from jobs.adapters.stores import open_store, prove_writable
from jobs.config import Config
from jobs.ports import ObjectInfo, ObjectStore
from jobs.protocol.dataset import Dataset, read_dataset, settings_of
from jobs.protocol.lease import run_ids_since_completed
from jobs.protocol.preview import STORE_WORKERS
from jobs.protocol.upkeep import UpkeepSession

__all__ = ["AFTER_ALL_EPOCHS", "Opened", "open_dataset", "shown_size"]

AFTER_ALL_EPOCHS = 10**8
_UNITS = ("B", "KiB", "MiB", "GiB")


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A dataset that was found at DST; nothing was written yet."""

    store: ObjectStore
    dataset: Dataset
    lease_seconds: float

    def unfinished(self) -> list[str]:
        """Return the runs since the last completed one, that which may be going on included."""
        return run_ids_since_completed(self.store, before=AFTER_ALL_EPOCHS)

    def leftovers(self) -> list[ObjectInfo]:
        """Return what cut off writes have left; to be asked for before the lease is taken.

        Whatever writes later is not among it: so this never removes a file of our own.
        """
        return list(self.store.unfinished())

    def session(
        self, task: str, *, take_over: bool, on_wait: Callable[[str], None]
    ) -> UpkeepSession:
        """Take the lease and roll forward.

        Raises:
            DestinationError: DST cannot be written.
            LeaseHeldError: a run is alive.
        """
        prove_writable(self.store)
        return UpkeepSession.open(
            self.store,
            settings_of(self.dataset, lease_seconds=self.lease_seconds),
            take_over=take_over,
            on_wait=on_wait,
            workers=STORE_WORKERS,
            task=task,
        )


def open_dataset(dst: str, config: Config) -> Opened:
    """Return the dataset at DST.

    Raises:
        DestinationError: there is none, or one of a newer format.
    """
    store = open_store(dst, config.source)
    store.reach()  # a wrong endpoint is told at once, not after all patience
    dataset = read_dataset(store)
    if dataset is None:
        msg = f"{store.url} holds no dataset"
        raise DestinationError(msg)
    return Opened(store=store, dataset=dataset, lease_seconds=config.limits.lease_seconds)


def shown_size(n_bytes: float) -> str:
    """Return a number of bytes as a person reads it."""
    unit = 0
    while n_bytes >= 1024 and unit < len(_UNITS) - 1:  # noqa: PLR2004 - bytes of a KiB
        n_bytes, unit = n_bytes / 1024, unit + 1
    return f"{n_bytes:,.1f} {_UNITS[unit]}" if unit else f"{n_bytes:,.0f} B"
