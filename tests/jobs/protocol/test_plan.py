"""The plan: what is processed, adopted, deleted, left alone, or refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chunking import ids
from chunking.errors import DestinationError, SourceError
from jobs.protocol.plan import DELETED, KnownDocument, Plan
from jobs.protocol.planning import MAX_UNITS, estimate_buckets, plan_run
from jobs.records import SourceItem
from tests.jobs.protocol.simulation import settings


def item(key: str, etag: str = "1", size: int = 10, **changes: Any) -> SourceItem:
    """Return a listed document."""
    return SourceItem(
        source_key=key, source_uri=f"s:{key}", size=size, etag=etag, location=key, **changes
    )


def known(key: str, **changes: Any) -> KnownDocument:
    """Return a published document of etag 1 and fingerprint A."""
    values: dict[str, Any] = {
        "doc_id": ids.doc_id(key),
        "source_key": key,
        "etag": "1",
        "fingerprint": "A",
        "status": "ok",
        "retryable": False,
        "attempts": 1,
        **changes,
    }
    return KnownDocument(**values)


def table(*rows: KnownDocument) -> dict[str, KnownDocument]:
    """Return rows by id."""
    return {row.doc_id: row for row in rows}


def plan(
    items: list[SourceItem],
    rows: dict[str, KnownDocument] | None = None,
    *,
    fingerprint: str = "A",
    changes: dict[str, Any] | None = None,
    **options: Any,
) -> Plan:
    """Plan a run over three buckets."""
    config = settings(fingerprint, **(changes or {}))
    return plan_run(items, rows or {}, config, n_buckets=options.pop("n_buckets", 3), **options)


def keys(planned: Plan) -> set[str]:
    """Return the keys of the planned documents."""
    units = (planned.unit(number) for number in range(planned.n_units))
    return {document.source_key for unit in units for document in unit.documents}


@pytest.mark.parametrize(
    ("changes", "is_planned"),
    [
        ({}, False),
        ({"status": "partial"}, False),
        ({"status": "skipped"}, False),
        ({"etag": "2"}, True),
        ({"fingerprint": "B"}, True),
        ({"status": "failed"}, False),
        ({"status": "failed", "retryable": True}, True),
        ({"status": "failed", "retryable": True, "attempts": 3}, False),
        ({"status": "failed", "retryable": True, "attempts": 3, "etag": "2"}, True),
    ],
)
def test_what_is_planned_again(changes: dict[str, Any], *, is_planned: bool) -> None:
    """A final outcome of the same version and pipeline needs no work; a retry is bounded."""
    planned = plan([item("a")], table(known("a", **changes)))
    assert (keys(planned) == {"a"}) == is_planned
    assert planned.n_unchanged == (not is_planned)


def test_retry_failed_plans_every_failure() -> None:
    """``--retry-failed`` plans what is final otherwise, but never a success."""
    rows = table(known("a", status="failed", attempts=3), known("b"))
    assert keys(plan([item("a"), item("b")], rows, retry_failed=True)) == {"a"}


def test_attempts_are_counted_per_version() -> None:
    """Attempts go on for the same version and pipeline and start again for another."""
    rows = table(*(known(key, status="failed", retryable=True, attempts=2) for key in "ab"))
    planned = plan([item("a"), item("b", etag="2")], rows)
    units = [planned.unit(number) for number in range(planned.n_units)]
    attempts = {document.source_key: document.attempts for u in units for document in u.documents}
    assert attempts == {"a": 2, "b": 0}


def test_units_hold_documents_of_one_bucket_within_their_bounds() -> None:
    """No unit mixes buckets or exceeds its documents or bytes, but for one large document."""
    items = [item(f"k{i}", size=400 if i == 3 else 40) for i in range(50)]
    planned = plan(items, changes={"unit_documents": 4, "unit_bytes": 100})
    assert len(keys(planned)) == planned.n_documents == 50
    for number in range(planned.n_units):
        unit = planned.unit(number)
        assert {ids.bucket_of(d.doc_id, 3) for d in unit.documents} == {unit.bucket}
        assert len(unit.documents) <= 4
        size = sum(document.size_bytes for document in unit.documents)
        assert size <= 100 or len(unit.documents) == 1
    assert list(planned.buckets) == sorted(planned.buckets), "buckets come one after the other"


def test_plan_does_not_depend_on_the_order_of_the_listing() -> None:
    """The same documents in another order give the same units; a shuffled plan the same work."""
    items = [item(f"k{i}") for i in range(30)]
    planned = plan(items)
    assert plan(items[::-1]).table.equals(planned.table)
    shuffled = plan(items, shuffle_seed=1)
    assert keys(shuffled) == keys(planned)
    assert not shuffled.table.equals(planned.table)


def test_units_grow_with_very_large_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run never has many more units than the limit."""
    assert MAX_UNITS == 20_000
    monkeypatch.setattr("jobs.protocol.planning.MAX_UNITS", 10)
    planned = plan([item(f"k{i}") for i in range(300)], changes={"unit_documents": 2})
    assert planned.n_units <= 10 + 3


def test_missing_documents_are_deleted() -> None:
    """What is no longer listed goes, in its own bucket, and is a row of the plan."""
    planned = plan([item("a")], table(known("a"), known("b")))
    bucket = ids.bucket_of(ids.doc_id("b"), 3)
    assert planned.deletions == {bucket: (ids.doc_id("b"),)}
    rows = planned.table.select(["unit", "source_key"]).to_pylist()
    assert rows == [{"unit": DELETED, "source_key": "b"}]


@pytest.mark.parametrize("options", [{"limit": 5}, {"delete_missing": False}])
def test_when_nothing_is_deleted(options: dict[str, Any]) -> None:
    """A limited run and ``--delete keep`` delete nothing."""
    assert plan([item("a")], table(known("a"), known("b")), **options).n_deletions == 0


def test_other_sources_and_attachments_are_not_missing() -> None:
    """Documents of another source stay; an attachment goes when its mail goes."""
    child = {"parent_doc_id": ids.doc_id("mail")}
    rows = table(
        known("mail"), known("mail!/a.pdf", **child), known("other:x", source_name="other")
    )
    assert plan([item("mail")], rows).n_deletions == 0
    assert plan([item("new")], rows).n_deletions == 2


def test_suspicious_deletions_are_refused() -> None:
    """An empty or half-listed source does not empty a dataset, unless that is allowed."""
    rows = table(*(known(f"k{i}") for i in range(30)))
    few = [item(f"k{i}") for i in range(10)]
    with pytest.raises(SourceError, match=r"20 of 30 .*max_deleted"):
        plan(few, rows)
    with pytest.raises(SourceError, match="no longer listed"):
        plan([], table(known("a")), changes={"max_deleted": "100%"})
    assert plan(few, rows, changes={"max_deleted": "100%"}).n_deletions == 20
    assert plan(few, rows, changes={"max_deleted": "25"}).n_deletions == 20


def test_limit_takes_the_first_of_the_listing() -> None:
    """A limited run that is run again has nothing to do."""
    items = [item(f"k{i}") for i in range(9)]
    assert keys(plan(items, limit=2)) == {"k0", "k1"}
    assert plan(items, table(known("k0"), known("k1")), limit=2).n_units == 0


def test_keys_must_be_unique() -> None:
    """The same document twice is one; two documents with one key are an error."""
    assert plan([item("a"), item("a")]).n_documents == 1
    with pytest.raises(SourceError, match="two documents have the key 'a'"):
        plan([item("a"), item("a", etag="2")])


def test_finished_work_is_adopted() -> None:
    """Committed documents of the same version and pipeline are grouped by their old unit."""
    harvest = table(
        known("a", adoptable=("r1", 7)),
        known("b", adoptable=("r1", 7), etag="0"),
        known("c", adoptable=("r1", 8), fingerprint="B"),
        known("d", adoptable=("r1", 9), status="failed", retryable=True, attempts=1),
        known("e", adoptable=("r1", 9), status="failed", retryable=True, attempts=3),
    )
    planned = plan([item(key) for key in "abcde"], harvest=harvest, n_buckets=1)
    adopted = {origin: keys_of(planned, number) for number, origin in planned.adopted.items()}
    assert adopted == {("r1", 7): {"a"}, ("r1", 9): {"e"}}
    fresh = [number for number in range(planned.n_units) if number not in planned.adopted]
    documents = [document for number in fresh for document in planned.unit(number).documents]
    assert {d.source_key: d.attempts for d in documents} == {"b": 0, "c": 0, "d": 1}


def keys_of(planned: Plan, number: int) -> set[str]:
    """Return the keys of one unit."""
    return {document.source_key for document in planned.unit(number).documents}


def test_published_documents_are_not_adopted() -> None:
    """What is published already needs no adoption."""
    planned = plan([item("a")], table(known("a")), harvest=table(known("a", adoptable=("r1", 1))))
    assert planned.n_units == 0


def test_buckets_are_estimated_from_sizes() -> None:
    """More input gives more buckets; a small source has one."""
    config = settings(model={"dimension": 384})
    assert estimate_buckets([1000] * 10, config) == 1
    assert 25 <= estimate_buckets([100_000] * 10_000, config) <= 60
    assert estimate_buckets([10**15], config) < 20, "one document has a bounded text"


def test_too_large_bucket_is_refused() -> None:
    """A bucket above 2 GB names the way out."""
    config = settings(model={"dimension": 384})
    items = [replace(item(f"k{i}"), size=10**8) for i in range(30)]
    with pytest.raises(DestinationError, match="rebucket"):
        plan_run(items, {}, config, n_buckets=1)


def member(key: str, **changes: Any) -> KnownDocument:
    """Return a published document that came inside another."""
    return known(key, parent_doc_id=ids.doc_id(key.rpartition("!/")[0]), **changes)


@pytest.mark.parametrize(
    ("changes", "is_planned"),
    [
        ({}, False),
        ({"status": "failed"}, False),
        ({"status": "failed", "retryable": True}, True),
        ({"status": "failed", "retryable": True, "attempts": 3}, False),
        ({"status": "failed", "retryable": True, "etag": "0"}, False),
    ],
)
def test_members_are_tried_again_with_what_they_came_in(
    changes: dict[str, Any], *, is_planned: bool
) -> None:
    """A member that may be retried plans its outermost document, within the bounds."""
    inner = "mail!/a.zip!/b"
    rows = table(known("mail"), member("mail!/a.zip"), member(inner, **changes))
    assert (keys(plan([item("mail")], rows)) == {"mail"}) == is_planned
    failed = table(known("mail"), member("mail!/a", status="failed"))
    assert keys(plan([item("mail")], failed, retry_failed=True)) == {"mail"}


def test_members_are_adopted_with_what_they_came_in() -> None:
    """A unit of a dead run is adopted only where nothing in it is to be tried again."""
    unit = {"adoptable": ("run", 7)}
    good = table(known("mail", **unit), member("mail!/a", **unit))
    assert plan([item("mail")], harvest=good).adopted == {0: ("run", 7)}
    lost = member("mail!/a", status="failed", retryable=True, **unit)
    assert not plan([item("mail")], harvest=table(known("mail", **unit), lost)).adopted


def test_listed_members_lie_in_the_bucket_of_the_outermost() -> None:
    """A dataset that is read back has its members beside what they came in."""
    items = [item("mail")]
    for i in range(9):
        parent = ids.doc_id(items[-1].source_key)
        items.append(item(f"{items[-1].source_key}!/{i}", parent_doc_id=parent))
    planned = plan(items)
    assert set(planned.buckets) == {ids.bucket_of(ids.doc_id("mail"), 3)}
    assert planned.unit(0).documents[0].parent_doc_id in {None, *map(ids.doc_id, keys(planned))}
    rows = table(known("mail"), *(member(entry.source_key) for entry in items[1:]))
    gone = plan([item("new")], rows).deletions
    assert {bucket: len(found) for bucket, found in gone.items()} == {planned.buckets[0]: 10}


def test_members_do_not_count_as_suspicious_deletions() -> None:
    """One archive with many members is one document that is no longer listed."""
    members = [member(f"a.zip!/{i}") for i in range(100)]
    rows = table(known("a.zip"), *members, *(known(f"k{i}") for i in range(20)))
    assert plan([item(f"k{i}") for i in range(20)], rows).n_deletions == 101


def test_listed_keys_are_never_those_of_members() -> None:
    """A folder that is called like an archive and a mark is told apart from it."""
    both = keys(plan([item("a.zip"), item("a.zip!/x"), item("b.zip!/x"), item("c!d/x")]))
    assert both == {"a.zip", "a.zip%21/x", "b.zip!/x", "c!d/x"}
