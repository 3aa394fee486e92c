"""XML: JATS and USPTO through docling, DoclingDocument JSON as it is, else its text.

No entity is expanded and no DTD loaded.
"""

from __future__ import annotations

from docling.datamodel.base_models import InputFormat
from docling_core.types.doc import DoclingDocument
from lxml import etree
from pydantic import ValidationError

from chunking.errors import DocumentError
from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.canonical import Places, add_docling
from jobs.parsing.converted import Converted, Source
from jobs.parsing.docling_reader import read_with_docling
from jobs.parsing.formats.archive import parse_part, replace_entities

__all__ = ["read", "read_generic", "read_json"]


def read(source: Source) -> Converted:
    """Read a JATS article; where docling cannot, as generic XML with a warning."""
    data = source.path.read_bytes()
    builder = DocumentBuilder()
    try:
        add_docling(builder, read_with_docling(data, InputFormat.XML_JATS))
    except DocumentError as error:
        generic = DocumentBuilder()
        generic.warn(f"read as generic XML: {error}")
        _add_elements(generic, parse_part(data, source.name))
        return Converted(document=generic.build(), parser="xml", warnings=tuple(generic.warnings))
    return Converted(document=builder.build(), warnings=tuple(builder.warnings))


def read_generic(source: Source) -> Converted:
    """Read any XML: the text of each element that holds text of its own is a paragraph."""
    builder = DocumentBuilder()
    root = parse_part(source.path.read_bytes(), source.name)
    _add_elements(builder, root)
    return Converted(document=builder.build(), parser="xml", warnings=tuple(builder.warnings))


def read_json(source: Source) -> Converted:
    """Read a DoclingDocument that was stored as JSON."""
    try:
        document = DoclingDocument.model_validate_json(source.path.read_bytes())
    except ValidationError as error:
        msg = f"the JSON is no valid DoclingDocument: {error.error_count()} errors"
        raise DocumentError(msg, kind="corrupt", stage="parse") from error
    builder = DocumentBuilder()
    places = Places(pages=bool(document.pages), units_per_point=1.0)
    add_docling(builder, document, places=places)
    n_pages = len(document.pages) or None
    return Converted(document=builder.build(n_pages=n_pages), warnings=tuple(builder.warnings))


def _add_elements(builder: DocumentBuilder, root: etree._Element) -> None:
    """Add mixed content as one paragraph, and each other text as its own."""
    for name in replace_entities(root):
        builder.warn(f"the entity &{name}; was not resolved")
    walker = etree.iterwalk(root, events=("start",))
    for _, element in walker:
        has_tail = any(child.tail and child.tail.strip() for child in element)
        if has_tail or (element.text and element.text.strip()):
            walker.skip_subtree()
            builder.add("paragraph", "".join(element.itertext()))
