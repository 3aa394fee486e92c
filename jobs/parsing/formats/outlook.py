"""Outlook messages (MSG): text, headers and attachments out of a compound file.

[MS-OXMSG] names the streams by MAPI property and type, [MS-OXPROPS] the properties. Of
the bodies the richest is taken: HTML, else plain text, else the text of the RTF one. An
embedded message becomes a mail file, so that it is read as one that was attached to a
mail would be.
"""

from __future__ import annotations

import email.generator
import io
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.header import Header
from email.mime.application import MIMEApplication
from email.mime.message import MIMEMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from email.utils import format_datetime
from typing import TypeVar

import olefile

from chunking.errors import DocumentError
from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.converted import Converted, Source
from jobs.parsing.formats.html import add_html
from jobs.parsing.formats.mail import add_headers, finish
from jobs.parsing.members import Bin
from jobs.parsing.text import clean, decode

__all__ = ["read"]

T = TypeVar("T")

_DAMAGE = (OSError, ValueError, IndexError, TypeError, AttributeError, KeyError, struct.error)
"""What olefile raises for a damaged container."""
_PROPERTIES = "__properties_version1.0"
_ATTACHMENT = "__attach_version1.0_#"
_RECIPIENT = "__recip_version1.0_#"
_SUBJECT, _BODY, _HTML, _RTF = 0x0037, 0x1000, 0x1013, 0x1009
_MESSAGE_ID, _SENT, _DELIVERED = 0x1035, 0x0039, 0x0E06
_SENDER = ((0x0C1A, (0x5D01, 0x0C1F)), (0x0042, (0x5D02, 0x0065)))
"""Names and addresses of the sender, and of whom it stands for."""
_DISPLAY_TO, _DISPLAY_CC = 0x0E04, 0x0E03
_RECIPIENT_TYPE, _DISPLAY_NAME, _ADDRESSES = 0x0C15, 0x3001, (0x39FE, 0x3003)
_TO, _CC = 1, 2
_CODE_PAGES = (0x3FDE, 0x3FFD)
_DATA, _METHOD, _HIDDEN = 0x3701, 0x3705, 0x7FFE
_FILE_NAMES = (0x3707, 0x3704, _DISPLAY_NAME)
_MIME_TYPE, _CONTENT_ID = 0x370E, 0x3712
_LINKED = frozenset({2, 3, 4, 7})
"""Attach methods that give a place instead of the data ([MS-OXCMSG] 2.2.2.9)."""
_UNICODE, _STRING8, _BINARY, _OBJECT = "001F", "001E", "0102", "000D"
_HEADER_BYTES = {True: 32, False: 8}
"""Of the property stream of the outermost message, and of a recipient or attachment."""
_EMBEDDED_HEADER_BYTES = 24
_ENTRY = struct.Struct("<IIQ")
_CODECS = {
    1200: "utf-16-le", 10000: "mac_roman", 20127: "ascii", 20866: "koi8-r", 21866: "koi8-u",
    50220: "iso2022_jp", 50221: "iso2022_jp", 50222: "iso2022_jp", 50225: "iso2022_kr",
    51932: "euc_jp", 51936: "gb2312", 51949: "euc_kr", 52936: "hz", 54936: "gb18030",
    65000: "utf-7", 65001: "utf-8",
}  # fmt: skip
"""Python's names of Windows code pages that are not called after their number."""
_ISO_8859 = range(28591, 28607)
_DEPTH = 20
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_CONTROL = re.compile(r"[\x00-\x1f]+")


def read(source: Source, members: Bin) -> Converted:
    """Read a message; its attachments go to ``members``.

    Raises:
        DocumentError: ``corrupt`` where the compound file is damaged.
    """
    with _guarded(lambda: olefile.OleFileIO(str(source.path))) as container:
        message = _guarded(lambda: _Storage(container, _tree(container), ()))
        builder = DocumentBuilder()
        add_headers(builder, _headers(message))
        _add_body(builder, message)
        for part in message.parts(_ATTACHMENT):
            _attach(builder, part, members)
    return finish(builder, members, parser="outlook")


def _guarded(step: Callable[[], T]) -> T:
    try:
        return step()
    except _DAMAGE as error:
        msg = "a damaged Outlook message"
        raise DocumentError(msg, kind="corrupt", stage="parse") from error


_Tree = dict[tuple[str, ...], list[str]]
"""Names of the streams and storages below each storage."""


def _tree(container: olefile.OleFileIO) -> _Tree:
    tree: _Tree = {}
    for path in container.listdir(streams=True, storages=True):
        tree.setdefault(tuple(path[:-1]), []).append(path[-1])
    return tree


@dataclass(frozen=True, slots=True)
class _Storage:
    """A message, recipient or attachment: a storage with MAPI properties."""

    container: olefile.OleFileIO
    tree: _Tree
    path: tuple[str, ...]

    def parts(self, prefix: str) -> list[_Storage]:
        """Return the storages below whose names start with ``prefix``, in order."""
        names = sorted(name for name in self.tree.get(self.path, ()) if name.startswith(prefix))
        return [self.below(name) for name in names]

    def below(self, name: str) -> _Storage:
        """Return a storage below."""
        return _Storage(self.container, self.tree, (*self.path, name))

    def stream(self, number: int, kind: str) -> bytes | None:
        """Return the value of a property of variable length."""
        name = _stream_name(number, kind)
        if name not in self.tree.get(self.path, ()):
            return None
        return _guarded(lambda: bytes(self.container.openstream([*self.path, name]).read()))

    def text(self, *numbers: int) -> str:
        """Return the text of the first of the properties that has one."""
        for number in numbers:
            wide = self.stream(number, _UNICODE)
            if wide is not None:
                text = wide.decode("utf-16-le", "replace")
            else:
                text = decode(self.stream(number, _STRING8) or b"", self.code_page())
            text = clean(text.rstrip("\0"))
            if text:
                return text
        return ""

    def value(self, number: int) -> int | None:
        """Return the value of a property of fixed length."""
        return self.values().get(number)

    def values(self) -> dict[int, int]:
        """Return all properties of fixed length, by number."""
        if _PROPERTIES not in self.tree.get(self.path, ()):
            return {}
        path = [*self.path, _PROPERTIES]
        data = _guarded(lambda: bytes(self.container.openstream(path).read()))
        start = _HEADER_BYTES[not self.path]
        if self.path and not self.path[-1].startswith((_ATTACHMENT, _RECIPIENT)):
            start = _EMBEDDED_HEADER_BYTES
        end = start + (len(data) - start) // _ENTRY.size * _ENTRY.size
        return {tag >> 16: value for tag, _, value in _ENTRY.iter_unpack(data[start:end])}

    def code_page(self) -> str | None:
        """Return the codec of the message's 8-bit texts, if it is told."""
        values = _Storage(self.container, self.tree, self._message_path()).values()
        page = next((values[number] for number in _CODE_PAGES if values.get(number)), None)
        if page is None:
            return None
        if page in _ISO_8859:
            return f"iso8859-{page - _ISO_8859.start + 1}"
        return _CODECS.get(page, f"cp{page}")

    def _message_path(self) -> tuple[str, ...]:
        own = self.path and self.path[-1].startswith((_ATTACHMENT, _RECIPIENT))
        return self.path[:-1] if own else self.path


def _stream_name(number: int, kind: str) -> str:
    return f"__substg1.0_{number:04X}{kind}"


def _headers(message: _Storage) -> dict[str, str]:
    sent = message.value(_SENT) or message.value(_DELIVERED)
    return {
        "from": next(filter(None, (_person(message, *pair) for pair in _SENDER)), ""),
        "to": _recipients(message, _TO) or _line(message.text(_DISPLAY_TO)),
        "cc": _recipients(message, _CC) or _line(message.text(_DISPLAY_CC)),
        "subject": _line(message.text(_SUBJECT)),
        "message-id": _line(message.text(_MESSAGE_ID)),
        "date": _date(sent) if sent else "",
    }


def _recipients(message: _Storage, kind: int) -> str:
    people = [p for p in message.parts(_RECIPIENT) if p.value(_RECIPIENT_TYPE) == kind]
    return ", ".join(filter(None, (_person(p, _DISPLAY_NAME, _ADDRESSES) for p in people)))


def _person(storage: _Storage, name: int, addresses: tuple[int, ...]) -> str:
    """Return ``Name <address>``; an address of Exchange's own kind is left out."""
    who = _line(storage.text(name))
    mail = next((a for n in addresses if "@" in (a := _line(storage.text(n)))), "")
    return f"{who} <{mail}>" if who and mail and who != mail else who or mail


def _line(text: str) -> str:
    return " ".join(text.split())


def _date(filetime: int) -> str:
    try:
        return format_datetime(_EPOCH + timedelta(microseconds=filetime // 10))
    except OverflowError:
        return ""


def _html(message: _Storage) -> str:
    data = message.stream(_HTML, _BINARY) or message.stream(_HTML, _STRING8)
    return decode(data, message.code_page()) if data else message.text(_HTML)


def _add_body(builder: DocumentBuilder, message: _Storage) -> None:
    html = _html(message)
    text = "" if html.strip() else message.text(_BODY)
    rich = None if html.strip() or text.strip() else message.stream(_RTF, _BINARY)
    if html.strip():
        add_html(builder, clean(html), head=False)
    elif text.strip():
        builder.add("paragraph", text.replace("\r\n", "\n").replace("\r", "\n"))
    elif rich:
        builder.add("paragraph", _rtf_text(rich))


def _rtf_text(data: bytes) -> str:
    """Return the text of a compressed RTF body ([MS-OXRTFCP])."""
    import compressed_rtf  # noqa: PLC0415 - few messages have nothing else
    from striprtf.striprtf import rtf_to_text  # noqa: PLC0415 - as above

    try:
        rtf = compressed_rtf.decompress(data)
        text: str = rtf_to_text(rtf.decode("latin-1"), errors="replace")  # type: ignore[no-untyped-call]
        return clean(text)
    except (*_DAMAGE, LookupError) as error:
        msg = "the message's RTF body is damaged"
        raise DocumentError(msg, kind="corrupt", stage="parse") from error


def _attach(builder: DocumentBuilder, part: _Storage, members: Bin) -> None:
    name = _line(part.text(*_FILE_NAMES))
    inner = _stream_name(_DATA, _OBJECT)
    if part.value(_METHOD) in _LINKED:
        builder.warn(f"the attachment {name or 'unnamed'!r} is a link and was not read")
    elif inner in part.tree.get(part.path, ()):
        _attach_object(part.below(inner), name, members)
    else:
        data = part.stream(_DATA, _BINARY) or b""
        image = part.text(_MIME_TYPE).lower().startswith("image/")
        inline = image and bool(part.text(_CONTENT_ID) or part.value(_HIDDEN))
        members.add(name or "attachment", [data], inline=inline)


def _attach_object(message: _Storage, name: str, members: Bin) -> None:
    if _PROPERTIES not in message.tree.get(message.path, ()):
        members.refuse(name or "object", "unsupported_format", "an embedded OLE object")
        return
    name = name or _line(message.text(_SUBJECT)).replace("/", "_") or "message"
    name = name if name.lower().endswith(".eml") else f"{name}.eml"
    try:
        mail = _mail(message, _DEPTH)
    except RecursionError:
        members.refuse(name, "limit", f"messages within messages, more than {_DEPTH}")
        return
    members.add(name, _flat(mail))


def _flat(mail: MIMEMultipart) -> Iterator[bytes]:
    file = io.BytesIO()
    email.generator.BytesGenerator(file, mangle_from_=False, maxheaderlen=0).flatten(mail)
    yield file.getvalue()


def _mail(message: _Storage, depth: int) -> MIMEMultipart:
    """Return an embedded message as a mail, with what is attached to it in turn.

    Everything is base64, so that no line of a text looks like a boundary.
    """
    if not depth:
        raise RecursionError
    mail = MIMEMultipart(boundary=f"=_chunkmill_{depth}")
    for header, text in _headers(message).items():
        if text:
            mail[header.title()] = Header(_CONTROL.sub(" ", text), "utf-8").encode()
    html = _html(message)
    rich = message.stream(_RTF, _BINARY)
    text = message.text(_BODY) or ("" if html or not rich else _rtf_text(rich))
    mail.attach(MIMEText(html or text, "html" if html else "plain", "utf-8"))
    for part in message.parts(_ATTACHMENT):
        inner = _stream_name(_DATA, _OBJECT)
        name = _line(part.text(*_FILE_NAMES))
        if inner in part.tree.get(part.path, ()):
            attached: MIMEMessage | MIMEApplication = MIMEMessage(
                _mail(part.below(inner), depth - 1)
            )
        else:
            attached = MIMEApplication(part.stream(_DATA, _BINARY) or b"")
        if part.text(_CONTENT_ID):
            attached["Content-Id"] = Header(_line(part.text(_CONTENT_ID)), "utf-8").encode()
            attached.set_type(_image_type(part))
        filename = ("utf-8", "", _CONTROL.sub(" ", name))
        attached.add_header("Content-Disposition", "attachment", filename=filename)
        mail.attach(attached)
    return mail


def _image_type(part: _Storage) -> str:
    told = part.text(_MIME_TYPE).lower()
    return told if re.fullmatch(r"image/[\w.+-]{1,40}", told) else "application/octet-stream"
