"""The values that travel between stages, and their Arrow forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from chunking import ids, schemas
from chunking.model import Block, Document
from jobs.blocks import BLOCK_WITH_BOXES, blocks_array, blocks_from
from jobs.ports import ParseOutcome

__all__ = ["PARSED", "ParsedDocument", "PlanRow", "SourceItem", "UnitTables", "version_tag"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceItem:
    """One document as the listing sees it; nothing has been downloaded.

    ``location`` is what the source needs to read it: an object key below the source's
    root, a full URI (manifest), or a table file with ``table_row``. A document of a
    dataset brings the name of its own source, the key of its structure, and the id of the
    document that it came in.
    """

    source_key: str
    source_uri: str
    size: int
    etag: str
    location: str
    table_row: int | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    source_name: str | None = None
    structure_ref: str | None = None
    parent_doc_id: str | None = None


def version_tag(etag: str, metadata: Mapping[str, str]) -> str:
    """Return the etag by which a document is recognised as unchanged, its metadata included.

    Permissions that a manifest or table gives must reach the chunks when they change,
    though the document itself did not.
    """
    if not metadata:
        return etag
    fields = (field for pair in sorted(metadata.items()) for field in pair)
    return f"{etag};{ids.hash_fields(*fields)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow:
    """One planned document: a row of :data:`chunking.schemas.PLAN`.

    ``attempts`` counts earlier attempts at this version; ``etag`` and ``size_bytes``
    are those of the listing. ``structure_ref``: key of the file with the structure of
    an earlier version, or of the document itself where a dataset is read.
    """

    unit: int
    bucket: int
    doc_id: str
    source_key: str
    source_uri: str
    size_bytes: int
    location: str
    parent_doc_id: str | None = None
    etag: str | None = None
    attempts: int = 0
    metadata: Mapping[str, str] = field(default_factory=dict)
    table_row: int | None = None
    source_name: str | None = None
    structure_ref: str | None = None

    @staticmethod
    def to_table(rows: Sequence[PlanRow]) -> pa.Table:
        """Return the rows as a table of :data:`chunking.schemas.PLAN`."""
        return pa.Table.from_arrays(list(_columns(schemas.PLAN, rows)), schema=schemas.PLAN)

    @staticmethod
    def from_table(table: pa.Table) -> list[PlanRow]:
        """Return the rows of a table that has the columns of the plan, in order."""
        return [
            PlanRow(**{**row, "metadata": dict(row["metadata"])})
            for row in table.select(schemas.PLAN.names).to_pylist()
        ]


def _schema(*fields: pa.Field[Any]) -> pa.Schema:
    return pa.schema(fields)


_READ = _schema(
    pa.field("read.doc_version", pa.string()),
    pa.field("read.etag", pa.string()),
    pa.field("read.size_bytes", pa.int64(), nullable=False),
    pa.field("read.error_stage", pa.string()),
    pa.field("read.stale", pa.bool_(), nullable=False),
    pa.field("read.fingerprint", pa.string()),
)
_STRINGS = pa.list_(pa.field("item", pa.string(), nullable=False))
_OUTCOME = _schema(
    pa.field("outcome.status", pa.string(), nullable=False),
    pa.field("outcome.format", pa.string(), nullable=False),
    pa.field("outcome.parser", pa.string(), nullable=False),
    pa.field("outcome.error_kind", pa.string()),
    pa.field("outcome.error_message", pa.string()),
    pa.field("outcome.retryable", pa.bool_(), nullable=False),
    pa.field("outcome.warnings", _STRINGS, nullable=False),
    pa.field("outcome.seconds", pa.float64(), nullable=False),
)
_DOCUMENT = _schema(
    pa.field("document.text", pa.large_string()),  # null: the document was not parsed
    pa.field("document.title", pa.string()),
    pa.field("document.language", pa.string()),
    pa.field("document.n_pages", pa.int32()),
    pa.field("document.furniture", _STRINGS),
    pa.field("document.metadata", pa.map_(pa.string(), pa.string())),
)
_BLOCKS = pa.field("document.blocks", pa.list_(pa.field("item", BLOCK_WITH_BOXES, nullable=False)))
PARSED = pa.schema([*schemas.PLAN, *_READ, *_OUTCOME, *_DOCUMENT, _BLOCKS])
"""How parsed documents travel from the parsing to the embedding stage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """One planned document after fetch and parse, whatever happened to it.

    ``doc_version``, ``etag`` and ``size_bytes`` are those of the bytes that were read
    (the listing's where nothing could be read, ``doc_version`` None then).
    ``error_stage`` is ``fetch`` or ``parse`` where the outcome holds an error. ``stale``:
    the text is that of an earlier version, the outcome that of the last attempt.
    ``fingerprint``: of the pipeline that made it, where it is not the run's.
    """

    plan: PlanRow
    outcome: ParseOutcome
    doc_version: str | None
    etag: str | None
    size_bytes: int
    error_stage: str | None = None
    stale: bool = False
    fingerprint: str | None = None

    @staticmethod
    def to_table(documents: Sequence[ParsedDocument]) -> pa.Table:
        """Return the documents as one table of :data:`PARSED`; text may exceed 2 GB."""
        outcomes = [document.outcome for document in documents]
        texts = [outcome.document for outcome in outcomes]
        columns = [
            *_columns(schemas.PLAN, [document.plan for document in documents]),
            *_columns(_READ, documents),
            *_columns(_OUTCOME, outcomes),
            *_columns(_DOCUMENT, texts),
            blocks_array([text.blocks if text else None for text in texts], boxes=True),
        ]
        return pa.Table.from_arrays(columns, schema=PARSED)

    @staticmethod
    def from_table(table: pa.Table) -> list[ParsedDocument]:
        """Return the documents of a table of :data:`PARSED`, in order."""
        plans = PlanRow.from_table(table)
        rows = table.select([*_READ.names, *_OUTCOME.names, *_DOCUMENT.names]).to_pylist()
        blocks = blocks_from(table[_BLOCKS.name])
        return [
            _parsed(plan, row, found) for plan, row, found in zip(plans, rows, blocks, strict=True)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitTables:
    """A unit's result: rows of its documents in the published schemas.

    ``documents`` has one row per planned document of the unit, whatever happened to
    it, and one per document inside it. ``sentences`` is None where no model pass was made
    or it is not kept; so is ``structure`` where it is not kept, and ``own_vectors`` where
    no chunk was embedded by itself; of these see :mod:`jobs.sentence_store`.
    ``model_tokens`` went through the model, ``reused_tokens`` were spared it.
    """

    documents: pa.Table
    chunks: pa.Table
    boundaries: pa.Table
    sentences: pa.Table | None
    structure: pa.Table | None = None
    own_vectors: pa.Table | None = None
    model_tokens: int = 0
    reused_tokens: int = 0


def _columns(schema: pa.Schema, items: Sequence[object | None]) -> Iterable[pa.Array[Any]]:
    """Yield one array per field, from the attribute of that name; null where there is no item."""
    for column in schema:
        name = column.name.rpartition(".")[2]
        yield pa.array([_plain(getattr(item, name, None)) for item in items], column.type)


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a field holds
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, tuple):
        return list(value)
    return value


def _part(row: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {
        name.removeprefix(prefix): tuple(value) if isinstance(value, list) else value
        for name, value in row.items()
        if name.startswith(prefix)
    }


def _parsed(
    plan: PlanRow, row: Mapping[str, Any], blocks: tuple[Block, ...] | None
) -> ParsedDocument:
    document = None
    if blocks is not None:
        facts = _part(row, "document.")
        document = Document(**{**facts, "metadata": dict(facts["metadata"]), "blocks": blocks})
    outcome = ParseOutcome(**_part(row, "outcome."), document=document)
    return ParsedDocument(plan=plan, outcome=outcome, **_part(row, "read."))
