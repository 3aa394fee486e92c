"""What a whole run must leave, told from the source and from what was published before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chunking import ids, schemas
from jobs.adapters.stores.memory import MemoryStore
from jobs.protocol.plan import PlannedDocument
from jobs.protocol.run import RunSettings
from tests.jobs.protocol import simulation as sim

KEPT = ("doc_version", "format", "n_chars", "n_tokens", "n_chunks", "text", "blocks")
"""Columns of a failed document that describe the chunks that it keeps."""

Option = tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]
"""A ``documents`` row and its chunk rows that a document may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Rows of documents by id, and of their chunks in order."""

    rows: dict[str, dict[str, Any]]
    chunks: dict[str, list[dict[str, Any]]]

    @classmethod
    def committed(cls, store: MemoryStore) -> Published:
        """Return what the version chains hold."""
        return cls.of(*(sim.committed_rows(store, table) for table in ("documents", "chunks")))

    @classmethod
    def plain(cls, store: MemoryStore) -> Published:
        """Return what a reader of the plain directories sees."""
        return cls.of(*(sim.plain_rows(store, table) for table in ("documents", "chunks")))

    @classmethod
    def of(cls, documents: Sequence[dict[str, Any]], chunks: Sequence[dict[str, Any]]) -> Published:
        """Return the rows, sorted."""
        found: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for chunk in sorted(chunks, key=lambda row: row["chunk_index"]):
            found[chunk["doc_id"]].append(chunk)
        return cls(rows={row["doc_id"]: row for row in documents}, chunks=dict(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """Checks a whole run of one source.

    ``before``: what was published when it began. ``forced``: how many runs have retried
    what had failed too often. The options are those of the plan.
    """

    source: sim.FakeSource
    config: RunSettings
    before: Published
    limit: int | None = None
    delete_missing: bool = True
    retry_failed: bool = False
    forced: int = 0

    def check(self, store: MemoryStore) -> None:
        """Compare every row of ``documents`` and ``chunks``."""
        now = Published.plain(store)
        items = self.source.items()
        expected: set[str] = set()
        for item in items[: self.limit]:
            content = self.source.documents[item.location]
            expected |= self._check_family(now, sim.planned_of(item), content)
        considered = {ids.doc_id(item.source_key) for item in items[: self.limit]}
        listed = {ids.doc_id(item.source_key) for item in items}
        for doc_id, row in self.before.rows.items():
            key = outermost(row)
            if ids.doc_id(key) in considered:
                continue
            if self._is_mine(key) and ids.doc_id(key) not in listed and self._deletes():
                continue
            self._check_unchanged(now, doc_id)
            expected.add(doc_id)
        assert set(now.rows) == expected

    def _deletes(self) -> bool:
        return self.delete_missing and self.limit is None

    def _is_mine(self, key: str) -> bool:
        name, slash, _ = key.partition("/")
        return (name if slash else None) == self.source.name

    def _check_family(self, now: Published, planned: PlannedDocument, content: str) -> set[str]:
        """Check a listed document and what came inside it; return the ids that there must be."""
        etag, own = sim.etag_of(content), content.partition(">")[0]
        status = self._check_document(now, planned, own, etag)
        found = {planned.doc_id}
        if status == "ok":
            for member, text in sim.members_of(planned, content):
                self._check_document(now, member, text, etag)
                found.add(member.doc_id)
        elif status == "failed":
            for doc_id, row in self.before.rows.items():
                if outermost(row) == planned.source_key and doc_id != planned.doc_id:
                    self._check_unchanged(now, doc_id)
                    found.add(doc_id)
        return found

    def _check_document(
        self, now: Published, planned: PlannedDocument, content: str, etag: str
    ) -> str:
        row = now.rows[planned.doc_id]
        chunks = now.chunks.get(planned.doc_id, [])
        options = list(self._options(planned, content, etag))
        same = [_same_row(row, option) and _same_chunks(chunks, parts) for option, parts in options]
        assert any(same), f"{planned.source_key} is {row}, may be {options}"
        if row["retryable"]:
            self._check_attempts(row, may_work=len(options) > 1 and not self.source.down)
            self._check_tried_again(row, self.before.rows.get(planned.doc_id))
        return str(row["status"])

    def _check_attempts(self, row: Mapping[str, Any], *, may_work: bool) -> None:
        """Check that what failed was tried as often as it may be, and no more."""
        assert 1 <= row["attempts"] <= self.config.attempts + self.forced, row
        if may_work:
            assert not self.retry_failed, row
            assert row["attempts"] >= self.config.attempts, row

    def _check_tried_again(self, row: Mapping[str, Any], before: Mapping[str, Any] | None) -> None:
        """Check that what failed before as it does now, and not too often, was tried once more."""
        if before is None or row["parent_doc_id"] is not None or not before["retryable"]:
            return
        if (before["etag"], before["fingerprint"]) != (row["etag"], row["fingerprint"]):
            return
        if before["attempts"] < self.config.attempts:
            assert row["attempts"] > before["attempts"], row

    def _options(self, planned: PlannedDocument, content: str, etag: str) -> Iterator[Option]:
        """Yield what may be published of a document: it was tried now, or before."""
        for down in (False, True) if "?" in content else (False,):
            row, parts = sim.outcome(planned, content, self.config, etag=etag, down=down)
            old = self.before.rows.get(planned.doc_id)
            if row["status"] == "failed" and old is not None and old["doc_version"] is not None:
                kept = {name: old[name] for name in KEPT}
                yield {**row, **kept, "stale": True}, self.before.chunks.get(planned.doc_id, [])
            else:
                yield row, parts

    def _check_unchanged(self, now: Published, doc_id: str) -> None:
        assert now.rows[doc_id] == self.before.rows[doc_id]
        assert now.chunks.get(doc_id) == self.before.chunks.get(doc_id)


def outermost(row: Mapping[str, Any]) -> str:
    """Return the key of the outermost document that one came in."""
    return str(row["source_key"]).partition(ids.MEMBER_MARK)[0]


def _same_row(row: Mapping[str, Any], option: Mapping[str, Any]) -> bool:
    wanted = {name: option.get(name) for name in schemas.DOCUMENTS.names}
    return sim.stable(row) == sim.stable(wanted)


def _same_chunks(chunks: Sequence[Mapping[str, Any]], parts: Sequence[Mapping[str, Any]]) -> bool:
    names = ("chunk_id", "chunk_index", "doc_version", "text", "embedding")
    facts = [[chunk[name] for name in names] for chunk in chunks]
    return facts == [[part[name] for name in names] for part in parts]
