"""The real readers, but for files that end the process that reads them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from jobs.parsing import convert as real
from jobs.parsing.converted import Converted


def convert(path: Path, **options: Any) -> Converted:
    """Read a file; one that begins with ``poison`` aborts the process."""
    if path.read_bytes().startswith(b"poison"):
        os.abort()
    return real.convert(path, **options)
