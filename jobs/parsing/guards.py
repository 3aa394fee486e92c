"""What a document may not be before any reader opens it: a bomb, locked, or beyond a limit.

Every check looks at what the file declares and at the start of its parts, so that a
hostile file costs little. Python's zip reader never inflates a member beyond its declared
size, so declared sizes bind.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import xml.parsers.expat
import zipfile
import zlib
from pathlib import Path
from typing import IO

import pypdfium2  # noqa: F401 - starts PDFium
from pypdfium2 import raw as pdfium

from chunking.errors import DocumentError, ErrorKind
from jobs.config import LimitsConfig
from jobs.parsing.detect import BINARY, ENCRYPTED_OOXML

__all__ = ["check", "check_archive", "check_pages", "check_xml"]

_ZIP_FORMATS = frozenset({"docx", "pptx", "xlsx", "epub", "odt", "ods", "odp"})
_XML_FORMATS = frozenset({"xml", "xml_jats"})
_ODF_FORMATS = frozenset({"odt", "ods", "odp"})
_XML_SUFFIXES = (".xml", ".rels", ".opf", ".ncx", ".xhtml", ".html", ".htm")

_MIB = 1 << 20
_MAX_TOTAL_BYTES = 2 << 30
_MAX_MEMBERS = 100_000
_RATIO_FROM_BYTES = 8 * _MIB
_MAX_RATIO = 200
"""Repetitive XML of real spreadsheets reaches some 100; deflate cannot exceed 1032."""
_ENCRYPTED_FLAG = 1
_MOST_BYTES_OF_A_CHARACTER = 4
"""In UTF-8, UTF-16 and UTF-32 alike."""
_DAMAGED_PART = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError)
_XML_CHUNK_BYTES = 1 << 16
_MAX_XML_PROLOG_BYTES = 1 << 20
_EPUB_FONT_MANGLING = (b"http://www.idpf.org/2008/embedding", b"http://ns.adobe.com/pdf/enc#RC")

_HINTS = {
    "7z": "unpack it",
    "rar": "unpack it",
    "zip_document": "it is a single document in a zip container of a kind that is not known",
    "zip_program": "it is a program, in a zip container",
    "iwork": "save it as PDF or DOCX",
    BINARY: "the content is of no known kind",
}
_UNSUPPORTED = frozenset(_HINTS)


def check(path: Path, file_format: str, limits: LimitsConfig) -> None:
    """Refuse a file that its reader must not see.

    Raises:
        DocumentError: ``unsupported_format``, ``encrypted``, ``unsafe`` (an archive or
            entity bomb, an external entity), ``corrupt``, ``limit`` (too many pages, too
            long a text).
    """
    if file_format in _UNSUPPORTED:
        msg = f"{file_format.replace('_', ' ')} files are not read; {_HINTS[file_format]}"
        raise _refused(msg, "unsupported_format")
    if file_format == ENCRYPTED_OOXML:
        msg = "an Office document that is locked with a password"
        raise _refused(msg, "encrypted")
    if file_format == "pdf":
        _check_pdf(path, limits)
    elif file_format in _ZIP_FORMATS:
        check_archive(path, file_format)
    elif file_format == "zip":
        _check_plain_zip(path)
    elif file_format == "txt":
        _check_text(path, limits)
    elif file_format in _XML_FORMATS:
        with path.open("rb") as file:
            check_xml(file, internal_allowed=True)


def check_pages(n_pages: int, limits: LimitsConfig) -> None:
    """Refuse more pages than ``limits.document_pages``, as ``limit``."""
    if n_pages > limits.document_pages:
        msg = f"{n_pages} pages, more than limits.document_pages = {limits.document_pages}"
        raise _refused(msg, "limit")


def _check_text(path: Path, limits: LimitsConfig) -> None:
    """Refuse plain text that is too long in any encoding, before it fills the memory."""
    size = path.stat().st_size
    if size > limits.document_chars * _MOST_BYTES_OF_A_CHARACTER:
        msg = (
            f"{size} bytes of plain text, more than limits.document_chars = "
            f"{limits.document_chars} characters can take"
        )
        raise _refused(msg, "limit")


def check_archive(source: Path | IO[bytes], file_format: str) -> None:
    """Refuse a zip-based document that is a bomb, locked, or carries entities.

    Raises:
        DocumentError: ``unsafe``, ``encrypted`` or ``corrupt``.
    """
    try:
        with zipfile.ZipFile(source) as archive:
            _check_members(archive.infolist())
            _check_locks(archive, file_format)
            for member in archive.infolist():
                # A damaged part is left to the reader, which may not need it.
                with contextlib.suppress(*_DAMAGED_PART), archive.open(member) as part:
                    if member.filename.lower().endswith(_XML_SUFFIXES):
                        check_xml(part, internal_allowed=file_format == "epub")
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        msg = f"a damaged {file_format} archive: {error}"
        raise _refused(msg, "corrupt") from error


def check_xml(file: IO[bytes], *, internal_allowed: bool) -> None:
    """Refuse XML that declares external or, unless allowed, any entities.

    Internal entities are allowed where the format knows them, unless one is made of
    others. Only the prolog is read; damaged XML is left to its reader.

    Raises:
        DocumentError: ``unsafe``.
    """
    parser = xml.parsers.expat.ParserCreate()
    seen_root = False

    def on_entity(  # noqa: PLR0917 - expat calls by position
        name: str,
        is_parameter: bool,  # noqa: FBT001 - as above
        value: str | None,
        base: str | None,
        system_id: str | None,
        public_id: str | None,
        notation: str | None,
    ) -> None:
        del base, public_id
        if notation is not None:
            return  # unparsed: named, never read
        if system_id is not None or value is None:
            msg = f"it declares the external entity {name!r}"
        elif not internal_allowed or is_parameter or "&" in value or "%" in value:
            msg = f"it declares the entity {name!r}, which could expand without bounds"
        else:
            return
        raise _refused(msg, "unsafe")

    def on_element(*_: object) -> None:
        nonlocal seen_root
        seen_root = True

    parser.EntityDeclHandler = on_entity
    parser.StartElementHandler = on_element
    read = 0
    with contextlib.suppress(xml.parsers.expat.ExpatError):
        while not seen_root and read < _MAX_XML_PROLOG_BYTES:
            data = file.read(_XML_CHUNK_BYTES)
            if not data:
                break
            read += len(data)
            parser.Parse(data, False)  # noqa: FBT003 - expat takes it by position


def _check_plain_zip(path: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            _check_no_bomb(archive.infolist())
    except (zipfile.BadZipFile, EOFError) as error:
        msg = f"a damaged zip archive: {error}"
        raise _refused(msg, "corrupt") from error


def _check_members(members: list[zipfile.ZipInfo]) -> None:
    total = sum(member.file_size for member in members)
    if len(members) > _MAX_MEMBERS or total > _MAX_TOTAL_BYTES:
        msg = f"an archive of {len(members)} members and {total} bytes inflated"
        raise _refused(msg, "unsafe")
    _check_no_bomb(members)


def _check_no_bomb(members: list[zipfile.ZipInfo]) -> None:
    for member in members:
        if member.file_size > max(_RATIO_FROM_BYTES, member.compress_size * _MAX_RATIO):
            msg = f"an archive bomb: {member.compress_size} bytes inflate to {member.file_size}"
            raise _refused(msg, "unsafe")
    spans = sorted((m.header_offset, m.header_offset + m.compress_size) for m in members)
    if any(start < end for (_, end), (start, _) in itertools.pairwise(spans)):
        msg = "an archive bomb: its members overlap"
        raise _refused(msg, "unsafe")


def _check_locks(archive: zipfile.ZipFile, file_format: str) -> None:
    locked = any(member.flag_bits & _ENCRYPTED_FLAG for member in archive.infolist())
    if file_format in _ODF_FORMATS:
        locked = locked or b"encryption-data" in _content(archive, "META-INF/manifest.xml")
    if file_format == "epub":
        locks = _content(archive, "META-INF/encryption.xml")
        mangled = sum(locks.count(algorithm) for algorithm in _EPUB_FONT_MANGLING)
        locked = locked or locks.count(b"EncryptionMethod") > mangled
    if locked:
        msg = f"a {file_format} document that is locked with a password or by rights management"
        raise _refused(msg, "encrypted")


def _content(archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        return archive.read(name)
    except KeyError:
        return b""


def _check_pdf(path: Path, limits: LimitsConfig) -> None:
    # PDFium's own functions: its Python wrapper takes a file without pages for an error, and
    # reports the error that some earlier file has left behind.
    document = pdfium.FPDF_LoadDocument(os.fsencode(path), None)
    if not document:
        if pdfium.FPDF_GetLastError() in {pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY}:
            msg = "a PDF that is locked with a password"
            raise _refused(msg, "encrypted")
        return  # what PDFium cannot open, another reader may: left to the engine to say
    n_pages = pdfium.FPDF_GetPageCount(document)
    pdfium.FPDF_CloseDocument(document)
    if not n_pages:
        msg = "a PDF without pages"
        raise _refused(msg, "empty")
    check_pages(n_pages, limits)


def _refused(message: str, kind: ErrorKind) -> DocumentError:
    return DocumentError(message, kind=kind, stage="parse")
