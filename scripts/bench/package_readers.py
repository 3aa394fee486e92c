"""The words of Office Open XML, OpenDocument and EPUB packages, straight from their parts."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

from markup_walks import Element, decoded, html_text, local_name, parse_xml, walk

__all__ = ["docx", "epub", "odf", "pptx", "xlsx_drawings"]

_OFFICE = "officeDocument"
_DOCX_PARTS = ("header", "footer", "footnotes", "endnotes", "comments", "diagramData")
_OOXML_UNSEEN = frozenset({"del", "moveFrom", "Fallback"})
_OOXML_TEXT = frozenset({"t", "text"})
_OOXML_LINES = frozenset(
    {
        *(
            "p",
            "txbxContent",
            "tab",
            "ptab",
            "br",
            "cr",
            "tc",
            "footnote",
            "endnote",
            "comment",
            "text",
        ),
        "noBreakHyphen",
    }
)
_NO_NOTE = frozenset({"sldNum", "sldImg", "hdr", "ftr", "dt"})
_OFF = frozenset({"0", "false", "off", "none"})
_ODF_UNSEEN = frozenset(["tracked-changes", "title", "desc", "forms", "event-listeners"])
_ODF_LINES = frozenset(
    {"p", "h", "tab", "line-break", "s", "note", "table-cell", "list-item", "annotation"}
)


class _Package:
    """A zip file of parts with relations (ECMA-376, part 2)."""

    def __init__(self, archive: ZipFile) -> None:
        self.archive = archive
        self._names = set(archive.namelist())

    def root(self, part: str) -> Element | None:
        if part not in self._names:
            return None
        return parse_xml(self.archive.read(part))

    def related(self, part: str) -> Iterator[tuple[str, str, str]]:
        """Yield the id, the kind and the part of each relation."""
        folder, name = posixpath.split(part)
        root = self.root(posixpath.join(folder, "_rels", f"{name}.rels"))
        for relation in root if root is not None else ():
            target = relation.get("Target", "")
            if relation.get("TargetMode") != "External":
                path = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
                kind = relation.get("Type", "").rpartition("/")[2]
                yield relation.get("Id", ""), kind, path

    def main(self) -> str:
        return next(path for _, kind, path in self.related("") if kind == _OFFICE)


def docx(path: Path) -> str:
    """Return the words of a DOCX: body, headers and footers in use, notes, comments, diagrams."""
    with ZipFile(path) as archive:
        package = _Package(archive)
        main = package.main()
        body = package.root(main)
        if body is None:
            return ""
        used = {
            _attribute(element, "id")
            for element in body.iter()
            if local_name(element) in ("headerReference", "footerReference")
        }
        texts = [_ooxml_text(body)]
        for number, kind, part in package.related(main):
            if kind not in _DOCX_PARTS or (kind in ("header", "footer") and number not in used):
                continue
            texts.append(_ooxml_text(package.root(part)))
    return "\n".join(texts)


def pptx(path: Path) -> str:
    """Return the words of a PPTX: its visible slides with notes, comments and diagrams."""
    texts = []
    with ZipFile(path) as archive:
        package = _Package(archive)
        main = package.main()
        show = package.root(main)
        slides = {number: part for number, kind, part in package.related(main) if kind == "slide"}
        for element in show.iter() if show is not None else ():
            part = slides.get(_attribute(element, "id", "relationships"))
            if local_name(element) != "sldId" or part is None:
                continue
            slide = package.root(part)
            if slide is None or slide.get("show") in _OFF:
                continue
            texts.append(_ooxml_text(slide))
            for _, kind, other in package.related(part):
                if kind in ("notesSlide", "comments", "diagramData"):
                    texts.append(_ooxml_text(package.root(other)))
    return "\n".join(texts)


def xlsx_drawings(path: Path) -> str:
    """Return the words of text boxes over the visible sheets of a workbook."""
    texts = []
    with ZipFile(path) as archive:
        package = _Package(archive)
        main = package.main()
        book = package.root(main)
        parts = {number: part for number, _, part in package.related(main)}
        for element in book.iter() if book is not None else ():
            part = parts.get(_attribute(element, "id", "relationships"))
            shown = element.get("state", "visible") == "visible"
            if local_name(element) != "sheet" or part is None or not shown:
                continue
            for _, kind, drawing in package.related(part):
                if kind == "drawing":
                    texts.append(_ooxml_text(package.root(drawing)))
    return "\n".join(texts)


def _attribute(element: Element, name: str, namespace: str = "") -> str:
    for key, value in element.attrib.items():
        if key.endswith(f"{namespace}}}{name}") or (not namespace and key == name):
            return str(value)
    return ""


def _ooxml_text(root: Element | None) -> str:
    if root is None:
        return ""
    return "".join(walk(root, _is_unseen, _ooxml_around, _OOXML_TEXT))


def _is_unseen(element: Element) -> bool:
    name = local_name(element)
    if name in _OOXML_UNSEEN:
        return True
    if name == "r":
        hidden = [e for p in element if local_name(p) == "rPr" for e in p]
        return any(local_name(e) == "vanish" and _attribute(e, "val") not in _OFF for e in hidden)
    if name == "sp":
        return _is_notes_furniture(element)
    return False


def _is_notes_furniture(shape: Element) -> bool:
    """Tell whether a shape is the number, date, head or picture of a notes page."""
    if "notes" not in local_name(shape.getroottree().getroot()):
        return False
    marks = [e for e in shape.iter() if local_name(e) == "ph"]
    return any(mark.get("type") in _NO_NOTE for mark in marks)


def _ooxml_around(element: Element) -> str:
    name = local_name(element)
    if name == "noBreakHyphen":
        return "-"
    return "\n" if name in _OOXML_LINES else ""


def odf(path: Path) -> str:
    """Return the words of an OpenDocument file: content, heads and feet, notes, comments."""
    texts = []
    with ZipFile(path) as archive:
        content = parse_xml(archive.read("content.xml"))
        hidden = _hidden_styles(content)
        body = next(element for element in content if local_name(element) == "body")
        texts.append("".join(walk(body, lambda e: _is_odf_unseen(e, hidden), _odf_around)))
        if "styles.xml" in archive.namelist() and local_name(body[0]) == "text":
            styles = parse_xml(archive.read("styles.xml"))
            texts += [
                "".join(walk(part, lambda _: False, _odf_around))
                for part in styles.iter()
                if local_name(part) in ("header", "footer")
            ]
    return "\n".join(texts)


def _hidden_styles(content: Element) -> frozenset[str]:
    names = set()
    for element in content.iter():
        if local_name(element) in ("table-properties", "drawing-page-properties"):
            marks = (_attribute(element, "display"), _attribute(element, "visibility"))
            parent = element.getparent()
            if parent is not None and ("false" in marks or "hidden" in marks):
                names.add(_attribute(parent, "name"))
    return frozenset(names)


def _is_odf_unseen(element: Element, hidden: frozenset[str]) -> bool:
    if local_name(element) in _ODF_UNSEEN:
        return True
    return local_name(element) in ("table", "page") and _attribute(element, "style-name") in hidden


def _odf_around(element: Element) -> str:
    return "\n" if local_name(element) in _ODF_LINES else ""


def epub(path: Path) -> str:
    """Return the words of an EPUB: its title and the documents of its spine."""
    with ZipFile(path) as archive:
        container = parse_xml(archive.read("META-INF/container.xml"))
        opf = next(e.get("full-path", "") for e in container.iter() if local_name(e) == "rootfile")
        root = parse_xml(archive.read(opf))
        texts = [e.text or "" for e in root.iter() if local_name(e) == "title"]
        items = {e.get("id"): e.get("href", "") for e in root.iter() if local_name(e) == "item"}
        for reference in root.iter():
            if local_name(reference) != "itemref" or reference.get("idref") not in items:
                continue
            href = re.sub(r"%([0-9A-Fa-f]{2})", _unescaped, items[reference.get("idref")])
            part = posixpath.normpath(posixpath.join(posixpath.dirname(opf), href))
            texts.append(html_text(decoded(archive.read(part)), title=False))
    return "\n".join(texts)


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16))
