"""The one entry to all readers: a file of a known format becomes a :class:`Document`.

Runs inside the child process that isolates a document; it neither limits nor kills.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

from chunking.errors import DocumentError
from jobs.config import ParserConfig
from jobs.parsing.careful import AT_ONCE, Pages
from jobs.parsing.converted import Converted, Source
from jobs.parsing.detect import IMAGE
from jobs.parsing.members import CONTAINERS, Bin, Room

__all__ = ["Converted", "convert"]

_PACKAGE = "jobs.parsing.formats"
_READERS = {
    "txt": ("plain", "read"),
    "md": ("markdown", "read"),
    "html": ("html", "read"),
    "csv": ("delimited", "read"),
    "eml": ("mail", "read"),
    "msg": ("outlook", "read"),
    **dict.fromkeys(("zip", "tar", "gz", "bz2", "xz"), ("unpack", "read")),
    "epub": ("epub", "read"),
    "docx": ("docx", "read"),
    "pptx": ("pptx", "read"),
    "xlsx": ("xlsx", "read"),
    **dict.fromkeys(("odt", "ods", "odp"), ("odf", "read")),
    **dict.fromkeys(("doc", "rtf", "xls", "ppt"), ("legacy", "read")),
    **dict.fromkeys(("adoc", "tex", "vtt"), ("marked", "read")),
    "xml_jats": ("xml_text", "read"),
    "xml": ("xml_text", "read_generic"),
    "json_docling": ("xml_text", "read_json"),
    IMAGE: ("image", "read"),
}
"""Module and function of each format's reader, imported when first needed."""


def convert(
    path: Path,
    *,
    format: str,  # noqa: A002 - the column's name
    name: str,
    settings: ParserConfig,
    pages: Pages = AT_ONCE,
    members: Bin | None = None,
) -> Converted:
    """Read a file as the given format and return its canonical text and blocks.

    ``format`` is what :func:`jobs.parsing.detect.detect_format` told. ``name`` serves
    messages only; nothing of the result hangs on it. ``pages``: how a PDF is read.
    ``members`` takes the documents inside a mail, PDF or archive; without it none is read.

    Raises:
        DocumentError: ``corrupt`` for a damaged file, ``unsupported_format`` where no
            reader exists; anything else that is raised is a defect or a hostile file.
    """
    if format == "pdf":
        from jobs.parsing.pdf.engine import convert_pdf  # noqa: PLC0415 - loads the PDF libraries

        return convert_pdf(path, name=name, settings=settings, pages=pages, members=members)
    source = Source(path=path, format=format, name=name, settings=settings)
    if format in CONTAINERS:
        return _reader(format)(source, members or Bin(Room(folder=None), container_bytes=0))
    return _reader(format)(source)


def _reader(format_: str) -> Callable[..., Converted]:
    entry = _READERS.get(format_)
    if entry is None:
        msg = (
            f"there is no reader for {format_} files; convert it, or leave such files out "
            "(source.exclude)"
        )
        raise DocumentError(msg, kind="unsupported_format", stage="parse")
    module, function = entry
    read: Callable[..., Converted] = getattr(
        importlib.import_module(f"{_PACKAGE}.{module}"), function
    )
    return read
