"""Documents inside documents: what becomes of those that were purged."""

from __future__ import annotations

from jobs.ports import ParseOutcome
from jobs.records import ParsedDocument, PlanRow
from jobs.stages.members import without_purged

OUTCOME = ParseOutcome(status="skipped", format="zip", parser="test", error_kind="empty")


def parsed(doc_id: str, parent: str | None = None) -> ParsedDocument:
    """Return a document that was found in another, or in none."""
    return ParsedDocument(
        plan=PlanRow(
            unit=0,
            bucket=0,
            doc_id=doc_id,
            source_key=doc_id,
            source_uri=doc_id,
            size_bytes=0,
            location=doc_id,
            parent_doc_id=parent,
        ),
        outcome=OUTCOME,
        doc_version=None,
        etag=None,
        size_bytes=0,
    )


FAMILY = [parsed("mail"), parsed("zip", "mail"), parsed("file", "zip"), parsed("image", "mail")]


def test_a_purged_member_is_left_out_with_what_is_in_it() -> None:
    """The mail comes again, its purged archive does not, nor what is in that."""
    found = without_purged(FAMILY, {"zip", "another"})
    assert [document.plan.doc_id for document in found] == ["mail", "image"]


def test_nothing_is_left_out_where_nothing_was_purged() -> None:
    """All documents stay, in order."""
    assert without_purged(FAMILY, frozenset()) == FAMILY
