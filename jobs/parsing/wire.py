"""What a parent and its parsing child say to each other, kept narrow.

A child may have been taken over by the document it reads. So frames have a bounded
length, and a result is unpickled by a reader that knows a handful of value classes and
nothing that could be called.
"""

from __future__ import annotations

import io
import math
import pickle
import select
import socket
import struct
from dataclasses import dataclass

from chunking.model import Block, Box, Document
from jobs.ports import Member, ParseOutcome

__all__ = [
    "FORMAT",
    "MAX_PACKET",
    "NEUTRAL_NAME",
    "PAGE",
    "REQUEST",
    "RESULT",
    "Frame",
    "FrameReader",
    "WireError",
    "load_outcome",
    "max_result",
    "pack_frame",
    "pack_outcome",
    "read_frame",
    "readable",
]

FORMAT = b"F"
"""Child to parent: the format, as soon as it is known."""
NEUTRAL_NAME = "document"
"""Every file is read under this name, so that no reader can look at its own."""
MAX_PACKET = 1 << 17
"""Longest control message, in bytes."""
PAGE = b"P"
"""Child to parent, where pages are read one by one: the number of the next, or 0."""
REQUEST = b"Q"
"""Parent to child: one document to parse, as JSON."""
RESULT = b"R"
"""Child to parent: the pickled :class:`ParseOutcome`."""

_HEADER = struct.Struct("!cQ")
_CLASSES = {(c.__module__, c.__name__): c for c in (ParseOutcome, Member, Document, Block, Box)}
_READ_BYTES = 1 << 20
_BYTES_PER_CHAR = 8
_SPARE_BYTES = 64 << 20


class WireError(Exception):
    """A peer said something that is no frame, too long, or no outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One message: its kind and its body."""

    kind: bytes
    body: bytes


class FrameReader:
    """Cuts a byte stream into frames of at most ``max_bytes``."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self._buffer += data

    def next(self) -> Frame | None:
        """Return the next whole frame, or None until more bytes are fed.

        Raises:
            WireError: the announced body is longer than ``max_bytes``.
        """
        if len(self._buffer) < _HEADER.size:
            return None
        kind, size = _HEADER.unpack_from(self._buffer)
        if size > self._max_bytes:
            msg = f"a frame of {size} bytes, more than {self._max_bytes}"
            raise WireError(msg)
        if len(self._buffer) < _HEADER.size + size:
            return None
        body = bytes(memoryview(self._buffer)[_HEADER.size : _HEADER.size + size])
        del self._buffer[: _HEADER.size + size]
        return Frame(kind=kind, body=body)


def pack_frame(kind: bytes, body: bytes) -> bytes:
    """Return the bytes of one frame."""
    return _HEADER.pack(kind, len(body)) + body


def read_frame(connection: socket.socket, max_bytes: int) -> Frame | None:
    """Block until one whole frame came; None when the peer has closed."""
    reader = FrameReader(max_bytes)
    while (frame := reader.next()) is None:
        data = connection.recv(_READ_BYTES)
        if not data:
            return None
        reader.feed(data)
    return frame


def readable(connection: socket.socket, timeout: float) -> bool:
    """Wait up to ``timeout`` seconds for data or the end of a connection."""
    poll = select.poll()  # select() fails on descriptors above 1023
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(math.ceil(timeout * 1000)))


def max_result(n_chars: int) -> int:
    """Return how many bytes the result of a document of so many characters may take.

    Blocks take some ten bytes a character where they are short; there is room to spare for
    a document that is small.
    """
    return n_chars * _BYTES_PER_CHAR + _SPARE_BYTES


def pack_outcome(outcome: ParseOutcome) -> bytes:
    """Return the frame of a result."""
    return pack_frame(RESULT, pickle.dumps(outcome, protocol=pickle.HIGHEST_PROTOCOL))


_UNREADABLE = (
    *(pickle.UnpicklingError, EOFError, AttributeError, ImportError, LookupError),
    *(TypeError, ValueError, OverflowError, MemoryError, RecursionError),
)
"""What unpickling raises for bytes that are no pickle of these classes."""


class _OutcomeUnpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str) -> type:
        try:
            return _CLASSES[module_name, global_name]
        except KeyError:
            msg = f"a result may not name {module_name}.{global_name}"
            raise WireError(msg) from None


def load_outcome(body: bytes) -> ParseOutcome:
    """Return the outcome in a result's body.

    Raises:
        WireError: the body holds anything else.
    """
    try:
        outcome = _OutcomeUnpickler(io.BytesIO(body)).load()
    except _UNREADABLE as error:
        msg = "a result that cannot be read"
        raise WireError(msg) from error
    if not isinstance(outcome, ParseOutcome):
        msg = "a result that is no outcome"
        raise WireError(msg)
    return outcome
