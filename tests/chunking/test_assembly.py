from __future__ import annotations

import pytest

from chunking.chunker import chunk_document
from chunking.model import Block, Document
from chunking.settings import ChunkingSettings
from chunking.units import split_units
from tests.chunking.strategies import ADDITIVE


@pytest.mark.parametrize(
    ("first", "second", "language"),
    [(None, None, "da"), ("de", None, "de"), (None, "de", "da"), ("de", "de", "de")],
)
def test_the_language_of_most_of_a_chunk_is_its_language(
    first: str | None, second: str | None, language: str
) -> None:
    """A chunk over two paragraphs takes the language of the longer one."""
    blocks = (
        Block(start=0, end=20, index=0, kind="paragraph", language=first),
        Block(start=22, end=30, index=1, kind="paragraph", language=second),
    )
    document = Document(text="Eins zwei drei vier.\n\nEt to tr", blocks=blocks, language="da")
    tokens = ADDITIVE(document.text)
    settings = ChunkingSettings(boundaries="structural")
    units = split_units(document, tokens)
    (chunk,) = chunk_document(document, units, tokens, None, settings, ADDITIVE.count)
    assert chunk.language == language
