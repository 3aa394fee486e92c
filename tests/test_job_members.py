"""Attachments and archives through the whole job, with its stages and protocol in this process."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pyarrow.dataset as pads
import pytest

from chunking import ids
from jobs.adapters.embedders import make_embedder
from jobs.adapters.stores import open_store
from jobs.config import Config
from jobs.parsing.pool import ChildParser
from jobs.protocol.session import RunSession
from jobs.rechunk import RechunkRequest, rechunk
from jobs.recorded import run_settings, settings_record
from jobs.sources import open_source
from jobs.stages.fetch_parse import FetchParse
from jobs.stages.unit import EmbedUnit, commit, plan_table, publish
from jobs.verifier import Options, verify
from tests.jobs.parsing.made import PHRASE, make_docx
from tests.jobs.parsing.pdfs import paragraph, pdf

PARSING = Path(__file__).parent / "jobs" / "parsing"
Row = Mapping[str, Any]


@dataclass
class Job:
    """A source, a dataset, and a parser that is kept from run to run."""

    src: Path
    dst: Path
    parser: ChildParser
    config: Config

    def run(self, *, stop_before_publishing: bool = False) -> Mapping[str, Any]:
        """Do one run; return its report, an empty one where it was stopped."""
        config = self.config
        source = open_source(str(self.src), config, str(self.dst))
        store, embedder = open_store(str(self.dst), config.source), make_embedder(config)
        record = settings_record(config, embedder)
        settings = run_settings(config, embedder.facts, record, source=source.url)
        with RunSession.open(store, settings, heartbeat=False, workers=1) as session:
            session.make_plan(source.list(), tokenizer=embedder.tokenizer_description)
            parse = FetchParse(source, config, lambda _: None, self.parser)
            embed = EmbedUnit(config, session.run, lambda _: None, None, store)
            for number in session.units_to_do():
                result = embed(parse(plan_table(session.unit(number))))
                session.unit_done(commit(result, store, session.run).marker)
            if stop_before_publishing:
                return {}
            for job in session.ready():
                session.published(publish(job, store, session.run).version)
            return session.finish()

    def rows(self, table: str = "documents") -> list[Row]:
        """Return the rows of a plain directory."""
        folder = self.dst / table
        found: list[Row] = pads.dataset(folder, partitioning=None).to_table().to_pylist()
        return found

    def outcomes(self) -> dict[str, tuple[str, str | None]]:
        """Return status and error kind by key."""
        return {row["source_key"]: (row["status"], row["error_kind"]) for row in self.rows()}

    def check(self) -> None:
        """Hold what was written to every law."""
        report = verify(str(self.dst), str(self.src), options=Options(words=False, readers=False))
        assert not report.violated, [str(finding) for finding in report.findings][:5]


@pytest.fixture(scope="module")
def parser() -> Iterator[ChildParser]:
    """Return a parser that dies of poison."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PARSING)
        config = Config()
        made = ChildParser(config.parser, config.limits, convert="poisoned:convert", preload=None)
        yield made
        made.close()


@pytest.fixture
def job(tmp_path: Path, parser: ChildParser) -> Job:
    """Return a job over an empty folder, in several buckets."""
    (tmp_path / "src").mkdir()
    config = Config.model_validate(
        {"model": {"name": "hash:16"}, "output": {"n_buckets": 3}, "limits": {"lease_seconds": 5}}
    )
    return Job(src=tmp_path / "src", dst=tmp_path / "dst", parser=parser, config=config)


def mail(*attachments: tuple[str, bytes]) -> bytes:
    """Return a mail."""
    message = EmailMessage()
    message["Subject"], message["From"] = "Ferry", "a@example.org"
    message.set_content("See what is attached.")
    for name, data in attachments:
        message.add_attachment(data, maintype="application", subtype="x", filename=name)
    return message.as_bytes()


def zipped(**members: str | bytes) -> bytes:
    """Return a zip archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def test_attachments_and_archives_are_documents(job: Job, tmp_path: Path) -> None:
    """Each member has its row, its chunks and its ids; one that ends its reader costs itself."""
    docx = make_docx(tmp_path / "a.docx").read_bytes()
    page = pdf([paragraph(["Words inside the attached report."])])
    inner = zipped(**{"deep ø.txt": "At the very bottom lies this."})
    (job.src / "mail.eml").write_bytes(
        mail(("plan.docx", docx), ("report.pdf", page), ("bad.txt", b"poison"), ("in.zip", inner))
    )
    (job.src / "notes.txt").write_text("Nothing is inside this one.")
    report = job.run()
    assert job.outcomes() == {
        "mail.eml": ("ok", None),
        "mail.eml!/plan.docx": ("ok", None),
        "mail.eml!/report.pdf": ("ok", None),
        "mail.eml!/bad.txt": ("failed", "crashed"),
        "mail.eml!/in.zip": ("skipped", "no_text"),
        "mail.eml!/in.zip!/deep ø.txt": ("ok", None),
        "notes.txt": ("ok", None),
    }
    assert (report["planned"], report["members"]) == (2, 5)
    rows = {row["source_key"]: row for row in job.rows()}
    deep = rows["mail.eml!/in.zip!/deep ø.txt"]
    assert deep["parent_doc_id"] == ids.doc_id("mail.eml!/in.zip")
    assert deep["source_uri"].endswith("/mail.eml!/in.zip!/deep%20%C3%B8.txt")
    assert deep["doc_version"] == ids.content_version(b"At the very bottom lies this.")
    assert PHRASE in rows["mail.eml!/plan.docx"]["text"]
    assert rows["mail.eml!/report.pdf"]["text"] == "Words inside the attached report."
    job.check()


def test_running_again_does_nothing(job: Job) -> None:
    """Members of an unchanged document are neither read again nor removed."""
    (job.src / "a.zip").write_bytes(zipped(x="One.", y="Two."))
    job.run()
    before = job.rows()
    report = job.run()
    assert (report["planned"], report["unchanged"], report["deleted"]) == (0, 1, 0)
    assert job.rows() == before


def test_a_changed_document_drops_and_gains_members(job: Job) -> None:
    """What is no longer inside is removed from chunks and feed; the rest stays as it was."""
    (job.src / "a.eml").write_bytes(mail(("x.txt", b"Stays."), ("y.txt", b"Goes.")))
    job.run()
    kept = {row["chunk_id"] for row in job.rows("chunks") if row["text"] == "Stays."}
    (job.src / "a.eml").write_bytes(mail(("x.txt", b"Stays."), ("z.txt", b"Comes.")))
    report = job.run()
    assert (report["planned"], report["members"], report["deleted"]) == (1, 2, 1)
    assert set(job.outcomes()) == {"a.eml", "a.eml!/x.txt", "a.eml!/z.txt"}
    assert kept == {row["chunk_id"] for row in job.rows("chunks") if row["text"] == "Stays."}
    last = max(row["run_id"] for row in job.rows())
    feed = pads.dataset(job.dst / "changes" / f"run={last}", partitioning=None).to_table()
    told = {(row["op"], row["doc_id"]) for row in feed.to_pylist()}
    expected = {("delete", "y.txt"), ("upsert", "z.txt")}
    assert told == {
        ("upsert", ids.doc_id("a.eml")),  # its own version is another now
        *((op, ids.doc_id(f"a.eml!/{name}")) for op, name in expected),
    }
    job.check()


def test_members_go_with_their_document(job: Job) -> None:
    """A deleted archive leaves nothing; one that turns corrupt keeps what was published."""
    for name in "ab":
        (job.src / f"{name}.zip").write_bytes(zipped(x=f"Text of {name}."))
    job.run()
    (job.src / "a.zip").unlink()
    data = (job.src / "b.zip").read_bytes()
    (job.src / "b.zip").write_bytes(data[:-30])
    job.run()
    assert job.outcomes() == {"b.zip": ("failed", "corrupt"), "b.zip!/x": ("ok", None)}
    assert [row["text"] for row in job.rows("chunks")] == ["Text of b."]
    job.check()


def test_members_of_an_interrupted_run_are_adopted(job: Job) -> None:
    """What a run had committed and not published is taken over with its members."""
    (job.src / "a.zip").write_bytes(zipped(x="One.", y="Two."))
    job.run(stop_before_publishing=True)
    report = job.run()
    assert report["adopted_units"] == 1
    assert set(job.outcomes()) == {"a.zip", "a.zip!/x", "a.zip!/y"}
    job.check()


def test_members_have_the_metadata_of_their_document(job: Job) -> None:
    """Who may see a mail may see what is attached to it, and nobody else."""
    (job.src / "a.eml").write_bytes(mail(("x.txt", b"Inside.")))
    listing = job.src / "list.csv"
    listing.write_text(f"uri,acl\n{(job.src / 'a.eml').as_uri()},staff\n", encoding="utf-8")
    job.src = listing
    job.run()
    metadata: Callable[[Row], object] = lambda row: dict(row["metadata"]).get("acl")  # noqa: E731
    assert [metadata(row) for row in job.rows("chunks")] == ["staff", "staff"]


def test_members_are_skipped_where_asked(job: Job) -> None:
    """A mail with attachments is partial then, and an archive is not read."""
    job.parser = ChildParser(
        job.config.parser.model_copy(update={"members": "skip"}),
        job.config.limits,
        convert="jobs.parsing.convert:convert",
        preload=None,
    )
    (job.src / "a.eml").write_bytes(mail(("x.txt", b"Inside.")))
    (job.src / "a.zip").write_bytes(zipped(x="One."))
    try:
        job.run()
    finally:
        job.parser.close()
    assert job.outcomes() == {
        "a.eml": ("partial", None),
        "a.zip": ("skipped", "unsupported_format"),
    }
    job.check()


def test_members_are_rechunked_with_what_they_came_in(job: Job, tmp_path: Path) -> None:
    """Read back from a dataset they keep parents and buckets; a run over both does nothing."""
    (job.src / "a.eml").write_bytes(mail(("x.txt", b"Stays."), ("in.zip", zipped(y="Deep."))))
    job.run()
    output = job.config.output.model_copy(update={"n_buckets": 5})
    config = job.config.model_copy(update={"output": output})
    new = replace(job, dst=tmp_path / "new", config=config)
    asked = RechunkRequest(
        dst=str(job.dst),
        new_dst=str(new.dst),
        assignments=("output.n_buckets=5", "limits.lease_seconds=5"),
        verbosity=-1,
    )
    assert rechunk(asked) == 0
    assert {r["source_key"]: r["parent_doc_id"] for r in new.rows()} == {
        row["source_key"]: row["parent_doc_id"] for row in job.rows()
    }
    new.check()
    assert new.run()["planned"] == 0
    (job.src / "a.eml").write_bytes(mail(("x.txt", b"Stays.")))
    new.run()
    assert set(new.outcomes()) == {"a.eml", "a.eml!/x.txt"}
    new.check()
