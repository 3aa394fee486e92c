"""Sources: where documents are listed and read from."""

from __future__ import annotations

from jobs.sources.base import Fetched, Source
from jobs.sources.opening import open_source

__all__ = ["Fetched", "Source", "open_source"]
