"""The pure chunking core: spans, units, boundaries, packing and pooling.

Imports the standard library, numpy and pyarrow only. Everything that touches the
world (Ray, docling, torch, object stores) lives in the package ``jobs``.

:func:`chunk_text` chunks a string; :func:`read_text`, :func:`split_units` and
:func:`chunk_document` are its steps, for documents with structure of their own.
"""

from chunking.api import TextChunk, chunk_text
from chunking.chunker import chunk_document
from chunking.errors import ChunkmillError
from chunking.model import Block, Chunk, Document, Sentence, Span, Tokens
from chunking.settings import PRESETS, ChunkingSettings
from chunking.text import PlainText, read_text
from chunking.units import split_units

__all__ = [
    "PRESETS",
    "Block",
    "Chunk",
    "ChunkingSettings",
    "ChunkmillError",
    "Document",
    "PlainText",
    "Sentence",
    "Span",
    "TextChunk",
    "Tokens",
    "chunk_document",
    "chunk_text",
    "read_text",
    "split_units",
]
