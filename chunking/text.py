"""Plain text as a document of paragraphs, and the way back to the caller's own offsets."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from chunking.model import Block, Document

__all__ = ["PlainText", "read_text"]

_LINE_END = r"(?:\r\n|\n|\r(?!\n))"
_BLANK_LINES = re.compile(rf"{_LINE_END}(?:[^\S\r\n]*{_LINE_END})+")
_UNUSABLE = re.compile("[\x00\ud800-\udfff]")
_GAP = "\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainText:
    """A document made of a caller's string.

    ``block_starts``: offsets of the blocks in the document's text; ``source_starts``:
    in the string it was read from.
    """

    document: Document
    block_starts: NDArray[np.int64] = field(repr=False)
    source_starts: NDArray[np.int64] = field(repr=False)

    def source_span(self, start: int, end: int) -> tuple[int, int]:
        """Return where the span ``[start, end)`` of the document's text stands in the string.

        The span must begin and end inside blocks, as those of chunks and units do. The
        string may hold more blanks between two blocks than the document does.
        """
        return self._source(start), self._source(end - 1) + 1

    def _source(self, position: int) -> int:
        block = int(np.searchsorted(self.block_starts, position, side="right")) - 1
        return position + int(self.source_starts[block] - self.block_starts[block])


def read_text(text: str, *, language: str | None = None) -> PlainText:
    r"""Return a document of the text's paragraphs: what stands between blank lines.

    Lines end in ``\n``, ``\r\n`` or ``\r``, and stay as they are inside a paragraph.
    Blanks around a paragraph are left out; NUL and lone surrogates become U+FFFD. All
    else is kept to the character. ``language`` is an ISO 639 code or None.
    """
    text = _UNUSABLE.sub("\ufffd", text)
    pieces: list[str] = []
    blocks: list[Block] = []
    sources: list[int] = []
    position = 0
    for first, last in _between(text):
        raw = text[first:last]
        piece = raw.strip()
        if not piece:
            continue
        if blocks:
            position += len(_GAP)
        sources.append(first + len(raw) - len(raw.lstrip()))
        end = position + len(piece)
        blocks.append(Block(index=len(blocks), kind="paragraph", start=position, end=end))
        pieces.append(piece)
        position = end
    return PlainText(
        document=Document(text=_GAP.join(pieces), blocks=tuple(blocks), language=language),
        block_starts=np.fromiter((block.start for block in blocks), np.int64, len(blocks)),
        source_starts=np.asarray(sources, dtype=np.int64),
    )


def _between(text: str) -> list[tuple[int, int]]:
    """Return the spans between blank lines."""
    gaps = [match.span() for match in _BLANK_LINES.finditer(text)]
    starts = [0, *(end for _, end in gaps)]
    ends = [*(start for start, _ in gaps), len(text)]
    return list(zip(starts, ends, strict=True))
