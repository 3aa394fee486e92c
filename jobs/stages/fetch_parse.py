"""Fetch and parse: a plan row becomes a parsed document, or its error, never an exception."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa

from chunking.errors import DocumentError
from jobs.config import Config
from jobs.journal import UNWATCHED, Watch
from jobs.meter import Report, measure
from jobs.parsing.pool import ChildParser
from jobs.ports import ParseOutcome, Parser
from jobs.protocol import fail_points
from jobs.records import ParsedDocument, PlanRow, version_tag
from jobs.scratch import scratch_folder
from jobs.sources.base import Source
from jobs.stages.members import with_members

__all__ = ["FetchParse"]


class FetchParse:
    """Reads the documents of a unit one by one and parses each in a killable child.

    Only plan rows come in: the bytes of a document never pass through the engine's
    object store, whatever their size.
    """

    def __init__(
        self, source: Source, config: Config, report: Report, parser: Parser | None = None
    ) -> None:
        fail_points.hit("parse.start")
        self._source = source
        self._report = report
        self._parser = parser or _started(config)
        self._tmp_dir = config.resources.tmp_dir

    def __call__(self, unit: pa.Table, watch: Watch = UNWATCHED) -> pa.Table:
        """Return :data:`jobs.records.PARSED` rows: of each plan row, then of its members."""
        with scratch_folder(self._tmp_dir) as folder:
            documents = [
                document
                for row in PlanRow.from_table(unit)
                for document in with_members(self._measured(row, folder, watch))
            ]
        watch.together()
        return ParsedDocument.to_table(documents)

    def _measured(self, row: PlanRow, folder: Path, watch: Watch) -> ParsedDocument:
        """Report every document by itself: a unit may take minutes."""
        began = time.monotonic()
        given_up = watch.begin(row.doc_id, "parse")
        document = _unread(row, given_up) if given_up else self._document(row, folder)
        self._report(measure("parse", time.monotonic() - began, _counts(document)))
        return document

    def _document(self, row: PlanRow, folder: Path) -> ParsedDocument:
        # One neutral name: nothing of the outcome may hang on what a file is called.
        path = folder / "document"
        fail_points.hit("parse.document", row.source_key)
        try:
            fetched = self._source.fetch(row.location, row.table_row, path)
        except DocumentError as error:
            path.unlink(missing_ok=True)
            return _unread(row, error)
        outcome = self._parser.parse(path, name=row.source_key)
        path.unlink(missing_ok=True)
        failed = outcome.document is None
        return ParsedDocument(
            plan=row,
            outcome=outcome,
            doc_version=fetched.doc_version,
            etag=version_tag(fetched.etag, row.metadata),
            size_bytes=fetched.size,
            error_stage="parse" if failed or outcome.error_kind else None,
        )


def _started(config: Config) -> ChildParser:
    """Return a parser that loads its readers while the first document is fetched."""
    parser = ChildParser(config.parser, config.limits, tmp_dir=config.resources.tmp_dir)
    parser.start()
    return parser


def _unread(row: PlanRow, error: DocumentError) -> ParsedDocument:
    """Return what is known of a document of which nothing could be read."""
    outcome = ParseOutcome(
        status="failed",
        format="unknown",
        parser="",
        error_kind=error.kind,
        error_message=str(error),
        retryable=error.retryable,
    )
    return ParsedDocument(
        plan=row,
        outcome=outcome,
        doc_version=None,
        etag=row.etag,
        size_bytes=row.size_bytes,
        error_stage=error.stage,
    )


def _counts(document: ParsedDocument) -> dict[str, float]:
    text = document.outcome.document
    return {
        "documents": 1,
        "failed": document.outcome.status == "failed",
        "bytes": document.size_bytes,
        "pages": (text.n_pages or 0) if text else 0,
    }
