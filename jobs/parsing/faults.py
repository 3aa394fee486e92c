"""Which exception means what: a reader's failure becomes an outcome with an error kind.

Told by class, never by message. A chain of causes is walked from the outside in: what
docling wraps in its own error is judged by what it wrapped.
"""

from __future__ import annotations

import binascii
import csv
import email.errors
import errno
import json
import struct
import xml.parsers.expat
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from xml.sax import SAXException

import lxml.etree
import yaml
from docling.exceptions import ConversionError, DocumentLoadError, SecurityError
from docx.opc.exceptions import OpcError
from openpyxl.utils.exceptions import InvalidFileException
from pptx.exc import PythonPptxError
from pypdfium2 import PdfiumError

from chunking.errors import DocumentError, ErrorKind
from jobs.parsing.outcomes import failed
from jobs.parsing.sandbox import ForbiddenError
from jobs.ports import ParseOutcome

__all__ = ["outcome_of"]

_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lxml.etree.LxmlError,
    xml.parsers.expat.ExpatError,
    SAXException,
    OpcError,
    InvalidFileException,
    PythonPptxError,
    PdfiumError,
    DocumentLoadError,
    UnicodeError,
    EOFError,
    binascii.Error,
    struct.error,
    csv.Error,
    email.errors.MessageError,
    json.JSONDecodeError,
    yaml.YAMLError,
)
"""What the readers of the formats raise for a file that breaks its format's rules."""


_OVER_A_LIMIT = frozenset({errno.EFBIG, errno.EMFILE})
"""A file grew too large, or too many are open."""
_DISK_IS_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""The machine's fault, not the document's: another try may go well."""


def outcome_of(error: Exception, file_format: str, path: Path) -> ParseOutcome:
    """Return the outcome that an exception of a reader stands for."""
    for cause in _chain(error):
        if isinstance(cause, DocumentError):
            return failed(cause.kind, str(cause), file_format, retryable=cause.retryable)
    kind = _kind(error)
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    # A temporary path would make the same failure read differently each time.
    text = text.replace(str(path.parent), "").replace(str(path), "")
    full = any(isinstance(e, OSError) and e.errno in _DISK_IS_FULL for e in _chain(error))
    return failed(kind, text, file_format, retryable=full)


def _kind(error: Exception) -> ErrorKind:
    chain = list(_chain(error))
    if any(isinstance(cause, ForbiddenError) for cause in chain):
        return "unsafe"
    numbers = {cause.errno for cause in chain if isinstance(cause, OSError)}
    if errno.ENOMEM in numbers:
        return "out_of_memory"
    if numbers & _OVER_A_LIMIT:
        return "limit"
    if any(isinstance(cause, MemoryError) for cause in chain):
        return "out_of_memory"
    if any(isinstance(cause, RecursionError) for cause in chain):
        return "limit"
    if any(isinstance(cause, SecurityError) for cause in chain):
        return "unsafe"
    if any(isinstance(cause, _DAMAGE) for cause in chain):
        return "corrupt"
    return "corrupt" if isinstance(chain[-1], ConversionError) else "internal"


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__
