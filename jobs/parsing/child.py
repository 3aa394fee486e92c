"""What runs inside a parsing child: one document after another, each under its limits.

The catch-all of parsing lives here: whatever a reader raises becomes one document's
outcome.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from chunking.errors import DocumentError
from jobs.config import LimitsConfig, ParserConfig
from jobs.parsing import faults, guards, limits, sandbox, wire
from jobs.parsing.careful import Pages
from jobs.parsing.converted import Converted
from jobs.parsing.detect import detect_format
from jobs.parsing.hook import Hook, apply_hook
from jobs.parsing.members import ARCHIVES, CONTAINERS, Bin, Room
from jobs.parsing.outcomes import UNKNOWN_FORMAT, failed
from jobs.ports import ParseOutcome

__all__ = ["Work", "main", "parse_file"]

_MAX_REQUEST = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a child does with a document, and how much it may use."""

    convert: Callable[..., Converted]
    config: ParserConfig
    limits: LimitsConfig
    hook: Hook | None = None


def main(connection: socket.socket, parent: int, work: Work) -> None:
    """Serve requests until the other end closes; ``parent`` is the process that forked."""
    limits.die_with_parent(parent)
    os.setpgid(0, 0)
    _silence()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limits.limit_process()
    sandbox.forbid_outside(programs=work.config.libreoffice)
    while (frame := wire.read_frame(connection, _MAX_REQUEST)) is not None:
        request = json.loads(frame.body)
        limits.limit_document(work.limits)
        folder = Path(request["folder"])
        tempfile.tempdir = os.environ["TMPDIR"] = str(folder)

        def announce(file_format: str) -> None:
            connection.sendall(wire.pack_frame(wire.FORMAT, file_format.encode("ascii")))

        def announce_page(number: int) -> None:
            connection.sendall(wire.pack_frame(wire.PAGE, str(number).encode("ascii")))

        skip, wanted = request.get("skip"), request.get("members")
        room = None if wanted is None else Room(**{**wanted, "folder": Path(wanted["folder"])})
        pages = None if skip is None else Pages(announce=announce_page, skip=frozenset(skip))
        path = folder / wire.NEUTRAL_NAME
        outcome = parse_file(path, request["name"], work, announce, pages, room)
        connection.sendall(_packed(outcome, work.limits))


def parse_file(  # noqa: PLR0917 - the last two are for some formats only
    path: Path,
    name: str,
    work: Work,
    announce: Callable[[str], None],
    pages: Pages | None = None,
    room: Room | None = None,
) -> ParseOutcome:
    """Parse one file; whatever its reader raises becomes the outcome.

    ``announce`` is called with the format as soon as it is known, so that the parent can
    record it should this process not live to tell. ``pages``: how to read a PDF that has
    ended a reader before. ``room``: for the documents inside a mail, PDF or archive; none of
    them is read without.
    """
    file_format = UNKNOWN_FORMAT
    members: Bin | None = None
    try:
        file_format = detect_format(path, name)
        announce(file_format)
        guards.check(path, file_format, work.limits)
        careful: dict[str, object] = {} if pages is None else {"pages": pages}
        members = _bin(path, file_format, work, room)
        if members is not None:
            careful["members"] = members
        converted = work.convert(
            path, format=file_format, name=name, settings=work.config, **careful
        )
        outcome = _outcome(_hooked(converted, file_format, name, work), file_format, work)
        return outcome if members is None else members.told(outcome)
    except Exception as error:  # noqa: BLE001 - the one place that turns a document's failure into a row
        outcome = faults.outcome_of(error, file_format, path)
        return outcome if members is None else members.saved(outcome)


def _bin(path: Path, file_format: str, work: Work, room: Room | None) -> Bin | None:
    if room is None or file_format not in CONTAINERS or work.config.members == "skip":
        return None
    return Bin(room, container_bytes=path.stat().st_size)


def _hooked(converted: Converted, file_format: str, name: str, work: Work) -> Converted:
    if work.hook is None or file_format in ARCHIVES:
        return converted
    document = apply_hook(
        work.hook, converted.document, name=work.config.hook or "", key=name, format=file_format
    )
    return replace(converted, document=document)


def _outcome(converted: Converted, file_format: str, work: Work) -> ParseOutcome:
    document = converted.document
    if len(document.text) > work.limits.document_chars:
        msg = (
            f"{len(document.text)} characters of text, "
            f"more than limits.document_chars = {work.limits.document_chars}"
        )
        raise DocumentError(msg, kind="limit", stage="parse")
    guards.check_pages(document.n_pages or 0, work.limits)
    warnings = converted.warnings
    if not document.text.strip() and "no_text" not in warnings:
        warnings = (*warnings, "no_text")
    return ParseOutcome(
        status=converted.status,
        format=file_format,
        parser=converted.parser,
        document=document,
        warnings=warnings,
    )


def _packed(outcome: ParseOutcome, bounds: LimitsConfig) -> bytes:
    """Return the frame of an outcome, or of its failure where it is too large to be told."""
    try:
        frame = wire.pack_outcome(outcome)
    except MemoryError as error:
        return wire.pack_outcome(faults.outcome_of(error, outcome.format, Path()))
    if len(frame) <= wire.max_result(bounds.document_chars):
        return frame
    message = f"{len(frame)} bytes of text and blocks, more than limits.document_chars allow"
    return wire.pack_outcome(failed("limit", message, outcome.format))


def _silence() -> None:
    """Send what libraries print to nowhere; what matters is in the outcome."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)
