"""Formats that docling reads as they are, told where they have pages and metadata.

Rules: in presentations each slide is a page and its title a heading, speaker notes
follow their slide; in workbooks the sheet's name is a heading above its tables, and
cells show their stored values. Hidden sheets and slides are left out with a warning.
"""

from __future__ import annotations

from docling.datamodel.base_models import InputFormat

from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.canonical import Places, add_docling
from jobs.parsing.converted import Converted, Source
from jobs.parsing.docling_reader import read_with_docling
from jobs.parsing.formats.archive import core_properties, open_zip
from jobs.parsing.formats.odf import odf_properties

__all__ = ["read"]

_EMU_PER_POINT = 12_700
_FORMATS = {
    "pptx": (InputFormat.PPTX, Places(pages=True, units_per_point=_EMU_PER_POINT)),
    "xlsx": (InputFormat.XLSX, Places()),
    "odt": (InputFormat.ODT, Places()),
    "ods": (InputFormat.ODS, Places()),
    "odp": (InputFormat.ODP, Places(pages=True)),
}


def read(source: Source) -> Converted:
    """Read a PPTX, XLSX, ODT, ODS or ODP file."""
    input_format, places = _FORMATS[source.format]
    members = open_zip(source)
    properties = odf_properties if source.format.startswith("od") else core_properties
    builder = DocumentBuilder()
    builder.title, builder.metadata = properties(members)
    document = read_with_docling(source.path.read_bytes(), input_format)
    add_docling(builder, document, places=places)
    n_pages = len(document.pages) or None if places.pages else None
    return Converted(document=builder.build(n_pages=n_pages), warnings=tuple(builder.warnings))
