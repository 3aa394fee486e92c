"""The work of chunking grows with the text, whatever its shape.

Work is counted, not timed: what the tokenizer is given to count, and how many lines of
Python the interpreter runs (by a trace of line events in the packages under test).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import chunking
from chunking.chunker import chunk_document
from chunking.model import Document, Sentence
from chunking.settings import ChunkingSettings
from chunking.text import read_text
from chunking.units import split_units
from tests.chunking.strategies import ADDITIVE, NASTY, DocumentBuilder, FakeTokenizer

SIZES: dict[str, Any] = {"max_tokens": 64, "min_tokens": 12, "target_tokens": 40}
CHOICES = {
    "fixed": ChunkingSettings(boundaries="fixed", **SIZES),
    "fixed characters": ChunkingSettings(boundaries="fixed", target_chars=150, **SIZES),
    "fixed overlap": ChunkingSettings(boundaries="fixed", overlap=15, **SIZES),
    "recursive": ChunkingSettings(boundaries="recursive", **SIZES),
    "recursive overlap": ChunkingSettings(
        boundaries="recursive", overlap=2, overlap_unit="sentences", **SIZES
    ),
    "structural": ChunkingSettings(boundaries="structural", **SIZES),
    "semantic": ChunkingSettings(boundaries="semantic", buffer=1, min_sentences=2, **SIZES),
    "optimal": ChunkingSettings(boundaries="optimal", **SIZES),
}
SOURCE = str(Path(chunking.__file__).parent)
Maker = Callable[[int], Document]
"""``make(n)``: a document whose size grows with n."""


def line(n: int) -> Document:
    """Return one line of sentences."""
    return read_text("The tide came in again, said the captain. " * n).document


def unbroken(n: int) -> Document:
    """Return one line without a blank."""
    return read_text("harbour" * 6 * n).document


def without_marks(n: int) -> Document:
    """Return words without any punctuation."""
    return read_text("and then we sailed on along the coast " * 2 * n).document


def dots(n: int) -> Document:
    """Return runs of full stops, as tables of contents have."""
    return read_text("Chapter one " + ". " * 10 * n + "." * 10 * n + " 7").document


def blank_lines(n: int) -> Document:
    """Return code with many blank lines."""
    builder = DocumentBuilder()
    builder.add("code", "```\n" + ("\n" * 20 + "x = 1") * n + "\n```")
    return builder.build()


def words(n: int) -> Document:
    """Return paragraphs of one word."""
    return read_text("\n\n".join(f"w{i % 7}" for i in range(10 * n))).document


def table(n: int) -> Document:
    """Return a table of many rows."""
    builder = DocumentBuilder()
    builder.add("caption", "Table 1: ships and their goods")
    rows = [f"| {i} | willow {i} | copper and stone | {i * 3} |" for i in range(n)]
    builder.table(["| No | Ship | Goods | Tons |\n| --- | --- | --- | --- |", *rows])
    return builder.build()


def wide_row(n: int) -> Document:
    """Return a table with one row of very many words, and one of very many cells."""
    builder = DocumentBuilder()
    head = "| No | Goods |\n| --- | --- |"
    builder.table([head, f"| 1 | {'copper and stone ' * 4 * n}|", "| 2 |" + " a |" * 4 * n])
    return builder.build()


def wide_header(n: int) -> Document:
    """Return a table of very many columns."""
    builder = DocumentBuilder()
    row = "|" + " copper |" * n
    builder.table([f"{row}\n|" + " --- |" * n, row, row])
    return builder.build()


def code(n: int) -> Document:
    """Return one block of code."""
    builder = DocumentBuilder()
    lines = [f"def f{i}(x):\n\ty = x + {i}\n\n\treturn y * x\n" for i in range(n)]
    builder.add("code", "```py\n" + "\n".join(lines) + "\n```", code_language="py")
    return builder.build()


def headings(n: int) -> Document:
    """Return headings of 300 tokens, each with a sentence."""
    builder = DocumentBuilder()
    for i in range(max(1, n // 20)):
        builder.heading(f"Part {i} " + "of the harbour ledger " * 75, level=1 + i % 3)
        builder.add("paragraph", "It rained all day in the harbour.")
    return builder.build()


def headings_only(n: int) -> Document:
    """Return headings with nothing under them."""
    builder = DocumentBuilder()
    for i in range(n):
        builder.heading(f"Heading number {i}", level=1 + i % 6)
    return builder.build()


def nested(n: int) -> Document:
    """Return text under many levels of headings."""
    builder = DocumentBuilder()
    for level in range(1, 60):
        builder.heading(f"Level {level} of the ledger", level=level)
    for i in range(n):
        builder.add("paragraph", f"It rained on day {i} in the harbour, and the ships stayed.")
    return builder.build()


def items(n: int) -> Document:
    """Return one list."""
    builder = DocumentBuilder()
    builder.add("paragraph", "Bring these things along:")
    for i in range(3 * n):
        builder.add("list_item", f"- thing number {i}")
    return builder.build()


def tokenless(n: int) -> Document:
    """Return paragraphs that make no token, among a few that do."""
    builder = DocumentBuilder()
    for i in range(5 * n):
        builder.add("paragraph", "\u0301\u0301" if i % 15 else "The tide came in again.")
    return builder.build()


def small_sections(n: int) -> Document:
    """Return sections below the minimum."""
    builder = DocumentBuilder()
    for i in range(2 * n):
        builder.heading(f"No. {i}", level=1 + i % 2)
        builder.add("paragraph", "Short.")
    return builder.build()


MAKERS: tuple[Maker, ...] = (
    line, unbroken, without_marks, dots, blank_lines, words, table, wide_row, wide_header, code,
    headings, headings_only, nested, items, tokenless, small_sections,
)  # fmt: skip
MARKLESS = FakeTokenizer(pattern=r"\w{1,6}|[^\w\s\u0301]")


def vectors_for(units: Sequence[Sentence]) -> NDArray[np.float32]:
    """Return seeded vectors."""
    return np.random.default_rng(1).normal(size=(len(units), 4)).astype(np.float32)


class Work:
    """What chunking one document took."""

    def __init__(
        self, document: Document, chosen: ChunkingSettings, tokenizer: FakeTokenizer
    ) -> None:
        self.read = self.calls = self.lines = 0
        self._tokenizer = tokenizer
        tokens = tokenizer(document.text)
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            units = split_units(document, tokens)
            self.chunks = chunk_document(
                document, units, tokens, vectors_for(units), chosen, self._count
            )
        finally:
            sys.settrace(before)

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Callable[..., Any] | None:
        del arg
        if event == "line":
            self.lines += 1
        elif not frame.f_code.co_filename.startswith(SOURCE):
            return None
        return self._trace

    def _count(self, inputs: Sequence[str]) -> list[int]:
        self.read += sum(map(len, inputs))
        self.calls += 1
        return self._tokenizer.count(inputs)


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("make", MAKERS)
def test_doubling_the_text_doubles_the_work(make: Maker, choice: str) -> None:
    """Twice the text makes about twice the lines of Python, and twice the text counted."""
    once, twice = (Work(make(n), CHOICES[choice], MARKLESS) for n in (100, 200))
    assert twice.lines <= 2.2 * once.lines + 2000
    assert twice.read <= 2.2 * once.read + 2000
    assert twice.calls <= once.calls + 10


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("tokenizer", [ADDITIVE, NASTY])
@pytest.mark.parametrize("make", MAKERS)
def test_the_text_is_counted_a_few_times(
    make: Maker, choice: str, tokenizer: FakeTokenizer
) -> None:
    """Each character, those of prefixes included, is counted a few times, in few calls.

    Most often where tiny chunks are merged: each round of merging counts what it tries.
    """
    document = make(100)
    tokens = tokenizer(document.text)
    units = split_units(document, tokens)
    read = [0, 0]

    def count(inputs: Sequence[str]) -> list[int]:
        read[0] += sum(map(len, inputs))
        read[1] += 1
        return tokenizer.count(inputs)

    chosen = CHOICES[choice]
    chunks = chunk_document(document, units, tokens, vectors_for(units), chosen, count)
    given = len(document.text) + sum(len(chunk.prefix) for chunk in chunks)
    assert read[0] <= 10 * given
    assert read[1] <= 40
