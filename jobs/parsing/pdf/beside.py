"""What a PDF holds beside its pages' text: files, comments, and what was filled into forms.

docling-parse tells neither files nor comments, and of a form only what its fields show.
Read with PDFium, the pages of a file only where it may have annotations at all.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pypdfium2
from pypdfium2 import raw

from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.careful import Pages
from jobs.parsing.members import Bin

__all__ = ["Note", "add_notes", "read_beside"]

_WORD = re.compile(r"\w+")
_MAX_NOTES = 10_000
_MAX_ANNOTATIONS = 100_000
"""Of one page."""
_MAX_BYTES = 1 << 20
_TRACES = (b"/Annots", b"/ObjStm")
"""Bytes without which no page has annotations; objects in streams are not looked into."""
_UNSEEN = raw.FPDF_ANNOT_FLAG_HIDDEN | raw.FPDF_ANNOT_FLAG_NOVIEW
_NO_COMMENT = frozenset(
    {
        raw.FPDF_ANNOT_UNKNOWN,
        raw.FPDF_ANNOT_LINK,
        raw.FPDF_ANNOT_POPUP,
        raw.FPDF_ANNOT_WIDGET,
        raw.FPDF_ANNOT_PRINTERMARK,
        raw.FPDF_ANNOT_TRAPNET,
    }
)
_PASSWORD = 1 << 13
"""Flag of a text field that is not to be shown (ISO 32000-1, 12.7.4.3)."""
_TICKED = frozenset({raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON})
_CHOSEN = frozenset({raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX})


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One comment or field of a page: what to say of it, and what of that the page may show."""

    page: int
    lead: str
    text: str
    shown: bool = False


def read_beside(path: Path, members: Bin, walk: Pages) -> list[Note]:
    """Give a file's attachments to ``members``; return its comments and filled fields.

    Raises:
        DocumentError: ``unsafe`` where an attachment is a bomb.
    """
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError:
        return []
    with contextlib.closing(document):
        for index in range(document.count_attachments()):
            with contextlib.suppress(pypdfium2.PdfiumError):
                _add_file(document.get_attachment(index), members)
        if not any(trace in path.read_bytes() for trace in _TRACES):
            return []
        with contextlib.suppress(pypdfium2.PdfiumError):
            document.init_forms()
        notes: list[Note] = []
        for number in walk.walk(range(1, len(document) + 1)):
            with contextlib.suppress(pypdfium2.PdfiumError):
                _read_page(document, number, notes, members)
    # The buttons of one field may be many, all ticked together.
    return list(dict.fromkeys(notes))


def add_notes(builder: DocumentBuilder, notes: list[Note], text: str) -> None:
    """Add what was noted, but for what the text of the pages says already."""
    said = _words(text) if any(note.shown for note in notes) else ""
    for note in notes[:_MAX_NOTES]:
        if not (note.shown and _words(note.text) in said):
            builder.add("other", f"{note.lead}{note.text}", page=note.page)
    if len(notes) > _MAX_NOTES:
        builder.warn(f"{len(notes) - _MAX_NOTES} comments and form fields were left out")


def _words(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _add_file(attachment: pypdfium2.PdfAttachment, members: Bin) -> None:
    name = attachment.get_name()
    if not members.wanted:
        members.add(name, ())
        return
    try:
        data = bytes(attachment.get_data())
    except pypdfium2.PdfiumError:
        members.refuse(name, "empty", "there is nothing in it")
        return
    members.add(name, [data])


def _read_page(
    document: pypdfium2.PdfDocument, number: int, notes: list[Note], members: Bin
) -> None:
    page = document[number - 1]
    with contextlib.closing(page):
        count = min(raw.FPDFPage_GetAnnotCount(page), _MAX_ANNOTATIONS)
        for index in range(count):
            annotation = raw.FPDFPage_GetAnnot(page, index)
            if not annotation:
                continue
            try:
                _read(document, number, annotation, notes, members)
            finally:
                raw.FPDFPage_CloseAnnot(annotation)


def _read(
    document: pypdfium2.PdfDocument,
    number: int,
    annotation: raw.FPDF_ANNOTATION,
    notes: list[Note],
    members: Bin,
) -> None:
    kind = raw.FPDFAnnot_GetSubtype(annotation)
    if kind == raw.FPDF_ANNOT_FILEATTACHMENT:
        file = raw.FPDFAnnot_GetFileAttachment(annotation)
        if file:
            _add_file(pypdfium2.PdfAttachment(file, document), members)
    if raw.FPDFAnnot_GetFlags(annotation) & _UNSEEN:
        return
    if kind == raw.FPDF_ANNOT_WIDGET and document.formenv:
        notes += _field(document.formenv, number, annotation)
    elif kind not in _NO_COMMENT:
        notes += _comment(kind, number, annotation)


def _comment(kind: int, number: int, annotation: raw.FPDF_ANNOTATION) -> Iterator[Note]:
    text = _entry(annotation, b"Contents")
    # What a reviewer's program notes of a comment's state is no comment (12.5.6.3).
    if not text.strip() or raw.FPDFAnnot_HasKey(annotation, b"StateModel"):
        return
    if kind == raw.FPDF_ANNOT_FREETEXT:
        # Written on the page for all to read: the page's own words.
        yield Note(page=number, lead="", text=text, shown=_is_drawn(annotation))
        return
    author = " ".join(_entry(annotation, b"T").split()) or "unknown"
    yield Note(page=number, lead=f"Comment by {author}: ", text=text)


def _field(
    form: pypdfium2.PdfFormEnv, number: int, annotation: raw.FPDF_ANNOTATION
) -> Iterator[Note]:
    kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
    name = _told(raw.FPDFAnnot_GetFormFieldAlternateName, form, annotation)
    name = name or _told(raw.FPDFAnnot_GetFormFieldName, form, annotation)
    lead = f"{' '.join(name.split())}: "
    value, shown = "", _is_drawn(annotation)
    if kind in _TICKED:
        # A tick is drawn, or a letter of a font of signs: neither says what it means.
        shown = False
        if raw.FPDFAnnot_IsChecked(form, annotation):
            value = _told(raw.FPDFAnnot_GetFormFieldExportValue, form, annotation) or "Yes"
    elif kind in _CHOSEN:
        value = ", ".join(_chosen(form, annotation))
        value = value or _told(raw.FPDFAnnot_GetFormFieldValue, form, annotation)
    elif kind == raw.FPDF_FORMFIELD_TEXTFIELD and not (
        raw.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD
    ):
        value = _told(raw.FPDFAnnot_GetFormFieldValue, form, annotation)
    if value.strip():
        yield Note(page=number, lead=lead, text=value, shown=shown)


def _is_drawn(annotation: raw.FPDF_ANNOTATION) -> bool:
    """Tell whether a page shows an annotation by what the file says, not a program's doing."""
    return bool(raw.FPDFAnnot_HasKey(annotation, b"AP"))


def _chosen(form: pypdfium2.PdfFormEnv, annotation: raw.FPDF_ANNOTATION) -> Iterator[str]:
    for index in range(raw.FPDFAnnot_GetOptionCount(form, annotation)):
        if raw.FPDFAnnot_IsOptionSelected(form, annotation, index):

            def label(
                buffer: ctypes.Array[ctypes.c_ushort] | None, size: int, index: int = index
            ) -> int:
                return int(raw.FPDFAnnot_GetOptionLabel(form, annotation, index, buffer, size))

            yield _string(label)


def _told(
    function: Callable[..., int], form: pypdfium2.PdfFormEnv, annotation: raw.FPDF_ANNOTATION
) -> str:
    return _string(lambda buffer, size: function(form, annotation, buffer, size))


def _entry(annotation: raw.FPDF_ANNOTATION, key: bytes) -> str:
    return _string(lambda buffer, size: raw.FPDFAnnot_GetStringValue(annotation, key, buffer, size))


def _string(fill: Callable[[ctypes.Array[ctypes.c_ushort] | None, int], int]) -> str:
    """Return a string that PDFium writes into a buffer: UTF-16 with a NUL behind it."""
    size = min(fill(None, 0), _MAX_BYTES)
    if size <= 2:  # noqa: PLR2004 - the NUL
        return ""
    buffer = (ctypes.c_ushort * (size // 2 + 1))()
    fill(buffer, size)
    text = bytes(buffer)[:size].decode("utf-16-le", "replace")
    return text.rstrip("\0").replace("\r\n", "\n").replace("\r", "\n")
