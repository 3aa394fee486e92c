"""The names of the formats that are read, as ``documents.format`` has them."""

from __future__ import annotations

__all__ = ["FORMATS"]

FORMATS = frozenset(
    {
        "adoc", "csv", "docx", "eml", "epub", "html", "image", "json_docling", "md", "odp", "ods",
        "odt", "pdf", "pptx", "tex", "txt", "vtt", "xlsx", "xml", "xml_jats",
    }
)  # fmt: skip
