"""The real reader, with pages on which it dies as native code does."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from jobs.parsing import convert as real
from jobs.parsing.converted import Converted
from jobs.parsing.pdf import engine, gather
from jobs.parsing.pdf.gather import FilePages
from jobs.parsing.pdf.reader import ReadPage

assert engine, "imported before children are forked, which would each wait for it"
_take = gather._take


def _taken(page: ReadPage, pages: FilePages) -> None:
    text = " ".join(line.text for line in page.text.lines) if page.text else ""
    if "abort" in text:
        os.abort()
    if "hang" in text:
        time.sleep(600)
    if "slow" in text:
        time.sleep(0.6)
    if "eat" in text:
        raise MemoryError
    _take(page, pages)


def convert(path: Path, **options: Any) -> Converted:
    """Read a file; pages that say so abort the process, hang, are slow or eat memory."""
    gather._take = _taken
    return real.convert(path, **options)
