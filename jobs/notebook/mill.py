"""The notebook user's handle: parse, chunk, chunk again, with the stages of the job.

Documents are parsed in the job's killable child, which is kept warm and ends with the
handle. The model is loaded when first needed. What the model gave for a document is
kept, so that other boundaries, sizes and thresholds need no second pass.
"""

from __future__ import annotations

import json
import sys
import warnings
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, cast

from chunking import ids, schemas
from chunking.errors import DocumentError, ErrorKind, SourceError
from jobs.config import Config
from jobs.config_load import load_config
from jobs.notebook.values import Chunks, ParsedText, chunks_of
from jobs.records import ParsedDocument, PlanRow

if TYPE_CHECKING:
    from jobs.parsing.pool import ChildParser
    from jobs.ports import Embedder
    from jobs.sources.base import Source
    from jobs.stages.results import DocumentResult

__all__ = ["Chunkmill"]


class Chunkmill:
    """Parses and chunks documents in memory.

    Settings are given as for the command line: ``Chunkmill("model.name=...")`` takes
    any key as ``--set`` does, ``config=`` a YAML file or a :class:`jobs.config.Config`,
    and keywords are keys of ``chunking``, as in ``Chunkmill(max_tokens=300)``.

    The parsing process ends with :meth:`close`, a ``with`` block, the handle or Python.

    Raises:
        ConfigError: a key or value is not allowed.
    """

    def __init__(
        self, *settings: str, config: Config | Path | str | None = None, **chunking: object
    ) -> None:
        self._path = Path(config) if isinstance(config, Path | str) else None
        given = list(_assignments(config)) if isinstance(config, Config) else []
        self._given = [*given, *settings, *_chunking_keys(chunking)]
        self.config = load_config(self._path, self._given)
        self._parser: ChildParser | None = None
        self._embedder: Embedder | None = None
        self._told = False
        self._passes: weakref.WeakKeyDictionary[ParsedText, DocumentResult] = (
            weakref.WeakKeyDictionary()
        )

    def start(self) -> None:
        """Load the model, and meanwhile let the parsing process load its readers.

        Not needed, but it saves the one wait or the other.

        Raises:
            ModelError: the model cannot be loaded.
        """
        self._children().start()
        self._settled(self.config)

    def parse(self, path: str | Path) -> ParsedText:
        """Return the text and blocks of one file, or object at an ``s3://`` URL.

        Raises:
            SourceError: nothing is there, or it is a folder.
            DocumentError: the file cannot be read; one line says why.
        """
        from jobs.sources.opening import open_file  # noqa: PLC0415 - imports boto3

        return self._fetched(open_file(str(path), self.config))

    def read(self, text: str, *, name: str = "text") -> ParsedText:
        """Return the blocks of a text at hand, read as a file of this content would be.

        Markdown, HTML and the like are recognised. ``name`` becomes the source key.

        Raises:
            DocumentError: the text is empty or cannot be read.
        """
        from jobs.sources.texts import TextSource  # noqa: PLC0415 - imports boto3

        limit = self.config.limits.document_bytes
        return self._fetched(TextSource(name=name, text=text, max_bytes=limit))

    def chunk(self, document: ParsedText, **chunking: object) -> Chunks:
        """Return the document's chunks; keywords are keys of ``chunking`` for this call.

        A second call with other keywords runs no model for ``late`` vectors, unless a
        chunk ends inside a sentence.

        Raises:
            ConfigError: a key or value is not allowed.
            ModelError: the model cannot be loaded, or has no vectors of the kind and
                ``model.without_late`` is ``refuse``.
            DocumentError: the document cannot be chunked.
        """
        from jobs.stages.embed import EmbedStage  # noqa: PLC0415 - kept out of the import

        config = self.config
        if chunking:
            config = load_config(self._path, [*self._given, *_chunking_keys(chunking)])
        embedder, config = self._settled(config)
        stage = EmbedStage(embedder, config, fingerprint="", run_id="")
        result = stage.begin(document.parsed, known=self._passes.get(document))
        stage.process([result])
        if result.error is not None:
            raise _named(result.error, document.key)
        if result.vectors_UD is not None or document not in self._passes:
            self._passes[document] = result
        schema = schemas.chunks_schema(embedder.dimension, config.output.dtype)
        return chunks_of(document, result, embedder.facts, schema)

    def close(self) -> None:
        """End the parsing process; a later ``parse`` starts another."""
        if self._parser is not None:
            self._parser.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _fetched(self, source: Source) -> ParsedText:
        from jobs.stages.fetch_parse import FetchParse  # noqa: PLC0415 - with the sources

        fetch = FetchParse(source, self.config, lambda _: None, self._children())
        table = fetch(PlanRow.to_table([_plan_row(source)]))
        parsed, *members = ParsedDocument.from_table(table)
        if parsed.outcome.document is None:
            raise _refused(parsed)
        return ParsedText(parsed=parsed, members=tuple(members))

    def _children(self) -> ChildParser:
        if self._parser is None:
            from jobs.parsing.available import fix_parser  # noqa: PLC0415 - with the sources
            from jobs.parsing.pool import ChildParser  # noqa: PLC0415 - with the sources

            self._parser = ChildParser(fix_parser(self.config).parser, self.config.limits)
            weakref.finalize(self, self._parser.close)
        return self._parser

    def _settled(self, config: Config) -> tuple[Embedder, Config]:
        """Return the model, and the configuration that it can carry out; say what differs."""
        from jobs.adapters.embedders import make_embedder, settle  # noqa: PLC0415 - as the stages

        if self._embedder is None:
            with warnings.catch_warnings():
                # In a kernel without widgets tqdm asks to update jupyter; no bar is shown here.
                warnings.filterwarnings("ignore", module="tqdm")
                self._embedder = make_embedder(config)
        config, note = settle(config, self._embedder)
        if note is not None and not self._told:
            self._told = True
            sys.stderr.write(f"{note}\n")
        return self._embedder, config


def _assignments(config: Config) -> Iterator[str]:
    """Yield what was set in a configuration, as for ``--set``: JSON is YAML."""
    tree = config.model_dump(mode="json", exclude_unset=True)
    for section, keys in tree.items():
        for key, value in keys.items():
            yield f"{section}.{key}={json.dumps(value)}"


def _chunking_keys(keys: dict[str, object]) -> list[str]:
    return [f"chunking.{key}={json.dumps(value)}" for key, value in keys.items()]


def _plan_row(source: Source) -> PlanRow:
    item = next(source.list(), None)
    if item is None:
        msg = f"{source.url} has gone"
        raise SourceError(msg)
    return PlanRow(
        unit=0,
        bucket=0,
        doc_id=ids.doc_id(item.source_key),
        source_key=item.source_key,
        source_uri=item.source_uri,
        size_bytes=item.size,
        location=item.location,
        etag=item.etag,
        metadata=item.metadata,
        table_row=item.table_row,
    )


def _refused(parsed: ParsedDocument) -> DocumentError:
    outcome = parsed.outcome
    kind = cast("ErrorKind", outcome.error_kind or "internal")
    error = DocumentError(
        outcome.error_message or kind,
        kind=kind,
        stage=parsed.error_stage or "parse",
        retryable=outcome.retryable,
    )
    return _named(error, parsed.plan.source_key)


def _named(error: DocumentError, key: str) -> DocumentError:
    """Return the error with the document's name and the kind in its one line."""
    message = f"{key}: {error.kind}: {error}"
    named = DocumentError(message, kind=error.kind, stage=error.stage, retryable=error.retryable)
    named.__cause__ = error
    return named
