"""DOC, RTF, XLS and PPT: converted by LibreOffice where that is asked for, then read as usual.

No library of the ordinary kind reads their text, tables and lists without loss; what they
become is read by the readers of DOCX, XLSX and PPTX. A locked file is told by its own
marks, with and without LibreOffice.
"""

from __future__ import annotations

import importlib
import struct
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import olefile

from chunking.errors import DocumentError
from jobs.parsing.converted import Converted, Source
from jobs.parsing.libreoffice import TARGETS, convert_legacy

__all__ = ["read"]

_FIB_FLAGS = 10
_FIB_ENCRYPTED = 0x0100
_FILE_PASS = 0x002F
_LOCKED_TOKEN = 0xF3D1C4DF
_TOKEN_AT = 12
_START_BYTES = 4096
_OLE_ERRORS = (OSError, ValueError, IndexError, TypeError, AttributeError, struct.error)


def read(source: Source) -> Converted:
    """Read a legacy Office file.

    Raises:
        DocumentError: ``encrypted``; ``unsupported_format`` where conversion is not asked
            for or LibreOffice is not installed; ``corrupt``; ``timeout``.
    """
    if _is_locked(source.path, source.format):
        msg = f"a {source.format} document that is locked with a password"
        raise DocumentError(msg, kind="encrypted", stage="parse")
    extension, _ = TARGETS[source.format]
    if not source.settings.libreoffice:
        msg = (
            f"{source.format} files are not read; save it as {extension.upper()}, or install"
            " LibreOffice and set parser.libreoffice=true"
        )
        raise DocumentError(msg, kind="unsupported_format", stage="parse")
    with tempfile.TemporaryDirectory(prefix="legacy-", ignore_cleanup_errors=True) as folder:
        path = convert_legacy(source.path, source.format, Path(folder))
        module = importlib.import_module(f"jobs.parsing.formats.{extension}")
        reader: Callable[[Source], Converted] = module.read
        converted = reader(replace(source, path=path, format=extension))
    return replace(converted, parser=f"libreoffice+{converted.parser}")


def _is_locked(path: Path, file_format: str) -> bool:
    """Tell whether a file's own marks say that it is encrypted ([MS-DOC], [MS-XLS], [MS-PPT])."""
    check = _LOCKS.get(file_format)
    try:
        if check is None or not olefile.isOleFile(str(path)):
            return False
        with olefile.OleFileIO(str(path)) as container:
            return check(container)
    except _OLE_ERRORS:
        return False


def _start(container: olefile.OleFileIO, *names: str) -> bytes:
    for name in names:
        if container.exists(name):
            with container.openstream(name) as stream:
                return bytes(stream.read(_START_BYTES))
    return b""


def _doc_is_locked(container: olefile.OleFileIO) -> bool:
    start = _start(container, "WordDocument")
    flags: int = struct.unpack_from("<H", start, _FIB_FLAGS)[0]
    return bool(flags & _FIB_ENCRYPTED)


def _xls_is_locked(container: olefile.OleFileIO) -> bool:
    start, position = _start(container, "Workbook", "Book"), 0
    while position + 4 <= len(start):
        kind, size = struct.unpack_from("<HH", start, position)
        if kind == _FILE_PASS:
            return True
        position += 4 + size
    return False


def _ppt_is_locked(container: olefile.OleFileIO) -> bool:
    start = _start(container, "Current User")
    token: int = struct.unpack_from("<I", start, _TOKEN_AT)[0]
    return token == _LOCKED_TOKEN


_LOCKS = {"doc": _doc_is_locked, "xls": _xls_is_locked, "ppt": _ppt_is_locked}
