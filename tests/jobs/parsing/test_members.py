from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chunking.errors import DocumentError, ErrorKind
from chunking.model import Document
from jobs.parsing.members import Bin, Room, member_name
from jobs.parsing.outcomes import failed
from jobs.ports import ParseOutcome

KINDS: tuple[ErrorKind, ErrorKind] = ("internal", "unsafe")


def bin_of(
    folder: Path, *, members: int = 9, n_bytes: int = 10**6, depth: int = 1, size: int = 10**6
) -> Bin:
    """Return a bin over a folder."""
    room = Room(folder=folder, members=members, n_bytes=n_bytes, depth=depth)
    return Bin(room, container_bytes=size)


def told(taken: Bin, file_format: str, *warnings: str) -> ParseOutcome:
    """Return what comes of a container that was read without a fault."""
    document = Document(text="", blocks=())
    return taken.told(
        ParseOutcome(
            status="ok", format=file_format, parser="x", document=document, warnings=warnings
        )
    )


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("a/b.txt", "a/b.txt"),
        ("../../etc/passwd", "../../etc/passwd"),
        ("/abs//x/", "abs/x"),
        ("C:\\docs\\x.doc", "C:/docs/x.doc"),
        ("", "unnamed"),
        (" / ", "unnamed"),
        ("a\0b\udcff", "a\ufffdb\ufffd"),
        ("b.zip!/c", "b.zip%21/c"),
        ("wow!", "wow!"),
    ],
)
def test_names_are_only_names(name: str, right: str) -> None:
    """Whatever a container calls a member becomes a clean, relative part of a key."""
    assert member_name(name) == right


def test_long_names_are_cut_and_stay_apart() -> None:
    """The end of a name is kept, and different names stay different."""
    one, two = (member_name("é" * 500 + f"{c}/" + "x" * 300 + ".pdf") for c in "ab")
    assert one != two
    assert all(name.endswith("xx.pdf") and len(name.encode()) < 420 for name in (one, two))


def test_members_are_numbered_files(tmp_path: Path) -> None:
    """Nothing lands outside the folder, and nothing is called after its name."""
    taken = bin_of(tmp_path)
    for name in ("../x", "/abs", "../x"):
        taken.add(name, [b"ab", b"c"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1", "2"]
    assert [member.name for member in taken.members] == ["../x", "abs", "../x"]
    assert [member.size_bytes for member in taken.members] == [3, 3, 3]


def test_too_many_members_are_counted(tmp_path: Path) -> None:
    """Of what is left out no byte is read, and the document says so."""
    taken = bin_of(tmp_path, members=1)
    taken.add("a", [b"x"])
    taken.add("b", _unread())
    taken.refuse("c", "encrypted", "locked")
    outcome = told(taken, "zip")
    assert (outcome.status, outcome.error_kind) == ("partial", "limit")
    assert outcome.warnings == ("2 documents inside it are more than limits.members allows",)
    assert [member.name for member in outcome.members] == ["a"]


def _unread() -> Iterator[bytes]:
    pytest.fail("it was read")
    yield b""


def test_bytes_are_bounded(tmp_path: Path) -> None:
    """What does not fit any more is a failure of its own; what is smaller still comes in."""
    taken = bin_of(tmp_path, n_bytes=10)
    for name, size in (("a", 6), ("b", 5), ("c", 4)):
        taken.add(name, [b"x" * size])
    kinds = [m.outcome.error_kind if m.outcome else None for m in taken.members]
    assert kinds == [None, "limit", None]
    assert {path.stat().st_size for path in tmp_path.iterdir()} == {6, 4}


def test_depth_is_bounded(tmp_path: Path) -> None:
    """What lies too deep is named and not unpacked."""
    taken = bin_of(tmp_path, depth=0)
    taken.add("a", _unread())
    (member,) = taken.members
    assert member.outcome is not None
    assert (member.outcome.status, member.outcome.error_kind) == ("failed", "limit")


def test_bombs_are_refused(tmp_path: Path) -> None:
    """A container whose bytes multiply too often is unsafe, also over many members."""
    piece = b"\0" * (1 << 20)
    taken = bin_of(tmp_path, n_bytes=1 << 30, size=100)
    for number in range(8):
        taken.add(str(number), [piece])
    with pytest.raises(DocumentError, match="bomb") as caught:
        taken.add("one more", [piece])
    assert caught.value.kind == "unsafe"


def test_full_disks_are_not_the_documents_fault(tmp_path: Path) -> None:
    """A file that cannot be written fails the container, to be tried again."""
    taken = bin_of(tmp_path / "gone")
    with pytest.raises(DocumentError, match="temporary") as caught:
        taken.add("a", [b"x"])
    assert (caught.value.kind, caught.value.retryable) == ("internal", True)


def test_nothing_is_taken_where_nothing_is_wanted() -> None:
    """Without a folder the names are noted."""
    taken = Bin(Room(folder=None), container_bytes=1)
    taken.add("../a", _unread())
    assert (taken.skipped, taken.members, taken.wanted) == (["../a"], [], False)


def test_archives_have_no_text_of_their_own(tmp_path: Path) -> None:
    """Their row is skipped by rule, with other warnings kept; a mail's stays as it is."""
    taken = bin_of(tmp_path)
    taken.add("a", [b"x"])
    outcome = told(taken, "tar", "1 links", "no_text")
    assert (outcome.status, outcome.error_kind, outcome.document) == ("skipped", "no_text", None)
    assert outcome.warnings == ("1 links",)
    assert told(taken, "eml", "no_text").status == "ok"


def test_attachments_of_a_mail_that_fails_are_there(tmp_path: Path) -> None:
    """A mail whose own text cannot be had gives its attachments; a broken archive gives none."""
    taken = bin_of(tmp_path)
    taken.add("a", [b"x"])
    kept = {
        (file_format, kind): len(taken.saved(failed(kind, "x", file_format)).members)
        for file_format in ("eml", "zip")
        for kind in KINDS
    }
    assert kept == {
        ("eml", "internal"): 1,
        ("eml", "unsafe"): 0,
        ("zip", "internal"): 0,
        ("zip", "unsafe"): 0,
    }
