"""``report.json``: what a run did, in counts; and the state of a dataset, for ``status``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jobs.ports import ObjectStore
from jobs.protocol.dataset import Dataset, read_dataset
from jobs.protocol.lease import LeaseState, read_lease
from jobs.protocol.plan import Plan
from jobs.protocol.roll_forward import list_data, read_versions
from jobs.protocol.run import Run
from jobs.protocol.versions import TOTAL, BucketVersion

__all__ = ["DatasetState", "make_report", "read_state"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetState:
    """A dataset as it stands: ``totals`` counts documents by status, chunks and tokens."""

    dataset: Dataset
    lease: LeaseState | None
    totals: Mapping[str, object]
    n_buckets_published: int


def read_state(store: ObjectStore, workers: int = 16) -> DatasetState | None:
    """Return the state of the dataset below the store's root, or None if there is none."""
    dataset = read_dataset(store)
    if dataset is None:
        return None
    versions = read_versions(store, list_data(store), workers)
    return DatasetState(
        dataset=dataset,
        lease=read_lease(store),
        totals=_totals(versions.values()),
        n_buckets_published=len(versions),
    )


def make_report(
    *,
    run: Run,
    plan: Plan,
    counts: Mapping[str, int],
    versions: Iterable[BucketVersion],
    started: str,
    finished: str,
    completed: bool,
    extra: Mapping[str, object],
) -> dict[str, object]:
    """Return the report: what this run did, and under ``dataset`` what there is now."""
    return {
        "run_id": run.run_id,
        "source": run.settings.source,
        "fingerprint": run.settings.fingerprint,
        "started": started,
        "finished": finished,
        "completed": completed,
        "listed": plan.n_listed,
        "unchanged": plan.n_unchanged,
        "purged": plan.n_purged,
        "planned": plan.n_documents,
        "adopted_units": len(plan.adopted),
        "members": counts.get("members", 0),
        "deleted": counts.get("deleted", 0),
        "documents": _below("status.", counts),
        "errors": _below("error.", counts),
        "changes": _below("changes.", counts),
        "chars": counts.get("chars", 0),
        "tokens": counts.get("tokens", 0),
        "bytes_written": counts.get("bytes", 0),
        "dataset": _totals(versions),
        **extra,
    }


def _totals(versions: Iterable[BucketVersion]) -> dict[str, object]:
    totals: Counter[str] = Counter()
    for version in versions:
        totals.update(_below(TOTAL, version.counts))
    names = ("chunks", "tokens", "chars", "overlap_chars", "stale")
    others = {name: totals.pop(name, 0) for name in names}
    return {"documents": dict(totals), **others}


def _below(prefix: str, counts: Mapping[str, int]) -> dict[str, int]:
    return {
        name.removeprefix(prefix): number
        for name, number in counts.items()
        if name.startswith(prefix)
    }
