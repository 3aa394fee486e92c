"""Fetch and parse, with a source and a parser made of dictionaries."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from chunking import ids
from chunking.errors import DocumentError
from chunking.model import Block, Document
from jobs.config import Config
from jobs.journal import UNWATCHED, Orders, Watch
from jobs.meter import Sample
from jobs.parsing.outcomes import failed
from jobs.ports import Member, ParseOutcome
from jobs.records import ParsedDocument, PlanRow, SourceItem, version_tag
from jobs.sources.base import Fetched
from jobs.stages.fetch_parse import FetchParse


@dataclass
class Shelf:
    """A source that holds texts; None cannot be fetched."""

    texts: dict[str, str | None]
    url: str = "shelf"

    def list(self) -> list[SourceItem]:
        """Nothing here lists."""
        return []

    def fetch(self, location: str, table_row: int | None, path: Path) -> Fetched:
        """Write the text."""
        del table_row
        text = self.texts[location]
        if text is None:
            message = "gone"
            raise DocumentError(message, kind="network", stage="fetch", retryable=True)
        path.write_text(text)
        return Fetched(size=len(text), etag=f"etag-{location}", doc_version="0" * 64)


@dataclass
class Reader:
    """A parser that takes the file as one paragraph, and remembers where it lay."""

    paths: list[Path] = field(default_factory=list)

    def parse(self, path: Path, *, name: str) -> ParseOutcome:
        """Return the text of the file."""
        del name
        self.paths.append(path)
        text = path.read_text()
        block = Block(index=0, kind="paragraph", start=0, end=len(text))
        document = Document(text=text, blocks=(block,))
        return ParseOutcome(status="ok", format="txt", parser="reader", document=document)

    def close(self) -> None:
        """Nothing to end."""


def _run(
    texts: dict[str, str | None],
    reader: Reader,
    samples: list[Sample],
    watch: Watch = UNWATCHED,
) -> list[ParsedDocument]:
    stage = FetchParse(Shelf(texts), Config(), samples.append, parser=reader)
    rows = [
        PlanRow(
            unit=0,
            bucket=0,
            doc_id=key,
            source_key=key,
            source_uri=f"shelf:{key}",
            size_bytes=1,
            location=key,
            etag="listed",
            metadata={"readers": "crew"} if key == "b" else {},
        )
        for key in texts
    ]
    return ParsedDocument.from_table(stage(PlanRow.to_table(rows), watch))


def test_a_document_that_is_gone_costs_itself() -> None:
    """The others are read; its row says why, at which stage, and that it may be tried again."""
    samples: list[Sample] = []
    documents = _run({"a": "one", "b": None, "c": "three"}, Reader(), samples)
    assert [d.outcome.status for d in documents] == ["ok", "failed", "ok"]
    lost = documents[1]
    assert (lost.error_stage, lost.outcome.error_kind) == ("fetch", "network")
    assert (lost.outcome.retryable, lost.doc_version, lost.etag) == (True, None, "listed")
    assert sum(sample.counts["documents"] for sample in samples) == 3
    assert sum(sample.counts["failed"] for sample in samples) == 1


def test_a_document_that_kills_workers_is_not_touched() -> None:
    """It is neither fetched nor parsed; the others are told of, each before it is begun."""
    told: list[str | None] = []
    orders = Orders(suspects={"b": 3, "c": 2}, limit=3)
    watch = Watch(orders, careful=True, tell=told.append)
    samples: list[Sample] = []
    documents = _run({"a": "one", "b": "two", "c": "three"}, Reader(), samples, watch)
    assert [d.outcome.status for d in documents] == ["ok", "failed", "ok"]
    lost = documents[1]
    assert (lost.error_stage, lost.outcome.error_kind) == ("parse", "crashed")
    assert (lost.outcome.retryable, lost.doc_version, lost.etag) == (True, None, "listed")
    assert told == ["a", None, "c", None]
    assert sum(sample.counts["failed"] for sample in samples) == 1


def test_names_do_not_reach_the_parser_and_files_do_not_stay() -> None:
    """Every document lies under one neutral name while it is read, and is gone after."""
    reader = Reader()
    _run({"a.pdf": "one", "b.docx": "two"}, reader, [])
    assert {path.name for path in reader.paths} == {"document"}
    assert not any(path.exists() for path in reader.paths)


def test_the_etag_speaks_of_the_metadata_too() -> None:
    """What was read is recognised by its etag and the metadata that the source gave."""
    documents = _run({"a": "one", "b": "two"}, Reader(), [])
    assert documents[0].etag == "etag-a"
    assert documents[1].etag == version_tag("etag-b", {"readers": "crew"}) != "etag-b"


def test_members_are_documents_with_what_they_came_in() -> None:
    """They follow it at any depth, with its etag and metadata, and ids of their own."""

    class Unpacker(Reader):
        def parse(self, path: Path, *, name: str) -> ParseOutcome:
            outcome = super().parse(path, name=name)
            lost = failed("encrypted", "locked", "zip")
            deep = Member(name="d", outcome=outcome, size_bytes=3, doc_version="2" * 64)
            box = replace(lost, members=(deep,))
            members = (
                Member(name="x y%.txt", outcome=outcome, size_bytes=7, doc_version="1" * 64),
                Member(name="box", outcome=box),
            )
            return replace(outcome, members=members)

    documents = _run({"a": "one", "b": "two"}, Unpacker(), [])
    assert [d.plan.source_key for d in documents] == [
        *("a", "a!/x y%.txt", "a!/box", "a!/box!/d"),
        *("b", "b!/x y%.txt", "b!/box", "b!/box!/d"),
    ]
    member = documents[5]
    assert member.plan.doc_id == ids.doc_id("b!/x y%.txt")
    assert member.plan.source_uri == "shelf:b!/x%20y%25.txt"
    assert member.plan.parent_doc_id == "b"
    assert (member.doc_version, member.size_bytes) == ("1" * 64, 7)
    assert member.etag == documents[4].etag
    assert dict(member.plan.metadata) == {"readers": "crew"}
    assert documents[7].plan.parent_doc_id == ids.doc_id("b!/box")
    lost = documents[6]
    assert (lost.error_stage, lost.outcome.error_kind, lost.doc_version) == (
        *("parse", "encrypted"),
        None,
    )
    assert all(not document.outcome.members for document in documents)
