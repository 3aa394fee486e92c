"""OpenDocument files, through docling."""

from __future__ import annotations

from collections.abc import Mapping

from docling.datamodel.base_models import InputFormat
from lxml import etree

from chunking.errors import DocumentError
from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.canonical import Places, add_docling
from jobs.parsing.converted import Converted, Source
from jobs.parsing.docling_reader import read_with_docling
from jobs.parsing.formats.archive import open_zip, parse_part

__all__ = ["read"]

_FORMATS = {"odt": InputFormat.ODT, "ods": InputFormat.ODS, "odp": InputFormat.ODP}

_PROPERTIES = {
    "creator": "last_modified_by",
    "initial-creator": "author",
    "subject": "subject",
    "description": "description",
    "creation-date": "created",
    "date": "modified",
    "keyword": "keywords",
}


def read(source: Source) -> Converted:
    """Read an ODT, ODS or ODP file."""
    members = open_zip(source)
    builder = DocumentBuilder()
    builder.title, builder.metadata = _properties(members)
    document = read_with_docling(source.path.read_bytes(), _FORMATS[source.format])
    places = Places(pages=source.format == "odp")
    add_docling(builder, document, places=places)
    n_pages = len(document.pages) if places.pages else None
    return Converted(document=builder.build(n_pages=n_pages), warnings=tuple(builder.warnings))


def _properties(members: Mapping[str, bytes]) -> tuple[str | None, dict[str, str]]:
    """Return the title and the metadata of an OpenDocument container."""
    try:
        root = parse_part(members.get("meta.xml", b""), "meta.xml")
    except DocumentError:
        return None, {}
    texts: dict[str, str] = {}
    for element in root.iter():
        name = etree.QName(element).localname if isinstance(element.tag, str) else ""
        if element.text and element.text.strip():
            texts.setdefault(name, element.text.strip())
    return texts.get("title"), {key: texts[n] for n, key in _PROPERTIES.items() if n in texts}
