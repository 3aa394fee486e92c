from __future__ import annotations

from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from chunking.chunker import chunk_document
from chunking.settings import ChunkingSettings
from chunking.text import read_text
from chunking.units import split_units
from jobs.parsing.builder import DocumentBuilder
from tests.chunking.strategies import ADDITIVE

QUIET = profile(deadline=None, max_examples=300, derandomize=True)
ALPHABET = "ab.\n\n\n\r \t\u00a0\u3000\x0b\x1c\x85\u2028\x00\ud800\u0301\ufeff"
TEXTS = st.text(ALPHABET, max_size=60)


def usable(text: str) -> str:
    """Return a text without the code points that no document holds."""
    return "".join("\ufffd" if c == "\x00" or "\ud800" <= c <= "\udfff" else c for c in text)


@QUIET
@given(text=TEXTS)
def test_blocks_are_slices_of_the_given_text(text: str) -> None:
    """Each block is found at its place in the string; only blanks lie outside of blocks."""
    plain = read_text(text)
    covered = [False] * len(text)
    for block in plain.document.blocks:
        start, end = plain.source_span(block.start, block.end)
        assert usable(text[start:end]) == plain.document.text[block.start : block.end]
        covered[start:end] = [True] * (end - start)
    assert all(inside or c.isspace() for inside, c in zip(covered, text, strict=True))


@QUIET
@given(text=TEXTS)
def test_every_visible_character_keeps_its_place(text: str) -> None:
    """Any span that begins and ends with visible text maps to the same visible text."""
    plain = read_text(text)
    visible = [i for i, c in enumerate(plain.document.text) if not c.isspace()]
    for i in visible:
        for j in visible:
            if i <= j:
                start, end = plain.source_span(i, j + 1)
                found, expected = usable(text[start:end]), plain.document.text[i : j + 1]
                assert "".join(found.split()) == "".join(expected.split())


@QUIET
@given(text=TEXTS.map(lambda text: text.replace("\r", "")))
def test_a_reader_of_text_files_gives_the_same_blocks(text: str) -> None:
    """A string and a text file that holds it become the same document."""
    builder = DocumentBuilder()
    builder.add("paragraph", text)
    expected, found = builder.build(), read_text(text).document
    assert found.text == expected.text
    assert [(b.start, b.end, b.kind) for b in found.blocks] == [
        (b.start, b.end, b.kind) for b in expected.blocks
    ]


def test_every_kind_of_line_end_makes_a_blank_line() -> None:
    """Paragraphs part at blank lines whatever ends the lines; single ends stay."""
    for end in ("\n", "\r\n", "\r"):
        plain = read_text(f"{end} One{end}two.{end} \t{end}{end}Three. {end}")
        assert plain.document.text == f"One{end}two.\n\nThree."
    assert read_text("  \n\n ").document.blocks == ()
    assert read_text("").document.text == ""


def test_chunks_are_found_in_the_given_text() -> None:
    """The span of a chunk of several paragraphs reaches from its first to its last word."""
    text = "\n\n\n".join(f"  Ship number {i} left the harbour. " for i in range(80))
    plain = read_text(text, language="en")
    tokens = ADDITIVE(plain.document.text)
    units = split_units(plain.document, tokens)
    chosen = ChunkingSettings(boundaries="recursive")
    chunks = chunk_document(plain.document, units, tokens, None, chosen, ADDITIVE.count)
    assert len(chunks) > 3
    spans = [plain.source_span(chunk.start, chunk.end) for chunk in chunks]
    found = " ".join(text[start:end] for start, end in spans)
    assert found.split() == text.split()
    assert all(text[start:end].startswith("Ship") for start, end in spans)
