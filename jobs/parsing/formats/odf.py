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
from jobs.parsing.formats.archive import open_zip, parse_part, replace_entities, rewrite
from jobs.parsing.formats.ods_cells import write_out

__all__ = ["read"]

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_CLASS = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}class"
_CONTENT = "content.xml"
_INDEXES = tuple(
    f"{_TEXT}{name}"
    for name in (
        *("table-of-content", "illustration-index", "table-index", "object-index", "user-index"),
        *("alphabetical-index", "bibliography"),
    )
)
_SHAPES = tuple(
    f"{_DRAW}{name}"
    for name in (
        "text-box",
        "custom-shape",
        "rect",
        "ellipse",
        "polygon",
        "path",
        "line",
        "caption",
    )
)
_BLOCKS = frozenset({f"{_TEXT}p", f"{_TEXT}h", f"{_TEXT}list", f"{_TABLE}table"})
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

    comments: list[str] = []

    def change(root: etree._Element) -> None:
        for name in replace_entities(root):
            builder.warn(f"the entity &{name}; was not resolved")
        if source.format == "ods":
            comments.extend(write_out(root, builder.warn))
        if source.format == "odt":
            _mend_text(root)
        _mend_drawings(root)

    data = rewrite(members, {name: change for name in members if name == _CONTENT})
    document = read_with_docling(data, _FORMATS[source.format])
    places = Places(pages=source.format == "odp")
    add_docling(builder, document, places=places)
    builder.return_to(())
    for comment in comments:
        builder.add("other", comment)
    n_pages = len(document.pages) if places.pages else None
    return Converted(document=builder.build(n_pages=n_pages), warnings=tuple(builder.warnings))


def _mend_drawings(root: etree._Element) -> None:
    """Let groups be their shapes and the head of a list an item; a title in a list a title."""
    for group in list(root.iter(f"{_DRAW}g")):
        _put(group, list(group))
    for frame in root.iter(f"{_DRAW}frame"):
        if frame.get(_CLASS) in ("title", "subtitle"):
            for titles in list(frame.iter(f"{_TEXT}list")):
                _put(titles, list(titles.iter(f"{_TEXT}p")))
    for head in root.iter(f"{_TEXT}list-header"):
        head.tag = f"{_TEXT}list-item"


def _mend_text(root: etree._Element) -> None:
    for index in list(root.iter(*_INDEXES)):
        _put(index, [child for body in index.iter(f"{_TEXT}index-body") for child in _lines(body)])
    for numbered in list(root.iter(f"{_TEXT}numbered-paragraph")):
        _put(numbered, list(numbered))
    for ruby in list(root.iter(f"{_TEXT}ruby")):
        _put(ruby, [], text=_ruby(ruby))
    for note in root.iter(f"{_TEXT}note"):
        _mark(note)
    for paragraph in list(root.iter(f"{_TEXT}p", f"{_TEXT}h")):
        _take_boxes_out(paragraph)


def _lines(body: etree._Element) -> list[etree._Element]:
    """Return the paragraphs of an index, those of its title too."""
    return list(body.iter(f"{_TEXT}p", f"{_TEXT}h"))


def _ruby(ruby: etree._Element) -> str:
    base, above = ruby.find(f"{_TEXT}ruby-base"), ruby.find(f"{_TEXT}ruby-text")
    text = "".join(base.itertext()) if base is not None else ""
    reading = "".join(above.itertext()) if above is not None else ""
    return f"{text}({reading})" if reading else text


def _mark(note: etree._Element) -> None:
    """Put a note's mark in brackets where it is referred to, and before its own text."""
    mark = "".join(note.xpath("string(text:note-citation)", namespaces={"text": _TEXT[1:-1]}))
    body = next(note.iter(f"{_TEXT}note-body"), None)
    if not mark or body is None:
        return
    _insert_before(note, f"[{mark}]")
    first = next(body.iter(f"{_TEXT}p", f"{_TEXT}h"), None)
    if first is not None:
        first.text = f"[{mark}] {first.text or ''}"


def _take_boxes_out(paragraph: etree._Element) -> None:
    """Put the text of frames and shapes that are anchored in a paragraph behind it."""
    after: list[etree._Element] = []
    for shape in list(paragraph.iter(*_SHAPES)):
        blocks = [child for child in shape if child.tag in _BLOCKS]
        for block in blocks:
            block.tail = None
        after += blocks
    parent = paragraph.getparent()
    if after and parent is not None:
        index = parent.index(paragraph) + 1
        parent[index:index] = after


def _insert_before(element: etree._Element, text: str) -> None:
    before, parent = element.getprevious(), element.getparent()
    if before is not None:
        before.tail = (before.tail or "") + text
    elif parent is not None:
        parent.text = (parent.text or "") + text


def _put(element: etree._Element, others: list[etree._Element], text: str = "") -> None:
    """Put elements or a text in the place of an element, whose tail stays."""
    parent = element.getparent()
    if parent is None:
        return
    _insert_before(element, text)
    if element.tail:
        if others:
            others[-1].tail = element.tail
        else:
            _insert_before(element, element.tail)
        element.tail = None
    index = parent.index(element)
    parent[index : index + 1] = others


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
