"""Metadata of OpenDocument containers."""

from __future__ import annotations

from collections.abc import Mapping

from lxml import etree

from chunking.errors import DocumentError
from jobs.parsing.formats.archive import parse_part

__all__ = ["odf_properties"]

_PROPERTIES = {
    "creator": "last_modified_by",
    "initial-creator": "author",
    "subject": "subject",
    "description": "description",
    "creation-date": "created",
    "date": "modified",
    "keyword": "keywords",
}


def odf_properties(members: Mapping[str, bytes]) -> tuple[str | None, dict[str, str]]:
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
