"""The one entry to all readers: a file of a known format becomes a :class:`Document`.

Runs inside the child process that isolates a document; it neither limits nor kills.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

from chunking.errors import DocumentError
from jobs.config import ParserConfig
from jobs.parsing.converted import Converted, Source

__all__ = ["FORMATS", "Converted", "convert"]

_READERS = {
    "txt": "jobs.parsing.formats.plain",
    "md": "jobs.parsing.formats.markdown",
    "html": "jobs.parsing.formats.html",
}
"""Module of each format's ``read``, imported when first needed."""
FORMATS = frozenset({*_READERS, "pdf"})
"""Formats that :func:`convert` reads."""


def convert(path: Path, *, format: str, name: str, settings: ParserConfig) -> Converted:  # noqa: A002
    """Read a file as the given format and return its canonical text and blocks.

    ``format`` is what :func:`jobs.parsing.detect.detect_format` told. ``name`` serves
    messages only; nothing of the result hangs on it.

    Raises:
        DocumentError: ``corrupt`` for a damaged file, ``unsupported_format`` where no
            reader exists; anything else that is raised is a defect or a hostile file.
    """
    if format == "pdf":
        from jobs.parsing.pdf.engine import convert_pdf  # noqa: PLC0415 - loads the PDF libraries

        return convert_pdf(path, name=name, settings=settings)
    return _reader(format)(Source(path=path, format=format, name=name, settings=settings))


def _reader(format_: str) -> Callable[[Source], Converted]:
    module = _READERS.get(format_)
    if module is None:
        msg = f"no reader for the format {format_}"
        raise DocumentError(msg, kind="unsupported_format", stage="parse")
    read: Callable[[Source], Converted] = importlib.import_module(module).read
    return read
