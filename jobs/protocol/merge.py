"""The rows of a bucket's next version, from the last one, the units and the deletions.

Pure: tables in, tables out. The result depends on the rows alone, never on the order
in which units were committed or on how documents were grouped into them.

Published-document rule: a document that fails keeps the chunks that it has; its row
then describes those chunks (text, blocks, counts), while status, error, etag and
fingerprint are those of the last attempt, and ``stale`` says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from chunking import schemas
from chunking.errors import AlignmentError
from jobs.protocol.families import outermost_keys, vanished
from jobs.protocol.files import column, conform
from jobs.protocol.units import UnitRows

__all__ = ["BucketRows", "Merged", "merge"]

_COSINE_TOLERANCE = 1e-6
_PUBLISHED_COLUMNS = frozenset(
    {
        "doc_version", "format", "title", "language", "n_pages", "n_chars", "n_tokens", "n_chunks",
        "parser", "text", "blocks", "furniture", "metadata", "sentences_ref",
    }
)  # fmt: skip
"""Columns of ``documents`` that describe the published chunks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketRows:
    """All rows of one bucket version, sorted by document, then position."""

    documents: pa.Table
    chunks: pa.Table
    boundaries: pa.Table
    index: pa.Table

    @classmethod
    def empty(cls, chunks_schema: pa.Schema) -> BucketRows:
        """Return the rows of a bucket that was never published."""
        return cls(
            documents=schemas.DOCUMENTS.empty_table(),
            chunks=chunks_schema.empty_table(),
            boundaries=schemas.BOUNDARIES.empty_table(),
            index=schemas.INDEX.empty_table(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """The next version's rows, its change rows, and what was done, for the report."""

    rows: BucketRows
    changes: pa.Table
    counts: Mapping[str, int] = field(default_factory=dict)


def merge(
    previous: BucketRows,
    units: Sequence[UnitRows],
    deletions: Sequence[str],
    *,
    source_name: str | None,
    partition_value: Callable[[Mapping[str, Any]], str | None],
) -> Merged:
    """Return the bucket's next version.

    ``deletions``: ids of documents that are removed with their chunks, and with all that
    came in them; unknown ones have no effect. ``partition_value`` gets a ``documents`` row
    without text, blocks and furniture, and with the key of the outermost document.

    Raises:
        AlignmentError: two units hold the same document.
    """
    attempted = _concat([unit.documents for unit in units], schemas.DOCUMENTS)
    deletions = sorted({*deletions, *vanished(previous.documents, units, deletions)})
    touched = column(attempted, "doc_id")
    if len(set(touched)) != len(touched):
        msg = f"documents in two units: {[k for k, n in Counter(touched).items() if n > 1][:3]}"
        raise AlignmentError(msg)
    kept = _kept(previous.documents, attempted)
    marks = _Marks.of(units, kept, source_name)
    renewed = _ids(id_ for id_ in touched if id_ not in set(kept.to_pylist()))
    gone = _ids([*renewed.to_pylist(), *deletions])
    chunks_schema = previous.chunks.schema
    fresh = _concat([unit.chunks for unit in units], chunks_schema)
    boundaries = _concat([unit.boundaries for unit in units], schemas.BOUNDARIES)
    documents = _concat(
        [
            _without(previous.documents, _ids([*touched, *deletions])),
            _settled(_only(attempted, renewed)),
            _stale(_only(attempted, kept), _only(previous.documents, kept)),
        ],
        schemas.DOCUMENTS,
    ).sort_by("doc_id")
    chunks = _concat([_without(previous.chunks, gone), _only(fresh, renewed)], chunks_schema)
    index = _index(
        previous.index,
        documents,
        marks,
        set(touched),
        partition_value=partition_value,
    )
    rows = BucketRows(
        documents=documents,
        chunks=_sorted(chunks, "chunk_index"),
        boundaries=_sorted(
            _concat(
                [_without(previous.boundaries, gone), _only(boundaries, renewed)],
                schemas.BOUNDARIES,
            ),
            "position",
        ),
        index=index,
    )
    changes = _changes(previous, rows, gone)
    counts = _counts(attempted, previous.documents, deletions, changes, rows)
    return Merged(rows=rows, changes=changes, counts=counts)


def _ids(values: Any) -> pa.Array[Any]:  # noqa: ANN401 - any iterable of strings
    return pa.array(sorted(set(values)), pa.string())


def _only(table: pa.Table, doc_ids: pa.Array[Any]) -> pa.Table:
    return table.filter(pc.is_in(table["doc_id"], value_set=doc_ids))


def _without(table: pa.Table, doc_ids: pa.Array[Any]) -> pa.Table:
    return table.filter(pc.invert(pc.is_in(table["doc_id"], value_set=doc_ids)))


def _concat(tables: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    if not tables:
        return schema.empty_table()
    return pa.concat_tables([conform(table, schema) for table in tables])


def _sorted(table: pa.Table, position: str) -> pa.Table:
    return table.sort_by([("doc_id", "ascending"), (position, "ascending")])


def _kept(previous: pa.Table, attempted: pa.Table) -> pa.Array[Any]:
    """Return the ids of documents that failed now and have published content."""
    # A stale row brings the chunks of an earlier version along.
    failed = attempted.filter(
        pc.and_(pc.equal(attempted["status"], pa.scalar("failed")), pc.invert(attempted["stale"]))
    )
    published = previous.filter(pc.is_valid(previous["doc_version"]))
    return _ids(set(column(failed, "doc_id")) & set(column(published, "doc_id")))


def _settled(documents: pa.Table) -> pa.Table:
    """Return rows whose document has no older chunks; without new ones they describe none."""
    stale = np.array(column(documents, "stale"), bool)
    good = np.isin(column(documents, "status"), ("ok", "partial")) | stale
    columns: dict[str, Any] = {name: documents[name] for name in documents.column_names}
    columns["n_chunks"] = pc.if_else(pa.array(good), columns["n_chunks"], pa.scalar(0, pa.int32()))
    if not good.all():
        rows = pa.array([i if ok else None for i, ok in enumerate(good)], pa.int64())
        for name in ("doc_version", "text", "blocks", "sentences_ref"):
            columns[name] = columns[name].take(rows)
    return pa.table(columns)


def _stale(attempted: pa.Table, previous: pa.Table) -> pa.Table:
    """Return the failed attempts' rows, describing the chunks that stay published."""
    attempted, previous = attempted.sort_by("doc_id"), previous.sort_by("doc_id")
    columns: dict[str, Any] = {
        name: (previous if name in _PUBLISHED_COLUMNS else attempted)[name]
        for name in schemas.DOCUMENTS.names
    }
    columns["stale"] = pa.array([True] * attempted.num_rows, pa.bool_())
    return pa.table(columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Marks:
    """What the units' markers say of documents, by id.

    ``models`` and ``structures``: of those whose published content is the unit's.
    """

    sources: Mapping[str, str | None]
    models: Mapping[str, str]
    structures: Mapping[str, str | None]

    @classmethod
    def of(cls, units: Sequence[UnitRows], kept: pa.Array[Any], source_name: str | None) -> _Marks:
        """Gather the marks of a bucket's units."""
        keeps = set(kept.to_pylist())
        found = [(unit.marker, mark) for unit in units for mark in unit.marker.documents]
        renewed = [(marker, mark.doc_id) for marker, mark in found if mark.doc_id not in keeps]
        return cls(
            sources={mark.doc_id: mark.source_name or source_name for _, mark in found},
            models={doc_id: marker.model for marker, doc_id in renewed},
            structures={doc_id: marker.structure_ref for marker, doc_id in renewed},
        )


def _index(
    previous: pa.Table,
    documents: pa.Table,
    marks: _Marks,
    touched: set[str],
    *,
    partition_value: Callable[[Mapping[str, Any]], str | None],
) -> pa.Table:
    """Return one index row per document; those of untouched documents stay as they are."""
    before = {row["doc_id"]: row for row in previous.to_pylist()}
    light = documents.drop_columns(["text", "blocks", "furniture"])
    keys = outermost_keys(documents)
    rows = []
    for row in light.to_pylist():
        old = before.get(row["doc_id"])
        if row["doc_id"] in touched or old is None:
            row["source_name"] = marks.sources.get(row["doc_id"])
            row["value"] = partition_value({**row, "source_key": keys[row["doc_id"]]})
            row["model"] = marks.models.get(row["doc_id"], old["model"] if old else "")
            row["structure_ref"] = _structure(row, old, marks)
        else:
            row = old  # noqa: PLW2901 - the row that is kept
        rows.append({name: row[name] for name in schemas.INDEX.names})
    return pa.Table.from_pylist(rows, schemas.INDEX)


def _structure(row: Mapping[str, Any], old: Mapping[str, Any] | None, marks: _Marks) -> str | None:
    """Return the key of the structure of what is published of a document, if anything is."""
    if row["doc_id"] not in marks.structures:
        return old["structure_ref"] if old else None
    has_text = row["status"] in ("ok", "partial") or row["stale"]
    return marks.structures[row["doc_id"]] if has_text else None


def _changes(previous: BucketRows, rows: BucketRows, affected: pa.Array[Any]) -> pa.Table:
    """Return upserts and deletes of the affected documents' chunks, sorted by ids."""
    old, new = _only(previous.chunks, affected), _only(rows.chunks, affected)
    old_at = {chunk: i for i, chunk in enumerate(column(old, "chunk_id"))}
    new_at = {chunk: i for i, chunk in enumerate(column(new, "chunk_id"))}
    common = sorted(old_at.keys() & new_at.keys())
    before = old.take(pa.array([old_at[chunk] for chunk in common], pa.int64()))
    after = new.take(pa.array([new_at[chunk] for chunk in common], pa.int64()))
    vector = _vector_changed(before, after, _model_changed(previous.index, rows.index, after))
    changed = vector | _row_changed(before, after)
    upserts = {chunk: bool(v) for chunk, c, v in zip(common, changed, vector, strict=True) if c}
    upserts.update(dict.fromkeys(new_at.keys() - old_at.keys(), True))
    entries = [("delete", old, old_at[chunk], False) for chunk in old_at.keys() - new_at.keys()] + [
        ("upsert", new, new_at[chunk], flag) for chunk, flag in upserts.items()
    ]
    return _change_table(entries)


def _change_table(entries: Sequence[tuple[str, pa.Table, int, bool]]) -> pa.Table:
    """Return the change rows; each entry is (op, chunks it is of, row there, vector_changed)."""
    columns: dict[int, dict[str, list[Any]]] = {}
    rows = []
    for op, table, at, flag in entries:
        if id(table) not in columns:
            names = ["chunk_id", "doc_id", "doc_version"]
            columns[id(table)] = {name: column(table, name) for name in names}
        facts = {name: values[at] for name, values in columns[id(table)].items()}
        rows.append({"op": op, "vector_changed": flag, **facts})
    rows.sort(key=lambda row: (row["doc_id"], row["chunk_id"]))
    return pa.Table.from_pylist(rows, schemas.CHANGES)


def _model_changed(old: pa.Table, new: pa.Table, chunks: pa.Table) -> NDArray[np.bool_]:
    before = dict(zip(column(old, "doc_id"), column(old, "model"), strict=True))
    after = dict(zip(column(new, "doc_id"), column(new, "model"), strict=True))
    return _flags(before[doc] != after[doc] for doc in column(chunks, "doc_id"))


def _vector_changed(
    before: pa.Table, after: pa.Table, model_changed: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Tell which vectors a vector store must replace.

    The input hash decides (same chunk id: same text; so the prefix), the model, and
    the way the vector was made; and as a late vector sees its neighbours too, so do
    the values themselves.
    """
    changed = model_changed.copy()
    for name in ("prefix", "vectors"):
        changed |= _differs(before[name], after[name])
    changed |= _vectors_differ(before["embedding"], after["embedding"])
    return changed


def _vectors_differ(before: pa.ChunkedArray[Any], after: pa.ChunkedArray[Any]) -> NDArray[np.bool_]:
    if before.equals(after):
        return np.zeros(len(before), dtype=bool)
    had, has = (_flags(v.is_valid for v in vectors) for vectors in (before, after))
    both = had & has
    old, new = (_matrix(vectors.filter(pa.array(both))) for vectors in (before, after))
    norms = np.linalg.norm(old, axis=1) * np.linalg.norm(new, axis=1)
    cosine = np.einsum("nd,nd->n", old, new) / np.where(norms == 0, 1, norms)
    differ = had ^ has
    differ[both] = (1 - cosine > _COSINE_TOLERANCE) & (old != new).any(axis=1)
    return differ


def _matrix(vectors: pa.ChunkedArray[Any]) -> NDArray[np.float64]:
    kind: Any = vectors.type
    flat: Any = vectors.combine_chunks()
    return np.asarray(flat.flatten(), dtype=np.float64).reshape(len(vectors), kind.list_size)


def _row_changed(before: pa.Table, after: pa.Table) -> NDArray[np.bool_]:
    changed = np.zeros(before.num_rows, dtype=bool)
    for name in before.column_names:
        if name != "embedding":
            changed |= _differs(before[name], after[name])
    return changed


def _differs(before: pa.ChunkedArray[Any], after: pa.ChunkedArray[Any]) -> NDArray[np.bool_]:
    if before.equals(after):
        return np.zeros(len(before), dtype=bool)
    pairs = zip(before.to_pylist(), after.to_pylist(), strict=True)
    return _flags(a != b for a, b in pairs)


def _flags(values: Iterable[bool]) -> NDArray[np.bool_]:
    return np.fromiter(values, dtype=np.bool_)


def _counts(
    attempted: pa.Table,
    previous: pa.Table,
    deletions: Sequence[str],
    changes: pa.Table,
    rows: BucketRows,
) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for row in attempted.select(["status", "error_kind", "n_tokens", "n_chars"]).to_pylist():
        counts[f"status.{row['status']}"] += 1
        if row["error_kind"] is not None:
            counts[f"error.{row['error_kind']}"] += 1
        counts["tokens"] += row["n_tokens"]
        counts["chars"] += row["n_chars"]
    counts.update(f"changes.{op}" for op in column(changes, "op"))
    counts["members"] = attempted.num_rows - attempted["parent_doc_id"].null_count
    counts["changes.vectors"] = sum(column(changes, "vector_changed"))
    counts["deleted"] = _only(previous, _ids(deletions)).num_rows
    counts.update(f"total.{status}" for status in column(rows.documents, "status"))
    counts["total.stale"] = sum(column(rows.documents, "stale"))
    counts["total.chunks"] = rows.chunks.num_rows
    counts["total.tokens"] = sum(column(rows.documents, "n_tokens"))
    counts["total.chars"] = sum(column(rows.documents, "n_chars"))
    counts["total.overlap_chars"] = _overlap(rows.chunks)
    return dict(counts)


def _overlap(chunks: pa.Table) -> int:
    """Return how many code points stand in two chunks, for each pair of neighbours."""
    starts = chunks["start_char"].to_numpy()[1:]
    ends = chunks["end_char"].to_numpy()[:-1]
    documents = chunks["doc_id"].combine_chunks()
    same = pc.equal(documents[1:], documents[:-1]).to_numpy(zero_copy_only=False)
    return int(np.maximum(ends - starts, 0)[same].sum())
