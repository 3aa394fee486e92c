"""Hostile files, made on the spot: bombs of every format, and documents that do a deed.

What a reader's native code might do to its process (hang, crash, eat) cannot be had from a
file at will; a hook in the parsing process does it, for files that name the deed (see
``tests/jobs/parsing/hostile.py``).
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

__all__ = ["HostileFile", "hostile_files"]

MIB = 1 << 20
_ENDED = frozenset({"unsafe", "limit", "out_of_memory", "corrupt", "timeout"})


@dataclass(frozen=True, slots=True, kw_only=True)
class HostileFile:
    """A file, its content, and the error kinds that are right; none: its text will do."""

    name: str
    content: bytes
    kinds: frozenset[str]
    readable: bool = False


_DEEDS = {
    "hang": "timeout",
    "ignore-sigterm": "timeout",
    "spin": "timeout limit",
    "spin-in-c": "timeout limit",
    "stop-itself": "timeout",
    "fork-bomb": "timeout limit",
    "fork-natively": "internal",
    "segfault": "crashed",
    "kill-itself": "crashed",
    "leave": "crashed",
    "talk-nonsense": "crashed",
    "eat-python-memory": "out_of_memory",
    "eat-shared-memory": "out_of_memory timeout",
    "eat-at-once": "out_of_memory",
    "map-at-once": "internal out_of_memory",
    "recurse": "internal limit",
    "many-threads": "limit",
    "many-open-files": "internal limit",
    "fill-folder": "limit",
    "fill-deleted": "limit",
    "one-huge-file": "internal limit",
    "start-a-program": "internal unsafe",
    "connect": "internal unsafe",
}
"""Per deed, what may come of it; an exception in a hook is the hook's (``internal``)."""


def hostile_files() -> Iterator[HostileFile]:
    """Yield all of them."""
    for deed, kinds in _DEEDS.items():
        content = f"deed: {deed}\n".encode()
        yield HostileFile(name=f"deed-{deed}.txt", content=content, kinds=_kinds(kinds))
    for name, (make, kinds) in _BOMBS.items():
        readable = "text" in kinds.split()
        yield HostileFile(
            name=name, content=make(), kinds=_kinds(kinds) - {"text"}, readable=readable
        )


def _kinds(words: str) -> frozenset[str]:
    return _ENDED if words == "ended" else frozenset(words.split())


def _zip(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/"), content)
    return file.getvalue()


_TYPES = (
    b'<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/'
    b'content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-'
    b'package.relationships+xml"/><Override PartName="/word/document.xml" ContentType='
    b'"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_RELS = (
    b'<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
    b'relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/'
    b'2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>'
)
_WORD = b"http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def _docx(body: bytes, prolog: bytes = b"") -> bytes:
    document = b'<?xml version="1.0"?>%s<w:document xmlns:w="%s"><w:body>%s</w:body></w:document>'
    members = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _RELS,
        "word/document.xml": document % (prolog, _WORD, body),
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def _docx_bomb() -> bytes:
    return _docx(b"<w:p><w:r><w:t>" + b"a" * (600 * MIB) + b"</w:t></w:r></w:p>")


def _docx_deep() -> bytes:
    table = b"<w:tbl><w:tr><w:tc>", b"</w:tc></w:tr></w:tbl>"
    return _docx(table[0] * 20_000 + b"<w:p/>" + table[1] * 20_000)


_LAUGHS = b"".join(
    b'<!ENTITY l%d "%s">' % (i, b"&l%d;" % (i - 1) * 10) if i else b'<!ENTITY l0 "ha">'
    for i in range(12)
)


def _docx_laughs() -> bytes:
    return _docx(b"<w:p><w:r><w:t>&l11;</w:t></w:r></w:p>", b"<!DOCTYPE w:document [%s]>" % _LAUGHS)


def _xml_laughs() -> bytes:
    return b'<?xml version="1.0"?><!DOCTYPE a [%s]><a><b>&l11;</b></a>' % _LAUGHS


def _xml_quadratic() -> bytes:
    entity = b'<!ENTITY a "%s">' % (b"a" * 200_000)
    return b'<?xml version="1.0"?><!DOCTYPE r [%s]><r>%s</r>' % (entity, b"&a;" * 200_000)


def _xml_external() -> bytes:
    return b'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]><r>&a;</r>'


def _nested_zip() -> bytes:
    inner = _zip(zeros=bytes(200 * MIB))
    for _ in range(4):
        inner = _zip(**{f"{i}.zip": inner for i in range(4)})
    return inner


def _png(width: int, height: int) -> bytes:
    def part(kind: bytes, content: bytes) -> bytes:
        check = zlib.crc32(kind + content).to_bytes(4, "big")
        return len(content).to_bytes(4, "big") + kind + content + check

    head = width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x00\x00\x00\x00"
    rows = zlib.compress(bytes(64 * MIB), 9)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", rows) + part(b"IEND", b"")


def _pixel_bomb() -> bytes:
    return _png(100_000, 100_000)


def _pdf(*objects: bytes, root: int = 1) -> bytes:
    data = bytearray(b"%PDF-1.7\n")
    offsets = []
    for number, content in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    data += b"trailer\n<< /Size %d /Root %d 0 R >>\n" % (len(objects) + 1, root)
    return bytes(data + b"startxref\n%d\n%%%%EOF\n" % start)


_CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"
_PAGES = b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>"
_FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"


def _page(box: bytes = b"0 0 595 842", resources: bytes = b"/Font << /F1 5 0 R >>") -> bytes:
    return b"<< /Type /Page /Parent 2 0 R /MediaBox [%s] /Contents 4 0 R /Resources << %s >> >>" % (
        box,
        resources,
    )


def _stream(content: bytes, extra: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), extra, content)


def _flate_bomb() -> bytes:
    """Return a page whose content inflates to gigabytes, by two filters one upon the other."""
    once = zlib.compressobj(9)
    inflated = b" " * (16 * MIB)
    packed = b"".join(once.compress(inflated) for _ in range(256)) + once.flush()
    content = zlib.compress(packed, 9)
    filters = b"/Filter [/FlateDecode /FlateDecode]"
    return _pdf(_CATALOG, _PAGES, _page(), _stream(content, filters), _FONT)


def _giant_box() -> bytes:
    """Return an empty-looking page of 10^10 square points, with an image on it for OCR."""
    image = _stream(
        b"\0",
        b"/Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8"
        b" /ColorSpace /DeviceGray",
    )
    show = _stream(b"q 90000 0 0 90000 0 0 cm /I1 Do Q")
    page = _page(b"0 0 100000 100000", b"/XObject << /I1 5 0 R >>")
    return _pdf(_CATALOG, _PAGES, page, show, image)


def _pdf_pixels() -> bytes:
    size = b"/Width 60000 /Height 60000 /BitsPerComponent 8 /ColorSpace /DeviceRGB"
    packed = zlib.compress(bytes(64 * MIB), 9)
    image = _stream(packed, b"/Type /XObject /Subtype /Image /Filter /FlateDecode %s" % size)
    page = _page(resources=b"/XObject << /I1 5 0 R >>")
    return _pdf(_CATALOG, _PAGES, page, _stream(b"q 595 0 0 842 0 0 cm /I1 Do Q"), image)


def _pdf_loop() -> bytes:
    """Return a form that draws itself, twice."""
    form = _stream(
        b"/X1 Do /X1 Do",
        b"/Type /XObject /Subtype /Form /BBox [0 0 595 842]"
        b" /Resources << /XObject << /X1 5 0 R >> >>",
    )
    page = _page(resources=b"/XObject << /X1 5 0 R >>")
    return _pdf(_CATALOG, _PAGES, page, _stream(b"/X1 Do"), form)


_DOUBLINGS = 40


def _pdf_doubling() -> bytes:
    """Return forms of which each draws the next twice: 2^40 times the last."""
    forms = [
        _stream(
            b"/X1 Do /X1 Do" if i < _DOUBLINGS - 1 else b"BT /F1 9 Tf (a) Tj ET",
            b"/Type /XObject /Subtype /Form /BBox [0 0 595 842] /Resources << /Font << /F1"
            b" %d 0 R >> /XObject << /X1 %d 0 R >> >>" % (_DOUBLINGS + 5, i + 6),
        )
        for i in range(_DOUBLINGS)
    ]
    page = _page(resources=b"/XObject << /X1 5 0 R >>")
    return _pdf(_CATALOG, _PAGES, page, _stream(b"/X1 Do"), *forms, _FONT)


def _pdf_page_loop() -> bytes:
    return _pdf(_CATALOG, b"<< /Type /Pages /Count 2 /Kids [2 0 R 2 0 R] >>")


def _pdf_many_pages() -> bytes:
    return _pdf(
        _CATALOG,
        b"<< /Type /Pages /Count 2000000000 /Kids [3 0 R] >>",
        _page(),
        _stream(b""),
        _FONT,
    )


def _pdf_deep() -> bytes:
    return _pdf(_CATALOG, _PAGES, _page(), _stream(b"[" * 5_000_000), _FONT)


def _html_deep() -> bytes:
    return b"<html><body>" + b"<div><span>" * 50_000 + b"deep" + b"</span></div>" * 50_000


def _html_table() -> bytes:
    return b"<table><tr><td colspan=100000000 rowspan=100000000>a</td></tr></table>" * 20


def _markdown_deep() -> bytes:
    return b">" * 50_000 + b" a\n" + b"[" * 50_000 + b"\n" + b"*a " * 50_000


def _json_deep() -> bytes:
    return b'{"schema_name": "DoclingDocument", "a": ' + b"[" * 500_000


def _csv_wide() -> bytes:
    return b"a,b\n" + b'"' + b"x" * (2 * MIB)


def _mail_deep() -> bytes:
    mail = b"Subject: innermost\n\nwords\n"
    for number in range(400):
        mark = b"m%d" % number
        head = b"Subject: a\nContent-Type: multipart/mixed; boundary=%s\n\n--%s\n" % (mark, mark)
        mail = head + b"Content-Type: message/rfc822\n\n" + mail + b"\n--%s--\n" % mark
    return mail


_BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    "bomb.docx": (_docx_bomb, "unsafe"),
    "deep.docx": (_docx_deep, "ended"),
    "laughs.docx": (_docx_laughs, "unsafe"),
    "laughs.xml": (_xml_laughs, "unsafe"),
    "quadratic.xml": (_xml_quadratic, "unsafe limit out_of_memory timeout corrupt"),
    "external.xml": (_xml_external, "unsafe"),
    "nested.zip": (_nested_zip, "unsafe limit no_text unsupported_format text"),
    "pixels.png": (_pixel_bomb, "unsafe limit corrupt out_of_memory no_text"),
    "flate.pdf": (_flate_bomb, "ended"),
    "giant-box.pdf": (_giant_box, "no_text timeout limit out_of_memory text"),
    "pixels.pdf": (_pdf_pixels, "no_text timeout limit out_of_memory unsafe text"),
    "loop.pdf": (_pdf_loop, "corrupt timeout limit out_of_memory crashed no_text text"),
    "doubling.pdf": (_pdf_doubling, "corrupt timeout limit out_of_memory crashed no_text text"),
    "page-loop.pdf": (_pdf_page_loop, "corrupt empty text"),
    "many-pages.pdf": (_pdf_many_pages, "corrupt limit text"),
    "deep.pdf": (_pdf_deep, "corrupt limit crashed timeout out_of_memory text"),
    "deep.html": (_html_deep, "limit corrupt timeout out_of_memory crashed text"),
    "table.html": (_html_table, "limit corrupt timeout out_of_memory text"),
    "deep.md": (_markdown_deep, "limit timeout out_of_memory text"),
    "deep.json": (_json_deep, "corrupt limit unsupported_format text"),
    "wide.csv": (_csv_wide, "corrupt limit timeout out_of_memory text"),
    "deep.eml": (_mail_deep, "limit corrupt timeout text"),
}
"""Per name, what makes the file and what may come of it; ``text``: it may also be read."""
