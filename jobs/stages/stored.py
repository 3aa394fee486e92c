"""What the embedding stage keeps in the sentence store, and what it takes from it again."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from chunking.errors import StoreError
from jobs.blocks import blocks_array, list_array
from jobs.ports import ModelFacts, ObjectStore
from jobs.records import PlanRow
from jobs.sentence_store import STRUCTURE, WINDOW, KnownVectors, SentenceStore, vectors_id
from jobs.stages.results import DocumentResult

__all__ = ["StoredVectors", "structure_table"]

_LOG = logging.getLogger(__name__)


class StoredVectors:
    """Finds the unit vectors that an earlier version of a document left.

    A file that is lost or damaged costs a model pass, nothing else.
    """

    def __init__(self, store: ObjectStore, facts: ModelFacts, dtype: np.dtype[Any]) -> None:
        self._reader = SentenceStore(store)
        self._made_by = vectors_id(facts)
        self._dtype = dtype

    def of(self, plan: PlanRow) -> KnownVectors | None:
        """Return what is known of a planned document; None if nothing that fits is."""
        if plan.structure_ref is None:
            return None
        try:
            return self._reader.vectors(plan.structure_ref, plan.doc_id, self._made_by, self._dtype)
        except StoreError as error:
            _LOG.warning("%s: its stored vectors are not used: %s", plan.source_key, error)
            return None


def structure_table(
    results: Sequence[DocumentResult], facts: ModelFacts, *, sentences: bool
) -> pa.Table:
    """Return one :data:`STRUCTURE` row per document that could be read.

    ``sentences``: whether the unit vectors are kept beside.
    """
    read = [result for result in results if result.document is not None]
    made_by = vectors_id(facts)
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
        pa.array([made_by if has_windows else None for has_windows in pairs], pa.string()),
        blocks_array([r.document.blocks if r.document else None for r in read], boxes=True),
        list_array([len(own) for own in pairs], windows),
    ]
    return pa.Table.from_arrays(arrays, schema=STRUCTURE)
