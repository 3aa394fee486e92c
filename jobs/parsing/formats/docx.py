"""Word documents: docling's reader, with its known losses mended before and after.

Before: XML comments, processing instructions and entities are taken out (one fails
the whole file: docling-project/docling#2267 and kin), accepted insertions are plain
text and deletions gone, links and character formatting no longer part a paragraph.
Outline numbers of headings are counted here: docling counts them from 1 whatever the
document says (docling-project/docling#2758). Footnotes and comments stand at the end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from docling.datamodel.base_models import InputFormat
from lxml import etree

from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.canonical import add_docling
from jobs.parsing.converted import Converted, Source
from jobs.parsing.docling_reader import read_with_docling
from jobs.parsing.formats.archive import core_properties, replace_entities, rewrite
from jobs.parsing.formats.docx_numbering import HeadingNumbers
from jobs.parsing.formats.ooxml import open_package

__all__ = ["read"]

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PART = re.compile(r"word/(?:document|footnotes|endnotes|comments|header\d*|footer\d*)\d*\.xml")
_FORMATTING = tuple(
    _W + name for name in ("b", "bCs", "i", "iCs", "u", "strike", "dstrike", "vertAlign")
)
_TRANSPARENT = tuple(_W + name for name in ("hyperlink", "ins", "moveTo", "smartTag", "fldSimple"))
_DELETED = tuple(_W + name for name in ("del", "moveFrom"))


def read(source: Source) -> Converted:
    """Read a DOCX file."""
    members = open_package(source)
    builder = DocumentBuilder()
    changes = dict.fromkeys(filter(_PART.fullmatch, members), _Mend(builder, members))
    document = read_with_docling(rewrite(members, changes), InputFormat.DOCX)
    builder.title, builder.metadata = core_properties(members)
    add_docling(builder, document)
    return Converted(document=builder.build(), warnings=tuple(builder.warnings))


class _Mend:
    """Changes one part of the package in place."""

    def __init__(self, builder: DocumentBuilder, members: Mapping[str, bytes]) -> None:
        self._builder = builder
        self._number_headings = HeadingNumbers(members)

    def __call__(self, root: etree._Element) -> None:
        for name in replace_entities(root):
            self._builder.warn(f"the entity &{name}; was not resolved")
        for element in list(root.iter(*_DELETED)):
            if element.getparent() is not None and element.getparent().tag != _W + "rPr":
                _drop(element)
        for element in list(root.iter(*_TRANSPARENT)):
            if element.getparent() is not None and element.getparent().tag != _W + "rPr":
                _unwrap(element)
        for element in list(root.iter(*_FORMATTING)):
            _drop(element)
        if root.tag == _W + "document":
            self._number_headings(root)


def _drop(element: etree._Element) -> None:
    """Take an element out and leave its tail."""
    parent = element.getparent()
    if parent is None:
        return
    if element.tail:
        before = element.getprevious()
        if before is None:
            parent.text = (parent.text or "") + element.tail
        else:
            before.tail = (before.tail or "") + element.tail
        element.tail = None
    parent.remove(element)


def _unwrap(element: etree._Element) -> None:
    """Put an element's children in its place."""
    parent = element.getparent()
    index = parent.index(element)
    parent[index : index + 1] = list(element)
