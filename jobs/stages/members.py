"""Documents inside documents: each becomes a row of its own, in the unit of the outermost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from chunking import ids
from jobs.adapters.stores.keys import encode_path
from jobs.ports import Member
from jobs.records import ParsedDocument

__all__ = ["with_members", "without_purged"]


def with_members(parsed: ParsedDocument) -> Iterator[ParsedDocument]:
    """Yield a document, and all that is inside it, each before its own members.

    A member has the metadata and the etag of what it came in: it may be seen by whom that
    may be seen by, and changes when that changes.
    """
    yield replace(parsed, outcome=replace(parsed.outcome, members=()))
    for member in parsed.outcome.members:
        if member.outcome is not None:
            yield from with_members(_member(parsed, member))


def _member(parent: ParsedDocument, member: Member) -> ParsedDocument:
    plan, outcome = parent.plan, member.outcome or parent.outcome
    key = f"{plan.source_key}{ids.MEMBER_MARK}{member.name}"
    return replace(
        parent,
        plan=replace(
            plan,
            doc_id=ids.doc_id(key),
            source_key=key,
            source_uri=f"{plan.source_uri}{ids.MEMBER_MARK}{encode_path(member.name)}",
            parent_doc_id=plan.doc_id,
            size_bytes=member.size_bytes,
        ),
        outcome=outcome,
        doc_version=member.doc_version,
        size_bytes=member.size_bytes,
        error_stage="parse" if outcome.document is None or outcome.error_kind else None,
    )


def without_purged(
    documents: Sequence[ParsedDocument], purged: AbstractSet[str]
) -> list[ParsedDocument]:
    """Return the documents without those that were purged, and without what came in them.

    A purged document is not planned, but the one that it comes in is.
    """
    if not purged:
        return list(documents)
    gone = set(purged)
    kept = []
    for document in documents:  # each before what is inside it
        plan = document.plan
        if plan.doc_id in gone or plan.parent_doc_id in gone:
            gone.add(plan.doc_id)
        else:
            kept.append(document)
    return kept
