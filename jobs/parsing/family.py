"""A document with the documents inside it: each read by itself, all within common bounds.

A container is unpacked in its child; from then on a member is a file like any other,
read under all limits of its own, so that one that ends its reader costs only itself.
What children say of members is not trusted: files are looked at before they are read,
and names are made clean and unique here.
"""

from __future__ import annotations

import hashlib
import re
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from chunking.errors import ErrorKind
from chunking.ids import MEMBER_MARK
from jobs.config import LimitsConfig
from jobs.parsing.members import member_name
from jobs.parsing.outcomes import UNKNOWN_FORMAT, failed
from jobs.ports import Member, ParseOutcome
from jobs.scratch import scratch_folder

__all__ = ["ReadOne", "Wanted", "read_family"]

_FILE = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Where a child shall unpack members, and how much; see :class:`jobs.parsing.members.Room`."""

    folder: Path
    members: int
    n_bytes: int
    depth: int

    def to_json(self) -> dict[str, object]:
        """Return what goes to the child."""
        return {
            "folder": str(self.folder),
            "members": self.members,
            "n_bytes": self.n_bytes,
            "depth": self.depth,
        }

    def clear(self) -> None:
        """Remove what an attempt that came to nothing has unpacked."""
        for path in self.folder.iterdir():
            path.unlink(missing_ok=True)


ReadOne = Callable[[Path, str, Wanted], ParseOutcome]
"""Reads one file in a child: its path, its key, and what of its members is wanted."""


def read_family(
    read: ReadOne, path: Path, name: str, limits: LimitsConfig, *, tmp_dir: str | None
) -> ParseOutcome:
    """Read a document and all that is inside it; ``members`` of the outcome holds the latter.

    ``name``: its source key.
    """
    return _Family(read, limits, tmp_dir).read(path, name, limits.member_depth)


class _Family:
    """What is left of the bounds that a document and its members share."""

    def __init__(self, read: ReadOne, limits: LimitsConfig, tmp_dir: str | None) -> None:
        self._read = read
        self._limits = limits
        self._tmp_dir = tmp_dir
        self._members = limits.members
        self._bytes = limits.member_bytes
        self._chars = limits.document_chars
        self._deadline: float | None = None

    def read(self, path: Path, name: str, depth: int) -> ParseOutcome:
        with scratch_folder(self._tmp_dir) as folder:
            wanted = Wanted(folder=folder, members=self._members, n_bytes=self._bytes, depth=depth)
            outcome = self._read(path, name, wanted)
            if not outcome.members:
                return outcome
            found = _trusted(outcome.members, folder)[: self._members]
            self._members -= len(found)
            self._bytes -= sum(member.size_bytes for member in found)
            if self._deadline is None:
                self._deadline = time.monotonic() + self._limits.member_seconds
            members = [self._member(member, folder, name, depth) for member in found]
        return _without_logos(replace(outcome, members=()), members)

    def _member(self, member: Member, folder: Path, parent: str, depth: int) -> Member:
        if member.outcome is not None or member.file is None:
            return member
        path = folder / member.file
        outcome = self._outcome(path, f"{parent}{MEMBER_MARK}{member.name}", depth - 1)
        version = _sha256(path)
        path.unlink()
        return replace(member, outcome=outcome, doc_version=version, file=None)

    def _outcome(self, path: Path, name: str, depth: int) -> ParseOutcome:
        if self._deadline is not None and time.monotonic() > self._deadline:
            seconds = self._limits.member_seconds
            message = f"not reached within limits.member_seconds = {seconds:g}"
            return failed("timeout", message, UNKNOWN_FORMAT, retryable=True)
        outcome = self.read(path, name, depth)
        n_chars = len(outcome.document.text) if outcome.document else 0
        if n_chars > self._chars:
            message = "with it, the members' texts are longer than limits.document_chars together"
            refused = failed("limit", message, outcome.format)
            return replace(refused, members=outcome.members, seconds=outcome.seconds)
        self._chars -= n_chars
        return outcome


def _trusted(members: tuple[Member, ...], folder: Path) -> list[Member]:
    """Return what a child has told, with names made unique and files that are files."""
    taken: dict[str, int] = {}
    return [
        replace(_checked(member, folder), name=_unique(member_name(str(member.name)), taken))
        for member in members
    ]


def _checked(member: Member, folder: Path) -> Member:
    """Return a member with an outcome, or with a regular file and its size."""
    if member.outcome is not None:
        kind: ErrorKind = member.outcome.error_kind or "internal"  # type: ignore[assignment]
        message = member.outcome.error_message or "not unpacked"
        return Member(name=member.name, outcome=failed(kind, message, UNKNOWN_FORMAT))
    size = _file_size(folder, member.file)
    if size is None:
        return Member(name=member.name, outcome=failed("internal", "not unpacked", UNKNOWN_FORMAT))
    return Member(name=member.name, file=member.file, inline=bool(member.inline), size_bytes=size)


def _file_size(folder: Path, name: object) -> int | None:
    """Return the size of an unpacked file; None where there is none, or something else."""
    if not isinstance(name, str) or not _FILE.fullmatch(name):
        return None
    try:
        status = (folder / name).lstat()
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _unique(name: str, taken: dict[str, int]) -> str:
    """Return the name, with a number behind it where an earlier member has it already."""
    free = name
    while free in taken:
        taken[name] += 1
        free = f"{name}~{taken[name]}"
    taken[free] = 1
    return free


def _without_logos(outcome: ParseOutcome, members: list[Member]) -> ParseOutcome:
    """Return the outcome with its members, but for inline images that have no text.

    A signature's logo in each of a million mails is no document; a warning says that it
    was there.
    """
    kept = tuple(member for member in members if not _is_logo(member))
    n_logos = len(members) - len(kept)
    warnings = outcome.warnings
    if n_logos:
        warnings = (*warnings, f"{n_logos} inline images in which no text was found")
    return replace(outcome, members=kept, warnings=warnings)


def _is_logo(member: Member) -> bool:
    outcome = member.outcome
    if not member.inline or outcome is None or outcome.members:
        return False
    return outcome.document is None or not outcome.document.text.strip()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
