"""The sentence store: what is kept of a document so that its chunks can be made anew.

Per unit attempt files lie side by side: the sentences, one row per unit of embedding
with its vector (:func:`chunking.schemas.sentences_schema`); the structure, one row per
document (:data:`STRUCTURE`): what neither ``documents`` nor the sentences hold; and,
where chunks were embedded by themselves, their own vectors before they are mixed with
others (:func:`own_schema`). All are immutable. Whoever reads them decides what a lost or
damaged file costs.

Shapes: U units, D dimensions.
"""

from __future__ import annotations

import itertools
import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from chunking import ids
from chunking.errors import ObjectNotFoundError, StoreError
from chunking.model import Block, Tokens
from chunking.pooling import TokenRange
from jobs import layout
from jobs.blocks import BLOCK_WITH_BOXES, blocks_from
from jobs.config import STAGE_VERSIONS
from jobs.ports import ModelFacts, ObjectStore

__all__ = ["STRUCTURE", "KnownVectors", "SentenceStore", "model_id", "own_schema"]

_FILES = 4
"""Files that a reader holds at once; documents of one unit lie in few of them."""

WINDOW = pa.struct(
    [
        pa.field("window_hash", pa.string(), nullable=False),
        pa.field("start", pa.int64(), nullable=False),
        pa.field("end", pa.int64(), nullable=False),
        pa.field("first_unit", pa.int32(), nullable=False),
        pa.field("last_unit", pa.int32(), nullable=False),
    ]
)
"""A window: its input, its range in the document's tokens, the units that it owns."""

_NUMBERS = pa.list_(pa.field("item", pa.uint32(), nullable=False))

STRUCTURE = pa.schema(
    [
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("made_by", pa.string(), nullable=False),  # see model_id
        pa.field(
            "blocks",
            pa.list_(pa.field("item", BLOCK_WITH_BOXES, nullable=False)),
            nullable=False,
        ),
        pa.field("windows", pa.list_(pa.field("item", WINDOW, nullable=False)), nullable=False),
        pa.field("token_ids", _NUMBERS, nullable=False),
        pa.field("token_steps", _NUMBERS, nullable=False),  # from start to start
        pa.field("token_lengths", _NUMBERS, nullable=False),  # from start to end
        pa.field("separators", pa.string(), nullable=False),
        pa.field("n_own", pa.int32(), nullable=False),  # rows among the chunks' own vectors
    ]
)
"""One row per document that was read: blocks with boxes and languages, windows, tokens.

There are no windows where no model pass was made.
"""


def own_schema(dimension: int) -> pa.Schema:
    """Return the schema of the chunks' own vectors: exact, by a hash of the input."""
    vector = pa.list_(pa.field("item", pa.float32(), nullable=False), dimension)
    return pa.schema(
        [
            pa.field("doc_id", pa.string(), nullable=False),
            pa.field("input_hash", pa.string(), nullable=False),
            pa.field("vector", vector, nullable=False),
        ]
    )


def model_id(facts: ModelFacts) -> str:
    """Return H of all that a model's tokens and its vector of a given input depend on."""
    relevant = {name: value for name, value in asdict(facts).items() if name != "query_prompt"}
    relevant["stage"] = STAGE_VERSIONS["embed"]
    return ids.hash_fields(json.dumps(relevant, sort_keys=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownVectors:
    """The unit vectors of one document, by window input and what was owned of it."""

    by_window: Mapping[tuple[str, tuple[TokenRange, ...]], NDArray[np.float32]] = field(repr=False)

    def of(self, window_hash: str, ranges: Sequence[TokenRange]) -> NDArray[np.float32] | None:
        """Return the stored means of a window's ranges (U x D), or None if they are not known."""
        return self.by_window.get((window_hash, tuple(ranges)))


class SentenceStore:
    """Reads the sentence store of a dataset; holds the files that were used last."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._files: OrderedDict[str, _File] = OrderedDict()

    def blocks(self, structure_ref: str, doc_id: str) -> tuple[Block, ...]:
        """Return a document's blocks, with boxes and languages.

        Raises:
            StoreError: the file is lost or damaged, or holds no such document.
        """
        row = self._structure(structure_ref, doc_id)
        blocks = next(blocks_from(row["blocks"]), None)
        if blocks is None:
            raise StoreError(_damaged(structure_ref))
        return blocks

    def vectors(
        self, structure_ref: str, doc_id: str, made_by: str, dtype: np.dtype[Any]
    ) -> KnownVectors | None:
        """Return a document's unit vectors, if ``made_by`` made them and ``dtype`` holds them.

        ``made_by``: see :func:`model_id`. Vectors that were rounded to less than
        ``dtype`` are of no use to a document whose vectors shall not be.

        Raises:
            StoreError: a file is lost or damaged.
        """
        names = ["made_by", "windows"]
        row = self._structure(structure_ref, doc_id).select(names).to_pylist()[0]
        if row["made_by"] != made_by or not row["windows"]:
            return None
        key = layout.sentences_of(structure_ref)
        sentences = self._file(key).of(doc_id)
        if _precision(sentences.schema.field("vector").type) < dtype.itemsize:
            return None
        try:
            return KnownVectors(by_window=dict(_windows(row["windows"], sentences)))
        except (IndexError, KeyError, TypeError, ValueError, pa.ArrowException) as error:
            raise StoreError(_damaged(key)) from error

    def tokens(self, structure_ref: str, doc_id: str, made_by: str) -> Tokens | None:
        """Return the tokens of a document's text, if they are those of ``made_by``.

        Raises:
            StoreError: the file is lost or damaged.
        """
        row = self._structure(structure_ref, doc_id)
        if row["made_by"][0].as_py() != made_by:
            return None
        token_ids, steps, lengths = (
            _numbers(row[name]) for name in ("token_ids", "token_steps", "token_lengths")
        )
        if not len(token_ids) == len(steps) == len(lengths):
            raise StoreError(_damaged(structure_ref))
        starts = np.cumsum(steps, dtype=np.int64)
        return Tokens(
            ids=token_ids,
            starts=starts,
            ends=starts + lengths,
            separators=str(row["separators"][0].as_py()),
        )

    def own(
        self, structure_ref: str, doc_id: str, made_by: str
    ) -> Mapping[str, NDArray[np.float32]]:
        """Return a document's chunk inputs, by hash, with the own vectors of ``made_by``.

        Raises:
            StoreError: a file is lost or damaged.
        """
        names = ["made_by", "n_own"]
        row = self._structure(structure_ref, doc_id).select(names).to_pylist()[0]
        if row["made_by"] != made_by or not row["n_own"]:
            return {}
        key = layout.own_vectors_of(structure_ref)
        rows = self._file(key).of(doc_id)
        try:
            hashes: list[Any] = rows["input_hash"].to_pylist()
            return dict(zip(hashes, _matrix(rows["vector"]), strict=True))
        except (KeyError, TypeError, ValueError, pa.ArrowException) as error:
            raise StoreError(_damaged(key)) from error

    def _structure(self, structure_ref: str, doc_id: str) -> pa.Table:
        rows = self._file(structure_ref).of(doc_id)
        if not rows.num_rows:
            msg = f"{structure_ref} holds no document {doc_id}"
            raise ObjectNotFoundError(msg)
        if rows.num_rows != 1 or not rows.schema.equals(STRUCTURE):
            raise StoreError(_damaged(structure_ref))
        return rows

    def _file(self, key: str) -> _File:
        if key not in self._files:
            self._files[key] = _File(_read(self._store, key))
            while len(self._files) > _FILES:
                self._files.popitem(last=False)
        self._files.move_to_end(key)
        return self._files[key]


class _File:
    """A table sorted by document, and where each one's rows are."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._places: dict[str, tuple[int, int]] = {}
        start = 0
        doc_ids: list[Any] = table["doc_id"].to_pylist()
        for doc_id, rows in itertools.groupby(doc_ids):
            n = sum(1 for _ in rows)
            self._places[doc_id] = (start, n)
            start += n

    def of(self, doc_id: str) -> pa.Table:
        """Return a document's rows."""
        start, n = self._places.get(doc_id, (0, 0))
        return self._table.slice(start, n)


def _read(store: ObjectStore, key: str) -> pa.Table:
    data = store.get(key)
    try:
        table = pq.read_table(
            pa.BufferReader(data),
            use_threads=False,
            pre_buffer=False,
            page_checksum_verification=True,
        )
        table["doc_id"].type  # noqa: B018 - a file of something else has no such column
    except (KeyError, OSError, pa.ArrowException) as error:
        raise StoreError(_damaged(key)) from error
    return table.replace_schema_metadata(None)


def _numbers(column: pa.ChunkedArray[Any]) -> NDArray[np.uint32]:
    values: Any = column.combine_chunks()
    return np.asarray(values.flatten().to_numpy(zero_copy_only=False), dtype=np.uint32)


def _damaged(key: str) -> str:
    return f"{key} is damaged"


def _precision(kind: Any) -> int:  # noqa: ANN401 - a fixed-size list
    width: int = kind.value_type.bit_width
    return width // 8


def _windows(
    windows: Sequence[Mapping[str, Any]], sentences: pa.Table
) -> Iterator[tuple[tuple[str, tuple[TokenRange, ...]], NDArray[np.float32]]]:
    edges = [0, *np.cumsum(sentences["n_tokens"].to_numpy(), dtype=np.int64).tolist()]
    vectors_UD = _matrix(sentences["vector"])
    for window in windows:
        first, last, start = window["first_unit"], window["last_unit"], window["start"]
        if not 0 <= first < last <= len(vectors_UD):
            msg = "a window owns units that are not there"
            raise ValueError(msg)
        ranges = tuple((edges[u] - start, edges[u + 1] - start) for u in range(first, last))
        yield (window["window_hash"], ranges), vectors_UD[first:last]


def _matrix(column: pa.ChunkedArray[Any]) -> NDArray[np.float32]:
    flat: Any = column.combine_chunks()
    if isinstance(flat, pa.ChunkedArray):
        flat = pa.concat_arrays(flat.chunks)
    values = np.asarray(flat.flatten().to_numpy(zero_copy_only=False), dtype=np.float32)
    if not np.isfinite(values).all():
        msg = "vectors are not finite"
        raise ValueError(msg)
    return values.reshape(len(column), -1)
