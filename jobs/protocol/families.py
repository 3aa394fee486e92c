"""What becomes of documents that came inside others, when those are processed again or go."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from jobs.protocol.files import column
from jobs.protocol.plan import ancestry
from jobs.protocol.units import UnitRows

__all__ = ["outermost_keys", "vanished"]


@dataclass(frozen=True, slots=True)
class _Attempts:
    """The documents of units: those whose members are known now, and all of them."""

    unpacked: frozenset[str]
    touched: frozenset[str]


def vanished(
    previous: pa.Table, units: Sequence[UnitRows], deletions: Collection[str]
) -> list[str]:
    """Return the members among the ``previous`` rows that are there no longer.

    They go with what they came in; and where that was processed again, they go unless they
    came in it again. Where it has failed, nobody knows what is inside now: they stay, as a
    failed document's chunks do.
    """
    gone = set(deletions)
    attempts = _attempts(units)
    parents = _parents(previous)
    for doc_id, parent in parents.items():
        if parent is None:
            continue
        # Outwards first: what came in a document that goes, goes with it.
        for inner in reversed(ancestry(doc_id, parents)[:-1]):
            outer = parents[inner]
            if inner not in attempts.touched and (outer in gone or outer in attempts.unpacked):
                gone.add(inner)
    return sorted(doc_id for doc_id in gone if parents.get(doc_id) is not None)


def outermost_keys(documents: pa.Table) -> dict[str, str]:
    """Return the ``source_key`` of the outermost document that each one came in, by id."""
    parents = _parents(documents)
    keys = dict(zip(parents, column(documents, "source_key"), strict=True))
    return {doc_id: keys.get(ancestry(doc_id, parents)[-1], keys[doc_id]) for doc_id in parents}


def _attempts(units: Sequence[UnitRows]) -> _Attempts:
    touched = {mark.doc_id for unit in units for mark in unit.marker.documents}
    unpacked = {
        mark.doc_id
        for unit in units
        if unit.marker.unpacks
        for mark in unit.marker.documents
        if mark.status != "failed"
    }
    return _Attempts(unpacked=frozenset(unpacked), touched=frozenset(touched))


def _parents(documents: pa.Table) -> Mapping[str, str | None]:
    pairs = zip(column(documents, "doc_id"), column(documents, "parent_doc_id"), strict=True)
    return dict(pairs)
