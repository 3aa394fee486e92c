"""``chunkmill gc``: remove what aborted and superseded work has left in a dataset."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

from jobs import patience
from jobs.config import Config
from jobs.drive import Interrupt
from jobs.ports import ObjectStore
from jobs.progress import teller
from jobs.protocol.collect import clean
from jobs.protocol.garbage import KINDS, Garbage, find_garbage
from jobs.protocol.lease import read_lease
from jobs.protocol.preview import STORE_WORKERS
from jobs.protocol.purged import UNFINISHED_PURGE, pending_purge
from jobs.protocol.roll_forward import list_data, read_versions
from jobs.upkeep import AFTER_ALL_EPOCHS, Opened, open_dataset, shown_size

__all__ = ["CleaningRequest", "clean_dataset"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningRequest:
    """What ``chunkmill gc`` was asked; see its ``--help``."""

    dst: str
    config: Config
    delete: bool = False
    take_over: bool = False
    as_json: bool = False
    verbosity: int = 0


def clean_dataset(request: CleaningRequest) -> int:
    """Say what would be removed, or remove it; return the exit code.

    Raises:
        UsageError: it cannot be done as asked; nothing was written.
        JobError: it could not be finished; running it again goes on.
    """
    tell = teller(request.verbosity)
    patience.listen(tell)
    opened = open_dataset(request.dst, request.config)
    if not request.delete:
        garbage = _preview(opened)
    else:
        leftovers = opened.leftovers()
        with (
            Interrupt(tell),
            opened.session("chunkmill gc", take_over=request.take_over, on_wait=tell) as session,
        ):
            garbage = clean(opened.store, session, leftovers=leftovers, workers=STORE_WORKERS)
            session.end()
    if request.as_json:
        sys.stdout.write(json.dumps(_facts(request, opened.store, garbage)) + "\n")
    elif request.verbosity >= 0:
        sys.stdout.write("\n".join(_lines(request, opened.store, garbage)) + "\n")
    return 0


def _preview(opened: Opened) -> Garbage:
    """Return what would be removed now; nothing is written and no lease taken."""
    store = opened.store
    garbage = find_garbage(
        store,
        read_versions(store, list_data(store), STORE_WORKERS),
        opened.unfinished(),
        before=AFTER_ALL_EPOCHS,
        workers=STORE_WORKERS,
    )
    garbage.objects["temporary"] += opened.leftovers()
    return garbage


def _facts(request: CleaningRequest, store: ObjectStore, garbage: Garbage) -> dict[str, Any]:
    kinds = {
        kind: {"objects": len(infos), "bytes": sum(info.size for info in infos)}
        for kind, infos in garbage.objects.items()
    }
    return {
        "dataset": store.url,
        "deleted": request.delete,
        "objects": garbage.n_objects,
        "bytes": garbage.n_bytes,
        "kinds": kinds,
        "kept": {"objects": garbage.n_kept, "bytes": garbage.kept_bytes},
        "foreign": garbage.foreign,
    }


def _lines(request: CleaningRequest, store: ObjectStore, garbage: Garbage) -> list[str]:
    done, size = request.delete, shown_size(garbage.n_bytes)
    if not garbage.n_objects:
        lines = [f"{store.url}: nothing to remove"]
    else:
        verb = "removed" if done else "would remove"
        lines = [f"{store.url}: {verb} {garbage.n_objects:,} objects, {size}"]
        lines += [
            f"  {len(infos):>9,}  {shown_size(sum(info.size for info in infos)):>11}  {KINDS[kind]}"
            for kind, infos in garbage.objects.items()
            if infos
        ]
    lines.append(f"  {garbage.n_kept:>9,}  {shown_size(garbage.kept_bytes):>11}  stay")
    if garbage.foreign:
        lines.append(f"  {garbage.foreign:>9,}  objects that chunkmill did not name are left alone")
    return [*lines, *_notes(store, garbage, done=done)]


def _notes(store: ObjectStore, garbage: Garbage, *, done: bool) -> list[str]:
    notes = []
    if pending_purge(store):
        notes.append(UNFINISHED_PURGE.format(store.url))
    if done:
        return notes
    lease = read_lease(store)
    if lease is not None and not lease.released:
        notes.append(f"run {lease.run_id} ({lease.holder}) may be going on: the numbers change")
    if garbage.n_objects:
        notes.append("nothing was removed; do it with --delete")
    return notes
