"""What a file is, told by its content alone: no name, no extension is looked at."""

from __future__ import annotations

from pathlib import Path

import filetype

__all__ = ["detect_format"]

_BY_MAGIC = {"pdf": "pdf", "png": "image", "jpg": "image", "tif": "image", "epub": "epub"}


def detect_format(path: Path, name: str) -> str:
    """Return the format of a file: ``pdf docx html md txt ...``; ``name`` is not used."""
    del name
    kind = filetype.guess(str(path))
    return _BY_MAGIC.get(kind.extension, "unknown") if kind else "txt"
