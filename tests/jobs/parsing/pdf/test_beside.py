from __future__ import annotations

import ctypes
from pathlib import Path

import pypdfium2
from pypdfium2 import raw

from jobs.config import ParserConfig
from jobs.parsing.converted import Converted
from jobs.parsing.members import Bin, Room
from jobs.parsing.pdf.engine import convert_pdf
from tests.jobs.parsing.pdfs import paragraph, pdf

PAGE = [paragraph(["The harbour is open to all ships."])]


def opened(pages: int = 1) -> pypdfium2.PdfDocument:
    """Return a PDF with some pages of one paragraph."""
    return pypdfium2.PdfDocument(pdf(PAGE * pages))


def read(document: pypdfium2.PdfDocument, folder: Path, members: Bin | None = None) -> Converted:
    """Return what becomes of a PDF once it is saved."""
    path = folder / "document"
    document.save(path)
    return convert_pdf(path, name="x", settings=ParserConfig(ocr="none"), members=members)


def annotate(page: pypdfium2.PdfPage, kind: int, flags: int = 0, **entries: str) -> None:
    """Add an annotation with its strings to a page."""
    annotation = raw.FPDFPage_CreateAnnot(page, kind)
    raw.FPDFAnnot_SetRect(annotation, ctypes.byref(raw.FS_RECTF(60, 700, 200, 680)))
    raw.FPDFAnnot_SetFlags(annotation, flags)
    for key, text in entries.items():
        data = f"{text}\0".encode("utf-16-le")
        wide = (ctypes.c_ushort * (len(data) // 2)).from_buffer_copy(data)
        raw.FPDFAnnot_SetStringValue(annotation, key.encode(), wide)
    raw.FPDFPage_CloseAnnot(annotation)


def others(converted: Converted) -> list[tuple[str, int | None]]:
    """Return the last three blocks with their pages."""
    document = converted.document
    return [(document.text[b.start : b.end], b.page_start) for b in document.blocks[-3:]]


def test_comments_follow_the_text(tmp_path: Path) -> None:
    """Popups, states of review and what is hidden are no comments."""
    document = opened(2)
    annotate(document[0], raw.FPDF_ANNOT_TEXT, Contents="Too dear.", T="Kari Lie")
    annotate(document[0], raw.FPDF_ANNOT_POPUP, Contents="Too dear.")
    annotate(document[0], raw.FPDF_ANNOT_TEXT, Contents="Accepted", StateModel="Review")
    annotate(document[0], raw.FPDF_ANNOT_TEXT, raw.FPDF_ANNOT_FLAG_HIDDEN, Contents="Not seen.")
    annotate(document[1], raw.FPDF_ANNOT_HIGHLIGHT, Contents="Which?")
    annotate(document[1], raw.FPDF_ANNOT_FREETEXT, Contents="Approved on 3 May", T="Kari Lie")
    assert others(read(document, tmp_path)) == [
        ("Comment by Kari Lie: Too dear.", 1),
        ("Comment by unknown: Which?", 2),
        ("Approved on 3 May", 2),
    ]


FIELDS = b"""/AcroForm << /Fields [8 0 R 9 0 R 10 0 R] >>"""
FORM = (
    b"<< /Type /Annot /Subtype /Widget /FT /Tx /T (f1) /TU (Name) /V (Ingrid) /Rect [1 1 90 20] >>",
    b"<< /Type /Annot /Subtype /Widget /FT /Btn /T (Power) /V /Yes /AS /Yes /Rect [1 30 9 40] %s >>"
    % b"/AP << /N << /Yes 7 0 R /Off 7 0 R >> >>",
    b"<< /Type /Annot /Subtype /Widget /FT /Tx /Ff 8192 /T (Key) /V (pst) /Rect [1 50 90 70] >>",
)


def form() -> bytes:
    """Return a page with a form that was filled without drawing what is in it."""
    data = pdf(PAGE)
    body = data[: data.index(b"xref\n")].replace(b"/Type /Catalog", b"/Type /Catalog " + FIELDS)
    body = body.replace(b"/Type /Page /", b"/Type /Page /Annots [8 0 R 9 0 R 10 0 R] /")
    for number, field in enumerate(FORM, 8):
        body += b"%d 0 obj\n%s\nendobj\n" % (number, field)
    # Without a table of its objects, which readers make up for.
    return body + b"trailer\n<< /Size 11 /Root 1 0 R >>\n"


def test_what_a_form_does_not_show_is_told(tmp_path: Path) -> None:
    """By the name that a field shows to people; no password."""
    found = others(read(pypdfium2.PdfDocument(form()), tmp_path))
    assert found[1:] == [("Name: Ingrid", 1), ("Power: Yes", 1)]


def attached() -> pypdfium2.PdfDocument:
    """Return a PDF with two files attached."""
    document = opened()
    document.new_attachment("prices.csv").set_data(b"rope,12")
    document.new_attachment("terms.txt").set_data(b"30 days")
    return document


def test_attachments_are_members(tmp_path: Path) -> None:
    """In the order of the file, with their own bytes."""
    folder = tmp_path / "members"
    folder.mkdir()
    room = Room(folder=folder, members=9, n_bytes=1000, depth=1)
    members = Bin(room, container_bytes=1000)
    assert read(attached(), tmp_path, members).status == "ok"
    assert [member.name for member in members.members] == ["prices.csv", "terms.txt"]
    assert [path.read_bytes() for path in sorted(folder.iterdir())] == [b"rope,12", b"30 days"]


def test_attachments_that_are_not_wanted_are_named(tmp_path: Path) -> None:
    """A warning names each."""
    converted = read(attached(), tmp_path)
    assert converted.status == "partial"
    assert converted.warnings == (
        "the attachment 'prices.csv' was not read",
        "the attachment 'terms.txt' was not read",
    )
