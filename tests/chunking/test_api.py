"""A caller's string, tokenizer and vectors in; chunks with spans in that string out."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st
from numpy.typing import NDArray

import chunking
from chunking import ChunkingSettings, TextChunk, chunk_text, read_text
from chunking.errors import AlignmentError, ConfigError
from tests.chunking.making import STRATEGIES
from tests.chunking.strategies import sentences, settings, vectors_of
from tests.readme import CHECKOUT, run_lines

QUIET = profile(deadline=None, max_examples=60, derandomize=True)
GAPS = st.sampled_from([" ", " ", "\n", "\n\n", "\n\n", "\r\n\r\n", "\n \t\n\n", "\x00", "\ud800"])
TOPICS = "The harbour is deep. Ships come in at night. Bread is baked early. Flour is white. "


def offsets(text: str) -> list[tuple[int, int]]:
    """Return the spans of short pieces of words, and of signs."""
    return [match.span() for match in re.finditer(r"\w{1,6}|[^\w\s]", text)]


def embed(texts: list[str]) -> NDArray[np.floating]:
    """Return seeded vectors with a few topics."""
    return vectors_of("topics", len(texts))


@st.composite
def strings(draw: st.DrawFn) -> str:
    """Return sentences with blanks, blank lines and unusable code points between them."""
    parts = draw(st.lists(st.tuples(sentences(most=15), GAPS), max_size=30))
    return draw(GAPS) + "".join(sentence + gap for sentence, gap in parts)


def normal(text: str) -> str:
    """Return a text as it is embedded: without odd blank lines and unusable code points."""
    text = re.sub("[\x00\ud800-\udfff]", "\ufffd", text)
    end = r"(?:\r\n|\n|\r(?!\n))"
    return re.sub(rf"\s*{end}[^\S\r\n]*{end}\s*", "\n\n", text)


@QUIET
@given(text=strings(), chosen=settings())
def test_spans_are_places_in_the_callers_string(text: str, chosen: ChunkingSettings) -> None:
    """Each span slices the text of its chunk out of the string; sizes are exact and capped."""
    chunks = chunk_text(text, offsets, chosen, embed=embed, special=3)
    for chunk in chunks:
        assert normal(text[chunk.start : chunk.end]) == chunk.text
        assert chunk.n_tokens == len(offsets(chunk.text)) + 3
        assert chunk.n_tokens <= chosen.max_tokens


@QUIET
@given(text=strings().map(normal), chosen=settings())
def test_plain_strings_are_sliced_exactly(text: str, chosen: ChunkingSettings) -> None:
    """Where two line ends part paragraphs, a chunk's text is the string at its place."""
    chunks = chunk_text(text, offsets, chosen, embed=embed)
    assert [text[chunk.start : chunk.end] for chunk in chunks] == [c.text for c in chunks]


@QUIET
@given(text=strings(), chosen=settings())
def test_nothing_visible_is_left_out(text: str, chosen: ChunkingSettings) -> None:
    """Whatever stands in the string stands in a chunk, and chunks come in order."""
    chunks = chunk_text(text, offsets, chosen, embed=embed)
    covered = [False] * len(text)
    for chunk in chunks:
        covered[chunk.start : chunk.end] = [True] * (chunk.end - chunk.start)
    assert all(inside or c.isspace() for inside, c in zip(covered, text, strict=True))
    assert [chunk.end for chunk in chunks] == sorted({chunk.end for chunk in chunks})


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_strategy_needs_vectors_or_does_not(strategy: str) -> None:
    """Semantic and optimal boundaries ask for vectors in one line; the others cut without."""
    chosen = ChunkingSettings(boundaries=strategy, max_tokens=32, target_tokens=24, min_tokens=8)  # type: ignore[arg-type]
    if strategy in ("semantic", "optimal"):
        with pytest.raises(ConfigError, match="needs sentence vectors"):
            chunk_text(TOPICS * 9, offsets, chosen)
    else:
        assert len(chunk_text(TOPICS * 9, offsets, chosen)) > 1
    assert len(chunk_text(TOPICS * 9, offsets, chosen, embed=embed)) > 1


def test_vectors_decide() -> None:
    """A change of topic in the vectors ends a chunk there, and its distance is told."""
    text = " ".join(f"Ships{i} are in the harbour." for i in range(8))
    text += " " + " ".join(f"Bread{i} is in the oven." for i in range(8))
    chosen = ChunkingSettings(boundaries="semantic", max_tokens=90, target_tokens=70, min_tokens=10)
    seen: list[str] = []

    def by_topic(texts: list[str]) -> NDArray[np.floating]:
        seen.extend(texts)
        return np.array([[1.0, 0.0] if "Ships" in text else [0.0, 1.0] for text in texts])

    first, *_ = chunk_text(text, offsets, chosen, embed=by_topic)
    assert len(seen) == 16
    assert text[first.end :].lstrip().startswith("Bread0")
    assert first.reason == "semantic"
    assert first.distance == pytest.approx(1.0)


@pytest.mark.parametrize("text", ["", " \n\n\t", "\u3000"])
def test_a_blank_text_has_no_chunks(text: str) -> None:
    """Nothing is not an error, whatever the strategy."""
    assert chunk_text(text, offsets) == chunk_text(text, offsets, embed=embed) == []


def test_text_without_tokens_is_one_chunk() -> None:
    """What the tokenizer drops is kept, with the size of the special tokens."""
    (chunk,) = chunk_text(" ab ", lambda _: [], embed=embed)
    assert (chunk.start, chunk.end, chunk.text, chunk.n_tokens) == (1, 3, "ab", 2)


def test_a_truncating_tokenizer_is_refused() -> None:
    """Offsets that leave off the end of a text would make sizes wrong; one line says so."""
    with pytest.raises(ConfigError, match=r"leaves off the last .*truncation"):
        chunk_text(TOPICS * 9, lambda text: offsets(text)[:50])


@pytest.mark.parametrize("spans", [[(3, 5), (0, 2)], [(0, 2), (1, 99)], [(0, 4), (0, 0), (0, 0)]])
def test_offsets_that_cannot_be_are_refused(spans: list[tuple[int, int]]) -> None:
    """Disorder, places beyond the text and padding are faults of the tokenizer given."""
    with pytest.raises((AlignmentError, ConfigError)):
        chunk_text("harbour", lambda text: spans if text == "harbour" else [])


@pytest.mark.parametrize(
    "vectors", [np.zeros((2, 3)), np.zeros(4), np.zeros((4, 3, 1)), [["a"]] * 4, [[1]] * 4]
)
def test_vectors_that_do_not_fit_are_refused(vectors: object) -> None:
    """One row of floats for each sentence, and nothing else."""
    with pytest.raises(AlignmentError):
        chunk_text(TOPICS, offsets, embed=lambda _: vectors)  # type: ignore[arg-type, return-value]


def test_the_steps_give_the_same() -> None:
    """With the steps of the core, a program gets the chunks that the one call gives."""
    text = TOPICS * 9
    plain = read_text(text)
    spans = np.array(offsets(plain.document.text))
    tokens = chunking.Tokens(
        ids=np.zeros(len(spans), np.uint32), starts=spans[:, 0], ends=spans[:, 1]
    )
    units = chunking.split_units(plain.document, tokens)
    chosen = ChunkingSettings(boundaries="recursive")
    chunks = chunking.chunk_document(
        plain.document,
        units,
        tokens,
        None,
        chosen,
        lambda some: [len(offsets(t)) + 2 for t in some],
    )
    expected = [plain.source_span(chunk.start, chunk.end) for chunk in chunks]
    assert [(c.start, c.end) for c in chunk_text(text, offsets, chosen)] == expected


def test_all_public_names_are_there() -> None:
    """What the package exports exists and is sorted, and a chunk shows itself without its text."""
    assert [getattr(chunking, name) for name in chunking.__all__]
    assert chunking.__all__ == sorted(chunking.__all__, key=lambda n: (not n.isupper(), n))
    chunk = TextChunk(start=1, end=3, text="secret", n_tokens=4, reason="document_end")
    assert "secret" not in repr(chunk)


def test_importing_the_package_is_light() -> None:
    """It loads numpy, and not even pyarrow, which only the schemas need."""
    program = "import sys, chunking; print({'pyarrow', 'tokenizers', 'torch'} & {*sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


def test_the_lines_of_the_readme_run() -> None:
    """Twelve lines and no more; they run in a fresh Python, and spans are places in the text."""
    told = "assert all(text[c.start : c.end] == c.text for c in chunks)\nprint(len(chunks))"
    assert int(run_lines("As a library", most=12, told=told).splitlines()[-1]) > 1
