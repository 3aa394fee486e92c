"""What a notebook user holds in hand: a parsed text, and the chunks of one.

Both show themselves: as a table in a notebook, as text in a terminal.

Shapes: U units of embedding (sentences, rows, lines), C chunks, D dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from chunking.model import Block, Chunk, Document, Sentence, Span, SplitReason
from chunking.settings import ChunkingSettings
from jobs.notebook import display
from jobs.ports import ModelFacts
from jobs.records import ParsedDocument

if TYPE_CHECKING:
    import pandas as pd

    from jobs.stages.results import DocumentResult

__all__ = ["ChunkView", "Chunks", "ParsedText", "chunks_of"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True, repr=False)
class ParsedText:
    """One document after parsing: its canonical text, blocks and facts.

    ``members``: the documents that came inside it, each with its own outcome.
    """

    parsed: ParsedDocument
    members: tuple[ParsedDocument, ...] = ()

    @property
    def document(self) -> Document:
        """The value that the chunking core works on."""
        document = self.parsed.outcome.document
        if document is None:
            msg = f"{self.key} has no text"
            raise LookupError(msg)
        return document

    @property
    def key(self) -> str:
        """The source key: the file's name, or the one given."""
        return self.parsed.plan.source_key

    @property
    def text(self) -> str:
        """The canonical text; every offset counts its code points."""
        return self.document.text

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Headings, paragraphs, tables, code ... in reading order."""
        return self.document.blocks

    @property
    def format(self) -> str:
        """The format, as told by the content."""
        return self.parsed.outcome.format

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was lost or mended in reading the file."""
        return self.parsed.outcome.warnings

    def __repr__(self) -> str:
        return display.document_line(self)

    def _repr_html_(self) -> str:
        return display.document_table(self)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChunkView:
    """One chunk with its text.

    ``span``: where it lies, so that ``document.text[span.start:span.end] == text``.
    ``n_tokens`` counts ``prefix`` and text as the model sees them. ``reason`` says why it
    ends there, ``distance`` and ``threshold`` what decided it, where known. ``vector``
    (D) is None where none was asked for; ``vector_method`` says how it was made.
    """

    index: int
    id: str
    text: str = field(repr=False)
    prefix: str
    span: Span
    n_tokens: int
    kind: str
    heading_path: tuple[str, ...]
    boundaries: str
    reason: SplitReason
    distance: float | None
    threshold: float | None
    vector_method: str
    page_start: int | None
    page_end: int | None
    language: str | None
    code_language: str | None
    metadata: Mapping[str, str]
    vector: NDArray[np.float32] | None = field(repr=False)
    chunk: Chunk = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Chunks(Sequence[ChunkView]):
    """The chunks of one document in order, with what decided them.

    ``vectors``: C x D, None where none were asked for. ``units``: U. ``distances``: the
    U - 1 cosine distances of neighbouring units; None where no model pass was made.
    """

    document: ParsedText
    settings: ChunkingSettings
    model: ModelFacts
    views: tuple[ChunkView, ...]
    vectors: NDArray[np.float32] | None
    units: Sequence[Sentence]
    distances: NDArray[np.float64] | None
    _result: DocumentResult
    _schema: pa.Schema

    @property
    def threshold(self) -> float | None:
        """The distance above which boundaries fall; None where the strategy has none."""
        return next((view.threshold for view in self if view.threshold is not None), None)

    def __len__(self) -> int:
        return len(self.views)

    @overload
    def __getitem__(self, index: int) -> ChunkView: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ChunkView, ...]: ...
    def __getitem__(self, index: int | slice) -> ChunkView | tuple[ChunkView, ...]:
        return self.views[index]

    def __iter__(self) -> Iterator[ChunkView]:
        return iter(self.views)

    def to_arrow(self) -> pa.Table:
        """Return the rows that a job would publish in ``chunks``."""
        from jobs.stages.results import chunks_table  # noqa: PLC0415 - kept out of the import

        return chunks_table([self._result], self._schema)

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows of :meth:`to_arrow` as a data frame."""
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def __repr__(self) -> str:
        return display.chunks_text(self)

    def _repr_html_(self) -> str:
        return display.chunks_table(self)


def chunks_of(
    document: ParsedText, result: DocumentResult, model: ModelFacts, schema: pa.Schema
) -> Chunks:
    """Return the chunks of a finished result; ``schema`` is that of their rows."""
    vectors = result.embeddings_CD
    views = tuple(
        _view(document.text, result, i, None if vectors is None else vectors[i])
        for i in range(len(result.chunks))
    )
    return Chunks(
        document=document,
        settings=result.settings,
        model=model,
        views=views,
        vectors=vectors,
        units=result.units,
        distances=result.distances,
        _result=result,
        _schema=schema,
    )


def _view(
    text: str, result: DocumentResult, i: int, vector: NDArray[np.float32] | None
) -> ChunkView:
    chunk = result.chunks[i]
    return ChunkView(
        index=chunk.index,
        id=result.chunk_ids[i],
        text=text[chunk.start : chunk.end],
        prefix=chunk.prefix,
        span=Span(start=chunk.start, end=chunk.end),
        n_tokens=chunk.n_tokens,
        kind=chunk.kind,
        heading_path=chunk.heading_path,
        boundaries=chunk.boundaries,
        reason=chunk.boundary.reason,
        distance=chunk.boundary.distance,
        threshold=chunk.boundary.threshold,
        vector_method=result.methods[i],
        page_start=chunk.page_start,
        page_end=chunk.page_end,
        language=chunk.language,
        code_language=chunk.code_language,
        metadata=chunk.metadata,
        vector=vector,
        chunk=chunk,
    )
