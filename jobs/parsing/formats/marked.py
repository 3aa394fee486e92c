"""Text formats that docling reads once their bytes are UTF-8: AsciiDoc, LaTeX, WebVTT.

A cue of WebVTT is a paragraph behind the name of who speaks; its number and times are no text.
"""

from __future__ import annotations

import re

from docling.datamodel.base_models import InputFormat

from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.canonical import add_docling
from jobs.parsing.converted import Converted, Source
from jobs.parsing.docling_reader import read_with_docling
from jobs.parsing.formats.asciidoc import plain_macros
from jobs.parsing.text import clean, decode, decode_warnings

__all__ = ["read"]

_FORMATS = {
    "adoc": InputFormat.ASCIIDOC,
    "tex": InputFormat.LATEX,  # from a stream: \\input and \\includegraphics reach no file
    "vtt": InputFormat.VTT,
}

_HEADER = re.compile(r"\AWEBVTT[ \t]+-+[ \t]*(.*)")
"""The first line of a WebVTT file with a title behind a dash."""
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?[ \t]+([^>\n]{1,200})>")


def read(source: Source) -> Converted:
    """Read an AsciiDoc, LaTeX or WebVTT file."""
    text = clean(decode(source.path.read_bytes()))
    builder = DocumentBuilder()
    builder.warnings += decode_warnings(text)
    if source.format == "adoc":
        text = plain_macros(text)
    elif source.format == "vtt":
        text = _VOICE.sub(r"\1: ", _HEADER.sub(r"WEBVTT \1", text)).replace("</v>", "")
    add_docling(builder, read_with_docling(text.encode(), _FORMATS[source.format]))
    return Converted(document=builder.build(), warnings=tuple(builder.warnings))
