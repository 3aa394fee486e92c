"""Minimal inputs after public bug reports: what their chunks must hold, under every strategy.

Counted by the tokenizer of the default model, and independently of the core. Every pair of
file, strategy and cap is met; ``CHUNKMILL_FULL_CORPUS=1`` takes every file under every
strategy with every cap.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise

import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from chunking.chunker import chunk_document
from chunking.model import Chunk, Document
from chunking.settings import ChunkingSettings, Strategy
from chunking.units import split_units
from jobs.adapters.model_files import locate
from jobs.adapters.tokenizer import FastTokenizer
from jobs.config import LimitsConfig, ParserConfig
from jobs.parsing.pool import ChildParser
from tests.chunking.laws import violations
from tests.chunking.making import STRATEGIES, texts
from tests.chunking.strategies import vectors_of
from tests.corpus import REPORTS, requires_corpus
from tests.jobs.parsing.made import read
from tests.models import MINILM

pytestmark = [pytest.mark.corpus, requires_corpus]

CAPS = (64, 128, 200)


@cache
def tokenizer() -> PreTrainedTokenizerBase:
    """Return the default model's tokenizer."""
    loaded: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(locate(MINILM, None))
    return loaded


@cache
def document(name: str) -> Document:
    """Return the document in a file of the reports."""
    return read(REPORTS / name, name.rsplit(".", 1)[-1]).document


@cache
def chunked(name: str, boundaries: Strategy, cap: int) -> tuple[Document, list[Chunk]]:
    """Return a document and its chunks, which keep every law by the real counter."""
    adapter = FastTokenizer(tokenizer(), "")
    found = document(name)
    tokens = adapter.tokenize(found.text)
    units = split_units(found, tokens)
    chosen = ChunkingSettings(
        boundaries=boundaries, max_tokens=cap, target_tokens=cap * 3 // 5, min_tokens=cap // 5
    )
    vectors = vectors_of("topics", len(units))
    chunks = chunk_document(found, units, tokens, vectors, chosen, adapter.count)
    assert not violations(found, units, chunks, chosen, adapter.count)
    inputs = [chunk.prefix + text for chunk, text in zip(chunks, texts(found, chunks), strict=True)]
    assert all(len(ids) <= cap for ids in tokenizer()(inputs)["input_ids"])
    return found, chunks


def once(numbers: Sequence[str], found: Document, chunks: Sequence[Chunk]) -> None:
    """Demand that each word stands in exactly one chunk, in order."""
    text = "\n".join(texts(found, chunks))
    places = [[match.start() for match in re.finditer(re.escape(n), text)] for n in numbers]
    assert [len(place) for place in places] == [1] * len(numbers)
    assert places == sorted(places)


def holding(word: str, found: Document, chunks: Sequence[Chunk]) -> Chunk:
    """Return the first chunk whose text holds a word."""
    return next(c for c in chunks if word in found.text[c.start : c.end])


def over_budget_by_one(found: Document, chunks: Sequence[Chunk]) -> None:
    """Every item exactly once; the cap is checked for all."""
    once([f"item{n:04}" for n in range(120)], found, chunks)
    assert any(chunk.prefix for chunk in chunks)


def table_over_many_chunks(found: Document, chunks: Sequence[Chunk]) -> None:
    """Each chunk with a row has the names of the columns, each row is in one chunk."""
    once([f"V-{n:03}" for n in range(1, 61)], found, chunks)
    for chunk, text in zip(chunks, texts(found, chunks), strict=True):
        if "V-" in text:
            held = chunk.prefix + text
            assert all(name in held for name in ("Berth", "Vessel", "Tonnage", "Departed"))
        assert not re.search(r"^\|[^\n]*[^|\n]$", text, re.MULTILINE)


def outline_numbers(found: Document, chunks: Sequence[Chunk]) -> None:
    """Headings in path and text have the outline's own numbers."""
    names = ("3 Mooring rules", "3.1 Scope of the rules", "3.2 Duties of the pilot",
             "3.2.1 Night pilotage", "3.3 Fees")  # fmt: skip
    text = "\n".join(chunk.prefix for chunk in chunks) + "\n".join(texts(found, chunks))
    assert all(name in text for name in names)
    assert {name for chunk in chunks for name in chunk.heading_path} <= set(names)


def list_after_numbered_heading(found: Document, chunks: Sequence[Chunk]) -> None:
    """Items stay below their heading."""
    once(["alpha point", "beta point", "Second part", "gamma point", "delta point",
          "Closing remark", "Third part", "Last words"], found, chunks)  # fmt: skip
    chunk = holding("gamma point", found, chunks)
    text = found.text[chunk.start : chunk.end]
    assert "Second part" in text or "Second part" in " ".join(chunk.heading_path)


def malformed_hyperlink(found: Document, chunks: Sequence[Chunk]) -> None:
    """Demand that a bad address costs no text."""
    once(["Text ahead of the link.", "tide tables", "Text behind the link."], found, chunks)


def table_in_list_item(found: Document, chunks: Sequence[Chunk]) -> None:
    """Demand a table with its header, and its inner list in its cell."""
    text = "\n".join(texts(found, chunks))
    assert re.search(r"\| Part +\| Stock", text)
    assert re.search(r"\| cleat[^\n]*left store[^\n]*right store[^\n]*\| 14", text)
    chunk = holding("bollard", found, chunks)
    assert "Part" in chunk.prefix + found.text[chunk.start : chunk.end]


def text_before_first_heading(found: Document, chunks: Sequence[Chunk]) -> None:
    """Demand the lead ahead of the first heading."""
    once(["Skagen light burns 24 hours", "Focal height", "Paragraph below the heading"],
         found, chunks)  # fmt: skip
    assert "Focal height 44 m" in "\n".join(texts(found, chunks))
    assert not holding("Skagen light burns", found, chunks).prefix


def dash_run(found: Document, chunks: Sequence[Chunk]) -> None:
    """Demand that a run of markers hides nothing."""
    once(["free use with naming of the source", "Closing line"], found, chunks)


def single_column(found: Document, chunks: Sequence[Chunk]) -> None:
    """One column with its header in front of every row."""
    text = "\n".join(texts(found, chunks))
    assert len(re.findall(r"^\| (?!Trade|---)[^|\n]+ \|$", text, re.MULTILINE)) == 9
    assert "| Sailmaking/Rigging |" in text
    for chunk, part in zip(chunks, texts(found, chunks), strict=True):
        assert "Trade" in chunk.prefix + part


def utf16le_bom(found: Document, chunks: Sequence[Chunk]) -> None:
    """Three columns, read as UTF-16."""
    text = "\n".join(texts(found, chunks))
    assert "| Navn | Alder | By |" in text
    assert "| Åse Øgård | 31 | Ærøskøbing |" in text
    assert "| Jörg Weiß | 47 | Flensborg |" in text
    assert not set("\x00\ufffd") & set(text)


def cell_specifiers(found: Document, chunks: Sequence[Chunk]) -> None:
    """No cell is lost to its format."""
    text = "\n".join(texts(found, chunks))
    assert all(x in text for x in ("Field", "Description", "First value", "Second value"))


def inflated_dimension(found: Document, chunks: Sequence[Chunk]) -> None:
    """20 rows of 3 columns, none of them cut, no stray delimiter line."""
    lines = "\n".join(texts(found, chunks)).split("\n")
    rows = [line for line in lines if line.startswith("| row ")]
    assert len(rows) == 20
    assert {line.count("|") for line in rows} == {4}
    assert "220" in rows[-1]
    assert not any(text.startswith("| -") for text in texts(found, chunks))


def two_columns(found: Document, chunks: Sequence[Chunk]) -> None:
    """Demand the left column before the right one."""
    names = [f"{side} line {n:02}" for side in ("Left", "Right") for n in range(26)]
    once(names, found, chunks)


def page_numbers(found: Document, chunks: Sequence[Chunk]) -> None:
    """Chunks know their pages; running heads and page numbers are in none."""
    assert all(chunk.page_start and chunk.page_end for chunk in chunks)
    chunk = holding("P5L03", found, chunks)
    assert (chunk.page_start or 0) <= 5 <= (chunk.page_end or 0)
    assert all((a.page_start or 0) <= (b.page_start or 0) for a, b in pairwise(chunks))
    text = "\n".join(texts(found, chunks))
    assert not re.search(r"Page \d of 7", text)
    assert found.furniture


def one_column_layout_table(found: Document, chunks: Sequence[Chunk]) -> None:
    """Every decision and all of its items are there."""
    text = "\n".join(texts(found, chunks))
    assert all(f"Decision {n}:" in text for n in range(1, 7))
    assert set(re.findall(r"item\d{4}", found.text)) == set(re.findall(r"item\d{4}", text))
    assert not any(part.startswith("| -") for part in texts(found, chunks))


def hash_in_code_fence(found: Document, chunks: Sequence[Chunk]) -> None:
    """Demand a whole fence below its heading; a comment is no heading."""
    paths = {name for chunk in chunks for name in chunk.heading_path}
    assert paths <= {"Install", "Run", "Clean up"}
    chunk = holding("# fetch the sources", found, chunks)
    text = found.text[chunk.start : chunk.end]
    assert "Install" in (*chunk.heading_path, *text.split("\n"))
    fence = next(b for b in found.blocks if b.kind == "code" and "# fetch" in found.text[b.start :])
    assert found.text[fence.start : fence.end] in text


def heading_in_cell(found: Document, chunks: Sequence[Chunk]) -> None:
    """Demand that a heading in a cell is no parent of what follows."""
    chunk = holding("After the table", found, chunks)
    assert "Cell heading" not in chunk.heading_path
    block = next(b for b in found.blocks if "After the table" in found.text[b.start : b.end])
    assert block.heading_path[-1] == "Main"


def cp1252(found: Document, chunks: Sequence[Chunk]) -> None:
    """Windows-1252 is read as such."""
    once(["Müller zahlte 30 € für „Grüße“ – Smørrebrød"], found, chunks)


def admonition_block(found: Document, chunks: Sequence[Chunk]) -> None:
    """Block marks are no headings, and hide nothing."""
    once(["Mind the gap", "Text after"], found, chunks)
    assert {name for chunk in chunks for name in chunk.heading_path} <= {"Guide", "Steps"}


CASES: dict[str, Callable[[Document, Sequence[Chunk]], None]] = {
    "over_budget_by_one.md": over_budget_by_one,
    "table_over_many_chunks.md": table_over_many_chunks,
    "outline_numbers.docx": outline_numbers,
    "list_after_numbered_heading.docx": list_after_numbered_heading,
    "malformed_hyperlink.docx": malformed_hyperlink,
    "table_in_list_item.html": table_in_list_item,
    "text_before_first_heading.html": text_before_first_heading,
    "dash_run.md": dash_run,
    "single_column.csv": single_column,
    "utf16le_bom.csv": utf16le_bom,
    "cell_specifiers.adoc": cell_specifiers,
    "inflated_dimension.xlsx": inflated_dimension,
    "two_columns.pdf": two_columns,
    "page_numbers.pdf": page_numbers,
    "one_column_layout_table.docx": one_column_layout_table,
    "hash_in_code_fence.md": hash_in_code_fence,
    "heading_in_cell.html": heading_in_cell,
    "cp1252.txt": cp1252,
    "admonition_block.adoc": admonition_block,
}


def caps(name: str, boundaries: Strategy) -> tuple[int, ...]:
    """Return the caps for a file under a strategy: one, another one for the next of either."""
    if os.environ.get("CHUNKMILL_FULL_CORPUS") == "1":
        return CAPS
    i = list(CASES).index(name) + STRATEGIES.index(boundaries)
    return (CAPS[i % len(CAPS)],)


@pytest.mark.parametrize("boundaries", STRATEGIES)
@pytest.mark.parametrize("name", CASES)
def test_the_chunks_of_reported_inputs(name: str, boundaries: Strategy) -> None:
    """Under its caps the chunks keep every law, and hold what the report asks for."""
    for cap in caps(name, boundaries):
        CASES[name](*chunked(name, boundaries, cap))


def test_an_encrypted_report_has_no_chunks() -> None:
    """A PDF that needs a password is said to be encrypted; there is nothing to chunk."""
    parser = ChildParser(ParserConfig(), LimitsConfig(), preload=None)
    try:
        outcome = parser.parse(REPORTS / "needs_password.pdf", name="needs_password.pdf")
    finally:
        parser.close()
    assert (outcome.document, outcome.error_kind) == (None, "encrypted")
