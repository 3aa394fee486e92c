"""The values that travel between stages, and their Arrow forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

__all__ = ["SourceItem", "UnitTables"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceItem:
    """One document as the listing sees it; nothing has been downloaded.

    ``location`` is what the source needs to read it: an object key below the source's
    root, a full URI (manifest), or a table file with ``table_row``.
    """

    source_key: str
    source_uri: str
    size: int
    etag: str
    location: str
    table_row: int | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitTables:
    """A unit's result: rows of its documents in the published schemas.

    ``documents`` has one row per planned document of the unit, whatever happened to
    it. ``sentences`` is None where no model pass was made or it is not kept.
    """

    documents: pa.Table
    chunks: pa.Table
    boundaries: pa.Table
    sentences: pa.Table | None
