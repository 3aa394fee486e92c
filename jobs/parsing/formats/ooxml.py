"""Office Open XML packages, made such that readers of the ordinary kind accept them.

Templates and macro files are declared as plain documents, the strict namespaces of
ISO/IEC 29500 become the transitional ones, member names use ``/``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from chunking.errors import DocumentError
from jobs.parsing.converted import Source
from jobs.parsing.formats.archive import open_zip

__all__ = ["open_package"]

_TYPES = "[Content_Types].xml"
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
_PART_NAME = re.compile(rb"""PartName\s*=\s*["']/([\x20-\x7e]+?)["']""")
_STRICT_MARK = b"http://purl.oclc.org/ooxml/"
_TRANSITIONAL = rb"http://schemas.openxmlformats.org/\1/2006/"
_OPEN = b"application/vnd.openxmlformats-officedocument."
_MAIN_TYPES = {
    _OPEN + b"wordprocessingml.template.main+xml": _OPEN + b"wordprocessingml.document.main+xml",
    b"application/vnd.ms-word.document.macroEnabled.main+xml": _OPEN
    + b"wordprocessingml.document.main+xml",
    b"application/vnd.ms-word.template.macroEnabledTemplate.main+xml": _OPEN
    + b"wordprocessingml.document.main+xml",
    _OPEN + b"spreadsheetml.template.main+xml": _OPEN + b"spreadsheetml.sheet.main+xml",
    b"application/vnd.ms-excel.template.macroEnabled.main+xml": _OPEN
    + b"spreadsheetml.sheet.main+xml",
    _OPEN + b"presentationml.template.main+xml": _OPEN + b"presentationml.presentation.main+xml",
    _OPEN + b"presentationml.slideshow.main+xml": _OPEN + b"presentationml.presentation.main+xml",
}


def open_package(source: Source) -> dict[str, bytes]:
    """Return the members of an Office Open XML package, mended as the module says.

    Raises:
        DocumentError: ``corrupt``; the container is damaged or no such package.
    """
    members = {name.replace("\\", "/").lstrip("/"): data for name, data in open_zip(source).items()}
    named = next((name for name in members if name.lower() == _TYPES.lower()), None)
    if named is None:
        msg = f"the container is no Office document: it has no {_TYPES}"
        raise DocumentError(msg, kind="corrupt", stage="parse")
    types = members.pop(named)
    for found, plain in _MAIN_TYPES.items():
        types = types.replace(found, plain)
    return {_TYPES: types, **_transitional(_as_declared(members, types))}


def _as_declared(members: Mapping[str, bytes], types: bytes) -> dict[str, bytes]:
    """Spell member names as the package declares its parts: names differ in case only."""
    declared = {name.decode().lower(): name.decode() for name in _PART_NAME.findall(types)}
    return {declared.get(name.lower(), name): data for name, data in members.items()}


def _transitional(members: Mapping[str, bytes]) -> dict[str, bytes]:
    return {
        name: _STRICT.sub(_TRANSITIONAL, data)
        if _STRICT_MARK in data and name.endswith((".xml", ".rels"))
        else data
        for name, data in members.items()
    }
