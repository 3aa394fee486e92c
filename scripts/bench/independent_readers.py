"""The words of a document by other means than ours, for benches of fidelity.

Each reader is small and sees all that a person would: body, headers and footers,
footnotes, text boxes, diagrams, speaker notes, comments; of mails the subject and the
addresses. It leaves out what our rules leave out: hidden sheets and slides, deleted text,
scripts and hidden elements. Charts, list numbers that a program counts and the texts of
attachments are not read.

PDF by poppler's ``pdftotext``, workbooks by openpyxl, Markdown by marko, XML and HTML
and the packages made of them by lxml, the rest by the standard library.
"""

from __future__ import annotations

import contextlib
import email
import email.header
import email.message
import io
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import marko
import openpyxl
import pypdfium2
from markup_walks import decoded, html_text, xml_text
from package_readers import docx, epub, odf, pptx, xlsx_drawings

__all__ = ["READERS", "read_pdf", "read_pdf_again"]

_PDF_MODES = ("", "-raw", "-layout")
_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\n(.*?)\n\1[ \t]*(?:\n|\Z)", re.DOTALL)
_KEY = re.compile(r"^\s*[-\w ]+[:=]\s", re.MULTILINE)
_VTT_NOISE = re.compile(
    r"\A.?WEBVTT[^\n]*|^NOTE\b.*?(?:\n\s*\n|\Z)|^STYLE\b.*?(?:\n\s*\n|\Z)"
    r"|^(?:[^\n]*\n)?[^\n]*-->[^\n]*$"
    r"|<[^<>\n]*>",
    re.MULTILINE | re.DOTALL,
)
_ADOC_NOISE = re.compile(
    r"^:[^:\n]+:.*$|^\[\[?[^\]\n]*\]\]?$|^//.*$|^(?:include|image|video|audio|ifn?def|endif|ifeval)::.*$"
    r"|\b(?:link|xref|image|icon|mailto|kbd|footnote):+[^\s\[\]]*(?=\[)|<<[^<>,\n]*,|https?://[^\s\[\]]+(?=\[)"
    r"|\{[\w-]+\}|^a\|",
    re.MULTILINE,
)


def read_pdf(path: Path) -> list[str]:
    """Return the text of a PDF as poppler reads it: in reading order, as drawn, as laid out.

    None where poppler cannot read it.
    """
    texts = []
    for mode in _PDF_MODES:
        command = ["pdftotext", "-q", "-enc", "UTF-8", *mode.split(), str(path), "-"]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode == 0:
            texts.append(done.stdout.decode("utf-8", "replace"))
    return texts


def read_pdf_again(path: Path) -> str:
    """Return the text of a PDF as PDFium reads it, as a second opinion; empty if it cannot."""
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError:
        return ""
    texts = []
    with contextlib.closing(document):
        for number in range(len(document)):
            with contextlib.suppress(pypdfium2.PdfiumError):
                texts.append(document[number].get_textpage().get_text_range())
    # PDFium's sign for a hyphen at the end of a line.
    return "\n".join(texts).replace("\ufffe", "-\n").replace("-\n\r\n", "-\n")


def _plain(path: Path) -> str:
    return decoded(path.read_bytes())


def _markdown(path: Path) -> str:
    text = decoded(path.read_bytes()).replace("\r\n", "\n")
    front = _FRONT_MATTER.match(text)
    values = _KEY.sub(" ", front[2]) if front else ""
    body = marko.Markdown(extensions=["gfm"]).convert(text[front.end() :] if front else text)
    return f"{values}\n{html_text(body)}"


def _html(path: Path) -> str:
    return html_text(decoded(path.read_bytes()))


def _xml(path: Path) -> str:
    return xml_text(path.read_bytes())


def _vtt(path: Path) -> str:
    return _VTT_NOISE.sub("\n", decoded(path.read_bytes()))


def _asciidoc(path: Path) -> str:
    return _ADOC_NOISE.sub(" ", decoded(path.read_bytes()))


def _workbook(path: Path) -> str:
    book = openpyxl.load_workbook(io.BytesIO(path.read_bytes()), data_only=True)
    parts = []
    for sheet in book.worksheets:
        if sheet.sheet_state != "visible":
            continue
        parts.append(sheet.title)
        # Its public iterators walk the whole rectangle up to a far corner.
        for _, cell in sorted(sheet._cells.items()):  # noqa: SLF001
            if cell.value is not None:
                parts.append(_shown(cell.value))
            if cell.comment is not None:
                parts.append(cell.comment.text)
    return "\n".join([*parts, xlsx_drawings(path)])


def _shown(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).removesuffix(" 00:00:00")


def _mail(path: Path) -> str:
    message = email.message_from_bytes(path.read_bytes())
    parts = [_header(message.get(name)) for name in ("subject", "from", "to", "cc")]
    return "\n".join([*parts, _body(message)])


def _header(raw: object) -> str:
    if raw is None:
        return ""
    parts = []
    for data, charset in email.header.decode_header(str(raw)):
        parts.append(decoded(data, charset) if isinstance(data, bytes) else data)
    return "".join(parts)


def _body(part: email.message.Message) -> str:
    if part.is_multipart():
        bodies = [_body(p) for p in part.get_payload() if isinstance(p, email.message.Message)]
        if part.get_content_type() == "multipart/alternative":
            return next((body for body in reversed(bodies) if body.strip()), "")
        return "\n".join(bodies)
    content = part.get_payload(decode=True)
    named = part.get_filename() is not None and part.get_content_disposition() != "inline"
    attached = part.get_content_disposition() == "attachment" or named
    if attached or part.get_content_maintype() != "text" or not isinstance(content, bytes):
        return ""
    text = decoded(content, part.get_content_charset())
    return html_text(text) if part.get_content_subtype() == "html" else text


READERS: dict[str, Callable[[Path], str]] = {
    "txt": _plain,
    "csv": _plain,
    "md": _markdown,
    "html": _html,
    "xml": _xml,
    "xml_jats": _xml,
    "vtt": _vtt,
    "adoc": _asciidoc,
    "eml": _mail,
    "docx": docx,
    "pptx": pptx,
    "xlsx": _workbook,
    "epub": epub,
    **dict.fromkeys(("odt", "ods", "odp"), odf),
}
"""The reader of each format but PDF."""
