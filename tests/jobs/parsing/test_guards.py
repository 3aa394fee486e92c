from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path

import pytest

from chunking.errors import DocumentError
from jobs.config import LimitsConfig
from jobs.parsing import guards
from tests.jobs.parsing.pdfs import pdf

LAUGHS = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "lol"><!ENTITY c "&b;&b;&b;">]><a>&c;</a>'
EXTERNAL = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/hostname">]><a>&b;</a>'
PLAIN_ENTITY = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "word">]><a>&b;</a>'
UNPARSED = (
    '<?xml version="1.0"?><!DOCTYPE a [<!NOTATION TIF SYSTEM "TIF">'
    '<!ENTITY b SYSTEM "b.tif" NDATA TIF>]><a>text</a>'
)


def kind(path: Path, file_format: str, **limits: int) -> str | None:
    """Return the error kind by which a file is refused, or None."""
    try:
        guards.check(path, file_format, LimitsConfig.model_validate(limits))
    except DocumentError as error:
        return error.kind
    return None


def archive(path: Path, members: dict[str, bytes]) -> Path:
    """Write a compressed zip archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in members.items():
            target.writestr(name, content)
    return path


def test_refuses_an_archive_bomb(tmp_path: Path) -> None:
    """A member that inflates beyond all reason is unsafe; a large plain one is not."""
    bomb = archive(tmp_path / "a", {"word/document.xml": b"<a>" + bytes(32 << 20)})
    plain = archive(tmp_path / "b", {"word/document.xml": b"<a>" + bytes(1 << 20)})
    assert kind(bomb, "docx") == "unsafe"
    assert kind(plain, "docx") is None


def test_refuses_overlapping_members(tmp_path: Path) -> None:
    """Directory entries that share their bytes are unsafe."""
    path = archive(tmp_path / "a", {"a.bin": b"x" * 1000, "b.bin": b"y" * 1000})
    data = bytearray(path.read_bytes())
    second = data.rindex(b"PK\x01\x02")
    data[second + 42 : second + 46] = struct.pack("<I", 0)
    path.write_bytes(data)
    assert kind(path, "docx") == "unsafe"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("content", [LAUGHS, EXTERNAL, PLAIN_ENTITY])
def test_refuses_entities_in_office_files(tmp_path: Path, content: str, encoding: str) -> None:
    """Office parts may declare no entity at all, in any encoding."""
    data = content.replace("1.0", f'1.0" encoding="{encoding}').encode(encoding)
    path = archive(tmp_path / "a", {"word/document.xml": data})
    assert kind(path, "docx") == "unsafe"


@pytest.mark.parametrize(
    ("content", "expected"),
    [(LAUGHS, "unsafe"), (EXTERNAL, "unsafe"), (PLAIN_ENTITY, None), (UNPARSED, None)],
)
def test_allows_plain_entities_in_xml(tmp_path: Path, content: str, expected: str | None) -> None:
    """XML may declare plain internal and unparsed entities, nothing that expands or reads."""
    path = tmp_path / "a"
    path.write_text(content, encoding="utf-8")
    assert kind(path, "xml") == expected


def test_tells_locked_documents(tmp_path: Path) -> None:
    """A locked ODT or EPUB is encrypted; an EPUB with mangled fonts only is not."""
    odt = archive(tmp_path / "a", {"META-INF/manifest.xml": b"<m:encryption-data/>"})
    locked = b'<EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/>'
    fonts = b'<EncryptionMethod Algorithm="http://www.idpf.org/2008/embedding"/>'
    epub = archive(tmp_path / "b", {"META-INF/encryption.xml": locked + fonts})
    mangled = archive(tmp_path / "c", {"META-INF/encryption.xml": fonts})
    assert kind(odt, "odt") == "encrypted"
    assert kind(epub, "epub") == "encrypted"
    assert kind(mangled, "epub") is None
    assert kind(odt, "ooxml") == "encrypted"


def test_tells_damaged_archives(tmp_path: Path) -> None:
    """What is no zip archive is corrupt; one damaged part is left to the reader."""
    path = tmp_path / "a"
    path.write_bytes(b"PK\x03\x04 and no more")
    assert kind(path, "docx") == "corrupt"
    whole = archive(tmp_path / "b", {"word/document.xml": b"<a>words</a>" * 100})
    data = bytearray(whole.read_bytes())
    data[50:54] = b"\xff\xff\xff\xff"
    whole.write_bytes(data)
    assert kind(whole, "docx") is None


def test_counts_pages_first(tmp_path: Path) -> None:
    """A PDF of more pages than allowed is refused before it is read."""
    path = tmp_path / "a"
    path.write_bytes(pdf([[], [], []]))
    assert kind(path, "pdf", document_pages=2) == "limit"
    assert kind(path, "pdf", document_pages=3) is None
    path.write_bytes(pdf([]))
    assert kind(path, "pdf") == "empty"


def test_names_what_is_not_read(tmp_path: Path) -> None:
    """Formats without a reader are unsupported."""
    path = tmp_path / "a"
    path.write_bytes(b"x")
    assert kind(path, "rar") == "unsupported_format"


def test_reads_no_more_than_the_prolog() -> None:
    """The entity check stops at the root element."""
    file = io.BytesIO(b"<a>" + b"<b/>" * 1_000_000)
    guards.check_xml(file, internal_allowed=False)
    assert file.tell() <= 1 << 17


def test_refuses_a_text_that_is_too_long_in_any_encoding(tmp_path: Path) -> None:
    """Plain text is refused by its size alone where no encoding could make it short enough."""
    path = tmp_path / "a"
    path.write_bytes(b"x" * 41)
    assert kind(path, "txt", document_chars=10) == "limit"
    assert kind(path, "txt", document_chars=11) is None
    assert kind(path, "md", document_chars=10) is None
