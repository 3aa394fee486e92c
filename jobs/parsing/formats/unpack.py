"""Archives: each file in them is a document of its own; the archive itself has no text.

Read with the standard library: zip (with deflate, bzip2, lzma), tar with any of its
compressions, and single files behind gzip, bzip2 or xz. Folders, and what operating
systems add on their own, make no document; links and devices are counted in a warning.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Protocol

from chunking.errors import DocumentError
from chunking.model import Document
from jobs.globs import is_system_file
from jobs.parsing.converted import Converted, Source
from jobs.parsing.members import Bin
from jobs.parsing.text import decode

__all__ = ["read"]

_CHUNK_BYTES = 1 << 20
_ENCRYPTED_FLAG = 1
_UTF8_FLAG = 1 << 11
_UNIX = 3
"""Of the systems that a zip file was made on (APPNOTE, 4.4.2)."""
_DAMAGE = (
    *(zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, lzma.LZMAError),
    *(EOFError, OSError, ValueError),
)
_APPLE_FOLDER = "__MACOSX/"
_NAMED, _HAS_EXTRA = 8, 4
"""Flags of a gzip header (RFC 1952, 2.3.1)."""
_GZIP_HEADER_BYTES = 10
_MAX_GZIP_NAME_BYTES = 1 << 12


def read(source: Source, members: Bin) -> Converted:
    """Unpack an archive.

    Raises:
        DocumentError: ``empty`` where it holds no file, ``unsafe`` where it is a bomb,
            ``corrupt``; ``unsupported_format`` where archives are not read.
    """
    if not members.wanted:
        msg = f"{source.format} archives are not unpacked: parser.members is skip"
        raise DocumentError(msg, kind="unsupported_format", stage="parse")
    unpack = {"zip": _zip, "tar": _tar}.get(source.format, _single)
    warnings = tuple(unpack(source, members))
    if not members.members and not members.left_out:
        msg = f"a {source.format} archive without files"
        raise DocumentError(msg, kind="empty", stage="parse")
    return Converted(document=Document(text="", blocks=()), parser="archive", warnings=warnings)


def _zip(source: Source, members: Bin) -> Iterator[str]:
    n_special = 0
    try:
        with zipfile.ZipFile(source.path) as archive:
            for info in archive.infolist():
                name = _zip_name(info)
                if _is_special(info):
                    n_special += 1
                elif not info.is_dir() and not _is_noise(name):
                    _zip_member(archive, info, name, members)
    except _DAMAGE as error:
        raise _damaged(source) from error
    if n_special:
        yield f"{n_special} links and special files were left out"


def _is_special(info: zipfile.ZipInfo) -> bool:
    """Tell whether a member is a link or device of Unix; a link's bytes are a path, no text."""
    kind = stat.S_IFMT(info.external_attr >> 16) if info.create_system == _UNIX else 0
    return kind not in (0, stat.S_IFREG, stat.S_IFDIR)


def _zip_name(info: zipfile.ZipInfo) -> str:
    if info.flag_bits & _UTF8_FLAG:
        return info.filename
    # Without the flag Python has read the bytes as cp437; most are in something else.
    try:
        return decode(info.filename.encode("cp437"))
    except UnicodeEncodeError:
        return info.filename


def _zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, members: Bin) -> None:
    if info.flag_bits & _ENCRYPTED_FLAG:
        members.refuse(name, "encrypted", "it is locked with a password")
        return
    try:
        with archive.open(info) as file:
            members.add(name, _pieces(file))
    except NotImplementedError as error:
        members.refuse(name, "unsupported_format", str(error))
    except _DAMAGE as error:
        members.refuse(name, "corrupt", f"it is damaged: {error}")


def _tar(source: Source, members: Bin) -> Iterator[str]:
    n_special = 0
    taken = 0
    try:
        with tarfile.open(source.path, "r:*", errors="surrogateescape") as archive:
            for info in archive:
                if info.isreg() and not _is_noise(info.name):
                    file = archive.extractfile(info)
                    members.add(_tar_name(info.name), _pieces(file) if file else ())
                    taken += 1
                n_special += not (info.isreg() or info.isdir())
                archive.members = []  # type: ignore[attr-defined] # it would keep them all
    except _DAMAGE as error:
        if not taken:
            raise _damaged(source) from error
        yield f"the archive is damaged after {taken} files; what follows was not read"
    if n_special:
        yield f"{n_special} links and special files were left out"


def _tar_name(name: str) -> str:
    return decode(name.encode("utf-8", "surrogateescape"))


def _single(source: Source, members: Bin) -> Iterator[str]:
    try:
        with source.path.open("rb") as raw:
            name = _gzip_name(raw.read(_MAX_GZIP_NAME_BYTES)) if source.format == "gz" else None
            raw.seek(0)
            with _opened(raw, source.format) as file:
                members.add(name or "content", _pieces(file))
    except _DAMAGE as error:
        raise _damaged(source) from error
    yield from ()


def _opened(raw: IO[bytes], file_format: str) -> gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile:
    if file_format == "gz":
        return gzip.GzipFile(fileobj=raw)
    return bz2.BZ2File(raw) if file_format == "bz2" else lzma.LZMAFile(raw)


def _gzip_name(header: bytes) -> str | None:
    """Return the name of the file in a gzip header, if it has one (RFC 1952, 2.3)."""
    if len(header) <= _GZIP_HEADER_BYTES or not header[3] & _NAMED:
        return None
    start = _GZIP_HEADER_BYTES
    if header[3] & _HAS_EXTRA:
        start += 2 + int.from_bytes(header[start : start + 2], "little")
    end = header.find(b"\0", start)
    return decode(header[start:end]) if end > start else None


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def _pieces(file: _Readable) -> Iterator[bytes]:
    while piece := file.read(_CHUNK_BYTES):
        yield piece


def _is_noise(name: str) -> bool:
    return name.startswith(_APPLE_FOLDER) or is_system_file(name.rpartition("/")[2])


def _damaged(source: Source) -> DocumentError:
    msg = f"the {source.format} archive is damaged"
    return DocumentError(msg, kind="corrupt", stage="parse")
