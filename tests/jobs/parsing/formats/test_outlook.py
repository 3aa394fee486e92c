from __future__ import annotations

import struct
from datetime import datetime, timedelta
from pathlib import Path

import compressed_rtf
import pytest

from chunking.errors import DocumentError
from jobs.config import ParserConfig
from jobs.parsing.convert import Converted, convert
from jobs.parsing.detect import detect_format
from jobs.parsing.members import Bin, Room
from tests.jobs.parsing.compound import Storage, compound
from tests.jobs.parsing.made import PHRASE, check_laws, read_text, texts

SENT = (datetime(2024, 1, 15, 13, 20) - datetime(1601, 1, 1)) // timedelta(microseconds=1) * 10  # noqa: DTZ001
MESSAGE, EMBEDDED, PART = 32, 24, 8
"""Bytes before the entries of a property stream, by what it is of."""


def properties(values: dict[int, int], *, head: int) -> bytes:
    """Return a property stream of values by tag."""
    entries = (struct.pack("<IIQ", tag, 6, value) for tag, value in values.items())
    return bytes(head) + b"".join(entries)


def message(
    *parts: tuple[str, Storage],
    head: int = MESSAGE,
    values: dict[int, int] | None = None,
    **streams: str | bytes,
) -> dict[str, Storage | bytes]:
    """Return a message: streams by property and type (``p1000001F``), then its parts."""
    made: dict[str, Storage | bytes] = {
        f"__substg1.0_{name[1:]}": value.encode("utf-16-le") if isinstance(value, str) else value
        for name, value in streams.items()
    }
    made["__properties_version1.0"] = properties(values or {}, head=head)
    return {**made, **dict(parts)}


def attachment(
    number: int, method: int = 1, **streams: str | bytes | Storage
) -> tuple[str, Storage]:
    """Return an attachment; a stream may be an embedded message."""
    inner = {k: v for k, v in streams.items() if not isinstance(v, str | bytes)}
    flat = {k: v for k, v in streams.items() if isinstance(v, str | bytes)}
    made = message(head=PART, values={0x37050003: method}, **flat)
    made.update({f"__substg1.0_{name[1:]}": storage for name, storage in inner.items()})
    return f"__attach_version1.0_#{number:08X}", made


def recipient(number: int, kind: int, name: str, address: str) -> tuple[str, Storage]:
    """Return a recipient."""
    values = {0x0C150003: kind}
    made = message(head=PART, values=values, p3001001F=name, p39FE001F=address)
    return f"__recip_version1.0_#{number:08X}", made


def read(tmp_path: Path, root: Storage) -> tuple[Converted, dict[str, bytes], Bin]:
    """Read a message; return it, its members by name, and what took them."""
    path = tmp_path / "document"
    path.write_bytes(compound(root))
    assert detect_format(path, "") == "msg"
    folder = tmp_path / "members"
    folder.mkdir()
    taken = Bin(Room(folder=folder, members=99, n_bytes=10**7, depth=1), container_bytes=10**6)
    converted = convert(path, format="msg", name="", settings=ParserConfig(), members=taken)
    check_laws(converted.document)
    files = {m.name: (folder / m.file).read_bytes() for m in taken.members if m.file}
    return converted, files, taken


def test_headers_are_metadata(tmp_path: Path) -> None:
    """Names come with addresses, the date is ISO, the subject is the title."""
    converted, _, _ = read(
        tmp_path,
        message(
            recipient(0, 1, "Bo", "bo@example.org"),
            recipient(1, 2, "Cy", "/o=org/cn=cy"),
            values={0x00390040: SENT},
            p0037001F="Færgeplan",
            p0C1A001F="Åse",
            p5D01001F="aase@example.org",
            p1035001F="<1@example.org>",
            p1000001F=f"{PHRASE}\r\n",
        ),
    )
    assert converted.document.title == "Færgeplan"
    assert dict(converted.document.metadata) == {
        "subject": "Færgeplan",
        "author": "Åse <aase@example.org>",
        "to": "Bo <bo@example.org>",
        "cc": "Cy",
        "id": "<1@example.org>",
        "date": "2024-01-15T13:20:00+00:00",
    }
    assert (converted.document.text, converted.status) == (PHRASE, "ok")


@pytest.mark.parametrize(
    ("streams", "text"),
    [
        ({"p10130102": b"<h1>Plan</h1><p>R\xf8d</p>", "p1000001F": "no"}, ["Plan", "Rød"]),
        ({"p1013001F": "<p>Rød</p>"}, ["Rød"]),
        ({"p10130102": b" ", "p1000001F": "Rød"}, ["Rød"]),
        ({"p1000001E": b"\xa4\xa4\xa4\xe5\xb4\xfa\xb8\xd5"}, ["中文測試"]),
        (
            {"p10090102": compressed_rtf.compress(rb"{\rtf1\ansi R\'f8d\par Gr\'f8n}")},
            ["Rød\nGrøn"],
        ),
        ({}, []),
    ],
)
def test_richest_body_is_taken(
    tmp_path: Path, streams: dict[str, str | bytes], text: list[str]
) -> None:
    """HTML before plain text before RTF, each in its encoding, and none twice."""
    page = 950 if "p1000001E" in streams else 1252
    converted, _, _ = read(tmp_path, message(values={0x3FDE0003: page}, **streams))
    assert texts(converted.document) == text


def test_attachments_are_members(tmp_path: Path) -> None:
    """Each has its long name and its bytes; one that is a link is named in a warning."""
    converted, files, taken = read(
        tmp_path,
        message(
            attachment(0, p37010102=b"a,b", p3707001F="a table.csv", p3704001F="ATABLE~1.CSV"),
            attachment(1, p37010102=b"x" * 5000, p3704001F="B.BIN"),
            attachment(2, method=7, p3707001F="shared.docx"),
            attachment(
                3, p37010102=b"PNG", p3707001F="l.png", p370E001F="image/png", p3712001F="c"
            ),
            attachment(4, method=6, p3707001F="object", p3701000D={"CONTENTS": b"x"}),
            p1000001F=PHRASE,
        ),
    )
    assert files == {"a table.csv": b"a,b", "B.BIN": b"x" * 5000, "l.png": b"PNG"}
    assert [member.inline for member in taken.members] == [False, False, True, False]
    assert converted.warnings == ("the attachment 'shared.docx' is a link and was not read",)
    last = taken.members[-1].outcome
    assert last is not None
    assert (last.status, last.error_kind) == ("skipped", "unsupported_format")


def test_embedded_messages_become_mails(tmp_path: Path) -> None:
    """Headers, body and attachments of a message in a message in a message come through."""
    inner = message(
        attachment(0, p37010102=b"deep", p3707001F="ærø.txt"),
        head=EMBEDDED,
        p0037001F="Inner",
        p1000001F="From here on",
    )
    outer = message(
        attachment(0, method=5, p3701000D=inner, p3001001F="Inner"),
        head=EMBEDDED,
        values={0x00390040: SENT},
        p0037001F="Færge",
        p0C1A001F="Åse",
        p10130102=f"<p>{PHRASE}</p>".encode(),
    )
    _, files, _ = read(tmp_path, message(attachment(0, method=5, p3701000D=outer)))
    (name, data), *others = files.items()
    assert (name, others) == ("Færge.eml", [])
    mail = read_text(tmp_path, data, "eml")
    assert mail.document.text == PHRASE
    assert mail.document.metadata["author"] == "Åse"
    assert mail.document.metadata["date"] == "2024-01-15T13:20:00+00:00"
    assert mail.warnings == ("the attachment 'Inner' was not read",)
    assert data.isascii()


def test_the_same_message_gives_the_same_mail(tmp_path: Path) -> None:
    """Nothing of an embedded message's file is left to chance."""
    root = message(attachment(0, method=5, p3701000D=message(head=EMBEDDED, p1000001F=PHRASE)))
    files = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        files.append(read(tmp_path / folder, root)[1])
    assert files[0] == files[1]


@pytest.mark.parametrize("cut", [700, 1500, -2048])
def test_damaged_messages(tmp_path: Path, cut: int) -> None:
    """A container of which anything that matters was cut off is corrupt."""
    root = message(attachment(0, p37010102=b"x" * 9000), p1000001F=PHRASE, p0037001F="s")
    with pytest.raises(DocumentError, match="damaged") as caught:
        read_text(tmp_path, compound(root)[:cut], "msg")
    assert caught.value.kind == "corrupt"
