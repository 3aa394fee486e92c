"""``chunkmill status``: what a dataset holds and what its last run did."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

from chunking.errors import DestinationError, ObjectNotFoundError
from jobs import layout
from jobs.adapters.stores import open_store
from jobs.config import Config
from jobs.ports import ObjectStore
from jobs.protocol.purged import UNFINISHED_PURGE, pending_purge
from jobs.protocol.report import DatasetState, read_state

__all__ = ["show_status"]


def show_status(dst: str, config: Config, *, as_json: bool) -> None:
    """Print the state of the dataset at ``dst``.

    Raises:
        DestinationError: there is no dataset.
    """
    store = open_store(dst, config.source)
    store.reach()
    state = read_state(store)
    if state is None:
        msg = f"{store.url} holds no dataset"
        raise DestinationError(msg)
    report = _last_report(store)
    if as_json:
        sys.stdout.write(json.dumps(_facts(store, state, report), ensure_ascii=False) + "\n")
    else:
        sys.stdout.write("\n".join(_lines(store, state, report)) + "\n")


def _last_report(store: ObjectStore) -> dict[str, Any] | None:
    """Return the report of the newest run that wrote one."""
    keys = [
        info.key for info in store.list(layout.RUNS_PREFIX) if info.key.endswith("/report.json")
    ]
    if not keys:
        return None
    try:
        report: dict[str, Any] = json.loads(store.get(max(keys)))
    except ObjectNotFoundError:
        return None
    return report


def _activity(state: DatasetState) -> str:
    lease = state.lease
    if lease is None:
        return "no run yet"
    if not lease.released:
        return f"run {lease.run_id} by {lease.holder} holds it since {lease.since}"
    how = "completed" if lease.completed else "did not complete; run again to go on"
    return f"no run is going on; the last one, {lease.run_id}, {how}"


def _facts(
    store: ObjectStore, state: DatasetState, report: dict[str, Any] | None
) -> dict[str, Any]:
    lease = asdict(state.lease) if state.lease else None
    if lease:
        lease.pop("heartbeat")
    return {
        "dataset": store.url,
        "source": state.dataset.source,
        "lease": lease,
        "buckets": state.dataset.n_buckets,
        "buckets_published": state.n_buckets_published,
        "totals": state.totals,
        "purge_unfinished": bool(pending_purge(store)),
        "last_report": report,
    }


def _lines(store: ObjectStore, state: DatasetState, report: dict[str, Any] | None) -> list[str]:
    documents: dict[str, int] = dict(state.totals["documents"])  # type: ignore[call-overload]
    counts = ", ".join(f"{n:,} {status}" for status, n in sorted(documents.items()))
    lines = [
        store.url,
        f"  source     {state.dataset.source}",
        f"  documents  {counts or 'none'}; {state.totals['stale']:,} stale",
        f"  chunks     {state.totals['chunks']:,} ({state.totals['tokens']:,} tokens)",
        f"  buckets    {state.n_buckets_published} of {state.dataset.n_buckets} published",
        f"  model      {state.dataset.model['name']}",
        f"  activity   {_activity(state)}",
    ]
    if pending_purge(store):
        lines.append(f"  purge      {UNFINISHED_PURGE.format(store.url)}")
    if report is not None:
        kinds = ", ".join(f"{kind} {n:,}" for kind, n in sorted(report["errors"].items()))
        lines.append(
            f"  last run   {report['run_id']}: {report['planned']:,} processed,"
            f" {report['unchanged']:,} unchanged" + (f"; {kinds}" if kinds else "")
        )
    return lines
