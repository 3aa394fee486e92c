"""Read documents back from a dataset, as if they had just been fetched and parsed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from chunking.errors import JobError, StoreError
from chunking.model import Document
from jobs.ports import ObjectStore, ParseOutcome
from jobs.records import ParsedDocument, PlanRow
from jobs.sentence_store import SentenceStore

__all__ = ["DatasetFacts", "Reread"]

_FILES = 2
"""Files of ``documents`` that are held at once: units come bucket by bucket."""

_COLUMNS = [
    "doc_id", "source_uri", "parent_doc_id", "doc_version", "etag", "size_bytes", "format",
    "status", "error_stage", "error_kind", "error_message", "retryable", "attempts", "stale",
    "warnings", "title", "language", "n_pages", "n_chunks", "parse_seconds", "parser", "text",
    "furniture", "metadata", "fingerprint",
]  # fmt: skip
_OF_CHUNKS = frozenset({"embed", "chunk"})
"""Stages whose failure may be one of the settings that are changed now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetFacts:
    """Which rows of a dataset a run with other chunking settings would make again as they are.

    Those with this ``fingerprint``, if ``same_texts``: the texts are those that this
    release makes.
    """

    fingerprint: str
    same_texts: bool


class Reread:
    """Rebuilds parsed documents from the rows and the structure that a dataset keeps.

    ``location`` of a plan row is the key of the file with its ``documents`` row.
    """

    def __init__(self, store: ObjectStore, facts: DatasetFacts) -> None:
        self._store = store
        self._facts = facts
        self._structures = SentenceStore(store)
        self._files: OrderedDict[str, tuple[pa.Table, Mapping[str, int]]] = OrderedDict()

    def __call__(self, plan: PlanRow) -> ParsedDocument:
        """Return the planned document; what it was not is what it was.

        Raises:
            JobError: its row or its structure is lost or damaged.
        """
        row = self._row(plan.location, plan.doc_id)
        parsed = ParsedDocument(
            plan=replace(
                plan,
                source_uri=row["source_uri"],
                parent_doc_id=row["parent_doc_id"],
                size_bytes=row["size_bytes"],
                attempts=row["attempts"] - 1,
                metadata=dict(row["metadata"]),
            ),
            outcome=_outcome(row),
            doc_version=row["doc_version"],
            etag=row["etag"],
            size_bytes=row["size_bytes"],
            error_stage=row["error_stage"],
            stale=row["stale"],
            fingerprint=self._fingerprint(row),
        )
        if row["status"] not in ("ok", "partial") and not row["stale"]:
            return parsed
        outcome = replace(parsed.outcome, document=self._document(plan, row))
        return replace(parsed, outcome=outcome)

    def _fingerprint(self, row: Mapping[str, Any]) -> str | None:
        """Return the row's own fingerprint where the next run must look at the document again."""
        same = self._facts.same_texts and row["fingerprint"] == self._facts.fingerprint
        return None if same and row["error_stage"] not in _OF_CHUNKS else row["fingerprint"]

    def _row(self, key: str, doc_id: str) -> Mapping[str, Any]:
        table, places = self._file(key)
        if doc_id not in places:
            msg = f"{self._store.uri(key)} has no row of document {doc_id}"
            raise JobError(msg)
        row: Mapping[str, Any] = table.slice(places[doc_id], 1).to_pylist()[0]
        return row

    def _file(self, key: str) -> tuple[pa.Table, Mapping[str, int]]:
        if key not in self._files:
            data = self._store.get(key)
            try:
                table = pq.read_table(
                    pa.BufferReader(data),
                    columns=_COLUMNS,
                    use_threads=False,
                    pre_buffer=False,
                    page_checksum_verification=True,
                )
            except (OSError, pa.ArrowException) as error:
                msg = f"{self._store.uri(key)} is damaged: {error}"
                raise JobError(msg) from error
            doc_ids: list[Any] = table["doc_id"].to_pylist()
            places = {doc_id: i for i, doc_id in enumerate(doc_ids)}
            self._files[key] = (table, places)
            while len(self._files) > _FILES:
                self._files.popitem(last=False)
        self._files.move_to_end(key)
        return self._files[key]

    def _document(self, plan: PlanRow, row: Mapping[str, Any]) -> Document:
        document = Document(
            text="",
            blocks=(),
            title=row["title"],
            language=row["language"],
            n_pages=row["n_pages"],
            furniture=tuple(row["furniture"]),
            metadata=dict(row["metadata"]),
        )
        if not row["n_chunks"]:
            return document
        if plan.structure_ref is None:
            msg = f"the dataset keeps no structure of {plan.source_key}; use 'chunkmill run'"
            raise JobError(msg)
        try:
            blocks = self._structures.blocks(plan.structure_ref, plan.doc_id)
        except StoreError as error:
            msg = f"{self._store.uri(plan.structure_ref)} cannot be used: {error}"
            raise JobError(msg) from error
        return replace(document, text=row["text"], blocks=blocks)


def _outcome(row: Mapping[str, Any]) -> ParseOutcome:
    return ParseOutcome(
        status=row["status"],
        format=row["format"],
        parser=row["parser"],
        error_kind=row["error_kind"],
        error_message=row["error_message"],
        retryable=row["retryable"],
        warnings=tuple(row["warnings"]),
        seconds=row["parse_seconds"],
    )
