"""Office packages written part by part, for what the libraries that write them cannot make."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

_RELATIONSHIPS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
_NAMES = {
    "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "r": _RELATIONSHIPS,
    "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
    "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
    "dgm": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
    "pic": "http://schemas.openxmlformats.org/drawingml/2006/picture",
    "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
    "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
    "wpg": "http://schemas.microsoft.com/office/word/2010/wordprocessingGroup",
    "v": "urn:schemas-microsoft-com:vml",
}
XMLNS = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in _NAMES.items())
_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships'
    '+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/{part}"'
    ' ContentType="application/vnd.openxmlformats-officedocument.{kind}.main+xml"/></Types>'
)


def relationships(targets: Mapping[str, tuple[str, str]]) -> str:
    """Return a relationships part: id to kind and target."""
    entries = "".join(
        f'<Relationship Id="{key}" Type="{_RELATIONSHIPS}/{kind}" Target="{target}"/>'
        for key, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{_PACKAGE}">{entries}</Relationships>'


def make_word(path: Path, body: str, parts: Mapping[str, str | bytes] | None = None) -> Path:
    """Write a Word document of a body; ``parts``: ``kind:file`` to what stands in its root.

    Each part is related to the main one under its file's stem, such as ``header1``.
    """
    targets = {}
    members: dict[str, str | bytes] = {}
    for name, content in (parts or {}).items():
        kind, _, file = name.partition(":")
        targets[file.partition(".")[0]] = (kind, file)
        members[f"word/{file}"] = (
            content.replace(">", f" {XMLNS}>", 1)
            if isinstance(content, str) and content.startswith("<")
            else content
        )
    members |= {
        "[Content_Types].xml": _TYPES.format(
            part="word/document.xml", kind="wordprocessingml.document"
        ),
        "_rels/.rels": relationships({"rId1": ("officeDocument", "word/document.xml")}),
        "word/document.xml": f"<w:document {XMLNS}><w:body>{body}</w:body></w:document>",
        "word/_rels/document.xml.rels": relationships(targets),
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def paragraph(content: str, properties: str = "") -> str:
    """Return a Word paragraph; plain text becomes a run."""
    inner = content if content.startswith("<") else run(content)
    return f"<w:p><w:pPr>{properties}</w:pPr>{inner}</w:p>"


def run(text: str, properties: str = "") -> str:
    """Return a Word run."""
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'
