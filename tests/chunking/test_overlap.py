"""Overlap: what is repeated, how much of it, and where nothing is."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import pytest

from chunking.model import Chunk, Document
from chunking.settings import ChunkingSettings, Strategy
from tests.chunking.laws import violations
from tests.chunking.making import HEADER, ROWS, built, chunked
from tests.chunking.strategies import ADDITIVE

OVERLAPPING: tuple[Strategy, ...] = ("fixed", "recursive")
SENTENCES = [f"Ship number {i} left the old harbour at dawn." for i in range(90)]


@pytest.mark.parametrize("unit", ["tokens", "sentences"])
@pytest.mark.parametrize("boundaries", ["fixed", "recursive"])
def test_overlap_repeats_prose_only(
    boundaries: Strategy, unit: Literal["tokens", "sentences"]
) -> None:
    """Overlap repeats the end of the chunk before, inside prose of one section."""
    sentences = " ".join(f"Ship number {i} left the harbour." for i in range(60))
    document = built(
        ("heading", "One"), ("paragraph", sentences),
        ("heading", "Two"), ("paragraph", sentences), ("table", "\n".join([HEADER, *ROWS])),
    )  # fmt: skip
    chosen = ChunkingSettings(
        boundaries=boundaries, overlap=2 if unit == "sentences" else 20, overlap_unit=unit
    )
    units, chunks = chunked(document, chosen)
    assert not violations(document, units, chunks, chosen, ADDITIVE.count)
    pairs = list(pairwise(chunks))
    shared = [document.text[b.start : a.end] for a, b in pairs if b.start < a.end]
    assert shared
    assert all(1 <= text.count("Ship") <= 3 and "|" not in text for text in shared)
    assert all(a.end <= b.start for a, b in pairs if b.kind == "table")


def repeated(document: Document, chunks: list[Chunk]) -> list[str]:
    """Return what each chunk but the first repeats of the one before."""
    return [document.text[b.start : a.end] for a, b in pairwise(chunks)]


@pytest.mark.parametrize("boundaries", OVERLAPPING)
@pytest.mark.parametrize("amount", [1, 2, 3])
@pytest.mark.parametrize("cap", [60, 120, 200])
def test_the_last_sentences_are_really_repeated(
    boundaries: Strategy, amount: int, cap: int
) -> None:
    """Every chunk of a section begins with exactly the last sentences of the one before."""
    paragraphs = [" ".join(SENTENCES[i : i + 9]) for i in range(0, 90, 9)]
    document = built(*[("paragraph", text) for text in paragraphs])
    chosen = ChunkingSettings(
        boundaries=boundaries, overlap=amount, overlap_unit="sentences",
        max_tokens=cap, target_tokens=cap, min_tokens=10,
    )  # fmt: skip
    units, chunks = chunked(document, chosen)
    assert not violations(document, units, chunks, chosen, ADDITIVE.count)
    found = repeated(document, chunks)
    assert len(found) > 4
    assert {text.count("Ship") for text in found} == {amount}
    assert all(text.startswith("Ship") and text.endswith("dawn.") for text in found)


@pytest.mark.parametrize("boundaries", OVERLAPPING)
def test_sentences_are_repeated_across_a_paragraph_break(boundaries: Strategy) -> None:
    """Paragraphs of one section are one text; a break in what is repeated is kept."""
    document = built(*[("paragraph", text) for text in SENTENCES])
    chosen = ChunkingSettings(boundaries=boundaries, overlap=2, overlap_unit="sentences")
    chunks = chunked(document, chosen)[1]
    found = repeated(document, chunks)
    assert found
    assert all(text.count("\n\n") == 1 and text.count("Ship") == 2 for text in found)


@pytest.mark.parametrize("boundaries", OVERLAPPING)
def test_nothing_is_repeated_across_headings_and_kinds(boundaries: Strategy) -> None:
    """Between sections, and between prose and a list, chunks are disjoint."""
    prose = " ".join(SENTENCES[:30])
    document = built(
        ("heading", "One"), ("paragraph", prose), ("heading", "Two"), ("paragraph", prose),
        *[("list_item", f"- {text}") for text in SENTENCES[:30]], ("footnote", prose),
    )  # fmt: skip
    chosen = ChunkingSettings(boundaries=boundaries, overlap=3, overlap_unit="sentences")
    units, chunks = chunked(document, chosen)
    assert not violations(document, units, chunks, chosen, ADDITIVE.count)
    found = [text for text in repeated(document, chunks) if text]
    assert found
    assert all(text.startswith(("Ship", "- Ship")) and "Two" not in text for text in found)
    assert not any("- Ship" in text and "\n\n" in text for text in found)


@pytest.mark.parametrize("boundaries", OVERLAPPING)
@pytest.mark.parametrize("unit", ["tokens", "sentences"])
@pytest.mark.parametrize("amount", [15, 100])
def test_overlap_that_fills_the_chunk_still_goes_on(
    boundaries: Strategy, unit: Literal["tokens", "sentences"], amount: int
) -> None:
    """However much is asked for, each chunk starts and ends after the one before."""
    document = built(("paragraph", " ".join(SENTENCES)))
    chosen = ChunkingSettings(
        boundaries=boundaries, overlap=amount, overlap_unit=unit,
        max_tokens=101, target_tokens=90, min_tokens=10,
    )  # fmt: skip
    units, chunks = chunked(document, chosen)
    assert not violations(document, units, chunks, chosen, ADDITIVE.count)
    assert len(chunks) <= len(SENTENCES)


def test_overlap_is_counted() -> None:
    """The size of a chunk holds what it repeats; its tokens start with it."""
    document = built(("paragraph", " ".join(SENTENCES)))
    chosen = ChunkingSettings(boundaries="fixed", overlap=2, overlap_unit="sentences")
    chunks = chunked(document, chosen)[1]
    for before, chunk in pairwise(chunks):
        assert chunk.token_start < before.token_end
        text = document.text[chunk.start : chunk.end]
        assert [chunk.n_tokens] == ADDITIVE.count([chunk.prefix + text])


@pytest.mark.parametrize("boundaries", OVERLAPPING)
def test_tokens_of_overlap_are_whole_sentences(boundaries: Strategy) -> None:
    """In tokens, the sentences whose sum is nearest to the amount are repeated."""
    document = built(("paragraph", " ".join(SENTENCES)))
    size = len(ADDITIVE(SENTENCES[0]).ids)
    chosen = ChunkingSettings(boundaries=boundaries, overlap=2 * size + 3)
    found = repeated(document, chunked(document, chosen)[1])
    assert {text.count("Ship") for text in found} == {2}
    assert all(text.endswith("dawn.") for text in found)
