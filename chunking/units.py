"""Units of embedding: the smallest spans that get a vector of their own.

They depend on the document and the tokenizer only, never on the chunking
configuration, so that one model pass serves every later choice of boundaries.

Shapes: N tokens, P pieces (spans of units before their tokens are known).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from chunking.errors import AlignmentError
from chunking.model import Block, Document, Sentence, Tokens
from chunking.sentences import MAX_SENTENCE_CHARS, sentence_spans
from chunking.unit_parts import MAX_UNIT_TOKENS, UnitCutter
from chunking.unspaced import WordBreaks

__all__ = ["MAX_UNIT_TOKENS", "split_units"]

_WHOLE = frozenset({"title", "heading", "list_item"})
"""Kinds whose block is one unit unless it is too long for one."""

_LAST_BLANK = 0x3000
_BLANK = np.array([chr(code).isspace() for code in range(_LAST_BLANK + 1)] + [False])

_VISIBLE_LINE = re.compile(r"\S[^\n]*")

Piece = tuple[int, int, int]
"""Start and end of a span of text, and the index of its block."""


def split_units(
    document: Document, tokens: Tokens, word_breaks: WordBreaks | None = None
) -> list[Sentence]:
    """Return the units of a document: they partition its tokens, in order.

    A unit is a sentence of prose, a row of a table (the delimiter line belongs to the
    header), a line of code, a formula, or a whole heading or list item; of a longer
    heading or item, its sentences. Whatever still exceeds :data:`MAX_UNIT_TOKENS` is
    cut into parts: between clauses where it can be, then between words (those of
    ``word_breaks`` where a script has no blanks), then between characters. A token
    belongs to the unit that its first visible code point lies in; one that has none, to
    the unit before, or to the first. Spans start and end with visible text and never
    cross blocks. Visible text that makes no token (control characters) stays with a
    neighbour of its block; a block that makes no token at all has no unit. (More than
    :data:`MAX_UNIT_TOKENS` tokens of one code point are cut all the same; then a part
    may have an empty span.)

    Raises:
        AlignmentError: the tokens' offsets are not in order, or not within the text.
    """
    _check(document, tokens)
    if not len(tokens.ids):
        return []
    anchors_N = _anchors(document.text, tokens)
    long = _long_blocks(document, anchors_N)
    pieces = [
        piece
        for block in document.blocks
        for piece in _pieces(document, block, long=long[block.index])
    ]
    if not pieces:
        return []
    starts_P = np.fromiter((piece[0] for piece in pieces), np.int64, len(pieces))
    owner_N = np.maximum(np.searchsorted(starts_P, anchors_N, side="right") - 1, 0)
    first_P = np.searchsorted(owner_N, np.arange(len(pieces) + 1))
    units: list[Sentence] = []
    cutter = UnitCutter(document.text, tokens, anchors_N, word_breaks)
    for (start, end, index), first, last in _with_tokens(pieces, first_P.tolist()):
        parts = cutter.cut(start, end, first, last, _language(document, document.blocks[index]))
        # So long a stretch without a sentence end is no sentence that its parts go on with.
        counts = end - start <= MAX_SENTENCE_CHARS
        for part, span in enumerate(parts):
            units.append(_unit(len(units), index, span, piece=part > 0 and counts))
    return units


def _unit(index: int, block: int, span: tuple[int, int, int, int], *, piece: bool) -> Sentence:
    start, end, token_start, token_end = span
    return Sentence(
        index=index,
        block=block,
        start=start,
        end=end,
        token_start=token_start,
        token_end=token_end,
        piece=piece,
    )


def _language(document: Document, block: Block) -> str | None:
    return block.language or document.language


def _long_blocks(document: Document, anchors_N: NDArray[np.int64]) -> list[bool]:
    """Return for each block whether it has too many tokens for one unit."""
    edges = np.array([*(block.start for block in document.blocks), len(document.text)], np.int64)
    sizes = np.diff(np.searchsorted(anchors_N, edges))
    long: list[bool] = (sizes > MAX_UNIT_TOKENS).tolist()
    return long


def _check(document: Document, tokens: Tokens) -> None:
    n = len(tokens.ids)
    if len(tokens.starts) != n or len(tokens.ends) != n:
        msg = f"{n} tokens have {len(tokens.starts)} starts and {len(tokens.ends)} ends"
        raise AlignmentError(msg)
    if not n:
        return
    ordered = bool(np.all(np.diff(tokens.starts) >= 0)) and bool(
        np.all(tokens.ends >= tokens.starts)
    )
    if not ordered or tokens.starts[0] < 0 or int(tokens.ends.max()) > len(document.text):
        msg = "the tokens' offsets are not in order, or not within the text"
        raise AlignmentError(msg)


def _pieces(document: Document, block: Block, *, long: bool) -> Iterator[Piece]:
    text = document.text
    if block.kind == "formula" or (block.kind in _WHOLE and not long):
        spans: Sequence[tuple[int, int]] = [(block.start, block.end)]
    elif block.kind == "table" and block.row_starts:
        edges = sorted({block.start, *block.row_starts[1:], block.end})
        spans = list(pairwise(edges))
    elif block.kind in {"table", "code"}:
        spans = _lines(text, block.start, block.end)
    else:
        spans = sentence_spans(text, block.start, block.end, _language(document, block))
    for start, end in spans:
        trimmed = _trim(text, start, end)
        if trimmed is not None:
            yield (*trimmed, block.index)


def _lines(text: str, start: int, end: int) -> list[tuple[int, int]]:
    return [match.span() for match in _VISIBLE_LINE.finditer(text, start, end)]


def _trim(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the span without blanks at its ends, or None where it is all blank."""
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip())
    if left == len(piece):
        return None
    return start + left, start + len(piece.rstrip())


def _anchors(text: str, tokens: Tokens) -> NDArray[np.int64]:
    """Return each token's first visible code point, or its start where it has none.

    Tokenizers that keep blanks put them in front of the word, within its offsets.
    """
    if not text:
        return tokens.starts.astype(np.int64)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    blank = _BLANK[np.minimum(codes, _LAST_BLANK + 1)]
    edges = np.flatnonzero(blank[1:] != blank[:-1]) + 1
    starts_N = tokens.starts.astype(np.int64)
    inside_N = starts_N < np.minimum(tokens.ends, len(text))
    leading = np.flatnonzero(inside_N & blank[np.minimum(starts_N, len(text) - 1)])
    found = np.searchsorted(edges, starts_N[leading], side="right")
    visible = np.append(edges, len(text))[found]
    anchors_N = starts_N.copy()
    anchors_N[leading] = np.where(visible < tokens.ends[leading], visible, starts_N[leading])
    # A blank token inside another's offsets must not step back behind it.
    return np.maximum.accumulate(anchors_N)


def _with_tokens(pieces: list[Piece], first_P: list[int]) -> Iterator[tuple[Piece, int, int]]:
    """Yield the pieces that have tokens; those without are merged within their block.

    With the piece before, or, at the beginning of a block, with the one after.
    """
    pending: tuple[Piece, int, int] | None = None
    for piece, (first, last) in zip(pieces, pairwise(first_P), strict=True):
        if pending is None or pending[0][2] != piece[2]:
            if pending is not None and pending[1] < pending[2]:
                yield pending
            pending = (piece, first, last)
        elif first == last or pending[1] == pending[2]:
            merged = (pending[0][0], piece[1], piece[2])
            pending = (merged, pending[1], last)
        else:
            yield pending
            pending = (piece, first, last)
    if pending is not None and pending[1] < pending[2]:
        yield pending
