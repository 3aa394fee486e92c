"""Every foreign document under every strategy keeps every law.

``CHUNKMILL_FULL_CORPUS=1`` takes all files, of any size and format, each under more
settings; else those that are read quickly, under the usual ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from chunking.chunker import chunk_document
from chunking.errors import DocumentError
from chunking.model import Document
from chunking.settings import ChunkingSettings
from chunking.units import split_units
from jobs.adapters.hash_embedder import HashEmbedder
from jobs.config import LimitsConfig, ModelConfig, ParserConfig
from jobs.parsing.convert import convert
from jobs.parsing.detect import detect_format
from jobs.parsing.pool import ChildParser
from tests.chunking.laws import violations
from tests.chunking.making import STRATEGIES
from tests.chunking.strategies import vectors_of
from tests.corpus import bulk_files, hard_files, reports, requires_corpus

pytestmark = [pytest.mark.corpus, requires_corpus]

FULL = os.environ.get("CHUNKMILL_FULL_CORPUS") == "1"
LARGEST = 40_000
EACH_BULK_FORMAT = 8
READ_HERE = frozenset(("adoc", "csv", "docx", "eml", "epub", "html", "md", "odt", "pptx", "txt"))

USUAL = [ChunkingSettings(boundaries=boundaries) for boundaries in STRATEGIES]
NARROW = [
    replace(chosen, max_tokens=48, min_tokens=12, target_tokens=32, prefix_headings=prefix)
    for chosen in USUAL
    for prefix in (True, False)
]
OVERLAPPING = [
    replace(chosen, overlap=amount, overlap_unit=unit)
    for chosen in USUAL
    if chosen.boundaries in ("fixed", "recursive")
    for amount, unit in ((2, "sentences"), (30, "tokens"))
]
WIDE = [replace(chosen, max_tokens=400, min_tokens=80, target_tokens=260) for chosen in USUAL]


def keys() -> Iterator[tuple[str, Path]]:
    """Yield the name and path of each file to be read."""
    every = [(f"hard/{f.key}", f.format, f.size, f.path) for f in hard_files()]
    every += [(f"reports/{f.key}", f.path.suffix[1:], 0, f.path) for f in reports()]
    every += [(f"bulk/{f.key}", f.format, f.size, f.path) for f in bulk_files()]
    if FULL:
        yield from ((key, path) for key, _, _, path in every)
        return
    quick = [row for row in every if row[1] in READ_HERE and row[2] <= LARGEST]
    yield from ((key, path) for key, _, _, path in quick if not key.startswith("bulk/"))
    for format_ in sorted(READ_HERE):
        bulk = (row for row in quick if row[0].startswith("bulk/") and row[1] == format_)
        yield from ((key, path) for key, _, _, path in islice(bulk, EACH_BULK_FORMAT))


@pytest.fixture(scope="module")
def parser() -> Iterator[ChildParser | None]:
    """Give a parser in a process of its own, for files that may do harm."""
    if not FULL:
        yield None
        return
    child = ChildParser(ParserConfig(), LimitsConfig())
    child.start()
    yield child
    child.close()


def read(path: Path, parser: ChildParser | None) -> Document | None:
    """Return the document in a file, None where none can be read."""
    if parser is not None:
        return parser.parse(path, name=path.name).document
    format_ = detect_format(path, path.name)
    if format_ not in READ_HERE:
        return None
    try:
        return convert(path, format=format_, name=path.name, settings=ParserConfig()).document
    except DocumentError:
        return None


@pytest.mark.parametrize("path", [pytest.param(path, id=key) for key, path in keys()])
def test_a_foreign_document_keeps_every_law(path: Path, parser: ChildParser | None) -> None:
    """Exact slices, order, coverage, cap, minimum, rows, headings and reasons."""
    document = read(path, parser)
    if document is None:
        pytest.skip("the file holds no document that is read here")
    model = HashEmbedder(ModelConfig(name="hash:16"))
    tokens = model.tokenize(document.text)
    units = split_units(document, tokens)
    vectors = vectors_of("topics", len(units))
    found = []
    for chosen in [*USUAL, *NARROW, *OVERLAPPING, *WIDE] if FULL else [*USUAL, *NARROW[::5]]:
        chunks = chunk_document(document, units, tokens, vectors, chosen, model.count)
        broken = violations(document, units, chunks, chosen, model.count)
        found += [f"{chosen}: {line}" for line in broken]
    assert not found
