from __future__ import annotations

import io
import re
from itertools import pairwise

import pytest
from rich.console import Console

from jobs.inspection.terminal import show
from jobs.notebook import Chunks
from jobs.notebook.display import ends
from jobs.visible import visible
from tests.chunking.strategies import DocumentBuilder
from tests.inspected import HOSTILE, chunked, hostile, prose, tables

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def _shown(chunks: Chunks, *, terminal: bool, width: int = 80) -> str:
    out = io.StringIO()
    console = Console(
        file=out,
        force_terminal=terminal,
        width=width,
        color_system="standard" if terminal else None,
        highlight=False,
        markup=False,
        emoji=False,
    )
    show(chunks, console)
    return out.getvalue()


def test_every_chunk_says_what_it_is() -> None:
    """Number, size against the cap, strategy, heading path, prefix, text and end."""
    chunks = chunked(prose(4, 15), boundaries="semantic", max_tokens=90)
    text = _shown(chunks, terminal=False)
    for view in chunks:
        assert f"#{view.index}  {view.n_tokens}/90 tokens " in text
        assert f"\u2514 ends: {ends(view)}\n" in text
        for line in view.text.split("\n"):
            assert f"\u2502 {line}" in text
        for line in view.prefix.splitlines():
            assert f"prefix \u2502 {line}\n" in text
    assert "threshold type percentile" in text
    assert "warnings a warning" in text


@pytest.mark.parametrize("terminal", [True, False])
def test_nothing_of_a_document_acts(*, terminal: bool) -> None:
    """Controls of a hostile document are signs, rich's own markup is text."""
    chunks = chunked(hostile(), key="bell\x07[bold].md", max_tokens=70)
    text = _shown(chunks, terminal=terminal, width=200)
    plain = ANSI.sub("", text)
    assert plain.replace("\n", "").isprintable()
    assert "\u27e8U+202E\u27e9" in plain
    assert "bell\u2407[bold].md" in plain
    assert (plain != text) is terminal
    if not terminal:
        for line in HOSTILE:
            assert visible(line).split("\n")[0] in plain


def test_markup_of_the_terminal_library_is_text() -> None:
    """`[red]` and `:smile:` are shown as they stand."""
    builder = DocumentBuilder()
    builder.add("paragraph", "[red]not red[/red] :smile: [link=https://a.example]x[/link]")
    assert "[red]not red[/red] :smile: [link=https://a.example]x[/link]" in _shown(
        chunked(builder.build()), terminal=True, width=120
    )


def test_a_pipe_gets_whole_lines_and_a_terminal_wrapped_ones() -> None:
    """Without a terminal a line stays one; in one nothing is wider than the window."""
    chunks = chunked(prose(2, 20), max_tokens=90)
    piped = _shown(chunks, terminal=False, width=40)
    assert max(len(line) for line in piped.splitlines()) > 200
    shown = ANSI.sub("", _shown(chunks, terminal=True, width=40))
    bodies = [line for line in shown.splitlines() if line.startswith("\u2502 ")]
    assert bodies
    assert max(map(len, bodies)) <= 40


def test_chunks_alternate_in_colour() -> None:
    """Neighbours have different colours."""
    chunks = chunked(prose(2, 20), max_tokens=90)
    text = _shown(chunks, terminal=True, width=100)
    colours = re.findall(r"\x1b\[([0-9;]+)m#\d+  ", text)
    assert len(colours) == len(chunks)
    assert all(a != b for a, b in pairwise(colours))


def test_repeated_text_and_code_are_named() -> None:
    """Overlap is counted in tokens; code names its language."""
    chunks = chunked(
        prose(1, 40), boundaries="recursive", overlap=2, overlap_unit="sentences", max_tokens=90
    )
    repeated = chunks[0].chunk.token_end - chunks[1].chunk.token_start
    assert repeated > 0
    assert f"repeats {repeated} tokens of the chunk before" in _shown(chunks, terminal=False)
    assert "python" in _shown(chunked(tables(), max_tokens=200), terminal=False)


def test_a_document_without_text_says_so() -> None:
    """There are no chunks to show."""
    assert "no chunks" in _shown(chunked(DocumentBuilder().build()), terminal=False)
