from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
from pathlib import Path

import pytest

from chunking.errors import DocumentError
from jobs.config import LimitsConfig, ParserConfig
from jobs.parsing import guards
from jobs.parsing.convert import Converted, convert
from jobs.parsing.detect import detect_format
from jobs.parsing.members import Bin, Room
from jobs.ports import Member


def unpack(
    tmp_path: Path, data: bytes, format_: str
) -> tuple[Converted, list[Member], list[bytes]]:
    """Detect, check and unpack an archive; return its members and their bytes."""
    path = tmp_path / "document"
    path.write_bytes(data)
    assert detect_format(path, "") == format_
    guards.check(path, format_, LimitsConfig())
    folder = tmp_path / "members"
    folder.mkdir()
    taken = Bin(Room(folder=folder, members=99, n_bytes=10**8, depth=1), container_bytes=len(data))
    converted = convert(path, format=format_, name="", settings=ParserConfig(), members=taken)
    assert {path.name for path in tmp_path.iterdir()} == {"document", "members"}
    contents = [(folder / m.file).read_bytes() for m in taken.members if m.file]
    return converted, taken.members, contents


def zipped(
    *members: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED
) -> bytes:
    """Return a zip archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return file.getvalue()


def locked(data: bytes) -> bytes:
    """Return a zip archive whose first member claims to be encrypted."""
    changed = bytearray(data)
    for magic, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        changed[changed.find(magic) + at] |= 1
    return bytes(changed)


def tarred(*members: tuple[tarfile.TarInfo, bytes], mode: str = "w") -> bytes:
    """Return a tar archive."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:  # type: ignore[call-overload]
        for info, data in members:
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    """Return a link in a tar archive."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize(
    "method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_zip(tmp_path: Path, method: int) -> None:
    """Every file is a member, in order; folders and an operating system's files are none."""
    data = zipped(
        ("d/", b""),
        ("d/a.txt", b"one"),
        ("../b", b"two"),
        ("d/.DS_Store", b"x"),
        ("__MACOSX/d/._a.txt", b"x"),
        ("d/~$a.docx", b"x"),
        ("empty", b""),
        method=method,
    )
    converted, members, contents = unpack(tmp_path, data, "zip")
    assert [member.name for member in members] == ["d/a.txt", "../b", "empty"]
    assert contents == [b"one", b"two", b""]
    assert (converted.document.text, converted.warnings) == ("", ())


def test_locked_and_damaged_members_cost_themselves(tmp_path: Path) -> None:
    """A member behind a password says so, one that is broken too; the others come through."""
    data = bytearray(locked(zipped(("a", b"secret"), ("b", b"x" * 100), ("c", b"good"))))
    info = zipfile.ZipFile(io.BytesIO(data)).infolist()[1]
    data[info.header_offset + 34] ^= 0xFF
    _, members, contents = unpack(tmp_path, bytes(data), "zip")
    kinds = [m.outcome.error_kind if m.outcome else None for m in members]
    assert kinds == ["encrypted", "corrupt", None]
    assert contents == [b"good"]


def test_unknown_compression(tmp_path: Path) -> None:
    """A method that Python does not know is unsupported for that member."""
    data = bytearray(zipped(("a", b"x"), ("b", b"y"), method=zipfile.ZIP_STORED))
    for magic, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        start = data.find(magic)
        data[start + at : start + at + 2] = struct.pack("<H", 9)
    _, members, contents = unpack(tmp_path, bytes(data), "zip")
    outcome = members[0].outcome
    assert outcome is not None
    assert (outcome.status, outcome.error_kind) == ("skipped", "unsupported_format")
    assert contents == [b"y"]


def test_zip_names_in_other_encodings(tmp_path: Path) -> None:
    """A name without the UTF-8 flag is read as what it looks like."""
    info = zipfile.ZipInfo("xyz.txt")
    data = zipped((info, b"a")).replace(b"xyz.txt", "ø.txt".encode() + b"_")
    _, members, _ = unpack(tmp_path, data, "zip")
    assert [member.name for member in members] == ["ø.txt_"]


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_tar(tmp_path: Path, mode: str) -> None:
    """Files come out of every compression; links and devices are counted, never followed."""
    data = tarred(
        (tarfile.TarInfo("a/../x.txt"), b"one"),
        (link("l", "/etc/passwd"), b""),
        (link("h", "a/../x.txt", tarfile.LNKTYPE), b""),
        (link("p", "", tarfile.FIFOTYPE), b""),
        (tarfile.TarInfo("sør"), b"two"),
        mode=mode,
    )
    converted, members, contents = unpack(tmp_path, data, "tar")
    assert [member.name for member in members] == ["a/../x.txt", "sør"]
    assert contents == [b"one", b"two"]
    assert converted.warnings == ("3 links and special files were left out",)


def test_damaged_tar_gives_what_comes_before(tmp_path: Path) -> None:
    """A tar that is cut off keeps its first files and says so; a broken one is corrupt."""
    data = tarred((tarfile.TarInfo("a"), b"one"), (tarfile.TarInfo("b"), b"x" * 5000))
    converted, _, contents = unpack(tmp_path, data[:2100], "tar")
    assert contents[0] == b"one"
    assert "damaged after" in converted.warnings[0]


@pytest.mark.parametrize(
    ("data", "format_", "name"),
    [
        (gzip.compress(b"text", mtime=0), "gz", "content"),
        (
            b"\x1f\x8b\x08\x08" + bytes(6) + b"a b.txt\0" + gzip.compress(b"text")[10:],
            "gz",
            "a b.txt",
        ),
        (bz2.compress(b"text"), "bz2", "content"),
        (lzma.compress(b"text"), "xz", "content"),
    ],
)
def test_single_files(tmp_path: Path, data: bytes, format_: str, name: str) -> None:
    """A compressed file has one member, called as its header says."""
    _, members, contents = unpack(tmp_path, data, format_)
    assert ([member.name for member in members], contents) == ([name], [b"text"])


@pytest.mark.parametrize(
    ("data", "format_", "kind"),
    [
        (zipped(("z", bytes(1 << 24))), "zip", "unsafe"),
        (gzip.compress(bytes(1 << 24)), "gz", "unsafe"),
        (tarred((tarfile.TarInfo("z"), bytes(1 << 24)), mode="w:xz"), "tar", "unsafe"),
        (zipped(), "zip", "empty"),
        (zipped(("d/", b"")), "zip", "empty"),
        (zipped(("a", b"x"))[:-4], "zip", "corrupt"),
        (gzip.compress(b"text" * 9)[:-9], "gz", "corrupt"),
        (bz2.compress(b"text")[:-3], "bz2", "corrupt"),
    ],
)
def test_archives_that_are_none(tmp_path: Path, data: bytes, format_: str, kind: str) -> None:
    """Bombs are unsafe, archives without files empty, cut ones corrupt."""
    with pytest.raises(DocumentError) as caught:
        unpack(tmp_path, data, format_)
    assert caught.value.kind == kind


def test_archives_are_not_unpacked_where_members_are_skipped(tmp_path: Path) -> None:
    """Without a place for members an archive is unsupported, and the key is named."""
    path = tmp_path / "document"
    path.write_bytes(zipped(("a", b"x")))
    with pytest.raises(DocumentError, match=r"parser\.members") as caught:
        convert(path, format="zip", name="", settings=ParserConfig())
    assert caught.value.kind == "unsupported_format"


@pytest.mark.parametrize(
    ("names", "format_"),
    [
        (["META-INF/MANIFEST.MF", "A.class"], "zip_program"),
        (["AndroidManifest.xml"], "zip_program"),
        (["Index/Document.iwa", "preview.jpg"], "iwork"),
        (["word/a.docx", "x.xml"], "zip"),
    ],
)
def test_zip_files_that_are_no_archives(tmp_path: Path, names: list[str], format_: str) -> None:
    """Programs and single documents in zip files are not taken apart."""
    path = tmp_path / "document"
    path.write_bytes(zipped(*((name, b"x") for name in names)))
    assert detect_format(path, "") == format_


def test_links_in_a_zip_are_left_out(tmp_path: Path) -> None:
    """The bytes of a link are the path that it leads to: counted, no document."""
    link = zipfile.ZipInfo("link")
    link.create_system = 3
    link.external_attr = 0o120777 << 16
    converted, members, contents = unpack(
        tmp_path, zipped((link, b"/etc/passwd"), ("a.txt", b"text")), "zip"
    )
    assert [member.name for member in members] == ["a.txt"]
    assert contents == [b"text"]
    assert converted.warnings == ("1 links and special files were left out",)
