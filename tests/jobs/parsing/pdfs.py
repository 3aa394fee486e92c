"""Small PDF files, written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

REGULAR, BOLD, MONO = "F1", "F2", "F3"
Text = tuple[float, float, str, float, str]
"""Left, baseline from the bottom, font, size, text; in points."""


class Upwards(NamedTuple):
    """As ``Text``, read from below upwards."""

    left: float
    bottom: float
    font: str
    size: float
    words: str


Rule = tuple[float, float, float, float]
"""A stroke from left, bottom to right, top; in points."""


def pdf(
    pages: Sequence[Sequence[Text | Rule]],
    *,
    broken: Sequence[int] = (),
    rotate: int = 0,
    garbled: bool = False,
) -> bytes:
    """Return a PDF of A4 pages; the content of the pages ``broken`` (from 0) cannot be read.

    ``garbled``: letters look as they should and are mapped to characters without a meaning.
    """
    last = 6 + 2 * len(pages)
    to_unicode = b"/ToUnicode %d 0 R" % last if garbled else b""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count %d /Kids [%s] >>"
        % (len(pages), b" ".join(b"%d 0 R" % (6 + 2 * i) for i in range(len(pages)))),
    ]
    for name in (b"Helvetica", b"Helvetica-Bold", b"Courier"):
        encoding = b"/Encoding /WinAnsiEncoding"
        font = b"<< /Type /Font /Subtype /Type1 /BaseFont /%s %s %s >>"
        objects.append(font % (name, encoding, to_unicode))
    for i, texts in enumerate(pages):
        filters = b"/Filter /FlateDecode" if i in broken else b""
        content = b"\n".join(map(_show, texts))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Rotate %d"
            b" /Contents %d 0 R /Resources << /Font << /F1 3 0 R /F2 4 0 R /F3 5 0 R >> >> >>"
            % (rotate, 7 + 2 * i)
        )
        objects.append(
            b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), filters, content)
        )
    if garbled:
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(_PRIVATE), _PRIVATE))
    return _file(objects)


_PRIVATE = b"""/CIDInit /ProcSet findresource begin 12 dict begin begincmap
/CMapName /Private def 1 begincodespacerange <00> <FF> endcodespacerange
1 beginbfrange <00> <FF> <E000> endbfrange endcmap end end"""


def paragraph(
    lines: Sequence[str],
    *,
    left: float = 60,
    top: float = 760,
    font: str = REGULAR,
    size: float = 10,
) -> list[Text]:
    """Return lines one below the other."""
    return [(left, top - 12 * i, font, size, line) for i, line in enumerate(lines)]


def rows(
    cells: Sequence[Sequence[str]],
    lefts: Sequence[float],
    *,
    top: float,
    step: float = 14,
    header: str = REGULAR,
) -> list[Text]:
    """Return the cells of a table, row below row, each at the left edge of its column."""
    return [
        (left, top - step * row, header if row == 0 else REGULAR, 10, text)
        for row, texts in enumerate(cells)
        for left, text in zip(lefts, texts, strict=True)
        if text
    ]


def grid(xs: Sequence[float], ys: Sequence[float]) -> list[Rule]:
    """Return the rules of a whole grid."""
    across = [(xs[0], y, xs[-1], y) for y in ys]
    return across + [(x, min(ys), x, max(ys)) for x in xs]


def _show(item: Text | Rule) -> bytes:
    if len(item) == 4:
        left, bottom, right, top = item
        return f"0.5 w {left} {bottom} m {right} {top} l S".encode()
    left, bottom, font, size, words = item
    turned = "0 1 -1 0" if isinstance(item, Upwards) else "1 0 0 1"
    escaped = words.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return f"BT /{font} {size} Tf {turned} {left} {bottom} Tm ({escaped}) Tj ET".encode("cp1252")


def _file(objects: Sequence[bytes]) -> bytes:
    data = bytearray(b"%PDF-1.4\n")
    offsets = []
    for i, content in enumerate(objects):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (i + 1, content)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    data += b"trailer\n<< /Size %d /Root 1 0 R >>\n" % (len(objects) + 1)
    return bytes(data + b"startxref\n%d\n%%%%EOF\n" % start)
