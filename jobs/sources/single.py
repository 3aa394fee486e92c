"""One document by itself: a file or object that a person names, or a text at hand.

Unlike SRC of a job, the file is always the document, even where it looks like a table
or a manifest of many.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from chunking.errors import SourceError, StoreError
from jobs.adapters.stores.keys import printable
from jobs.adapters.stores.opening import Location, open_root, parse_location
from jobs.config import Config
from jobs.records import SourceItem
from jobs.sources.base import Fetched
from jobs.sources.columns import encode_text
from jobs.sources.objects import SingleSource
from jobs.sources.reading import UriReader, refuse_above, write_hashed

__all__ = ["TextSource", "open_file"]


def open_file(path: str, config: Config) -> SingleSource:
    """Return the one document at a path or ``s3://`` URL; nothing is read yet.

    Raises:
        SourceError: nothing is there, it is no regular file, or it may not be read.
        ConfigError: the scheme is not supported.
    """
    place = parse_location(path)
    if place.is_local and Path(place.path).is_dir():
        msg = f"{printable(path)} is a folder; name one file"
        raise SourceError(msg)
    folder, _, name = place.path.rpartition("/")
    root = Location(bucket=place.bucket, path=folder or ("/" if place.is_local else ""))
    store = open_root(root, config.source, anonymous=config.source.anonymous)
    try:
        found = store.head(name) if name else None
    except StoreError as error:
        msg = f"cannot read {printable(path)}: {error}"
        raise SourceError(msg) from error
    if found is None:
        msg = f"{printable(path)} does not exist, or is no regular file"
        raise SourceError(msg)
    return SingleSource(store=store, reader=UriReader.of(config), key=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSource:
    """A text as the one document of a source; its key is the name given to it."""

    name: str
    text: str
    max_bytes: int

    @property
    def url(self) -> str:
        """A URI that names the text, but no place to find it."""
        return f"text:{quote(self.name, safe='')}"

    def list(self) -> Iterator[SourceItem]:
        """Yield the text."""
        data = encode_text(self.text)
        yield SourceItem(
            source_key=self.name,
            source_uri=self.url,
            size=len(data),
            etag=hashlib.sha256(data).hexdigest(),
            location=self.url,
        )

    def fetch(self, location: str, table_row: int | None, path: Path) -> Fetched:
        """Write the text to ``path`` as UTF-8."""
        del location, table_row
        data = encode_text(self.text)
        refuse_above(self.max_bytes, len(data))
        size, digest = write_hashed(iter((data,)), path, self.max_bytes)
        return Fetched(size=size, etag=digest, doc_version=digest)
