"""Presentations: docling reads them; what it passes by is put before it as plain shapes.

docling sees no shape that stands in two forms (``mc:AlternateContent``) and no text of
SmartArt, which python-pptx does not know (scanny/python-pptx#83), and decodes every
picture. Rules: each slide is a page and its title a heading; shapes come from top to
bottom; a chart is a table of its data, SmartArt its texts, a picture its alternative text
unless that is a file's name; speaker notes and then comments follow their slide; hidden
slides and shapes are left out with a warning; each footer is furniture, once. A
presentation without slides has no text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from docling.datamodel.base_models import InputFormat
from lxml import etree

from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.canonical import Places, add_docling
from jobs.parsing.converted import Converted, Source
from jobs.parsing.docling_reader import read_with_docling
from jobs.parsing.formats.archive import core_properties, rewrite
from jobs.parsing.formats.drawings import ALTERNATE, alternative_text, branch, diagram_lines
from jobs.parsing.formats.ooxml import open_package
from jobs.parsing.formats.package import Package

__all__ = ["read"]

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_DGM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_TREES = frozenset({f"{_P}spTree", f"{_P}grpSp"})
_KNOWN = frozenset(f"{_P}{name}" for name in ("sp", "grpSp", "graphicFrame", "cxnSp", "pic"))
_EMU_PER_POINT = 12_700
_SLIDE = re.compile(r"ppt/slides/slide(\d+)\.xml", re.IGNORECASE)
_P188 = "{http://schemas.microsoft.com/office/powerpoint/2018/8/main}"


def read(source: Source) -> Converted:
    """Read a PPTX file."""
    members = open_package(source)
    builder = DocumentBuilder()
    builder.title, builder.metadata = core_properties(members)
    slides = [name for name in members if _SLIDE.fullmatch(name)]
    if not slides:
        return Converted(document=builder.build(n_pages=0))
    package = Package(members, builder.warn)
    changes = {name: _mended(package, name) for name in slides}
    document = read_with_docling(rewrite(members, changes), InputFormat.PPTX)
    places = Places(pages=True, units_per_point=_EMU_PER_POINT)
    add_docling(builder, document, places=places)
    builder.return_to(())
    for text in _modern_comments(package, slides):
        builder.add("other", text)
    return Converted(
        document=builder.build(n_pages=len(document.pages)), warnings=tuple(builder.warnings)
    )


def _mended(package: Package, name: str) -> Callable[[etree._Element], None]:
    """Return what makes all that a slide shows shapes of a kind that docling reads."""

    def change(root: etree._Element) -> None:
        tree = root.find(f"{_P}cSld/{_P}spTree")
        if tree is None:
            return
        for alternate in list(tree.iter(ALTERNATE)):
            _replace(alternate, _shapes(alternate))
        for picture in list(tree.iter(f"{_P}pic")):
            _replace(picture, _alternative_text(picture))
        relationships = package.relationships(name)
        for frame in list(tree.iter(f"{_P}graphicFrame")):
            for diagram in frame.iter(f"{_DGM}relIds"):
                target = relationships.get(diagram.get(f"{_R}dm") or "")
                part = package.optional(target.target) if target else None
                if part is not None:
                    _replace(frame, [_text_box(frame, diagram_lines(part))])
                break

    return change


def _shapes(alternate: etree._Element) -> list[etree._Element]:
    """Return what stands for both forms of something; of shapes, those that docling knows."""
    parent = alternate.getparent()
    if parent is None or parent.tag not in _TREES:
        return branch(alternate)
    for form in alternate:
        known = [shape for shape in form if shape.tag in _KNOWN]
        if known:
            return known
    return []


def _replace(element: etree._Element, others: list[etree._Element]) -> None:
    parent = element.getparent()
    if parent is not None:
        index = parent.index(element)
        parent[index : index + 1] = others


def _alternative_text(picture: etree._Element) -> list[etree._Element]:
    text = alternative_text(picture.find(f"{_P}nvPicPr/{_P}cNvPr"), "descr")
    return [_text_box(picture, [text])] if text else []


def _text_box(replaced: etree._Element, lines: list[str]) -> etree._Element:
    """Return a shape of text in the place of another element."""
    shape = etree.Element(f"{_P}sp")
    names = etree.SubElement(shape, f"{_P}nvSpPr")
    properties = etree.SubElement(names, f"{_P}cNvPr", id="0", name="text")
    old = next(replaced.iter(f"{_P}cNvPr"), None)
    if old is not None and old.get("hidden"):
        properties.set("hidden", old.get("hidden") or "")
    etree.SubElement(names, f"{_P}cNvSpPr", txBox="1")
    etree.SubElement(names, f"{_P}nvPr")
    form = etree.SubElement(shape, f"{_P}spPr")
    place = next(replaced.iter(f"{_A}xfrm", f"{_P}xfrm"), None)
    if place is not None:
        frame = etree.SubElement(form, f"{_A}xfrm")
        for corner in list(place)[:2]:
            etree.SubElement(frame, corner.tag, dict(corner.attrib))
    body = etree.SubElement(shape, f"{_P}txBody")
    etree.SubElement(body, f"{_A}bodyPr")
    for line in lines or [""]:
        paragraph = etree.SubElement(body, f"{_A}p")
        run = etree.SubElement(paragraph, f"{_A}r")
        etree.SubElement(run, f"{_A}t").text = line
    return shape


def _modern_comments(package: Package, slides: list[str]) -> Iterator[str]:
    """Yield the comments of PowerPoint 365, which docling does not know."""
    root = package.optional("ppt/authors.xml")
    authors = {
        author.get("id"): author.get("name") or "unknown"
        for author in (root.iter(f"{_P188}author") if root is not None else ())
    }
    for name in sorted(slides, key=_number):
        for part in package.relationships(name).values():
            comments = package.optional(part.target) if part.kind == "comments" else None
            for body in comments.iter(f"{_P188}txBody") if comments is not None else ():
                lines = (
                    "".join(t.text or "" for t in p.iter(f"{_A}t")) for p in body.iter(f"{_A}p")
                )
                text = "\n".join(lines).strip()
                author = body.getparent().get("authorId")
                if text:
                    yield f"Comment by {authors.get(author, 'unknown')}: {text}"


def _text(paragraph: etree._Element) -> str:
    return "".join(run.text or "" for run in paragraph.iter(f"{_A}t"))


def _number(name: str) -> int:
    found = _SLIDE.fullmatch(name)
    return int(found[1]) if found else 0
