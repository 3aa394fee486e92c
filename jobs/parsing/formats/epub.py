"""EPUB: the pages of its spine, in order, each read as HTML.

docling's reader raises for a book of several pages. A page that cannot be read makes
the book partial, never silently shorter.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from urllib.parse import unquote

from lxml import etree

from chunking.errors import DocumentError
from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.converted import Converted, Source
from jobs.parsing.formats.archive import open_zip, parse_part
from jobs.parsing.formats.html import add_html
from jobs.parsing.formats.markup import declared_charset
from jobs.parsing.text import decode

__all__ = ["read"]

_METADATA = {
    "creator": "author",
    "date": "date",
    "publisher": "publisher",
    "subject": "subject",
    "language": "language",
    "identifier": "identifier",
}


def read(source: Source) -> Converted:
    """Read an EPUB book."""
    members = open_zip(source)
    builder = DocumentBuilder()
    package_name, package = _package(members)
    _metadata(builder, package)
    missing = False
    for name in _spine(package_name, package):
        data = members.get(name)
        if data is None:
            builder.warn(f"the book has no page {name}")
            missing = True
        else:
            add_html(builder, decode(data, declared_charset(data)), head=False, title=False)
    return Converted(
        document=builder.build(),
        status="partial" if missing else "ok",
        parser="epub",
        warnings=tuple(builder.warnings),
    )


def _package(members: Mapping[str, bytes]) -> tuple[str, etree._Element]:
    name = next((n for n in members if n.endswith(".opf")), None)
    container = members.get("META-INF/container.xml")
    if container is not None:
        for rootfile in parse_part(container, "META-INF/container.xml").iter("{*}rootfile"):
            name = rootfile.get("full-path") or name
            break
    if name is None or name not in members:
        msg = "the book has no package document"
        raise DocumentError(msg, kind="corrupt", stage="parse")
    return name, parse_part(members[name], name)


def _metadata(builder: DocumentBuilder, package: etree._Element) -> None:
    for element in package.iter("{http://purl.org/dc/elements/1.1/}*"):
        name, text = etree.QName(element).localname, (element.text or "").strip()
        if name == "title" and not builder.title:
            builder.title = text
        elif name in _METADATA and text:
            before = builder.metadata.get(_METADATA[name])
            builder.metadata[_METADATA[name]] = f"{before}; {text}" if before else text


def _spine(package_name: str, package: etree._Element) -> list[str]:
    items = {item.get("id"): item for item in package.iter("{*}item")}
    base = posixpath.dirname(package_name)
    names = []
    for reference in package.iter("{*}itemref"):
        item = items.get(reference.get("idref"))
        href = unquote((item.get("href") or "").partition("#")[0]) if item is not None else ""
        kind = (item.get("media-type") or "html") if item is not None else ""
        if href and ("html" in kind or "svg" in kind):
            names.append(posixpath.normpath(posixpath.join(base, href)))
    return names
