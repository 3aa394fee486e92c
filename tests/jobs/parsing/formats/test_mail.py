from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

import pytest

from chunking.errors import DocumentError
from jobs.config import ParserConfig
from jobs.parsing.convert import Converted, convert
from jobs.parsing.members import Bin, Room
from jobs.ports import Member
from tests.jobs.parsing.made import PHRASE, read_text, texts


def mail() -> EmailMessage:
    """Return a mail with headers and no body."""
    message = EmailMessage()
    message["Subject"] = "Færgeplan"
    message["From"] = "Åse <aase@example.org>"
    message["To"] = "bo@example.org"
    message["Date"] = "Thu, 29 Feb 2024 12:00:00 +0100"
    return message


def test_headers_are_metadata(tmp_path: Path) -> None:
    """Encoded words are decoded, the date is ISO, the subject is the title."""
    message = mail()
    message.set_content(PHRASE)
    document = read_text(tmp_path, message.as_bytes(), "eml").document
    assert document.title == "Færgeplan"
    assert document.metadata["author"] == "Åse <aase@example.org>"
    assert document.metadata["date"] == "2024-02-29T12:00:00+01:00"
    assert document.text == PHRASE


def test_alternatives_are_read_once(tmp_path: Path) -> None:
    """Of text and HTML the HTML is taken, unless it is blank."""
    message = mail()
    message.set_content(f"{PHRASE} (plain)")
    message.add_alternative(f"<p>{PHRASE}</p>", subtype="html")
    assert texts(read_text(tmp_path, message.as_bytes(), "eml").document) == [PHRASE]
    blank = mail()
    blank.set_content(PHRASE)
    blank.add_alternative(" ", subtype="html")
    assert texts(read_text(tmp_path, blank.as_bytes(), "eml").document) == [PHRASE]


def test_attachments_are_named(tmp_path: Path) -> None:
    """A mail with attachments is partial, and each is named."""
    message = mail()
    message.set_content(PHRASE)
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="a plan.pdf")
    message.add_attachment("a,b", subtype="csv", filename="../../table.csv")
    converted = read_text(tmp_path, message.as_bytes(), "eml")
    assert converted.status == "partial"
    assert converted.document.text == PHRASE
    assert converted.warnings == (
        "the attachment 'a plan.pdf' was not read",
        "the attachment '../../table.csv' was not read",
    )


def test_broken_mail_gives_its_text(tmp_path: Path) -> None:
    """An unknown charset, a bad transfer encoding and an open boundary lose no text."""
    data = (
        b"Subject: =?no-such?Q?x?=\nContent-Type: multipart/mixed; boundary=b\n\n--b\n"
        b"Content-Type: text/plain; charset=no-such\n\nR\xf8dgr\xf8d\n--b\n"
        b"Content-Transfer-Encoding: base64\n\n!!!not base64!!!\n"
    )
    assert "Rødgrød" in read_text(tmp_path, data, "eml").document.text


def test_mail_forwarded_many_times(tmp_path: Path) -> None:
    """Messages that were forwarded inline are text of the outer one, to a depth."""
    message = mail()
    message.set_content(PHRASE)
    for _ in range(8):
        outer = mail()
        outer.set_content("see below")
        outer.add_attachment(message, disposition="inline")
        message = outer
    assert PHRASE in read_text(tmp_path, message.as_bytes(), "eml").document.text


def attached(tmp_path: Path, data: bytes) -> tuple[Converted, dict[str, bytes], list[Member]]:
    """Read a mail with a place for its attachments; return these by name."""
    path = tmp_path / "document"
    path.write_bytes(data)
    folder = tmp_path / "members"
    folder.mkdir()
    taken = Bin(Room(folder=folder, members=9, n_bytes=10**6, depth=1), container_bytes=10**6)
    converted = convert(path, format="eml", name="", settings=ParserConfig(), members=taken)
    files = {m.name: (folder / m.file).read_bytes() for m in taken.members if m.file}
    return converted, files, taken.members


def test_attachments_are_members(tmp_path: Path) -> None:
    """Each comes with its name and bytes, and the mail is whole."""
    message = mail()
    message.set_content(PHRASE)
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="plän.pdf")
    message.add_attachment("a,b", subtype="csv", filename="../../table.csv")
    message.add_attachment(b"x", maintype="image", subtype="png", cid="<1>", disposition="inline")
    message.add_attachment(b"y", maintype="image", subtype="png", disposition="inline")
    converted, files, members = attached(tmp_path, message.as_bytes())
    assert (converted.status, converted.warnings) == ("ok", ())
    assert converted.document.text == PHRASE
    assert files == {"plän.pdf": b"%PDF", "../../table.csv": b"a,b\n", "image-png": b"y"}
    assert [member.inline for member in members] == [False, False, True, False]


def test_mails_forwarded_as_files_are_members(tmp_path: Path) -> None:
    """A mail in a mail has a name and reads as a mail; its own attachments stay in it."""
    inner = mail()
    inner.set_content(PHRASE)
    inner.add_attachment(b"deep", maintype="application", subtype="x", filename="deep.bin")
    outer = mail()
    outer.set_content("see below")
    outer.add_attachment(inner)
    converted, files, _ = attached(tmp_path, outer.as_bytes())
    assert converted.document.text == "see below"
    (name,) = files
    assert name == "Færgeplan.eml"
    again = read_text(tmp_path, files[name], "eml")
    assert again.document.text == PHRASE
    assert again.warnings == ("the attachment 'deep.bin' was not read",)


def test_attachments_beside_alternatives(tmp_path: Path) -> None:
    """What hangs beside the text in a multipart/alternative is an attachment, too."""
    data = (
        b"Subject: s\nFrom: a@example.org\nContent-Type: multipart/alternative; boundary=b\n\n"
        b"--b\nContent-Type: text/plain\n\nHello\n--b\n"
        b"Content-Type: application/pdf; name==?utf-8?q?=C3=A6.pdf?=\n\n%PDF\n--b--\n"
    )
    converted, files, _ = attached(tmp_path, data)
    assert converted.document.text == "Hello"
    assert files == {"æ.pdf": b"%PDF"}


def test_tables_shown_in_place_are_attachments(tmp_path: Path) -> None:
    """A named part of another type than a body is attached, also where it is to be shown."""
    message = mail()
    message.set_content(PHRASE)
    message.add_attachment("a,b", subtype="csv", filename="table.csv", disposition="inline")
    converted, unpacked, _ = attached(tmp_path, message.as_bytes())
    assert converted.document.text == PHRASE
    assert unpacked == {"table.csv": b"a,b\n"}


@pytest.mark.parametrize("kind", ["delivery-status", "disposition-notification", "feedback-report"])
def test_reports_tell_what_became_of_a_mail(tmp_path: Path, kind: str) -> None:
    """The fields of a report are text, a group of them a paragraph."""
    groups = "Reporting-MTA: dns; mail.example.org\n\nAction: failed\nStatus: 5.1.1\n"
    if kind != "delivery-status":
        groups = "Reporting-MTA: dns; mail.example.org\nAction: failed\nStatus: 5.1.1\n"
    source = (
        "Subject: undelivered\nMIME-Version: 1.0\n"
        'Content-Type: multipart/report; report-type=x; boundary="b"\n\n'
        f"--b\nContent-Type: text/plain\n\n{PHRASE}\n"
        f"--b\nContent-Type: message/{kind}\n\n{groups}\n--b--\n"
    )
    converted = read_text(tmp_path, source.encode(), "eml")
    assert converted.status == "ok"
    first, *fields = texts(converted.document)
    assert first == PHRASE
    assert "\n".join(fields).split("\n") == groups.replace("\n\n", "\n").split("\n")[:-1]


def test_signatures_are_no_documents(tmp_path: Path) -> None:
    """The signature of a signed mail is named in a warning only."""
    message = mail()
    message.set_content(PHRASE)
    message.add_attachment(
        b"x", maintype="application", subtype="pkcs7-signature", filename="smime.p7s"
    )
    converted, files, _ = attached(tmp_path, message.as_bytes())
    assert (converted.status, files) == ("ok", {})
    assert "pkcs7-signature" in converted.warnings[0]


@pytest.mark.parametrize(
    ("kind", "is_locked"),
    [
        ("application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m", True),
        ("application/x-pkcs7-mime; smime-type=Enveloped-Data", True),
        ("application/pkcs7-mime; smime-type=signed-data; name=smime.p7m", False),
        ('multipart/encrypted; protocol="application/pgp-encrypted"; boundary=b', True),
    ],
)
def test_encrypted_mails_say_so(tmp_path: Path, kind: str, *, is_locked: bool) -> None:
    """A mail of which only the headers can be read is no mail without a text."""
    data = f"Subject: s\nFrom: a@example.org\nContent-Type: {kind}\n\n--b\n\nx\n--b--\n".encode()
    if is_locked:
        with pytest.raises(DocumentError) as caught:
            attached(tmp_path, data)
        assert caught.value.kind == "encrypted"
    else:
        assert list(attached(tmp_path, data)[1]) == ["smime.p7m"]


def test_base64_cut_off_amid_a_byte_is_decoded_so_far(tmp_path: Path) -> None:
    """An attachment whose end is missing is its bytes, not the letters that encode them."""
    text = (
        "Subject: s\nFrom: a@example.org\nMIME-Version: 1.0\n"
        "Content-Type: application/octet-stream; name=a.bin\n"
        "Content-Transfer-Encoding: base64\n\n"
    )
    for lost in range(4):
        letters = "UXVheSBhbmQgbW9vcmluZyBydWxlcw"[: 28 - lost]
        path = tmp_path / f"a{lost}"
        path.write_text(text + letters, encoding="ascii")
        folder = tmp_path / str(lost)
        folder.mkdir()
        room = Room(folder=folder, members=9, n_bytes=1 << 20, depth=1)
        bin_ = Bin(room, container_bytes=1 << 20)
        convert(path, format="eml", name="a", settings=ParserConfig(), members=bin_)
        assert (folder / str(bin_.members[0].file)).read_bytes().startswith(b"Quay and mooring ")


def test_styles_and_scripts_of_a_saved_page_are_no_text(tmp_path: Path) -> None:
    """MHTML stores them as parts beside the page."""
    page = EmailMessage()
    page["Subject"] = "Saved"
    page["From"] = "<Saved by a browser>"
    page.set_content(f"<p>{PHRASE}</p>", subtype="html")
    page.add_related("body { color: red }", subtype="css", cid="<css@example.org>")
    page.add_related("act()", subtype="javascript", cid="<js@example.org>")
    assert read_text(tmp_path, page.as_bytes(), "eml").document.text == PHRASE
