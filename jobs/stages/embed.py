"""Embed and chunk: the parsed documents of one unit become its rows.

Windows of all documents go through the model together, so that they fill batches;
everything else is done document by document, and a document that fails costs only
itself. Token vectors are reduced to the means of units as each batch ends.

Shapes: U units, C chunks, D dimensions.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from chunking import pooling, schemas
from chunking.chunker import chunk_document
from chunking.distances import distances
from chunking.errors import DocumentError, ErrorKind, JobError, ModelError, UsageError
from chunking.ids import window_hash
from chunking.model import Document, TokenWindow
from chunking.settings import ChunkingSettings
from chunking.units import split_units
from chunking.windows import plan_windows
from jobs.adapters.words import find_word_breaks
from jobs.config import Config
from jobs.journal import UNWATCHED, Watch
from jobs.ports import Embedder, ObjectStore
from jobs.protocol import fail_points
from jobs.records import ParsedDocument, UnitTables
from jobs.stages.own_vectors import embed_chunks_alone, embed_tokenless, input_hashes
from jobs.stages.results import (
    DocumentResult,
    boundaries_table,
    chunks_table,
    documents_table,
    new_ids,
    sentences_table,
)
from jobs.stages.stored import StoredVectors, own_table, structure_table

__all__ = ["EmbedStage", "needs_vectors"]

_LOG = logging.getLogger(__name__)

_NO_VECTORS_NEEDED = frozenset({"fixed", "recursive", "structural"})
"""Strategies that place boundaries without sentence vectors."""

Step = Callable[[Sequence[DocumentResult]], None]


class EmbedStage:
    """Turns parsed documents into rows in the published schemas; knows no engine.

    ``store``: that of the dataset whose sentence store the plan's ``structure_ref`` is
    of; what is known there of a document does not go through the model again.
    ``same_texts``: the documents' texts are those that are kept there, not later ones.
    """

    def __init__(
        self,
        embedder: Embedder,
        config: Config,
        *,
        fingerprint: str,
        run_id: str,
        store: ObjectStore | None = None,
        same_texts: bool = False,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._embedder = embedder
        self._chunking = config.chunking
        self._overlap = config.model.window_overlap
        self._stored = np.dtype(config.output.sentence_dtype)
        self._known = StoredVectors(store, embedder.facts, self._stored) if store else None
        self._kept_tokens = self._known if same_texts else None
        self._keep_sentences = config.output.keep_sentences
        dimension = embedder.dimension
        self._chunks_schema = schemas.chunks_schema(dimension, config.output.dtype)
        self._sentences_schema = schemas.sentences_schema(dimension, config.output.sentence_dtype)
        self._fingerprint = fingerprint
        self._run_id = run_id
        self._clock = clock
        self._normalize = embedder.facts.normalize
        self._word_breaks = find_word_breaks(config.parser.words)
        # Whatever the documents of a unit are: tables do not come and go with them.
        self._passes_the_model = any(map(needs_vectors, config.chunking.all_settings()))

    def __call__(self, documents: Sequence[ParsedDocument], watch: Watch = UNWATCHED) -> UnitTables:
        """Return the rows of a unit's documents, sorted by ``doc_id``, then position."""
        results = [
            self.begin(parsed)
            for parsed in sorted(documents, key=lambda parsed: parsed.plan.doc_id)
        ]
        if watch.careful:
            for result in results:
                self._process_alone(result, watch)
        else:
            self._process(results)
        watch.together()
        kept = self._keep_sentences and self._embedder.supports_late and self._passes_the_model
        return UnitTables(
            documents=documents_table(results, fingerprint=self._fingerprint, run_id=self._run_id),
            chunks=chunks_table(results, self._chunks_schema),
            boundaries=boundaries_table(results),
            sentences=sentences_table(results, self._sentences_schema) if kept else None,
            **self._kept(results, sentences=kept),
            model_tokens=sum(sum(result.model_tokens.values()) for result in results),
            reused_tokens=sum(result.reused_tokens for result in results),
        )

    def _kept(
        self, results: Sequence[DocumentResult], *, sentences: bool
    ) -> dict[str, pa.Table | None]:
        """Return what is kept for a later choice of chunks, beside the sentences."""
        if not self._keep_sentences:
            return {}
        facts = self._embedder.facts
        embedded = [r for r in results if r.document is not None and r.own_CD is not None]
        hashes = [input_hashes(result) for result in embedded]
        return {
            "structure": structure_table(results, facts, sentences=sentences),
            "own_vectors": own_table(embedded, hashes, facts.dimension) if embedded else None,
        }

    def begin(self, parsed: ParsedDocument, known: DocumentResult | None = None) -> DocumentResult:
        """Return a document's result, to be filled; ``known`` lends it an earlier model pass."""
        settings = self._chunking.settings(parsed.plan.source_key, parsed.outcome.format)
        result = DocumentResult(parsed=parsed, settings=settings)
        if known is not None:
            result.tokens, result.units, result.windows = known.tokens, known.units, known.windows
            if needs_vectors(settings):
                result.window_hashes = known.window_hashes
                result.vectors_UD = known.vectors_UD
        return result

    def _process_alone(self, result: DocumentResult, watch: Watch) -> None:
        """Tell that a document is begun before it is; the rows are those of doing all together."""
        if result.document is None:
            return
        result.error = watch.begin(result.parsed.plan.doc_id, "embed")
        if result.error is None:
            self._process([result])

    def _process(self, results: Sequence[DocumentResult]) -> None:
        for result in results:
            fail_points.hit("embed.document", result.parsed.plan.source_key)
        self.process(results)

    def process(self, results: Sequence[DocumentResult]) -> None:
        """Fill results step by step; a model pass that one has already is not made again."""
        live = [result for result in results if result.document is not None]
        self._each("embed", self._prepare, [result for result in live if result.tokens is None])
        passed = [result for result in live if needs_vectors(result.settings)]
        self._guarded("embed", self._embed_units, [r for r in passed if r.vectors_UD is None])
        self._each("embed", self._measure, passed)
        self._each("chunk", self._chunk, live)
        embedded = [result for result in live if result.settings.vectors != "none"]
        self._guarded("embed", self._embed_chunks, embedded)

    def _each(self, stage: str, step: Step, results: Sequence[DocumentResult]) -> None:
        for result in results:
            self._guarded(stage, step, [result])

    def _guarded(self, stage: str, step: Step, results: Sequence[DocumentResult]) -> None:
        """Take documents through a step together; if that fails, one by one.

        The one place that turns what goes wrong here into a document's row.
        """
        results = [result for result in results if result.error is None]
        if not results:
            return
        began = self._clock()
        try:
            step(results)
        except (UsageError, JobError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it costs this document only
            if len(results) == 1:
                results[0].error = _as_document_error(error, stage, results[0])
            else:
                self._each(stage, step, results)
                return
        self._share(results, self._clock() - began)

    def _share(self, results: Sequence[DocumentResult], seconds: float) -> None:
        """Divide the time of a common step by the documents' tokens."""
        sizes = [len(result.tokens.ids) if result.tokens else 1 for result in results]
        for result, size in zip(results, sizes, strict=True):
            result.seconds += seconds * size / max(sum(sizes), 1)

    def _prepare(self, results: Sequence[DocumentResult]) -> None:
        for result in results:
            document = _document(result)
            known = self._kept_tokens.tokens(result.parsed.plan) if self._kept_tokens else None
            result.tokens = known or self._embedder.tokenize(document.text)
            result.units = split_units(document, result.tokens, self._word_breaks)
            if self._embedder.supports_late:
                result.windows = plan_windows(
                    document,
                    result.units,
                    window_tokens=self._embedder.window_tokens,
                    overlap=self._overlap,
                )

    def _embed_units(self, results: Sequence[DocumentResult]) -> None:
        if not self._embedder.supports_late:
            self._embed_units_alone(results)
            return
        for result in results:
            result.window_hashes = [
                window_hash(self._embedder.window_input(_window_ids(result, window)))
                for window in result.windows
            ]
        asked: list[tuple[DocumentResult, TokenWindow]] = []
        ranges: list[list[pooling.TokenRange]] = []
        for result in results:
            for window, owned in self._unknown(result):
                asked.append((result, window))
                ranges.append(owned)
        self._spend("windows", results, asked)
        for result, window, means in self._window_means(asked, ranges):
            if result.vectors_UD is not None:
                result.vectors_UD[window.first_unit : window.last_unit] = means
        self._store(results)

    def _unknown(
        self, result: DocumentResult
    ) -> list[tuple[TokenWindow, list[pooling.TokenRange]]]:
        """Fill in what the sentence store knows; return the other windows, with their ranges."""
        vectors_UD = np.empty((len(result.units), self._embedder.dimension), np.float32)
        result.vectors_UD, result.reused_tokens = vectors_UD, 0
        known = self._known.of(result.parsed.plan) if self._known else None
        unknown = []
        for window, digest in zip(result.windows, result.window_hashes, strict=True):
            owned = pooling.unit_ranges(window, result.units)
            means = known.of(digest, owned) if known else None
            if means is None:
                unknown.append((window, owned))
            else:
                vectors_UD[window.first_unit : window.last_unit] = means
                result.reused_tokens += window.end - window.start
        return unknown

    def _spend(
        self,
        purpose: str,
        results: Sequence[DocumentResult],
        asked: Sequence[tuple[DocumentResult, TokenWindow]],
    ) -> None:
        """Take note of the tokens that windows send through the model, context included."""
        for result in results:
            result.model_tokens[purpose] = 0
        for result, window in asked:
            result.model_tokens[purpose] += window.end - window.start

    def _embed_units_alone(self, results: Sequence[DocumentResult]) -> None:
        """Take the model's own vector of each unit, where token vectors mean nothing."""
        for result in results:
            text = _document(result).text
            texts = [text[unit.start : unit.end] for unit in result.units]
            result.vectors_UD = self._embedder.embed_texts(texts)
            result.model_tokens["windows"] = sum(unit.n_tokens for unit in result.units)
        self._store(results)

    def _store(self, results: Sequence[DocumentResult]) -> None:
        """Round the vectors to what is kept: a later choice of boundaries must see the same."""
        for result in results:
            if result.vectors_UD is None:
                continue
            with np.errstate(over="ignore"):
                result.vectors_UD = result.vectors_UD.astype(self._stored).astype(np.float32)
            if not np.isfinite(result.vectors_UD).all():
                msg = (
                    f"vectors of {self._embedder.facts.name!r} are not finite as "
                    f"{self._stored.name}; set output.sentence_dtype and model.dtype to float32"
                )
                raise ModelError(msg)

    def _measure(self, results: Sequence[DocumentResult]) -> None:
        for result in results:
            if result.vectors_UD is not None:
                sizes = np.array([unit.n_tokens for unit in result.units], np.int64)
                result.distances = distances(result.vectors_UD, sizes, result.settings.buffer)

    def _window_means(
        self,
        asked: Sequence[tuple[DocumentResult, TokenWindow]],
        ranges: Sequence[Sequence[pooling.TokenRange]],
    ) -> Iterator[tuple[DocumentResult, TokenWindow, NDArray[np.float32]]]:
        inputs = [_window_ids(result, window) for result, window in asked]
        for index, means in self._embedder.window_means(inputs, ranges):
            yield *asked[index], means

    def _chunk(self, results: Sequence[DocumentResult]) -> None:
        for result in results:
            if result.tokens is None:
                continue
            result.chunks = chunk_document(
                _document(result),
                result.units,
                result.tokens,
                result.vectors_UD,
                result.settings,
                self._embedder.count,
            )
            result.chunk_ids = new_ids(result)
            result.methods = ["none"] * len(result.chunks)

    def _embed_chunks(self, results: Sequence[DocumentResult]) -> None:
        self._pool([result for result in results if result.settings.pooled])
        alone = [result for result in results if result.settings.vectors != "late"]
        embed_chunks_alone(self._embedder, alone, self._known)
        embed_tokenless(self._embedder, results)

    def _pool(self, results: Sequence[DocumentResult]) -> None:
        """Pool the chunks' vectors; windows with a unit that a chunk cuts are run once more."""
        if not results:
            return
        parts: list[dict[pooling.TokenRange, NDArray[np.float32]]] = [{} for _ in results]
        asked: list[tuple[DocumentResult, TokenWindow]] = []
        cuts: list[tuple[int, list[pooling.TokenRange]]] = []
        for row, result in enumerate(results):
            cut = pooling.cut_ranges(result.chunks, result.units)
            for window in _owners(result.windows, cut.values()):
                asked.append((result, window))
                owned = [r for r, u in cut.items() if window.first_unit <= u < window.last_unit]
                cuts.append((row, owned))
        ranges = [
            pooling.window_ranges(window, owned)
            for (_, window), (_, owned) in zip(asked, cuts, strict=True)
        ]
        self._spend("cuts", results, asked)
        inputs = [_window_ids(result, window) for result, window in asked]
        for index, means in self._embedder.window_means(inputs, ranges):
            row, owned = cuts[index]
            parts[row].update(zip(owned, means, strict=True))
        for result, part in zip(results, parts, strict=True):
            if result.vectors_UD is None:
                continue
            pooled = pooling.chunk_vectors(result.chunks, result.units, result.vectors_UD, part)
            result.embeddings_CD = (
                pooling.normalized(pooled) if self._normalize else pooled.astype(np.float32)
            )
            method = "late" if len(result.windows) == 1 else "late_windowed"
            result.methods = [method] * len(result.chunks)


def needs_vectors(settings: ChunkingSettings) -> bool:
    """Return whether the vectors of units are asked for, by boundaries or by chunks."""
    return settings.pooled or settings.boundaries not in _NO_VECTORS_NEEDED


def _as_document_error(error: Exception, stage: str, result: DocumentResult) -> DocumentError:
    if isinstance(error, DocumentError):
        return error
    _LOG.warning("%s: %s failed", result.parsed.plan.source_key, stage, exc_info=error)
    kind: ErrorKind = "out_of_memory" if isinstance(error, MemoryError) else "internal"
    message = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return DocumentError(message, kind=kind, stage=stage, retryable=kind == "out_of_memory")


def _document(result: DocumentResult) -> Document:
    if result.document is None:
        msg = "a failed document has no text"
        raise LookupError(msg)
    return result.document


def _window_ids(result: DocumentResult, window: TokenWindow) -> NDArray[np.uint32]:
    if result.tokens is None:
        msg = "a document without tokens has no windows"
        raise LookupError(msg)
    return result.tokens.ids[window.start : window.end]


def _owners(windows: Sequence[TokenWindow], units: Iterable[int]) -> list[TokenWindow]:
    asked = sorted(set(units))
    return [
        window
        for window in windows
        if (i := int(np.searchsorted(asked, window.first_unit))) < len(asked)
        and asked[i] < window.last_unit
    ]
