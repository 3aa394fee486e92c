"""A text at hand as the one document of a source."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from jobs.records import SourceItem
from jobs.sources.base import Fetched
from jobs.sources.columns import encode_text
from jobs.sources.reading import refuse_above, write_hashed

__all__ = ["TextSource"]


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
