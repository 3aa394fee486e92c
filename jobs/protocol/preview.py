"""What a run would do: the checks and the plan, without a lease and without a write."""

from __future__ import annotations

from collections.abc import Iterable

from jobs.ports import ObjectStore
from jobs.protocol.dataset import Dataset, check_settings, read_dataset
from jobs.protocol.lease import run_ids_since_completed
from jobs.protocol.partitions import partition_column
from jobs.protocol.plan import Plan
from jobs.protocol.planning import estimate_buckets, plan_run
from jobs.protocol.purged import purged_ids, read_purge_lists
from jobs.protocol.roll_forward import list_data, read_leftovers, read_versions
from jobs.protocol.run import RunSettings
from jobs.protocol.state import read_harvest, read_known
from jobs.records import SourceItem

__all__ = ["checked_dataset", "choose_n_buckets", "preview_plan"]

STORE_WORKERS = 16
_AFTER_ALL_EPOCHS = 10**8


def preview_plan(
    store: ObjectStore,
    settings: RunSettings,
    items: Iterable[SourceItem],
    *,
    limit: int | None = None,
    delete_missing: bool = True,
    retry_failed: bool = False,
    workers: int = STORE_WORKERS,
) -> Plan:
    """Return the plan that a run would make now; nothing is written and no lease taken.

    Raises what :meth:`RunSession.open` and :meth:`RunSession.make_plan` raise.
    """
    partition_column(settings.partition_by)
    dataset = checked_dataset(store, settings)
    items = list(items)
    versions = read_versions(store, list_data(store), workers)
    leftovers = read_leftovers(store, run_ids_since_completed(store, before=_AFTER_ALL_EPOCHS))
    purged = purged_ids(read_purge_lists(store))
    harvest = read_harvest(store, leftovers, workers, purged=purged)
    return plan_run(
        items,
        read_known(store, versions.values(), workers),
        settings,
        n_buckets=choose_n_buckets(dataset, settings, items),
        harvest=harvest.documents,
        limit=limit,
        delete_missing=delete_missing,
        retry_failed=retry_failed,
        purged=purged,
    )


def checked_dataset(store: ObjectStore, settings: RunSettings) -> Dataset | None:
    """Return the dataset that is there, or None; refuse what does not fit ``settings``."""
    dataset = read_dataset(store)
    if dataset is not None:
        check_settings(store.url, dataset, settings)
    return dataset


def choose_n_buckets(
    dataset: Dataset | None, settings: RunSettings, items: Iterable[SourceItem]
) -> int:
    """Return the number of buckets: the dataset's, the one asked for, or an estimate."""
    if dataset is not None:
        return dataset.n_buckets
    return settings.n_buckets or estimate_buckets((item.size for item in items), settings)
