"""Tables: Parquet or JSON lines with a text column; every row is one document.

Rows are read twice: in order by the listing, which hashes each text (so that a row that
did not change is not processed again), and one by one by the workers. A JSON line is
addressed by its byte range. Parquet has no such address, so a worker decodes a whole
row group once and keeps its texts in an unlinked, memory-mapped temporary file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

import pyarrow as pa

from chunking.errors import DocumentError, SourceError
from jobs.adapters.stores.base import ReadableStore
from jobs.adapters.stores.keys import printable
from jobs.config import Config
from jobs.globs import KeyFilter
from jobs.ports import ObjectInfo
from jobs.records import SourceItem
from jobs.sources.base import Fetched
from jobs.sources.columns import (
    as_metadata,
    as_text,
    encode_text,
    missing_column,
    open_parquet,
    parquet_rows,
    scalar_columns,
    well_formed,
)
from jobs.sources.health import Health
from jobs.sources.json_lines import Line, json_lines, parse_row, text_of
from jobs.sources.reading import fetch_errors, refuse_above, write_hashed
from jobs.sources.row_groups import RowGroups

__all__ = ["TableSource"]


@dataclass(slots=True, kw_only=True)
class TableSource:
    """The rows of one Parquet or JSON-lines object."""

    store: ReadableStore
    info: ObjectInfo
    keys: KeyFilter
    text_column: str
    id_column: str | None
    is_parquet: bool
    max_bytes: int
    tmp_dir: str | None
    health: Health
    _opened: RowGroups | str | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls, store: ReadableStore, info: ObjectInfo, config: Config, *, is_parquet: bool
    ) -> TableSource:
        """Return the source, its columns checked as far as the schema tells them.

        Raises:
            SourceError: the text column holds no text, or the id column is not there.
        """
        source = cls(
            store=store,
            info=info,
            keys=KeyFilter(include=config.source.include, exclude=config.source.exclude),
            text_column=config.source.text_column,
            id_column=config.source.id_column,
            is_parquet=is_parquet,
            max_bytes=config.limits.document_bytes,
            tmp_dir=config.resources.tmp_dir,
            health=Health(seconds=config.source.retry_seconds),
        )
        if is_parquet:
            source._check_schema(open_parquet(store, info).schema_arrow)
        return source

    def __getstate__(self) -> dict[str, Any]:
        """Leave what is opened behind: every process opens its own."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "_opened"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the values over, nothing opened."""
        for name, value in state.items():
            setattr(self, name, value)
        self._opened = None

    @property
    def url(self) -> str:
        """Path or URL of the table."""
        return f"{self.store.url}/{printable(self.info.key)}"

    def list(self) -> Iterator[SourceItem]:
        """Yield the rows in order; ``etag`` is the hash of the text."""
        items = self._parquet_items() if self.is_parquet else self._json_items()
        return (item for item in items if self.keys.takes(item.source_key, 1))

    def fetch(self, location: str, table_row: int | None, path: Path) -> Fetched:
        """Write one row's text to ``path`` as UTF-8."""
        address = {key: values[0] for key, values in parse_qs(location.partition("#")[2]).items()}
        with fetch_errors():
            read = partial(self._read, address, table_row or 0)
            data = self.health.reading(self.store, self.info.key, read)
            refuse_above(self.max_bytes, len(data))
            size, digest = write_hashed(iter((data,)), path, self.max_bytes)
        return Fetched(size=size, etag=digest, doc_version=digest)

    def _read(self, address: dict[str, str], row: int) -> bytes:
        if self.is_parquet:
            groups = self._row_groups(address["etag"])
            return encode_text(groups.text(row))
        self._same_version(address["etag"])
        start, length = int(address["start"]), int(address["length"])
        refuse_above(self.max_bytes, length)
        line = self.store.read_range(self.info.key, start, length)
        return encode_text(text_of(line, self.text_column))

    def _row_groups(self, etag: str) -> RowGroups:
        if not isinstance(self._opened, RowGroups):
            self._same_version(etag)
            file = open_parquet(self.store, self.info)
            self._opened = RowGroups(file, self.text_column, tmp_dir=self.tmp_dir)
        return self._opened

    def _same_version(self, etag: str) -> None:
        """Refuse to read rows of a table that was replaced since it was listed."""
        if self._opened is None:
            info = self.store.head(self.info.key)
            self._opened = info.etag if info is not None else ""
        if self._opened != etag:
            msg = f"{self.url} was replaced after it had been listed"
            raise DocumentError(msg, kind="network", stage="fetch", retryable=True)

    def _check_schema(self, schema: pa.Schema) -> None:
        kind = schema.field(self.text_column).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
        if not any(is_text(kind) for is_text in texts):
            msg = f"{self.url}: column {self.text_column!r} holds {kind}, not text"
            raise SourceError(msg)
        if self.id_column is not None and self.id_column not in schema.names:
            raise missing_column(self.url, self.id_column, "source.id_column", schema.names)

    def _parquet_items(self) -> Iterator[SourceItem]:
        file = open_parquet(self.store, self.info)
        rows = parquet_rows(file, scalar_columns(file.schema_arrow), self.url)
        for number, row in enumerate(rows):
            yield self._item(number, row, encode_text(row[self.text_column]), {})

    def _json_items(self) -> Iterator[SourceItem]:
        with self.store.open(self.info.key) as found:
            for number, line in enumerate(json_lines(found.chunks(), self.max_bytes)):
                row, data = self._parsed(line)
                address = {"start": str(line.start), "length": str(line.length)}
                yield self._item(number, row, data, address)

    def _parsed(self, line: Line) -> tuple[dict[str, object], bytes]:
        """Return a line's columns and text; none for a line that is no row, which then fails."""
        row = parse_row(line.data)
        text = row.get(self.text_column)
        if not row or not (text is None or isinstance(text, str)):
            return row, line.data
        return row, encode_text(text)

    def _item(
        self, number: int, row: dict[str, object], data: bytes, address: dict[str, str]
    ) -> SourceItem:
        id_column = self.id_column or "id"
        given = row.get(id_column)
        key = as_text(given) if given not in (None, "") else f"{self.info.key}#{number}"
        uri = self.store.uri(self.info.key)
        return SourceItem(
            source_key=well_formed(printable(key)),
            source_uri=f"{uri}#row={number}",
            size=len(data),
            etag=hashlib.sha256(data).hexdigest(),
            location=f"{uri}#{urlencode({'etag': self.info.etag, **address})}",
            table_row=number,
            metadata=as_metadata(row, (self.text_column, id_column)),
        )
