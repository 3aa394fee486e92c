"""Mail: its text once, its headers as metadata, its attachments named.

Read with the standard library, so that of text and HTML alternatives one is taken
(the richer), in place, and every attachment is accounted for: a mail with any is
``partial`` and a warning names each.
"""

from __future__ import annotations

import email
import email.errors
import email.header
import email.policy
from collections.abc import Iterator
from email.message import Message
from email.utils import parsedate_to_datetime

from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.converted import Converted, Source
from jobs.parsing.formats.html import add_html
from jobs.parsing.text import clean, decode

__all__ = ["read"]

_HEADERS = {"from": "author", "to": "to", "cc": "cc", "subject": "subject", "message-id": "id"}
_DEPTH = 20


def read(source: Source) -> Converted:
    """Read a mail message (RFC 5322)."""
    message = email.message_from_bytes(source.path.read_bytes(), policy=email.policy.compat32)
    builder = DocumentBuilder()
    _headers(builder, message)
    attachments: list[str] = []
    for part in _parts(message, _DEPTH):
        _add_part(builder, part, attachments)
    for name in attachments:
        builder.warn(f"the attachment {name!r} was not read")
    return Converted(
        document=builder.build(),
        status="partial" if attachments else "ok",
        parser="mail",
        warnings=tuple(builder.warnings),
    )


def _headers(builder: DocumentBuilder, message: Message) -> None:
    for header, key in _HEADERS.items():
        text = _header(message, header)
        if text:
            builder.metadata[key] = text
    builder.title = builder.metadata.get("subject")
    date = _header(message, "date")
    if date:
        builder.metadata["date"] = _iso_date(date)


def _header(message: Message, name: str) -> str:
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


def _iso_date(text: str) -> str:
    try:
        return parsedate_to_datetime(text).isoformat()
    except (ValueError, TypeError, IndexError):
        return text


def _parts(message: Message, depth: int) -> Iterator[Message]:
    """Yield the parts to show: of alternatives the last that can be read."""
    if not message.is_multipart() or not depth:
        yield message
        return
    children = [part for part in message.get_payload() if isinstance(part, Message)]
    if message.get_content_type() == "multipart/alternative":
        children = [_best_alternative(children)] if children else []
    for child in children:
        yield from _parts(child, depth - 1)


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


def _add_part(builder: DocumentBuilder, part: Message, attachments: list[str]) -> None:
    kind = part.get_content_type()
    named = part.get_filename()
    attached = part.get_content_disposition() == "attachment" or (
        named is not None and part.get_content_disposition() != "inline"
    )
    if attached or part.get_content_maintype() != "text":
        attachments.append(_attachment_name(part))
        return
    payload = part.get_payload(decode=True)
    text = decode(payload if isinstance(payload, bytes) else b"", part.get_content_charset())
    if kind == "text/html":
        add_html(builder, text, head=False)
    else:
        builder.add("paragraph", text)


def _attachment_name(part: Message) -> str:
    name = part.get_filename()
    return clean(name) if name else part.get_content_type()
