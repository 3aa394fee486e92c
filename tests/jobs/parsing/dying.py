"""The real reader, with pages on which it dies as native code does."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from docling.backend.docling_parse_backend import ThreadedDoclingParsePageBackend

from jobs.parsing import convert as real
from jobs.parsing.converted import Converted
from jobs.parsing.pdf import engine

assert engine, "imported before children are forked, which would each wait for it"
_segmented = ThreadedDoclingParsePageBackend.get_segmented_page


def _words(page: ThreadedDoclingParsePageBackend) -> Any:
    content = _segmented(page)
    text = " ".join(cell.text for cell in content.textline_cells) if content else ""
    if "abort" in text:
        os.abort()
    if "hang" in text:
        time.sleep(600)
    if "slow" in text:
        time.sleep(0.6)
    if "eat" in text:
        raise MemoryError
    return content


def convert(path: Path, **options: Any) -> Converted:
    """Read a file; pages that say so abort the process, hang, are slow or eat memory."""
    ThreadedDoclingParsePageBackend.get_segmented_page = _words
    return real.convert(path, **options)
