"""Making the plan: unchanged, processed, adopted or deleted, and in which units."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import islice
from math import ceil
from urllib.parse import quote

import pyarrow as pa

from chunking import ids
from chunking.errors import DestinationError, SourceError
from jobs.protocol.plan import KnownDocument, Plan, ancestry
from jobs.protocol.plan_rows import PlanEntry, deletion_rows, planned_rows
from jobs.protocol.run import RunSettings
from jobs.records import SourceItem

__all__ = ["estimate_buckets", "plan_run"]

_MARK = re.compile(re.escape(ids.MEMBER_MARK))
MAX_UNITS = 20_000
MAX_BUCKETS = 10_000
BUCKET_BYTES = 64 * 2**20
MAX_BUCKET_BYTES = 2 * 2**30
_ALWAYS_DELETABLE = 10
_PUBLISHED_BYTES_PER_DOCUMENT = 2_000
_MAX_CHARS_PER_DOCUMENT = 50_000_000
_CHARS_PER_BYTE = 0.5
_CHARS_PER_CHUNK = 450
_TEXT_BYTES_PER_CHAR = 0.8
_FINAL = frozenset({"ok", "partial", "skipped"})


def plan_run(  # noqa: PLR0913 - all that a plan depends on
    items: Iterable[SourceItem],
    known: Mapping[str, KnownDocument],
    settings: RunSettings,
    *,
    n_buckets: int,
    harvest: Mapping[str, KnownDocument] | None = None,
    limit: int | None = None,
    delete_missing: bool = True,
    retry_failed: bool = False,
    shuffle_seed: int | None = None,
    purged: AbstractSet[str] = frozenset(),
) -> Plan:
    """Return the plan for a listing.

    ``known``: the published documents; ``harvest``: those that dead predecessors had
    committed in units, by document id. ``limit``: look at the first documents of the
    listing only; nothing is deleted then. ``shuffle_seed``: another order of the same
    work, for tests. ``purged``: ids of documents that stay out, and go if they are there.

    Raises:
        SourceError: two documents have one key, or suspiciously much would be deleted.
        DestinationError: a bucket would grow above 2 GB.
    """
    listing = _unique(_apart(items))
    n_purged = sum(listing.pop(doc_id, None) is not None for doc_id in purged)
    _check_bucket_sizes(listing, settings, n_buckets)
    banned = [row for doc_id in sorted(purged) if (row := known.get(doc_id))]
    others = {id_: row for id_, row in known.items() if id_ not in purged} if banned else known
    missing = [] if limit is not None or not delete_missing else _missing(listing, others, settings)
    n_considered = len(listing) if limit is None else min(limit, len(listing))
    considered = islice(listing.items(), n_considered)
    choose = _Chooser(known, harvest or {}, listing, settings, retry_failed=retry_failed)
    entries = [entry for doc_id, item in considered if (entry := choose(doc_id, item))]
    # What is listed by itself is where the listing says, whatever it came in before.
    before = {id_: up for id_, up in _parents(known.values()).items() if id_ not in listing}
    places = _Places({**before, **_listed_parents(listing)}, n_buckets)
    units = _units(entries, settings, places, shuffle_seed)
    n_unchanged = n_considered - len(entries)
    plan = _assemble(units, [*missing, *banned], places, len(listing), n_unchanged)
    return replace(plan, n_purged=n_purged)


def _parents(rows: Iterable[KnownDocument]) -> dict[str, str]:
    """Return the ids of parents by id, of documents that have one: few, as a rule."""
    return {row.doc_id: row.parent_doc_id for row in rows if row.parent_doc_id is not None}


def _listed_parents(listing: Mapping[str, SourceItem]) -> dict[str, str]:
    return {
        doc_id: item.parent_doc_id
        for doc_id, item in listing.items()
        if item.parent_doc_id is not None
    }


@dataclass(frozen=True, slots=True)
class _Places:
    """Which bucket a document lies in: that of the outermost document it came in."""

    parents: Mapping[str, str]
    n_buckets: int

    def bucket(self, doc_id: str) -> int:
        outermost = ancestry(doc_id, self.parents)[-1] if doc_id in self.parents else doc_id
        return ids.bucket_of(outermost, self.n_buckets)


def estimate_buckets(sizes: Iterable[int], settings: RunSettings) -> int:
    """Return how many buckets make one publish to about 64 MB.

    From sizes only: what a name says of the format must not decide where a document goes.
    """
    total = sum(_published_bytes(size, settings) for size in sizes)
    return min(max(ceil(total / BUCKET_BYTES), 1), MAX_BUCKETS)


def _published_bytes(size: int, settings: RunSettings) -> float:
    chars = min(size * _CHARS_PER_BYTE, _MAX_CHARS_PER_DOCUMENT)
    width = 2 if settings.vector_dtype == "float16" else 4
    vector = settings.dimension * width / _CHARS_PER_CHUNK
    return _PUBLISHED_BYTES_PER_DOCUMENT + chars * (_TEXT_BYTES_PER_CHAR + vector)


def _apart(items: Iterable[SourceItem]) -> Iterator[SourceItem]:
    """Yield the items, none with a key that something inside another one could have.

    Where both ``a.zip`` and a folder ``a.zip!`` are listed, the ``!`` of the latter is
    percent-encoded.
    """
    listed = list(items)
    keys = {item.source_key for item in listed}
    for item in listed:
        key = item.source_key
        starts = (match.start() for match in _MARK.finditer(key))
        if item.parent_doc_id is None and any(key[:start] in keys for start in starts):
            yield replace(item, source_key=_MARK.sub(quote(ids.MEMBER_MARK), key))
        else:
            yield item


def _unique(items: Iterable[SourceItem]) -> dict[str, SourceItem]:
    listing: dict[str, SourceItem] = {}
    for item in items:
        doc_id = ids.doc_id(item.source_key)
        twin = listing.setdefault(doc_id, item)
        if twin is not item and twin != item:
            msg = (
                f"two documents have the key {item.source_key!r}: {twin.location} and "
                f"{item.location}; keys must be unique"
            )
            raise SourceError(msg)
    return listing


def _check_bucket_sizes(
    listing: Mapping[str, SourceItem], settings: RunSettings, n_buckets: int
) -> None:
    sizes = [0.0] * n_buckets
    places = _Places(_listed_parents(listing), n_buckets)
    for doc_id, item in listing.items():
        sizes[places.bucket(doc_id)] += _published_bytes(item.size, settings)
    if max(sizes) > MAX_BUCKET_BYTES:
        msg = (
            f"{n_buckets} buckets are too few: one would hold about {max(sizes) / 2**30:.1f} GB "
            "and 2 GB is the limit; make a larger dataset with 'chunkmill rebucket DST NEW_DST'"
        )
        raise DestinationError(msg)


def _missing(
    listing: Mapping[str, SourceItem],
    known: Mapping[str, KnownDocument],
    settings: RunSettings,
) -> list[KnownDocument]:
    """Return this source's documents that are listed no more (an attachment goes with its mail)."""
    parents = _parents(known.values())
    found = [row for row in known.values() if row.source_name == settings.source_name]
    lost = [
        row
        for row in found
        if row.doc_id not in listing and listing.keys().isdisjoint(ancestry(row.doc_id, parents))
    ]
    # What is inside a document is not listed, so it says nothing of the listing.
    n_ours = sum(row.parent_doc_id is None or row.doc_id in listing for row in found)
    gone = [row for row in lost if row.parent_doc_id is None]
    allowed = max(_budget(settings.max_deleted, n_ours), _ALWAYS_DELETABLE)
    if gone and (not listing or len(gone) > allowed):
        msg = (
            f"{len(gone)} of {n_ours} documents are no longer listed in {settings.source}, "
            "which looks like a broken listing; keep them with --delete keep, or allow it with "
            "--set limits.max_deleted=100%"
        )
        raise SourceError(msg)
    return sorted(lost, key=lambda row: row.doc_id)


def _budget(text: str, total: int) -> float:
    share = text.strip()
    return total * float(share[:-1]) / 100 if share.endswith("%") else float(share)


class _Chooser:
    """Decides for one listed document: nothing to do, adopt, or process.

    With it goes all that is inside it: where anything there is to be tried again, so is it.
    """

    def __init__(
        self,
        known: Mapping[str, KnownDocument],
        harvest: Mapping[str, KnownDocument],
        listing: Mapping[str, SourceItem],
        settings: RunSettings,
        *,
        retry_failed: bool,
    ) -> None:
        self._known = known
        self._harvest = harvest
        self._members = _members(known, listing)
        self._members_of_harvest = _members(harvest, listing)
        self._settings = settings
        self._retry_failed = retry_failed

    def __call__(self, doc_id: str, item: SourceItem) -> PlanEntry | None:
        before = self._known.get(doc_id)
        published = self._same(before, item)
        if published is not None and self._all_final(published, self._members.get(doc_id, ())):
            return None
        committed = self._same(self._harvest.get(doc_id), item)
        attempts = max((row.attempts for row in (published, committed) if row), default=0)
        adopt = committed is not None and self._all_final(
            committed, self._members_of_harvest.get(doc_id, ())
        )
        return PlanEntry(
            item=item,
            doc_id=doc_id,
            attempts=attempts,
            adoptable=committed.adoptable if committed and adopt else None,
            source_name=item.source_name or self._settings.source_name,
            structure_ref=item.structure_ref or self._structure(before),
        )

    def _same(self, row: KnownDocument | None, item: SourceItem) -> KnownDocument | None:
        """Return the row if it speaks of this version of the document and this pipeline."""
        if row is None or row.etag != item.etag or row.fingerprint != self._settings.fingerprint:
            return None
        return row

    def _structure(self, before: KnownDocument | None) -> str | None:
        """Return where the structure of an earlier version lies, and of what was inside it."""
        if before is None:
            return None
        family = (before, *self._members.get(before.doc_id, ()))
        return next((row.structure_ref for row in family if row.structure_ref), None)

    def _all_final(self, row: KnownDocument, members: Iterable[KnownDocument]) -> bool:
        """Tell whether nothing is to be tried again, of members those of the same attempt."""
        facts = (row.etag, row.fingerprint, row.adoptable)
        same = [m for m in members if (m.etag, m.fingerprint, m.adoptable) == facts]
        return all(map(self._is_final, (row, *same)))

    def _is_final(self, row: KnownDocument) -> bool:
        if row.status in _FINAL:
            return True
        if self._retry_failed:
            return False
        return not row.retryable or row.attempts >= self._settings.attempts


def _members(
    rows: Mapping[str, KnownDocument], listing: Mapping[str, SourceItem]
) -> dict[str, list[KnownDocument]]:
    """Return, by the id of the outermost, the documents inside that are not listed themselves."""
    parents = _parents(rows.values())
    found: dict[str, list[KnownDocument]] = {}
    for row in rows.values():
        if row.parent_doc_id is not None and row.doc_id not in listing:
            found.setdefault(ancestry(row.doc_id, parents)[-1], []).append(row)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unit:
    bucket: int
    entries: Sequence[PlanEntry]
    adopted: tuple[str, int] | None = None


def _units(
    entries: Iterable[PlanEntry], settings: RunSettings, places: _Places, shuffle_seed: int | None
) -> list[_Unit]:
    """Return units, bucket by bucket, so that buckets are complete one after the other."""
    buckets: dict[int, list[PlanEntry]] = {}
    for entry in sorted(entries, key=lambda entry: entry.doc_id):
        buckets.setdefault(places.bucket(entry.doc_id), []).append(entry)
    order = sorted(buckets)
    if shuffle_seed is not None:
        shuffler = random.Random(shuffle_seed)  # noqa: S311 - an order, not a secret
        shuffler.shuffle(order)
        for bucket in order:
            shuffler.shuffle(buckets[bucket])
    n_fresh = sum(entry.adoptable is None for rows in buckets.values() for entry in rows)
    per_unit = max(settings.unit_documents, ceil(n_fresh / MAX_UNITS))
    return [
        unit
        for bucket in order
        for unit in _bucket_units(bucket, buckets[bucket], per_unit, settings.unit_bytes)
    ]


def _bucket_units(
    bucket: int, entries: Sequence[PlanEntry], per_unit: int, unit_bytes: int
) -> Iterator[_Unit]:
    adopted: dict[tuple[str, int], list[PlanEntry]] = {}
    batch: list[PlanEntry] = []
    size = 0
    for entry in entries:
        if entry.adoptable is not None:
            adopted.setdefault(entry.adoptable, []).append(entry)
            continue
        if batch and (len(batch) == per_unit or size + entry.item.size > unit_bytes):
            yield _Unit(bucket=bucket, entries=batch)
            batch, size = [], 0
        batch.append(entry)
        size += entry.item.size
    if batch:
        yield _Unit(bucket=bucket, entries=batch)
    for origin in sorted(adopted):
        yield _Unit(bucket=bucket, entries=adopted[origin], adopted=origin)


def _assemble(
    units: Sequence[_Unit],
    missing: Sequence[KnownDocument],
    places: _Places,
    n_listed: int,
    n_unchanged: int,
) -> Plan:
    starts = [0]
    for unit in units:
        starts.append(starts[-1] + len(unit.entries))
    planned = planned_rows([(unit.bucket, unit.entries) for unit in units])
    deletions: dict[int, list[KnownDocument]] = {}
    for gone in missing:
        deletions.setdefault(places.bucket(gone.doc_id), []).append(gone)
    return Plan(
        table=pa.concat_tables([planned, deletion_rows(missing, places.bucket)]),
        buckets=tuple(unit.bucket for unit in units),
        starts=tuple(starts),
        deletions={b: tuple(gone.doc_id for gone in rows) for b, rows in deletions.items()},
        adopted={n: unit.adopted for n, unit in enumerate(units) if unit.adopted is not None},
        n_listed=n_listed,
        n_unchanged=n_unchanged,
    )
