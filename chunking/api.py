"""The core in one call, for a program of one's own: a string in, its chunks out.

Nothing but the caller's tokenizer, and a model where wanted; no files, no job.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chunking.chunker import chunk_document
from chunking.errors import AlignmentError, ConfigError
from chunking.model import Sentence, Span, SplitReason, Tokens
from chunking.settings import ChunkingSettings
from chunking.text import read_text
from chunking.units import split_units

__all__ = ["Embed", "Offsets", "TextChunk", "chunk_text"]

Offsets = Callable[[str], Sequence[tuple[int, int]]]
"""From a text to the span of each of its tokens, special ones left out."""

Embed = Callable[[list[str]], ArrayLike]
"""From S texts to their vectors, S rows of one length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextChunk(Span):
    """One chunk of a caller's string: ``[start, end)`` is its place there, in code points.

    ``text`` is the string at that place, but for what a tokenizer should not see: two
    line ends stand for all blanks between paragraphs, U+FFFD for NUL and lone surrogates.
    ``n_tokens`` is the size of ``text``, special tokens included. ``reason`` says why the
    chunk ends there, ``distance`` (of cosine) and ``threshold`` what decided it, where known.
    """

    text: str = field(repr=False)
    n_tokens: int
    reason: SplitReason
    distance: float | None = None
    threshold: float | None = None


def chunk_text(
    text: str,
    offsets: Offsets,
    settings: ChunkingSettings | None = None,
    *,
    embed: Embed | None = None,
    special: int = 2,
    language: str | None = None,
) -> list[TextChunk]:
    """Return the chunks of a string in order, none above ``settings.max_tokens``.

    ``offsets`` returns the span of each token of a text in code points, in order, without
    special tokens, truncation and padding. With the library tokenizers it is
    ``lambda text: tokenizer.encode(text, add_special_tokens=False).offsets``, with
    transformers ``lambda text: tokenizer(text, return_offsets_mapping=True,
    add_special_tokens=False)["offset_mapping"]``. It is called with the whole text
    and with pieces of it: a size is the number of tokens of a text by itself, plus
    ``special``, the number of tokens that the model adds to any input.

    ``embed`` is called once with the text of each sentence and returns one vector for each,
    such as ``SentenceTransformer.encode``; ``semantic`` and ``optimal`` need it. Without
    ``settings`` the strategy is ``auto``: ``optimal`` with ``embed``, else ``recursive``.
    ``language``, an ISO 639 code, helps to tell sentences apart.

    Paragraphs are what stands between blank lines; a text that is blank has no chunks.

    Raises:
        ConfigError: the strategy needs ``embed``, the cap leaves no room, or ``offsets``
            leaves off the end of a text.
        AlignmentError: offsets are out of order or range, or vectors are not one a sentence.
        DocumentError: one character alone exceeds the cap.
    """
    plain = read_text(text, language=language)
    document = plain.document
    tokens = _tokens(document.text, offsets)
    units = split_units(document, tokens)
    vectors = None if embed is None else _vectors(document.text, units, embed)

    def count(texts: Sequence[str]) -> list[int]:
        return [len(offsets(one)) + special for one in texts]

    chosen = settings or ChunkingSettings(boundaries="auto")
    chunks = chunk_document(document, units, tokens, vectors, chosen, count)
    return [
        TextChunk(
            start=start,
            end=end,
            text=document.text[chunk.start : chunk.end],
            n_tokens=chunk.n_tokens,
            reason=chunk.boundary.reason,
            distance=chunk.boundary.distance,
            threshold=chunk.boundary.threshold,
        )
        for chunk, (start, end) in ((c, plain.source_span(c.start, c.end)) for c in chunks)
    ]


def _tokens(text: str, offsets: Offsets) -> Tokens:
    spans = np.asarray(offsets(text), dtype=np.int64).reshape(-1, 2)
    tail = text[int(spans[-1, 1]) :] if len(spans) else ""
    if tail.strip() and len(offsets(tail)):
        msg = (
            f"offsets leaves off the last {len(tail):,} characters of the text, so sizes would "
            "be wrong; switch off the tokenizer's truncation, such as by no_truncation()"
        )
        raise ConfigError(msg)
    ids = np.zeros(len(spans), dtype=np.uint32)  # only their number is asked for
    return Tokens(ids=ids, starts=spans[:, 0], ends=spans[:, 1])


def _vectors(text: str, units: Sequence[Sentence], embed: Embed) -> NDArray[np.floating]:
    if not units:
        return np.zeros((0, 1), dtype=np.float32)
    vectors = np.asarray(embed([text[unit.start : unit.end] for unit in units]))
    if vectors.ndim != 2 or not np.issubdtype(vectors.dtype, np.floating):  # noqa: PLR2004
        msg = f"embed returned {vectors.dtype} of shape {vectors.shape}, not a float row per text"
        raise AlignmentError(msg)
    return vectors
