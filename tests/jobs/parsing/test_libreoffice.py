from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Self

import pytest

from chunking.errors import DocumentError
from jobs.config import LimitsConfig, ParserConfig
from jobs.parsing import libreoffice
from jobs.parsing.convert import Converted, convert
from jobs.parsing.formats import legacy
from jobs.parsing.pool import ChildParser
from tests.corpus import HARD, requires_corpus
from tests.jobs.parsing.made import PHRASE, make_docx

ASKED = ParserConfig(libreoffice=True)
RTF = rb"{\rtf1\ansi The ferry leaves at noon from the north quay.\par}"


def read(path: Path, format_: str, settings: ParserConfig = ASKED) -> Converted:
    """Convert a legacy file."""
    return convert(path, format=format_, name="a", settings=settings)


def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """Put a program in LibreOffice's place; it notes its arguments beside itself."""
    folder = tmp_path / "program"
    folder.mkdir()
    for name in ("soffice", "soffice.bin"):
        (folder / name).write_text(
            f'#!/bin/sh\nhere={folder}\necho "$@" >> $here/calls\n'
            f'for last; do :; done\nout=$(dirname "$last")/converted\n{script}\n'
        )
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


@pytest.mark.parametrize("format_", ["doc", "rtf", "xls", "ppt"])
def test_legacy_files_are_not_read_unless_asked(tmp_path: Path, format_: str) -> None:
    """The message says what to do."""
    path = tmp_path / "a"
    path.write_bytes(RTF)
    with pytest.raises(DocumentError, match=r"parser\.libreoffice=true") as caught:
        read(path, format_, ParserConfig())
    assert caught.value.kind == "unsupported_format"


def test_absent_libreoffice_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for and not there is no other outcome than not asked for."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(libreoffice, "_PLACES", ())
    path = tmp_path / "a"
    path.write_bytes(RTF)
    with pytest.raises(DocumentError, match="not installed") as caught:
        read(path, "rtf")
    assert caught.value.kind == "unsupported_format"


def test_conversion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it makes is read as usual; it is started again when it asks for that."""
    word = make_docx(tmp_path / "word")
    folder = fake(
        tmp_path,
        monkeypatch,
        f"[ -e $here/once ] || {{ touch $here/once; exit 81; }}\n"
        f"cat $HOME/profile/user/registrymodifications.xcu > $here/profile\n"
        f"mkdir $out; cp {word} $out/document.docx",
    )
    path = tmp_path / "a"
    path.write_bytes(RTF)
    converted = read(path, "rtf")
    assert PHRASE in converted.document.text
    assert converted.parser == "libreoffice+docx"
    first, second = (folder / "calls").read_text().splitlines()
    assert first == second
    assert "--headless" in first
    assert "-env:UserInstallation=file://" in first
    assert "--convert-to docx:MS Word 2007 XML" in first
    assert "DisableMacrosExecution" in (folder / "profile").read_text()


def test_nothing_made_is_corrupt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of which LibreOffice makes nothing is damaged."""
    fake(tmp_path, monkeypatch, "exit 0")
    path = tmp_path / "a"
    path.write_bytes(RTF)
    with pytest.raises(DocumentError, match="made nothing") as caught:
        read(path, "rtf")
    assert caught.value.kind == "corrupt"


def test_a_hanging_conversion_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit of time ends the converter and all that it has started."""
    script = "sleep 300 &\necho $! > $here/helper\necho $$ > $here/pid\ntrap '' TERM\nsleep 300"
    folder = fake(tmp_path, monkeypatch, script)
    path = tmp_path / "a"
    path.write_bytes(RTF)
    parser = ChildParser(ASKED, LimitsConfig(document_seconds=3), preload=None)
    try:
        outcome = parser.parse(path, name="a")
        assert (outcome.format, outcome.error_kind) == ("rtf", "timeout")
        for name in ("pid", "helper"):
            assert ended(int((folder / name).read_text()))
    finally:
        parser.close()


def ended(pid: int) -> bool:
    """Wait until a process is gone."""
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists():
            return True
        time.sleep(0.05)
    return False


class Container:
    """Stands for an OLE container of one stream."""

    def __init__(self, name: str, data: bytes) -> None:
        self._name, self._data = name, data

    def exists(self, name: str) -> bool:
        """Tell whether it is the stream."""
        return name == self._name

    def openstream(self, _: str) -> Container:
        """Return itself as the stream."""
        return self

    def read(self, size: int) -> bytes:
        """Return the start."""
        return self._data[:size]

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close nothing."""


@pytest.mark.parametrize(
    ("format_", "name", "plain", "locked"),
    [
        ("doc", "WordDocument", bytes(64), bytes(10) + b"\x00\x01" + bytes(52)),
        ("xls", "Workbook", b"\x09\x08\x02\x00ab" + bytes(8),
         b"\x09\x08\x02\x00ab\x2f\x00\x02\x00xx"),
        ("ppt", "Current User", bytes(12) + b"\x5f\xc0\x91\xe3",
         bytes(12) + b"\xdf\xc4\xd1\xf3"),
    ],
)  # fmt: skip
def test_locks_are_told_by_their_marks(
    format_: str, name: str, plain: bytes, locked: bytes
) -> None:
    """Each format says that it is encrypted in a place of its own."""
    check = legacy._LOCKS[format_]
    assert not check(Container(name, plain))  # type: ignore[arg-type]
    assert check(Container(name, locked))  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.skipif(libreoffice.office_program() is None, reason="needs LibreOffice")
def test_with_libreoffice_itself(tmp_path: Path) -> None:
    """An RTF file comes through the real program, in the child that has no network."""
    path = tmp_path / "a"
    path.write_bytes(RTF)
    parser = ChildParser(ASKED, LimitsConfig())
    try:
        outcome = parser.parse(path, name="a")
    finally:
        parser.close()
    assert (outcome.status, outcome.parser) == ("ok", "libreoffice+docx")
    assert outcome.document is not None
    assert PHRASE in outcome.document.text


@pytest.mark.slow
@pytest.mark.corpus
@requires_corpus
@pytest.mark.skipif(libreoffice.office_program() is None, reason="needs LibreOffice")
@pytest.mark.parametrize(
    ("file", "phrase"),
    [
        ("doc/poi__TestWriteWellKnown.doc", "testing POI HPSF"),
        ("xls/poi__56325a.xls", "Just a test"),
        ("rtf/tika__testRTFUnicodeUCNControlWordCharacterDoubling.rtf", "abc"),
    ],
)
def test_foreign_legacy_files(file: str, phrase: str) -> None:
    """Foreign files of each legacy format hold their text."""
    converted = read(HARD / file, file.partition("/")[0])
    assert phrase in converted.document.text
