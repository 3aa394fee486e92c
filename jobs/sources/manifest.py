"""Manifests: Parquet or CSV files with one URI per row; other columns are metadata.

The key of a document is its URI as the manifest has it. An ``s3://`` URI is read as
RFC 3986 has it (percent-encoded) and, where no such object exists, literally, because
many tools write keys as they are.
"""

from __future__ import annotations

import csv
import io
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from chunking.errors import AccessDeniedError, ConfigError, SourceError, StoreError
from jobs.adapters.stores.base import OUTAGES, CredentialsError, NoSuchRootError, ReadableStore
from jobs.adapters.stores.keys import decode_path, encode_path, printable
from jobs.adapters.stores.opening import parse_location
from jobs.globs import KeyFilter
from jobs.ports import ObjectInfo
from jobs.records import SourceItem
from jobs.sources.base import Fetched
from jobs.sources.columns import (
    as_metadata,
    missing_column,
    open_parquet,
    parquet_rows,
    scalar_columns,
)
from jobs.sources.objects import listing_errors
from jobs.sources.ranged import open_buffered
from jobs.sources.reading import UriReader

__all__ = ["ManifestSource", "csv_header"]

_THREADS = 16
_BATCH = 256
"""Rows whose objects are looked up together; bounds memory and keeps the order."""
Row = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class _NamedRow:
    """A row whose URI has been read: the canonical URIs it may stand for, likeliest first."""

    uri: str
    candidates: Sequence[str]
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestSource:
    """The documents that a Parquet or CSV file names by URI."""

    store: ReadableStore
    reader: UriReader
    info: ObjectInfo
    keys: KeyFilter
    is_parquet: bool

    @property
    def url(self) -> str:
        """Path or URL of the manifest."""
        return f"{self.store.url}/{printable(self.info.key)}"

    def list(self) -> Iterator[SourceItem]:
        """Yield the documents in the order of the rows.

        A document that is not there is listed with size 0 and no etag: it gets its row
        when it cannot be fetched.
        """
        rows = (self._named(*pair) for pair in enumerate(self._rows()))
        reached: set[str] = set()
        with listing_errors(), ThreadPoolExecutor(_THREADS) as pool:
            while batch := list(islice(rows, _BATCH)):
                self._reach([row.candidates[0] for row in batch], reached)
                found = pool.map(self._item, batch)
                yield from (item for item in found if self.keys.takes(item.source_key, 1))

    def fetch(self, location: str, table_row: int | None, path: Path) -> Fetched:
        """Write one document's bytes to ``path``."""
        del table_row
        return self.reader.fetch(location, path)

    def _rows(self) -> Iterator[Row]:
        if self.is_parquet:
            file = open_parquet(self.store, self.info)
            columns = scalar_columns(file.schema_arrow)
            self._require(columns)
            yield from parquet_rows(file, columns, self.url)
        else:
            yield from self._csv_rows()

    def _csv_rows(self) -> Iterator[Row]:
        with open_buffered(self.store, self.info) as binary:
            header, delimiter = csv_header(binary.peek(1), self.reader.source.uri_column)
            self._require(header)
            text = io.TextIOWrapper(binary, encoding="utf-8-sig", newline="")
            lines = csv.reader(text, delimiter=delimiter, strict=True)
            try:
                next(lines)
                for line in lines:
                    if line:
                        yield self._csv_row(header, line, lines.line_num)
            except (csv.Error, UnicodeDecodeError) as error:
                msg = f"{self.url}, near line {lines.line_num + 1}: {error}"
                raise SourceError(msg) from error

    def _csv_row(self, header: Sequence[str], line: Sequence[str], number: int) -> Row:
        if len(line) > len(header):
            msg = f"{self.url}, line {number}: {len(line)} fields under {len(header)} names"
            raise SourceError(msg)
        return {name: value for name, value in zip(header, line, strict=False) if value}

    def _require(self, columns: Sequence[str]) -> None:
        wanted = self.reader.source.uri_column
        if wanted not in columns:
            raise missing_column(self.url, wanted, "source.uri_column", columns)

    def _named(self, number: int, values: Row) -> _NamedRow:
        column = self.reader.source.uri_column
        value = values.get(column)
        uri = value.strip() if isinstance(value, str) else ""
        if not uri:
            msg = f"{self.url}: row {number} has no {column}"
            raise SourceError(msg)
        return _NamedRow(
            uri=uri,
            candidates=self._candidates(uri, number),
            metadata=as_metadata(values, (column,)),
        )

    def _item(self, row: _NamedRow) -> SourceItem:
        location, info = self._look_up(row.candidates) or (row.candidates[0], None)
        return SourceItem(
            source_key=printable(row.uri),
            source_uri=location,
            size=info.size if info else 0,
            etag=info.etag if info else "",
            location=location,
            metadata=row.metadata,
        )

    def _reach(self, uris: Sequence[str], reached: set[str]) -> None:
        """Find a wrong endpoint or wrong credentials once, before many requests wait for it."""
        for uri in uris:
            store, _ = self.reader.locate(uri)
            if store.url not in reached:
                try:
                    store.reach()
                except OUTAGES:
                    raise
                except StoreError as error:
                    raise SourceError(str(error)) from error
                reached.add(store.url)

    def _candidates(self, uri: str, number: int) -> Sequence[str]:
        """Return the canonical URIs that a manifest's URI may stand for, the likeliest first."""
        if "://" not in uri and not uri.startswith("/"):
            uri = posixpath.join(posixpath.dirname(self.url), uri)
        try:
            place = parse_location(uri)
        except ConfigError as error:
            msg = f"{self.url}: row {number}: {error}"
            raise SourceError(msg) from error
        if place.bucket is None:
            return ["file://" + encode_path(place.path)]
        keys = dict.fromkeys((decode_path(place.path), place.path))
        return [f"s3://{place.bucket}/{encode_path(key)}" for key in keys]

    def _look_up(self, candidates: Sequence[str]) -> tuple[str, ObjectInfo] | None:
        for uri in candidates:
            store, key = self.reader.locate(uri)
            try:
                info = store.head(key)
            except CredentialsError as error:
                raise SourceError(str(error)) from error
            except (AccessDeniedError, NoSuchRootError):
                continue
            if info is not None:
                return uri, info
        return None


def csv_header(head: bytes, wanted: str) -> tuple[list[str], str]:
    """Return the names in the first line and the delimiter that best explains them."""
    line = head[:65536].decode("utf-8-sig", errors="replace").splitlines()[:1]
    found: list[tuple[bool, int, list[str], str]] = []
    for delimiter in (",", ";", "\t", "|"):
        names = [name.strip() for name in next(csv.reader(line, delimiter=delimiter), [])]
        found.append((wanted in names, len(names), names, delimiter))
    best = max(found, key=lambda entry: entry[:2])
    return best[2], best[3]
