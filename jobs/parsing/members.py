"""Documents inside a document, unpacked in its child: into numbered files, and no further.

Whatever a container calls its members, they become files of one folder with numbers for
names. What may be unpacked is bounded before: in number, depth and bytes, and by how often
the bytes of a container may multiply.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from chunking.errors import DocumentError, ErrorKind
from jobs.parsing.outcomes import UNKNOWN_FORMAT, failed
from jobs.parsing.text import clean
from jobs.ports import Member, ParseOutcome

__all__ = ["ARCHIVES", "CONTAINERS", "Bin", "Room", "member_name"]

ARCHIVES = frozenset({"zip", "tar", "gz", "bz2", "xz"})
"""Containers without a text of their own."""
CONTAINERS = ARCHIVES | {"eml", "msg", "pdf"}
"""Formats whose readers get a :class:`Bin`."""
_RATIO_FROM_BYTES = 8 << 20
_MAX_RATIO = 200
"""Repetitive logs and tables reach some 100; deflate cannot exceed 1032."""
_MAX_NAME_BYTES = 400
"""Of a member's name: keys of members of members stay below what stores can name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Where members go, and how much of them there may be.

    ``folder`` is None where none are read. ``members`` and ``n_bytes`` are what is left for
    all containers of the outermost document together; ``depth``: containers that may still
    be opened, this one included.
    """

    folder: Path | None
    members: int = 0
    n_bytes: int = 0
    depth: int = 0


class Bin:
    """Takes the members of one container.

    ``members``: those that have their place among the documents, in order. ``left_out``:
    how many more there were than are allowed. ``skipped``: names of those that were not
    read because none are.
    """

    def __init__(self, room: Room, *, container_bytes: int) -> None:
        self.members: list[Member] = []
        self.left_out = 0
        self.skipped: list[str] = []
        self._room = room
        self._left = room.n_bytes
        self._unpacked = 0
        self._most = max(_RATIO_FROM_BYTES, container_bytes * _MAX_RATIO)

    @property
    def wanted(self) -> bool:
        """Whether members are read at all."""
        return self._room.folder is not None

    def told(self, outcome: ParseOutcome) -> ParseOutcome:
        """Return what came of the container, with its members."""
        outcome = replace(outcome, members=tuple(self.members))
        if self.left_out:
            message = f"{self.left_out} documents inside it are more than limits.members allows"
            return replace(
                outcome,
                status="partial",
                error_kind="limit",
                error_message=message,
                warnings=(*outcome.warnings, message),
            )
        if outcome.format not in ARCHIVES:
            return outcome
        message = f"an archive; the documents in it, {len(self.members)}, have rows of their own"
        skipped = replace(outcome, status="skipped", document=None, error_kind="no_text")
        warnings = tuple(line for line in outcome.warnings if line != "no_text")
        return replace(skipped, error_message=message, warnings=warnings)

    def saved(self, outcome: ParseOutcome) -> ParseOutcome:
        """Return how a container failed; of others, what was attached is there nevertheless."""
        if outcome.format in ARCHIVES or outcome.error_kind == "unsafe":
            return outcome
        return replace(outcome, members=tuple(self.members))

    def add(self, name: str, data: Iterable[bytes], *, inline: bool = False) -> None:
        """Take a member; its bytes are read only where there is room for them.

        Raises:
            DocumentError: ``unsafe`` where the container is a bomb; what ``data`` raises.
        """
        if not self._place(name):
            return
        if not self._room.depth:
            self._refuse(name, "limit", "it lies deeper than limits.member_depth allows")
            return
        number = str(len(self.members))
        try:
            size = self._write(number, data)
        except _NoSpaceError as error:
            msg = f"cannot write a temporary file: {error}"
            raise DocumentError(msg, kind="internal", stage="parse", retryable=True) from error
        if size is None:
            self._refuse(name, "limit", "limits.member_bytes is used up")
            return
        member = Member(name=member_name(name), file=number, inline=inline, size_bytes=size)
        self.members.append(member)

    def refuse(self, name: str, kind: ErrorKind, message: str) -> None:
        """Record a member that cannot be unpacked."""
        if self._place(name):
            self._refuse(name, kind, message)

    def _place(self, name: str) -> bool:
        if self._room.folder is None:
            self.skipped.append(member_name(name))
            return False
        if len(self.members) >= self._room.members:
            self.left_out += 1
            return False
        return True

    def _refuse(self, name: str, kind: ErrorKind, message: str) -> None:
        outcome = failed(kind, f"not unpacked: {message}", UNKNOWN_FORMAT)
        self.members.append(Member(name=member_name(name), outcome=outcome))

    def _write(self, number: str, data: Iterable[bytes]) -> int | None:
        """Write a member's file; return its size, or None where there is no room for it."""
        path = Path(self._room.folder or "", number)
        size = 0
        whole = False
        try:
            with _created(path) as file:
                for piece in data:
                    size += len(piece)
                    self._count(len(piece))
                    if size > self._left:
                        return None
                    _append(file, piece)
            whole = True
        finally:
            if not whole:
                path.unlink(missing_ok=True)
        self._left -= size
        return size

    def _count(self, n_bytes: int) -> None:
        self._unpacked += n_bytes
        if self._unpacked > self._most:
            msg = f"an archive bomb: it unpacks to more than {_MAX_RATIO} times its size"
            raise DocumentError(msg, kind="unsafe", stage="parse")


class _NoSpaceError(Exception):
    """A file cannot be written here, which says nothing about the container."""


def _created(path: Path) -> IO[bytes]:
    try:
        return path.open("xb", buffering=0)
    except OSError as error:
        raise _NoSpaceError(error.strerror) from error


def _append(file: IO[bytes], piece: bytes) -> None:
    left = memoryview(piece)
    try:
        while left:
            left = left[file.write(left) :]
    except OSError as error:
        raise _NoSpaceError(error.strerror) from error


def member_name(name: str) -> str:
    """Return a member's name as it stands in a key: clean, relative, of bounded length.

    Separators become ``/``, empty components go. A ``!`` before a ``/`` is percent-encoded,
    so that no name looks like a member of a member. Nothing is ever written under it.
    """
    parts = [part for part in clean(name).replace("\\", "/").split("/") if part.strip()]
    text = "/".join(parts).replace("!/", "%21/")
    data = text.encode()
    if len(data) > _MAX_NAME_BYTES:
        # The end tells more than the start; the checksum keeps different names apart.
        end = data[-_MAX_NAME_BYTES:].decode("utf-8", "ignore")
        text = f"{zlib.crc32(data):08x}~{end}"
    return text or "unnamed"
