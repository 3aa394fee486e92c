"""The names of the formats that are read, as ``documents.format`` has them."""

from __future__ import annotations

__all__ = ["FORMATS"]

FORMATS = frozenset(
    {
        "adoc", "bz2", "csv", "doc", "docx", "eml", "epub", "gz", "html", "image", "json_docling",
        "md", "msg", "odp", "ods", "odt", "pdf", "ppt", "pptx", "rtf", "tar", "tex", "txt", "vtt",
        "xls", "xlsx", "xml", "xml_jats", "xz", "zip",
    }
)  # fmt: skip
