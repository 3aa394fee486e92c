"""What a chunk consists of, for drawing: its blocks, tables as rows of cells, code by fences.

The pieces and gaps of a chunk's parts, joined, are its text exactly.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from chunking.code import is_fence
from chunking.model import Block, Chunk, Document
from jobs.notebook.values import Chunks

__all__ = ["Part", "Piece", "Table", "chunk_parts", "split_row"]

_CELLS = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A stretch of text; ``mark`` is ``repeated`` (overlap), ``fence`` or empty."""

    text: str
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The rows of a table that lie in a chunk, and its header.

    ``header_from`` is ``text`` where the header is in the chunk, ``prefix`` where it is
    repeated there, or empty where there is none to show.
    """

    header: tuple[str, ...]
    header_from: str
    rows: tuple[tuple[str, ...], ...]

    @property
    def n_cells(self) -> int:
        """Number of cells, those of the header included."""
        return len(self.header) + sum(map(len, self.rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What of one block lies in a chunk; ``gap`` separates it from the next part."""

    block: Block
    label: str
    pieces: tuple[Piece, ...]
    gap: str
    table: Table | None


def chunk_parts(chunks: Chunks) -> Iterator[tuple[Part, ...]]:
    """Yield the parts of each chunk, in order."""
    document = chunks.document.document
    starts = [block.start for block in document.blocks]
    spans = [view.chunk for view in chunks]
    for i, chunk in enumerate(spans):
        repeated = (
            max(spans[i - 1].end if i else chunk.start, chunk.start),
            min(spans[i + 1].start if i + 1 < len(spans) else chunk.end, chunk.end),
        )
        yield tuple(_parts(document, starts, chunk, repeated))


def _parts(
    document: Document, starts: Sequence[int], chunk: Chunk, repeated: tuple[int, int]
) -> Iterator[Part]:
    first = max(bisect_right(starts, chunk.start) - 1, 0)
    for block in document.blocks[first:]:
        if block.start >= chunk.end:
            return
        start, end = max(block.start, chunk.start), min(block.end, chunk.end)
        after = document.blocks[block.index + 1 : block.index + 2]
        until = min(after[0].start, chunk.end) if after else chunk.end
        if start < end:
            yield Part(
                block=block,
                label=_label(block),
                pieces=tuple(_pieces(document.text, block, start, end, repeated)),
                gap=document.text[end:until],
                table=_table(document.text, block, start, end, chunk.prefix),
            )


def _label(block: Block) -> str:
    """Return what the text itself does not show: list items have their markers."""
    if block.kind in ("paragraph", "list_item"):
        return ""
    if block.kind == "code" and block.code_language:
        return f"code, {block.code_language}"
    if block.kind == "heading" and block.level is not None:
        return f"heading, level {block.level}"
    return block.kind


def _pieces(
    text: str, block: Block, start: int, end: int, repeated: tuple[int, int]
) -> Iterator[Piece]:
    if block.kind == "code":
        head, tail = _fences(text, block, start, end)
        cuts = [(start, head, "fence"), (head, tail, ""), (tail, end, "fence")]
    else:
        # Repeated from the chunk before; then this chunk's own; then repeated by the next.
        head = min(max(repeated[0], start), end)
        tail = min(max(repeated[1], head), end)
        cuts = [(start, head, "repeated"), (head, tail, ""), (tail, end, "repeated")]
    yield from (Piece(text=text[a:b], mark=mark) for a, b, mark in cuts if a < b)


def _fences(text: str, block: Block, start: int, end: int) -> tuple[int, int]:
    """Return where the code between the fences begins and ends, as far as they are here."""
    head, tail = start, end
    if start == block.start and is_fence(text, start):
        line_end = text.find("\n", start, end)
        head = end if line_end < 0 else line_end + 1
    if end == block.end:
        last = text.rfind("\n", head, end)
        if is_fence(text, max(last + 1, head)) and max(last + 1, head) < end:
            tail = max(last, head)
    return head, tail


def _table(text: str, block: Block, start: int, end: int, prefix: str) -> Table | None:
    if block.kind != "table" or not block.row_starts:
        return None
    body = block.row_starts[1] if len(block.row_starts) > 1 else block.end
    line = text[block.start : body].partition("\n")[0]
    header_from = ""
    if start == block.start and end >= min(body, block.start + len(line)):
        header_from = "text"
    elif start >= body and line in prefix:
        header_from = "prefix"
    first = body if header_from == "text" else start
    inner = [row for row in block.row_starts if first < row < end]
    bounds = [first, *inner, end]
    rows = [text[a:b].rstrip("\n") for a, b in pairwise(bounds) if a < b]
    return Table(
        header=split_row(line) if header_from else (),
        header_from=header_from,
        rows=tuple(split_row(row) for row in rows),
    )


def split_row(line: str) -> tuple[str, ...]:
    r"""Return the cells of a Markdown table row, ``\|`` being a bar within a cell."""
    inner = line.strip()
    inner = inner.removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return tuple(cell.strip().replace("\\|", "|") for cell in _CELLS.split(inner))
