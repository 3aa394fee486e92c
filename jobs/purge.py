"""``chunkmill purge``: remove documents for good, and keep them out."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chunking.errors import ConfigError, JobError
from jobs import patience
from jobs.config import Config
from jobs.drive import Interrupt
from jobs.ports import ObjectStore
from jobs.progress import teller
from jobs.protocol.preview import STORE_WORKERS
from jobs.protocol.purged import (
    UNFINISHED_PURGE,
    pending_purge,
    purged_ids,
    read_purge_lists,
    readmit,
)
from jobs.protocol.purging import Purge, Purged
from jobs.protocol.roll_forward import list_data, read_versions
from jobs.protocol.targets import Targets, find_targets
from jobs.protocol.versions import BucketVersion
from jobs.upkeep import Opened, open_dataset, shown_size

__all__ = ["PurgeRequest", "purge"]

STDIN = "-"
_SHOWN = 5
_REMAINS = (
    "what remains: ids of documents and chunks (hashes) in the change feed, the version chains and "
    "the list of purged documents; counts in reports; names of partition folders in version chains"
)
_NOT_REACHED = (
    "not reached: the source itself; vector stores, until they follow the feed; copies and "
    "backups; old versions of objects in a bucket that keeps them"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeRequest:
    """What ``chunkmill purge`` was asked; see its ``--help``."""

    dst: str
    config: Config
    names: tuple[str, ...] = ()
    file: str | None = None
    dry_run: bool = False
    readmit: bool = False
    take_over: bool = False
    as_json: bool = False
    verbosity: int = 0


def purge(request: PurgeRequest) -> int:
    """Remove the named documents and say what remains; return the exit code.

    Raises:
        UsageError: it cannot be done as asked, or a name is not known; nothing was written.
        JobError: it could not be finished; purging again goes on.
    """
    patience.listen(teller(request.verbosity))
    opened = open_dataset(request.dst, request.config)
    names = _names(request)
    if request.readmit:
        return _readmit(request, opened, names)
    targets = _targets(opened, names)
    pending = pending_purge(opened.store)
    if not (targets.documents or pending):
        msg = "name the documents to purge, by source key or document id; none is left to finish"
        raise ConfigError(msg)
    if request.dry_run:
        _print(request, _planned(opened.store, targets, pending))
        return 0
    tell = teller(request.verbosity)
    leftovers = opened.leftovers()
    with (
        Interrupt(tell),
        opened.session("chunkmill purge", take_over=request.take_over, on_wait=tell) as session,
    ):
        # A run may have ended since the names were looked up, and found more inside them.
        targets = _look_up(opened.store, names, session.versions, session.resumed)
        work = Purge(
            opened.store,
            session,
            targets,
            leftovers=leftovers,
            workers=STORE_WORKERS,
        )
        done = work()
    _print(request, _done(opened.store, done))
    return 0


def _names(request: PurgeRequest) -> list[str]:
    """Return the names of the command line and of the file, which has one on each line.

    Raises:
        ConfigError: the file cannot be read.
    """
    if request.file is None:
        return list(request.names)
    try:
        text = sys.stdin.read() if request.file == STDIN else Path(request.file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{request.file} cannot be read: {error}"
        raise ConfigError(msg) from error
    return [*request.names, *(line for line in text.splitlines() if line.strip())]


def _targets(opened: Opened, names: Sequence[str]) -> Targets:
    """Return the documents that are named.

    Raises:
        ConfigError: some are not known.
    """
    store = opened.store
    versions = read_versions(store, list_data(store), STORE_WORKERS)
    targets = _look_up(store, names, versions, opened.unfinished())
    if targets.unknown:
        shown = ", ".join(map(repr, targets.unknown[:_SHOWN]))
        more = len(targets.unknown) - _SHOWN
        msg = (
            f"{store.url} knows no document {shown}{f' and {more:,} more' if more > 0 else ''};"
            " nothing was purged. Give source keys or ids as in the table documents"
        )
        raise ConfigError(msg)
    return targets


def _look_up(
    store: ObjectStore,
    names: Sequence[str],
    versions: Mapping[int, BucketVersion],
    unfinished: Sequence[str],
) -> Targets:
    if not names:
        return Targets(documents={}, parents={}, unknown=())
    lists = read_purge_lists(store)
    return find_targets(store, names, versions, unfinished, lists, workers=STORE_WORKERS)


def _readmit(request: PurgeRequest, opened: Opened, names: Sequence[str]) -> int:
    """Take documents off the list of what stays out.

    Raises:
        JobError: the purge of one of them was not finished.
    """
    targets = _targets(opened, names)
    wanted = targets.documents.keys()
    if not pending_purge(opened.store).isdisjoint(wanted):
        raise JobError(UNFINISHED_PURGE.format(opened.store.url))
    n_listed = len(wanted & purged_ids(read_purge_lists(opened.store)))
    if n_listed and not request.dry_run:
        tell = teller(request.verbosity)
        with opened.session(
            "chunkmill purge", take_over=request.take_over, on_wait=tell
        ) as session:
            readmit(opened.store, wanted)
            session.end()
    verb = "would be" if request.dry_run else "are"
    facts = {"readmitted": n_listed, "dry_run": request.dry_run}
    _print(request, (facts, [f"{n_listed:,} documents {verb} let in again by the next run"]))
    return 0


Told = tuple[dict[str, Any], list[str]]
"""The same facts for a machine and for a person."""


def _planned(store: ObjectStore, targets: Targets, pending: frozenset[str]) -> Told:
    doc_ids = sorted({*targets.documents, *pending})
    facts = {"dataset": store.url, "dry_run": True, "documents": doc_ids}
    line = f"{store.url}: would purge {len(doc_ids):,} documents, what is inside them included"
    return facts, [line, *(f"  {doc_id}" for doc_id in doc_ids), "nothing was written"]


def _done(store: ObjectStore, done: Purged) -> Told:
    changes: Any = done.report["changes"]
    facts = {
        "dataset": store.url,
        "dry_run": False,
        "documents": sorted(done.documents),
        "run_id": done.report["run_id"],
        "unpublished": done.report["deleted"],
        "chunks": changes.get("delete", 0),
        "units": done.n_units,
        "plans": done.n_plans,
        "removed": {"objects": done.garbage.n_objects, "bytes": done.garbage.n_bytes},
        "remains": [_REMAINS, _NOT_REACHED],
    }
    size = shown_size(done.garbage.n_bytes)
    was = (
        f"{facts['unpublished']:,} were published, with {facts['chunks']:,} chunks; "
        f"{done.garbage.n_objects:,} objects were removed, {size}"
    )
    lines = [
        f"{store.url}: purged {len(done.documents):,} documents, what is inside them included",
        f"  {was}",
        f"  {_REMAINS}",
        f"  {_NOT_REACHED}",
        "  they stay out of later runs; --readmit lets them in again",
    ]
    return facts, lines


def _print(request: PurgeRequest, told: Told) -> None:
    facts, lines = told
    if request.as_json:
        sys.stdout.write(json.dumps(facts, ensure_ascii=False) + "\n")
    elif request.verbosity >= 0:
        sys.stdout.write("\n".join(lines) + "\n")
