"""From SRC, as a user types it, to a source: folder, glob, single file, manifest or table.

A folder or prefix is one; a pattern is a glob unless something has that very name; of a
single file the content decides: Parquet and JSON lines with the text column are tables,
Parquet and CSV with the URI column are manifests, anything else is one document.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chunking.errors import ObjectNotFoundError, SourceError, StoreError
from jobs.adapters.stores.base import OUTAGES, ReadableStore, UnreachableError
from jobs.adapters.stores.keys import printable
from jobs.adapters.stores.opening import Location, open_root, parse_location
from jobs.config import Config, SourceConfig
from jobs.globs import KeyFilter, has_magic, split_magic
from jobs.ports import ObjectInfo
from jobs.sources.base import Source
from jobs.sources.columns import missing_column, open_parquet
from jobs.sources.manifest import ManifestSource, csv_header
from jobs.sources.objects import FolderSource, SingleSource
from jobs.sources.reading import UriReader
from jobs.sources.tables import TableSource

__all__ = ["open_file", "open_source"]

_HEAD_BYTES = 1024 * 1024
"""Bytes of a single file that are looked at to tell what it is."""


def open_source(src: str, config: Config, dst_url: str | None) -> Source:
    """Return the source that ``src`` names, having seen at least one document in it.

    ``dst_url`` is left out of the listing where it lies inside SRC.

    Raises:
        SourceError: SRC is missing, empty, malformed, or may not be read; the message is
            one line and comes within seconds.
        UnreachableError: its store does not answer; later it may.
        ConfigError: the scheme is not supported, or a pattern is no glob.
    """
    with _source_errors(src):
        source = _open(src, config, dst_url)
        if next(source.list(), None) is None:
            rules = " that source.include and source.exclude leave" if _has_rules(config) else ""
            msg = f"no documents{rules} in {src}"
            raise SourceError(msg)
    return source


@contextmanager
def _source_errors(src: str) -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        msg = f"cannot read {src}: {error}"
        kind = UnreachableError if isinstance(error, OUTAGES) else SourceError
        raise kind(msg) from error


def _has_rules(config: Config) -> bool:
    return bool(config.source.include or config.source.exclude)


def _open(src: str, config: Config, dst_url: str | None) -> Source:
    place = parse_location(src)
    if place.is_local:
        return _open_local(src, place, config, dst_url)
    return _open_remote(src, place, config, dst_url)


def _open_local(src: str, place: Location, config: Config, dst_url: str | None) -> Source:
    path = Path(place.path)
    if path.is_dir():
        return _folder(place, config, dst_url)
    if path.exists():
        return _single(place, config)
    if has_magic(place.path):
        return _glob(src, place, config, dst_url)
    msg = f"{src} does not exist"
    raise SourceError(msg)


def _open_remote(src: str, place: Location, config: Config, dst_url: str | None) -> Source:
    store = _root(place, config.source)
    store.check()
    if not place.path or next(store.list(), None) is not None:
        return _folder(place, config, dst_url)
    if _name(place) and _parent(place, config.source).head(_name(place)) is not None:
        return _single(place, config)
    if has_magic(place.path):
        return _glob(src, place, config, dst_url)
    msg = f"nothing in {src}"
    raise SourceError(msg)


def open_file(path: str, config: Config) -> SingleSource:
    """Return the one document at a path or ``s3://`` URL; nothing is read yet.

    Unlike :func:`open_source` takes the file as the document, even where it looks like a
    table or a manifest of many.

    Raises:
        SourceError: nothing is there, it is no regular file, or it may not be read.
        ConfigError: the scheme is not supported.
    """
    place, shown = parse_location(path), printable(path)
    if place.is_local and Path(place.path).is_dir():
        msg = f"{shown} is a folder; name one file"
        raise SourceError(msg)
    store, name = _parent(place, config.source), _name(place)
    with _source_errors(shown):
        found = store.head(name) if name else None
    if found is None:
        msg = f"{shown} does not exist, or is no regular file"
        raise SourceError(msg)
    return SingleSource(store=store, reader=UriReader.of(config), key=name)


def _root(place: Location, source: SourceConfig) -> ReadableStore:
    return open_root(place, source, anonymous=source.anonymous)


def _parent(place: Location, source: SourceConfig) -> ReadableStore:
    folder = place.path.rpartition("/")[0]
    path = folder if place.bucket is not None else folder or "/"
    return _root(Location(bucket=place.bucket, path=path), source)


def _name(place: Location) -> str:
    return place.path.rpartition("/")[2]


def _glob(src: str, place: Location, config: Config, dst_url: str | None) -> Source:
    folder, pattern = split_magic(place.path)
    if place.is_local and not Path(folder).is_dir():
        msg = f"nothing matches {src}: {folder} does not exist"
        raise SourceError(msg)
    return _folder(Location(bucket=place.bucket, path=folder), config, dst_url, pattern)


def _folder(
    place: Location, config: Config, dst_url: str | None, pattern: str | None = None
) -> Source:
    store = _root(place, config.source)
    destination = parse_location(dst_url) if dst_url is not None else None
    is_local = destination is not None and destination.is_local and place.is_local
    return FolderSource(
        store=store,
        reader=UriReader.of(config),
        keys=KeyFilter(include=config.source.include, exclude=config.source.exclude, below=pattern),
        left_out=_inside(place, destination) if destination else "",
        dst_folder=destination.path if destination and is_local else None,
    )


def _inside(place: Location, destination: Location) -> str:
    """Return the key prefix of DST below SRC; empty if it is elsewhere.

    Raises:
        SourceError: they are the same place.
    """
    if place.bucket != destination.bucket:
        return ""
    above, below = place.path, destination.path
    if place.is_local:
        above, below = str(Path(above).resolve()), str(Path(below).resolve())
    above, below = above.rstrip("/") + "/", below.rstrip("/") + "/"
    above = "" if above == "/" and not place.is_local else above
    below = "" if below == "/" and not place.is_local else below
    if above == below:
        msg = "SRC and DST are the same place; write to another folder or prefix"
        raise SourceError(msg)
    return below.removeprefix(above) if below.startswith(above) else ""


def _single(place: Location, config: Config) -> Source:
    store = _parent(place, config.source)
    info = store.head(_name(place))
    if info is None:
        msg = f"{printable(place.path)} is not a regular file"
        raise ObjectNotFoundError(msg)
    head = store.read_range(info.key, 0, _HEAD_BYTES)
    reader = UriReader.of(config)
    keys = KeyFilter(include=config.source.include, exclude=config.source.exclude)
    if head.startswith(b"PAR1"):
        return _parquet(store, info, config, reader, keys)
    if _is_json_lines(head, info.key, config.source.text_column):
        return TableSource.of(store, info, config, is_parquet=False)
    if _is_csv(head, info.key, config.source.uri_column):
        return ManifestSource(store=store, reader=reader, info=info, keys=keys, is_parquet=False)
    return SingleSource(store=store, reader=reader, key=info.key)


def _parquet(
    store: ReadableStore, info: ObjectInfo, config: Config, reader: UriReader, keys: KeyFilter
) -> Source:
    names = open_parquet(store, info).schema_arrow.names
    if config.source.text_column in names:
        return TableSource.of(store, info, config, is_parquet=True)
    if config.source.uri_column in names:
        return ManifestSource(store=store, reader=reader, info=info, keys=keys, is_parquet=True)
    wanted = config.source.text_column
    error = missing_column(store.uri(info.key), wanted, "source.text_column", names)
    uri_column = config.source.uri_column
    msg = f"{error}, or source.uri_column if it is a manifest (it has no {uri_column!r} either)"
    raise SourceError(msg)


def _is_json_lines(head: bytes, name: str, text_column: str) -> bool:
    """Tell a table of JSON lines, which has the text column, from a JSON document.

    A file that is called one is taken at its word.
    """
    line, newline, _ = head.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    is_named = name.lower().endswith((".jsonl", ".ndjson"))
    if is_named and line.startswith(b"{") and not newline and len(head) == _HEAD_BYTES:
        return True
    try:
        first = json.loads(line)
    except ValueError:
        return False
    if not isinstance(first, dict):
        return False
    if text_column in first:
        return True
    if is_named:
        raise missing_column(name, text_column, "source.text_column", first)
    return False


def _is_csv(head: bytes, name: str, uri_column: str) -> bool:
    """Tell a manifest, whose first line names the URI column; one called CSV must be one."""
    header, _ = csv_header(head, uri_column)
    if uri_column in header:
        return True
    if name.lower().endswith((".csv", ".tsv")):
        error = missing_column(name, uri_column, "source.uri_column", header)
        msg = f"{error}, or give the folder or a glob to read CSV files as documents"
        raise SourceError(msg)
    return False
