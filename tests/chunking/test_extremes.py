"""What no author writes and parsers still give: runs of headings, of blanks, lost tokens."""

from __future__ import annotations

import pytest

from chunking.model import BlockKind
from chunking.settings import ChunkingSettings, Strategy
from tests.chunking.laws import violations
from tests.chunking.making import STRATEGIES, built, chunked, texts
from tests.chunking.strategies import ADDITIVE, NASTY, FakeTokenizer


@pytest.mark.parametrize("tokenizer", [ADDITIVE, NASTY])
@pytest.mark.parametrize("boundaries", STRATEGIES)
def test_the_last_of_too_many_headings_keeps_its_text(
    boundaries: Strategy, tokenizer: FakeTokenizer
) -> None:
    """Headings in a row above the cap: the last one stands with text, if that must be cut."""
    run: list[tuple[BlockKind, str]] = [("heading", f"Part {i} of the ledger") for i in range(30)]
    for body in ("word " * 80, "A sentence. " * 9, "a" * 300):
        document = built(*run, ("paragraph", body.strip()), ("heading", "End"), ("other", "It is."))
        chosen = ChunkingSettings(
            boundaries=boundaries, max_tokens=24, min_tokens=6, target_tokens=20
        )
        _, chunks = chunked(document, chosen, tokenizer)
        (holder,) = (c for c in chunks if c.start < document.blocks[29].end <= c.end)
        assert holder.end > document.blocks[30].start


@pytest.mark.parametrize("boundaries", STRATEGIES)
@pytest.mark.parametrize("blank", ["\t", " ", "\u00a0", "\u3000"])
@pytest.mark.parametrize("kind", ["code", "paragraph", "heading"])
def test_blanks_that_are_tokens_make_no_chunk(
    boundaries: Strategy, blank: str, kind: BlockKind
) -> None:
    """A run of blanks with a token each, longer than the cap, is no chunk of its own."""
    each = FakeTokenizer(pattern=r"\s|\w{1,6}|[^\w\s]")
    document = built((kind, f"x{blank * 200}y = 1;{blank * 40}z"), ("paragraph", "The end."))
    chosen = ChunkingSettings(boundaries=boundaries, max_tokens=16, min_tokens=4, target_tokens=12)
    units, chunks = chunked(document, chosen, each)
    assert all(text == text.strip() for text in texts(document, chunks))
    assert not violations(document, units, chunks, chosen, each.count)


@pytest.mark.parametrize("special", [0, 2])
@pytest.mark.parametrize("boundaries", STRATEGIES)
def test_text_that_counts_without_tokens_is_cut(boundaries: Strategy, special: int) -> None:
    """A tokenizer that loses track of a text's tokens still gives chunks under the cap."""
    blind = FakeTokenizer(
        pattern=r"[a-z]+", special=special, bend=lambda n, length: n + length // 3
    )
    blocks: list[tuple[BlockKind, str]] = [("heading", "start")]
    blocks += [("paragraph", "\u6771\u4eac\u90fd\u3002" * n) for n in (12, 3, 40, 2, 2)]
    blocks += [("table", "\n".join(["| 1 |\n| --- |", *["| \u6771\u4eac |"] * 60]))]
    document = built(*blocks)
    chosen = ChunkingSettings(boundaries=boundaries, max_tokens=24, min_tokens=6, target_tokens=18)
    _, chunks = chunked(document, chosen, blind)
    assert all(chunk.n_tokens <= chosen.max_tokens for chunk in chunks)
    found = "".join(texts(document, chunks))
    assert "".join(found.split()) == "".join(document.text.split())
