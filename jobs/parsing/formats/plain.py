"""Plain text: its paragraphs, in whatever encoding it comes."""

from __future__ import annotations

from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.converted import Converted, Source
from jobs.parsing.text import decode, decode_warnings

__all__ = ["read"]


def read(source: Source) -> Converted:
    """Read plain text: blank lines part paragraphs, whose lines are kept."""
    text = decode(source.path.read_bytes())
    builder = DocumentBuilder()
    builder.warnings += decode_warnings(text)
    builder.add("paragraph", text)
    return Converted(document=builder.build(), parser="text", warnings=tuple(builder.warnings))
