from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

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
    """Messages inside messages are text of the outer one, to a depth."""
    message = mail()
    message.set_content(PHRASE)
    for _ in range(8):
        outer = mail()
        outer.set_content("see below")
        outer.add_attachment(message)
        message = outer
    assert PHRASE in read_text(tmp_path, message.as_bytes(), "eml").document.text
