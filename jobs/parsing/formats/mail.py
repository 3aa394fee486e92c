"""Mail: its text once, its headers as metadata, its attachments as documents of their own.

Read with the standard library, so that of text and HTML alternatives one is taken (the
richer), in place, and every attachment is accounted for. A mail that was forwarded as a
file is an attachment; one that was forwarded inline is text, as readers show it. The
signatures of signed mails are no documents.
"""

from __future__ import annotations

import base64
import email
import email.errors
import email.generator
import email.header
import email.policy
import io
import re
from collections.abc import Iterator, Mapping
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Literal

from chunking.errors import DocumentError
from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.converted import Converted, Source
from jobs.parsing.formats.html import add_html
from jobs.parsing.members import Bin
from jobs.parsing.text import clean, decode

__all__ = ["add_headers", "decoded_header", "finish", "iso_date", "read"]

_HEADERS = {"from": "author", "to": "to", "cc": "cc", "subject": "subject", "message-id": "id"}
_DEPTH = 20
_SIGNATURES = frozenset(
    {
        "application/pgp-signature",
        "application/pkcs7-signature",
        "application/x-pkcs7-signature",
    }
)
_ENVELOPES = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime"})
_FORWARDED = "message/rfc822"
_REPORTS = frozenset(
    {
        *("message/delivery-status", "message/disposition-notification"),
        *("message/feedback-report", "message/global-delivery-status"),
    }
)
_OF_PAGES = frozenset({"text/css", "text/javascript"})
"""Parts of a saved page (MHTML) that nobody reads."""
_BASE64 = re.compile(rb"[A-Za-z0-9+/]+")


def read(source: Source, members: Bin) -> Converted:
    """Read a mail message (RFC 5322); its attachments go to ``members``.

    Raises:
        DocumentError: ``encrypted`` (S/MIME, PGP/MIME).
    """
    message = email.message_from_bytes(source.path.read_bytes(), policy=email.policy.compat32)
    if _is_encrypted(message):
        msg = "a mail that is encrypted for its recipients"
        raise DocumentError(msg, kind="encrypted", stage="parse")
    builder = DocumentBuilder()
    add_headers(builder, {name: decoded_header(message, name) for name in (*_HEADERS, "date")})
    for part in _parts(message, _DEPTH):
        _add_part(builder, part, members)
    return finish(builder, members, parser="mail")


def _is_encrypted(message: Message) -> bool:
    """Tell whether a whole mail is encrypted (RFC 8551, 3.5.2; RFC 3156, 4)."""
    kind = message.get_content_type()
    if kind in _ENVELOPES:
        told = message.get_param("smime-type")
        return isinstance(told, str) and told.lower() in {"enveloped-data", "authenveloped-data"}
    return kind == "multipart/encrypted"


def add_headers(builder: DocumentBuilder, headers: Mapping[str, str]) -> None:
    """Take a mail's headers, by name in lower case, as metadata and title."""
    for header, key in _HEADERS.items():
        if headers.get(header):
            builder.metadata[key] = headers[header]
    builder.title = builder.metadata.get("subject")
    if headers.get("date"):
        builder.metadata["date"] = iso_date(headers["date"])


def finish(builder: DocumentBuilder, members: Bin, *, parser: str) -> Converted:
    """Return a mail that was read; ``partial`` where its attachments are not."""
    for name in members.skipped:
        builder.warn(f"the attachment {name!r} was not read")
    status: Literal["ok", "partial"] = "partial" if members.skipped else "ok"
    document = builder.build()
    return Converted(
        document=document, status=status, parser=parser, warnings=tuple(builder.warnings)
    )


def decoded_header(message: Message, name: str) -> str:
    """Return a header's text: encoded words decoded, folding undone."""
    raw = message.get(name)
    if raw is None:
        return ""
    parts = []
    try:
        for data, charset in email.header.decode_header(raw):
            parts.append(decode(data, charset) if isinstance(data, bytes) else data)
    except (email.errors.HeaderParseError, ValueError):
        parts = [str(raw)]
    return " ".join(clean("".join(parts)).split())


def iso_date(text: str) -> str:
    """Return a date header as ISO 8601, or as it is where it is no date."""
    try:
        return parsedate_to_datetime(text).isoformat()
    except (ValueError, TypeError, IndexError):
        return text


def _parts(message: Message, depth: int) -> Iterator[Message]:
    """Yield the parts to show or to attach: of alternatives the last that can be read."""
    if not message.is_multipart() or not depth or _is_attached(message) or _is_report(message):
        yield message
        return
    children = [part for part in message.get_payload() if isinstance(part, Message)]
    if message.get_content_type() == "multipart/alternative":
        yield from _alternatives(children, depth)
        return
    for child in children:
        yield from _parts(child, depth - 1)


def _alternatives(parts: list[Message], depth: int) -> Iterator[Message]:
    best = _best_alternative(parts) if parts else None
    for part in parts:
        if part is best:
            yield from _parts(part, depth - 1)
        else:
            # Some programs put attachments beside the alternatives instead of around them.
            yield from _attached(part, depth - 1)


def _attached(message: Message, depth: int) -> Iterator[Message]:
    if _is_attached(message):
        yield message
    elif message.is_multipart() and depth:
        for part in message.get_payload():
            if isinstance(part, Message):
                yield from _attached(part, depth - 1)


def _best_alternative(parts: list[Message]) -> Message:
    """Return the last alternative that holds text (RFC 2046: the last is the richest)."""
    for part in reversed(parts):
        types = {inner.get_content_type() for inner in part.walk()}
        if types & {"text/html", "text/plain"} and any(map(_holds_text, part.walk())):
            return part
    return parts[0]


def _holds_text(part: Message) -> bool:
    payload = part.get_payload(decode=True) if not part.is_multipart() else None
    return isinstance(payload, bytes) and bool(payload.strip())


def _is_attached(part: Message) -> bool:
    """Tell whether a part was attached as a file, whatever its type."""
    disposition = part.get_content_disposition()
    if part.get_content_maintype() == "multipart":
        return False
    named = part.get_filename() is not None
    # Some programs show any text in place, tables too; a body is one of two types.
    body = part.get_content_type() in {"text/plain", "text/html"}
    inline = disposition == "inline" and (body or part.get_content_maintype() != "text")
    return disposition == "attachment" or (named and not inline)


def _is_report(part: Message) -> bool:
    """Tell whether a part reports in fields what became of a mail (RFC 3464, 8098, 5965)."""
    return part.get_content_type() in _REPORTS


def _fields(part: Message) -> Iterator[str]:
    """Yield the groups of fields of a report, a field a line."""
    groups = part.get_payload() if part.is_multipart() else ()
    for group in groups:
        if isinstance(group, Message) and group.keys():
            yield "\n".join(f"{name}: {decoded_header(group, name)}" for name in group)


def _add_part(builder: DocumentBuilder, part: Message, members: Bin) -> None:
    kind = part.get_content_type()
    if kind in _OF_PAGES and not _is_attached(part):
        return
    if kind in _SIGNATURES:
        builder.warn(f"a signature was not read ({kind})")
    elif _is_report(part) and not _is_attached(part):
        for group in _fields(part):
            builder.add("paragraph", group)
    elif _is_attached(part) or part.get_content_maintype() != "text":
        _attach(part, members)
    elif kind == "text/html":
        add_html(builder, _text(part), head=False)
    else:
        builder.add("paragraph", _text(part))


def _text(part: Message) -> str:
    return decode(_payload(part), part.get_content_charset())


def _payload(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return b""
    encoding = str(part.get("content-transfer-encoding", "")).strip().lower()
    if encoding == "base64" and len(payload) % 4 == 1 and _BASE64.fullmatch(payload):
        whole = str(part.get_payload()).split()
        if "".join(whole).encode("ascii", "replace") == payload:
            # The standard library hands back the letters of what is cut off amid a byte.
            return base64.b64decode(payload[: len(payload) // 4 * 4])
    return payload


def _attach(part: Message, members: Bin) -> None:
    content = part.get_payload()
    if part.get_content_type() == _FORWARDED and isinstance(content, list) and content:
        message = content[0]
        subject = decoded_header(message, "subject") if isinstance(message, Message) else ""
        name = _file_name(part) or f"{subject.replace('/', '_') or 'message'}.eml"
        members.add(name, _flat(message))
        return
    name = _file_name(part) or part.get_content_type().replace("/", "-")
    if isinstance(content, list):
        members.refuse(name, "limit", f"parts within parts, more than {_DEPTH}")
        return
    inline = part.get("content-id") is not None and part.get_content_maintype() == "image"
    members.add(name, [_payload(part)], inline=inline)


def _flat(message: object) -> Iterator[bytes]:
    """Yield a forwarded mail as a file."""
    if not isinstance(message, Message):
        return
    file = io.BytesIO()
    try:
        email.generator.BytesGenerator(file, mangle_from_=False, maxheaderlen=0).flatten(message)
    except (UnicodeError, LookupError):
        # A header or body that its declared charset cannot hold.
        yield message.as_string().encode("utf-8", "replace")
        return
    yield file.getvalue()


def _file_name(part: Message) -> str:
    """Return the name that a part gives to its file, encoded words decoded."""
    name = part.get_filename()
    if not name:
        return ""
    try:
        pieces = email.header.decode_header(name)
    except (email.errors.HeaderParseError, ValueError):
        return clean(name)
    texts = (decode(data, charset) if isinstance(data, bytes) else data for data, charset in pieces)
    return " ".join(clean("".join(texts)).split())
