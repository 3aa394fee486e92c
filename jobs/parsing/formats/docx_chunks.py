"""Files of other formats that stand in a Word document in the place of blocks (``w:altChunk``)."""

from __future__ import annotations

import email
import email.policy
import io
import zipfile

from chunking.errors import DocumentError
from jobs.parsing import sniff
from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.formats.html import add_html
from jobs.parsing.formats.markup import declared_charset
from jobs.parsing.formats.package import Package
from jobs.parsing.text import decode

__all__ = ["add_chunk"]

_DEEPEST = 3
_LOST = "a part of another format could not be read and was left out"


def add_chunk(builder: DocumentBuilder, package: Package, target: str, depth: int) -> bool:
    """Add the blocks of a chunk: HTML, MHTML, text or a Word document; false where none of them."""
    data = package.data(target)
    if data is None:
        builder.warn(_LOST)
        return False
    if data.startswith(b"PK"):
        return _add_package(builder, data, depth)
    text = sniff.decode(data)
    kind = None if text is None else sniff.text_format(text, whole=True)
    if kind == "eml":
        page = email.message_from_bytes(data, policy=email.policy.default).get_body(("html",))
        payload = page.get_payload(decode=True) if page is not None else b""
        data = payload if isinstance(payload, bytes) else b""
        kind = "html"
    if kind in ("html", "xml"):
        add_html(builder, decode(data, declared_charset(data)), head=False)
    elif kind in ("txt", "md", "csv"):
        builder.add("paragraph", decode(data))
    else:
        builder.warn(_LOST)
        return False
    return True


def _add_package(builder: DocumentBuilder, data: bytes, depth: int) -> bool:
    from jobs.parsing.formats.docx import add_word  # noqa: PLC0415 - the two call each other

    if depth < _DEEPEST:
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                members = {info.filename: archive.read(info) for info in archive.infolist()}
            return add_word(builder, members, depth + 1)
        except (DocumentError, zipfile.BadZipFile, RuntimeError, EOFError):
            pass
    builder.warn(_LOST)
    return False
