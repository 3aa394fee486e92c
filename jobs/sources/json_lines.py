"""JSON lines: where each begins in the file, and what a row of text is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from chunking.errors import DocumentError

__all__ = ["Line", "json_lines", "parse_row", "text_of"]

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line that is not blank: its byte range, and its bytes unless they are too many."""

    start: int
    length: int
    data: bytes


def json_lines(chunks: Iterator[bytes], max_bytes: int) -> Iterator[Line]:
    """Yield the lines of a file that are not blank; of one above ``max_bytes`` no data."""
    start = 0
    pieces: list[bytes] = []
    held = length = 0
    for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            yield from _line(start, length + len(piece), b"".join((*pieces, piece)), max_bytes)
            start += length + len(piece) + 1
            pieces, held, length = [], 0, 0
        length += len(rest)
        if held + len(rest) <= max_bytes:
            pieces.append(rest)
            held += len(rest)
    yield from _line(start, length, b"".join(pieces), max_bytes)


def _line(start: int, length: int, data: bytes, max_bytes: int) -> Iterator[Line]:
    if length > max_bytes:
        yield Line(start=start, length=length, data=b"")
        return
    if start == 0 and data.startswith(_BOM):
        data = data[len(_BOM) :]
        start, length = len(_BOM), length - len(_BOM)
    if data.strip():
        yield Line(start=start, length=length, data=data)


def parse_row(data: bytes) -> dict[str, object]:
    """Return the columns of a line; none if it is not a JSON object."""
    try:
        row = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


def text_of(data: bytes, column: str) -> str:
    """Return the text in a line; empty if the column is null or not there.

    Raises:
        DocumentError: ``corrupt``: the line is no JSON object, or the column holds no text.
    """
    row = parse_row(data)
    if not row:
        msg = "the line is not a JSON object with columns"
        raise DocumentError(msg, kind="corrupt", stage="fetch")
    text = row.get(column)
    if text is not None and not isinstance(text, str):
        msg = f"column {column!r} holds a {type(text).__name__}, not text"
        raise DocumentError(msg, kind="corrupt", stage="fetch")
    return text or ""
