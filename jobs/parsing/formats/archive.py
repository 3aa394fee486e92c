"""Zip containers of office documents: read with care, rewritten part by part."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Mapping
from html.entities import html5

from lxml import etree

from chunking.errors import DocumentError
from jobs.parsing.converted import Source

__all__ = ["core_properties", "open_zip", "parse_part", "replace_entities", "rewrite"]

_PROPERTIES = {
    "creator": "author",
    "lastModifiedBy": "last_modified_by",
    "subject": "subject",
    "keywords": "keywords",
    "description": "description",
    "created": "created",
    "modified": "modified",
    "category": "category",
}
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OSError)


def open_zip(source: Source) -> dict[str, bytes]:
    """Return the members of a container by name; the last of equal names wins.

    Raises:
        DocumentError: ``corrupt`` where the container or a member is damaged.
    """
    try:
        with zipfile.ZipFile(source.path) as archive:
            return {info.filename: archive.read(info) for info in archive.infolist()}
    except _BROKEN as error:
        msg = f"the {source.format} container is damaged: {error}"
        raise DocumentError(msg, kind="corrupt", stage="parse") from error


def parse_part(data: bytes, name: str) -> etree._Element:
    """Return the root of an XML member, without comments and processing instructions.

    No entity is expanded and nothing is fetched.

    Raises:
        DocumentError: ``corrupt`` where it is not well-formed.
    """
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
        remove_pis=True,
        huge_tree=True,
    )
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        msg = f"{name} is not well-formed: {error.msg}"
        raise DocumentError(msg, kind="corrupt", stage="parse") from error


def replace_entities(root: etree._Element, *, keep: bool = False) -> list[str]:
    """Put the character of HTML's named entities in their place; return the names of others.

    Those are dropped, or with ``keep`` become the text that they are written as.
    """
    unresolved = []
    for entity in list(root.iter(etree.Entity)):
        character = html5.get(f"{entity.name};", "")
        if not character:
            unresolved.append(entity.name)
            character = f"&{entity.name};" if keep else ""
        parent, before = entity.getparent(), entity.getprevious()
        text = character + (entity.tail or "")
        entity.tail = None
        if before is None:
            parent.text = (parent.text or "") + text
        else:
            before.tail = (before.tail or "") + text
        parent.remove(entity)
    return unresolved


def rewrite(
    members: Mapping[str, bytes], changes: Mapping[str, Callable[[etree._Element], None]]
) -> bytes:
    """Return the container with some XML members changed in place."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            change = changes.get(name)
            content = data
            if change:
                root = parse_part(data, name)
                change(root)
                content = etree.tostring(root, encoding="UTF-8", xml_declaration=True)
            archive.writestr(zipfile.ZipInfo(name), content)
    return target.getvalue()


def core_properties(members: Mapping[str, bytes]) -> tuple[str | None, dict[str, str]]:
    """Return the title and the metadata of an Office Open XML container."""
    data = members.get("docProps/core.xml")
    if data is None:
        return None, {}
    try:
        root = parse_part(data, "docProps/core.xml")
    except DocumentError:
        return None, {}
    texts = {
        etree.QName(child).localname: (child.text or "").strip()
        for child in root
        if isinstance(child.tag, str)
    }
    metadata = {key: texts[name] for name, key in _PROPERTIES.items() if texts.get(name)}
    return texts.get("title") or None, metadata
