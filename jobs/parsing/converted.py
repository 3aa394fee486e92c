"""The value that every reader returns, apart so that readers and dispatch can share it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from chunking.model import Document
from jobs.config import ParserConfig

__all__ = ["Converted", "Source"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One local file to read; its name is for messages only."""

    path: Path
    format: str
    name: str
    settings: ParserConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """A document that was read; ``partial`` when a warning names something that was lost.

    ``parser`` names what read it, such as ``docling`` or ``text``.
    """

    document: Document
    status: Literal["ok", "partial"] = "ok"
    parser: str = "docling"
    warnings: tuple[str, ...] = ()
