"""What the job asks of a source: to list its documents, and to bring one to a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from jobs.records import SourceItem

__all__ = ["Fetched", "Source"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What was brought: ``doc_version`` is the SHA-256 of exactly the ``size`` bytes written.

    ``etag`` belongs to these bytes, so it differs from the listing's if the document was
    changed in between.
    """

    size: int
    etag: str
    doc_version: str


class Source(Protocol):
    """Documents in a deterministic order; picklable, so that every worker can fetch."""

    @property
    def url(self) -> str:
        """What the user gave, made absolute, without credentials."""
        ...

    def list(self) -> Iterator[SourceItem]:
        """Yield every document of the source, lazily; nothing is downloaded.

        The same source gives the same order. A manifest or table that names one
        document twice yields it twice: whoever plans decides.

        Raises:
            SourceError: something of the source may not be listed, or is malformed.
            StoreError: the store failed for good.
        """
        ...

    def fetch(self, location: str, table_row: int | None, path: Path) -> Fetched:
        """Write one document's bytes to ``path``, hashing them on the way.

        ``location`` and ``table_row`` are those of its :class:`SourceItem`.

        Raises:
            DocumentError: ``too_large``; ``corrupt`` (a table row that is no row); or
                ``network``, retryable, when the document has gone or cannot be read.
            StoreError: the store fails as a whole, or no longer lets us in; no document is
                to blame, and the job should end.
        """
        ...
