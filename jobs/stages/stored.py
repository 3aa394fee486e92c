"""What the embedding stage keeps in the sentence store, and what it takes from it again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from chunking.errors import ObjectNotFoundError, StoreError
from chunking.model import Tokens
from jobs.blocks import blocks_array, list_array
from jobs.ports import ModelFacts, ObjectStore
from jobs.records import PlanRow
from jobs.sentence_store import (
    STRUCTURE,
    WINDOW,
    KnownVectors,
    SentenceStore,
    model_id,
    own_schema,
)
from jobs.stages.results import DocumentResult

__all__ = ["StoredVectors", "own_table", "structure_table"]

T = TypeVar("T")

_LOG = logging.getLogger(__name__)

_NOWHERE = np.empty(0, np.int64)
_NONE = Tokens(ids=np.empty(0, np.uint32), starts=_NOWHERE, ends=_NOWHERE)


class StoredVectors:
    """Finds the unit vectors that an earlier version of a document left.

    A file that is lost or damaged costs a model pass, nothing else.
    """

    def __init__(self, store: ObjectStore, facts: ModelFacts, dtype: np.dtype[Any]) -> None:
        self._reader = SentenceStore(store)
        self._made_by = model_id(facts)
        self._dtype = dtype

    def of(self, plan: PlanRow) -> KnownVectors | None:
        """Return what is known of a planned document; None if nothing that fits is."""

        def read(ref: str) -> KnownVectors | None:
            return self._reader.vectors(ref, plan.doc_id, self._made_by, self._dtype)

        return _found(plan, "stored vectors", read)

    def tokens(self, plan: PlanRow) -> Tokens | None:
        """Return the tokens of a document whose text is the one that is kept, if they are known."""
        return _found(
            plan, "stored tokens", lambda ref: self._reader.tokens(ref, plan.doc_id, self._made_by)
        )

    def own(self, plan: PlanRow) -> Mapping[str, NDArray[np.float32]]:
        """Return the model's own vectors of chunks of a document, by a hash of the input."""
        found = _found(
            plan, "chunks' vectors", lambda ref: self._reader.own(ref, plan.doc_id, self._made_by)
        )
        return found or {}


def _found(plan: PlanRow, what: str, read: Callable[[str], T | None]) -> T | None:
    """Return what ``read`` finds by a document's reference; None where it cannot be had."""
    if plan.structure_ref is None:
        return None
    try:
        return read(plan.structure_ref)
    except StoreError as error:
        if plan.parent_doc_id is not None and isinstance(error, ObjectNotFoundError):
            return None  # it came in the document since
        _LOG.warning("%s: its %s are not used: %s", plan.source_key, what, error)
        return None


def own_table(
    results: Sequence[DocumentResult], hashes: Sequence[Sequence[str]], dimension: int
) -> pa.Table:
    """Return one row per chunk of the documents whose chunks were embedded by themselves."""
    schema = own_schema(dimension)
    rows = [result.own_CD for result in results if result.own_CD is not None]
    flat = np.concatenate([row.reshape(-1) for row in rows])
    from_arrays: Any = pa.FixedSizeListArray.from_arrays  # the stubs know no ``type``
    return pa.Table.from_arrays(
        [
            pa.array(
                [r.parsed.plan.doc_id for r, own in zip(results, hashes, strict=True) for _ in own],
                pa.string(),
            ),
            pa.array(list(chain.from_iterable(hashes)), pa.string()),
            from_arrays(pa.array(flat, pa.float32()), type=schema.field("vector").type),
        ],
        schema=schema,
    )


def structure_table(
    results: Sequence[DocumentResult], facts: ModelFacts, *, sentences: bool
) -> pa.Table:
    """Return one :data:`STRUCTURE` row per document that could be read.

    ``sentences``: whether the unit vectors are kept beside.
    """
    read = [result for result in results if result.document is not None]
    kept = [sentences and result.vectors_UD is not None for result in read]
    pairs = [
        list(zip(result.windows, result.window_hashes, strict=True)) if has_vectors else []
        for result, has_vectors in zip(read, kept, strict=True)
    ]
    flat = list(chain.from_iterable(pairs))
    columns = {"window_hash": [digest for _, digest in flat]} | {
        name: [getattr(window, name) for window, _ in flat]
        for name in ("start", "end", "first_unit", "last_unit")
    }
    windows = pa.StructArray.from_arrays(
        [pa.array(columns[field.name], field.type) for field in WINDOW], fields=list(WINDOW)
    )
    arrays = [
        pa.array([result.parsed.plan.doc_id for result in read], pa.string()),
        pa.array([model_id(facts)] * len(read), pa.string()),
        blocks_array([r.document.blocks if r.document else None for r in read], boxes=True),
        list_array([len(own) for own in pairs], windows),
        *_tokens([result.tokens or _NONE for result in read]),
        pa.array([0 if r.own_CD is None else len(r.own_CD) for r in read], pa.int32()),
    ]
    return pa.Table.from_arrays(arrays, schema=STRUCTURE)


def _tokens(documents: Sequence[Tokens]) -> list[pa.Array[Any]]:
    """Return the columns of tokens: differences, which compress well."""
    columns = (
        [tokens.ids for tokens in documents],
        [np.diff(tokens.starts, prepend=0) for tokens in documents],
        [tokens.ends - tokens.starts for tokens in documents],
    )
    lists: list[pa.Array[Any]] = [
        list_array(
            [len(part) for part in parts],
            pa.array(np.concatenate([np.empty(0, np.uint32), *parts]).astype(np.uint32)),
        )
        for parts in columns
    ]
    return [*lists, pa.array([tokens.separators for tokens in documents], pa.string())]
