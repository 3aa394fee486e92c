from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from chunking.model import Block, Document
from jobs.config import LimitsConfig
from jobs.parsing.family import Wanted, read_family
from jobs.parsing.outcomes import failed
from jobs.ports import Member, ParseOutcome


class Reader:
    """Stands in for a child: a file holds lines, each the name and content of a member.

    ``name=text``; within a text ``:`` and ``|`` stand for the ``=`` and line end of the next
    depth. Other files are texts, or do the deed that they name.
    """

    def __init__(self, **deeds: ParseOutcome) -> None:
        self.names: list[str] = []
        self.wanted: list[Wanted] = []
        self._deeds = deeds

    def __call__(self, path: Path, name: str, wanted: Wanted) -> ParseOutcome:
        """Read a file, and unpack its members."""
        self.names.append(name)
        self.wanted.append(wanted)
        text = path.read_text(encoding="utf-8")
        if text in self._deeds:
            return self._deeds[text]
        outcome = ParseOutcome(status="ok", format="txt", parser="fake", document=document(text))
        if "=" not in text or not wanted.depth:
            return outcome
        members = []
        for number, line in enumerate(text.split("\n")):
            member, _, content = line.partition("=")
            (wanted.folder / str(number)).write_text(content.replace("|", "\n").replace(":", "="))
            inline = member.startswith("cid")
            members.append(Member(name=member, file=str(number), inline=inline))
        return replace(outcome, members=tuple(members))


def document(text: str) -> Document:
    """Return a document of one paragraph."""
    block = Block(index=0, kind="paragraph", start=0, end=len(text))
    return Document(text=text, blocks=(block,)) if text.strip() else Document(text="", blocks=())


def read(tmp_path: Path, text: str, reader: Reader | None = None, **limits: float) -> ParseOutcome:
    """Read a family; nothing of it is left on disk."""
    path = tmp_path / "document"
    path.write_text(text, encoding="utf-8")
    (tmp_path / "tmp").mkdir()
    bounds = LimitsConfig.model_validate(limits)
    outcome = read_family(reader or Reader(), path, "key", bounds, tmp_dir=str(tmp_path / "tmp"))
    assert list((tmp_path / "tmp").iterdir()) == []
    return outcome


def shown(outcome: ParseOutcome) -> dict[str, str | None]:
    """Return the error kinds of members by name, at any depth."""
    found: dict[str, str | None] = {}
    for member in outcome.members:
        assert member.outcome is not None
        found[member.name] = member.outcome.error_kind
        found |= {f"{member.name}/{k}": v for k, v in shown(member.outcome).items()}
    return found


def test_members_are_read_at_any_depth(tmp_path: Path) -> None:
    """Each has its key, its bytes' version and size, and members of its own."""
    reader = Reader()
    outcome = read(tmp_path, "a=x\nb=c:y", reader)
    assert reader.names == ["key", "key!/a", "key!/b", "key!/b!/c"]
    assert shown(outcome) == {"a": None, "b": None, "b/c": None}
    first = outcome.members[0]
    assert first.size_bytes == 1
    assert first.doc_version is not None
    assert first.doc_version.startswith("2d711642b726b044")
    assert (first.file, first.inline) == (None, False)


def test_a_member_that_fails_costs_itself(tmp_path: Path) -> None:
    """Its outcome stands, and the others are read."""
    reader = Reader(poison=failed("crashed", "the reader crashed", "pdf"))
    outcome = read(tmp_path, "a=x\nb=poison\nc=y", reader)
    assert shown(outcome) == {"a": None, "b": "crashed", "c": None}
    assert outcome.status == "ok"


def test_names_are_made_unique(tmp_path: Path) -> None:
    """Equal names get numbers, whatever others are called already."""
    outcome = read(tmp_path, "a=1\na=2\na~2=3\n../a=4\na=5")
    assert list(shown(outcome)) == ["a", "a~2", "a~2~2", "../a", "a~3"]


def test_what_a_child_tells_is_not_trusted(tmp_path: Path) -> None:
    """A file that is a link, lies elsewhere or is not there is not read."""

    def lying(path: Path, name: str, wanted: Wanted) -> ParseOutcome:
        del path, name
        (wanted.folder / "1").symlink_to("/etc/passwd")
        (wanted.folder / "2").mkdir()
        files = ("1", "2", "3", "../x", "/etc/passwd")
        members = tuple(Member(name=f"m{file}", file=file) for file in files)
        told = Member(
            name="told", outcome=replace(failed("encrypted", "x", "zip"), members=members)
        )
        return ParseOutcome(status="ok", format="zip", parser="x", members=(*members, told))

    (tmp_path / "tmp").mkdir()
    outcome = read_family(lying, tmp_path, "k", LimitsConfig(), tmp_dir=str(tmp_path / "tmp"))
    assert list(shown(outcome).values()) == ["internal"] * 5 + ["encrypted"]


def test_members_share_their_bounds(tmp_path: Path) -> None:
    """Number, bytes and depth go down as members are found, at every depth."""
    reader = Reader()
    read(tmp_path, "a=x\nb=c:yy", reader, members=9, member_bytes=100, member_depth=3)
    left = [(w.members, w.n_bytes, w.depth) for w in reader.wanted]
    assert left == [(9, 100, 3), (7, 95, 2), (7, 95, 2), (6, 93, 1)]


def test_texts_of_members_are_bounded_together(tmp_path: Path) -> None:
    """The first that makes them longer than one document may be is refused."""
    outcome = read(tmp_path, "a=xxxx\nb=yyyy\nc=z", document_chars=20, members=9)
    assert shown(outcome) == {"a": None, "b": None, "c": None}
    other = tmp_path / "other"
    other.mkdir()
    outcome = read(other, "a=xxxx\nb=yyyy\nc=z", document_chars=6)
    assert shown(outcome) == {"a": None, "b": "limit", "c": None}


def test_time_of_members_is_bounded_together(tmp_path: Path) -> None:
    """What is not reached in time is a timeout, to be tried again."""
    outcome = read(tmp_path, "a=x\nb=y", member_seconds=1e-9)
    assert shown(outcome) == {"a": "timeout", "b": "timeout"}
    assert all(m.outcome and m.outcome.retryable for m in outcome.members)


def test_inline_images_without_text_are_no_documents(tmp_path: Path) -> None:
    """The logo of a signature is counted in a warning; an image with text is a document."""
    reader = Reader(logo=failed("no_text", "an image", "image"))
    outcome = read(tmp_path, "cid1=logo\ncid2=Words\ncid3= \nother=logo", reader)
    assert shown(outcome) == {"cid2": None, "other": "no_text"}
    assert outcome.warnings == ("2 inline images in which no text was found",)
