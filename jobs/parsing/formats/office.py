"""Presentations, workbooks and OpenDocument files, through docling.

Rules: in presentations each slide is a page and its title a heading, speaker notes
follow their slide; in workbooks the sheet's name is a heading above its tables, and
cells show their stored values, a date without a time as the date. Hidden sheets and
slides are left out with a warning. A presentation without slides has no text.
"""

from __future__ import annotations

import re

from docling.datamodel.base_models import InputFormat
from docling_core.types.doc import DoclingDocument

from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.canonical import Places, add_docling
from jobs.parsing.converted import Converted, Source
from jobs.parsing.docling_reader import read_with_docling
from jobs.parsing.formats.archive import core_properties, open_zip, rewrite
from jobs.parsing.formats.odf import odf_properties
from jobs.parsing.formats.ooxml import open_package
from jobs.parsing.formats.sheet_gaps import close_gaps, is_scattered

__all__ = ["read_odf", "read_pptx", "read_xlsx"]

_EMU_PER_POINT = 12_700
_SLIDE = re.compile(r"ppt/slides/slide\d+\.xml", re.IGNORECASE)
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml", re.IGNORECASE)
_MIDNIGHT = re.compile(r"(\d{4}-\d\d-\d\d) 00:00:00")
_ODF = {"odt": InputFormat.ODT, "ods": InputFormat.ODS, "odp": InputFormat.ODP}


def read_pptx(source: Source) -> Converted:
    """Read a PPTX file."""
    members = open_package(source)
    builder = DocumentBuilder()
    builder.title, builder.metadata = core_properties(members)
    if not any(map(_SLIDE.fullmatch, members)):
        return Converted(document=builder.build(n_pages=0))
    document = read_with_docling(rewrite(members, {}), InputFormat.PPTX)
    return _converted(builder, document, Places(pages=True, units_per_point=_EMU_PER_POINT))


def read_xlsx(source: Source) -> Converted:
    """Read an XLSX file."""
    members = open_package(source)
    builder = DocumentBuilder()
    builder.title, builder.metadata = core_properties(members)
    scattered = [n for n in members if _SHEET.fullmatch(n) and is_scattered(members[n])]
    if scattered:
        builder.warn("blank rows and columns between far cells were left out")
    data = rewrite(members, dict.fromkeys(scattered, close_gaps))
    document = read_with_docling(data, InputFormat.XLSX)
    for table in document.tables:
        for cell in table.data.table_cells:
            cell.text = _MIDNIGHT.sub(r"\1", cell.text)
    return _converted(builder, document, Places())


def read_odf(source: Source) -> Converted:
    """Read an ODT, ODS or ODP file."""
    members = open_zip(source)
    builder = DocumentBuilder()
    builder.title, builder.metadata = odf_properties(members)
    document = read_with_docling(source.path.read_bytes(), _ODF[source.format])
    return _converted(builder, document, Places(pages=source.format == "odp"))


def _converted(builder: DocumentBuilder, document: DoclingDocument, places: Places) -> Converted:
    add_docling(builder, document, places=places)
    n_pages = len(document.pages) if places.pages else None
    return Converted(document=builder.build(n_pages=n_pages), warnings=tuple(builder.warnings))
