"""The one entry to all readers: a file of a known format becomes a :class:`Document`.

Runs inside the child process that isolates a document; it neither limits nor kills.
"""

from __future__ import annotations

from pathlib import Path

from chunking.errors import DocumentError
from chunking.model import Block, Document
from jobs.config import ParserConfig
from jobs.parsing.converted import Converted

__all__ = ["Converted", "convert"]


def convert(path: Path, *, format: str, name: str, settings: ParserConfig) -> Converted:  # noqa: A002
    """Read a file as the given format and return its canonical text and blocks.

    ``format`` is what :func:`jobs.parsing.detect.detect_format` told: ``md html docx
    pptx xlsx csv adoc txt eml epub odt ods odp xml_jats xml vtt json_docling pdf``.
    ``name`` serves messages only; nothing of the result hangs on it.

    Raises:
        DocumentError: ``corrupt`` for a damaged file, ``unsupported_format`` where no
            reader exists; anything else that is raised is a defect or a hostile file.
    """
    if format != "txt":
        msg = f"no reader for the format {format}"
        raise DocumentError(msg, kind="unsupported_format", stage="parse")
    del name, settings
    text = path.read_text(encoding="utf-8", errors="replace").strip()
    blocks = (Block(index=0, kind="paragraph", start=0, end=len(text)),) if text else ()
    return Converted(document=Document(text=text, blocks=blocks), parser="text")
