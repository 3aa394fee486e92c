"""What a file is, told by its content alone: no name, no extension is looked at.

Binary formats have magic bytes or, inside a zip or OLE2 container, telling members;
text formats are told by :mod:`jobs.parsing.sniff`.
"""

from __future__ import annotations

import bz2
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import filetype
import olefile

from jobs.parsing import sniff

__all__ = ["BINARY", "ENCRYPTED_OOXML", "IMAGE", "detect_format"]


class _Decompressor(Protocol):
    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


BINARY = "binary"
"""No known format, and no text either."""
ENCRYPTED_OOXML = "ooxml"
"""A DOCX, XLSX or PPTX behind a password; which one does not show from outside."""
IMAGE = "image"

_HEAD_BYTES = 1 << 18
_TAIL_BYTES = 2048
_PDF_HEADER_WITHIN = 1024
_IMAGES = frozenset({"png", "jpg", "tif", "gif", "bmp", "webp", "jp2", "heic", "avif"})
_IMAGE_MAGIC = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*")
"""Not to be mistaken for text of two bytes a character, as an image of few colours may be."""
_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_COMPRESSED: dict[bytes, tuple[str, Callable[[], _Decompressor]]] = {
    rb"\x1f\x8b\x08": ("gz", lambda: zlib.decompressobj(zlib.MAX_WBITS | 16)),
    rb"BZh[1-9]1AY&SY": ("bz2", bz2.BZ2Decompressor),
    rb"\xfd7zXZ\x00": ("xz", lambda: lzma.LZMADecompressor(memlimit=_LZMA_MEMORY_BYTES)),
}
"""Patterns of what a compressed file begins with."""
_TAR_MAGIC = (b"ustar\0", b"ustar  \0")
_TAR_MAGIC_AT = 257
_TAR_BLOCK_BYTES = 512
_LZMA_MEMORY_BYTES = 128 << 20
_OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MIMETYPES = {
    b"application/epub+zip": "epub",
    b"application/vnd.oasis.opendocument.text": "odt",
    b"application/vnd.oasis.opendocument.spreadsheet": "ods",
    b"application/vnd.oasis.opendocument.presentation": "odp",
}
_PROGRAM_PARTS = frozenset({"META-INF/MANIFEST.MF", "AndroidManifest.xml"})
"""What Java's and Android's archives have."""
_OOXML_FOLDERS = {"word": "docx", "xl": "xlsx", "ppt": "pptx"}
_OOXML_MAIN = {
    b"wordprocessingml.": "docx",
    b"spreadsheetml.": "xlsx",
    b"presentationml.": "pptx",
}
_OOXML_PARTS = {
    "word/document.xml": "docx",
    "xl/workbook.xml": "xlsx",
    "ppt/presentation.xml": "pptx",
}
"""What tells an Office file whose list of types is lost."""
_MAIN_PART = re.compile(rb"vnd\.(?:openxmlformats-officedocument|ms-\w+)\.(\w+\.)[\w.]*main\+xml")
_LOCAL_NAME = re.compile(rb"PK\x03\x04.{22}(..)..", re.DOTALL)
_OLE_STREAMS = (
    ("EncryptedPackage", ENCRYPTED_OOXML),
    ("WordDocument", "doc"),
    ("Workbook", "xls"),
    ("Book", "xls"),
    ("PowerPoint Document", "ppt"),
    ("__properties_version1.0", "msg"),
)


def detect_format(path: Path, name: str) -> str:
    """Return the format of a file, such as ``pdf docx html md csv txt image doc zip binary``.

    ``name`` is not used: the same bytes have the same format under any name. Damaged
    containers get the format they claim, so that their reader may say what is wrong.
    """
    del name
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
        whole = len(head) < _HEAD_BYTES
        file.seek(-min(_TAIL_BYTES, file.seek(0, 2)), 2)
        tail = file.read()
    if head.startswith(_ZIP_MAGIC):
        return _zip_format(path, head)
    if head.startswith(_OLE_MAGIC):
        return _ole_format(path)
    for magic, (file_format, decompressor) in _COMPRESSED.items():
        if re.match(magic, head):
            return "tar" if _is_tar(_first_block(head, decompressor())) else file_format
    if _is_tar(head):
        return "tar"
    if _is_pdf(head, tail):
        return "pdf"
    if head.startswith(_IMAGE_MAGIC):
        return IMAGE
    text = sniff.decode(head)
    if text is not None:
        return sniff.text_format(text, whole=whole)
    return _magic_format(head)


def _first_block(head: bytes, decompressor: _Decompressor) -> bytes:
    """Return the first bytes behind a compression, if they can be had."""
    try:
        return decompressor.decompress(head, _TAR_BLOCK_BYTES)
    except (zlib.error, lzma.LZMAError, OSError, EOFError):
        return b""


def _is_tar(block: bytes) -> bool:
    return block.startswith(_TAR_MAGIC, _TAR_MAGIC_AT)


def _magic_format(head: bytes) -> str:
    kind = filetype.guess(head)
    if kind is None:
        return BINARY
    extension = str(kind.extension)
    return IMAGE if extension in _IMAGES else extension


def _is_pdf(head: bytes, tail: bytes) -> bool:
    position = head.find(b"%PDF", 0, _PDF_HEADER_WITHIN)
    if position < 0:
        return False
    # Prose about PDF also names the header; only a file has objects or a trailer.
    return not head[:position].strip() or b"endobj" in head or b"startxref" in tail


def _zip_format(path: Path, head: bytes) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name.replace("\\", "/") for name in archive.namelist()]
            mimetype = _member_start(archive, "mimetype")
            types = _member_start(archive, "[Content_Types].xml")
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        names = _local_names(head)
        mimetype = head[:200]
        types = b""
    return _zip_kind(names, mimetype, types)


def _zip_kind(names: list[str], mimetype: bytes, types: bytes) -> str:
    for value, file_format in _MIMETYPES.items():
        if value in mimetype and "-template" not in mimetype.decode("latin-1"):
            return file_format
    if "META-INF/container.xml" in names:
        return "epub"
    if "[content_types].xml" not in map(str.lower, names):
        return _plain_zip_kind(names, mimetype)
    main = _MAIN_PART.search(types)
    if main and main[1] in _OOXML_MAIN:
        return _OOXML_MAIN[main[1]]
    folders = {name.partition("/")[0] for name in names}
    return next((kind for folder, kind in _OOXML_FOLDERS.items() if folder in folders), "opc")


def _plain_zip_kind(names: list[str], mimetype: bytes) -> str:
    """Tell archives of documents from single documents and programs that are zip files, too."""
    for part, kind in _OOXML_PARTS.items():
        if part in names:
            return kind
    if mimetype.startswith(b"application/"):
        return "zip_document"
    if any(name.endswith(".iwa") for name in names) or "index.apxl" in names:
        return "iwork"
    return "zip_program" if _PROGRAM_PARTS.intersection(names) else "zip"


def _member_start(archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        with archive.open(name) as member:
            return member.read(_HEAD_BYTES)
    except (KeyError, RuntimeError, zipfile.BadZipFile, OSError, EOFError, ValueError):
        return b""


def _local_names(head: bytes) -> list[str]:
    """Return member names from local headers: the directory at the end is missing."""
    names = []
    for match in _LOCAL_NAME.finditer(head):
        length = int.from_bytes(match[1], "little")
        names.append(head[match.end() : match.end() + length].decode("utf-8", "replace"))
    return names


def _ole_format(path: Path) -> str:
    try:
        with olefile.OleFileIO(str(path)) as container:
            return next((kind for stream, kind in _OLE_STREAMS if container.exists(stream)), "ole")
    except (OSError, ValueError, IndexError, TypeError, AttributeError):
        return "ole"
