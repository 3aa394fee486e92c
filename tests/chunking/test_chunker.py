from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note
from hypothesis import settings as profile
from hypothesis import strategies as st

from chunking.chunker import chunk_document
from chunking.errors import AlignmentError, ConfigError
from chunking.model import Document
from chunking.settings import ChunkingSettings, Strategy, ThresholdType
from chunking.units import split_units
from jobs.config import ParserConfig
from jobs.parsing.convert import convert
from tests.chunking.laws import violations
from tests.chunking.making import HEADER, ROWS, STRATEGIES, built, chunked, texts, vectors_for
from tests.chunking.strategies import (
    ADDITIVE,
    EXACT,
    NASTY,
    TOKENIZERS,
    VECTOR_KINDS,
    DocumentBuilder,
    FakeTokenizer,
    documents,
    sentences,
    settings,
)
from tests.corpus import REPORTS, requires_corpus

QUIET = profile(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    derandomize=True,
)


@QUIET
@given(
    document=documents(),
    chosen=settings(),
    tokenizer=st.sampled_from(EXACT),
    kind=st.sampled_from(VECTOR_KINDS),
)
def test_every_law_holds(
    document: Document, chosen: ChunkingSettings, tokenizer: FakeTokenizer, kind: str
) -> None:
    """Any document under any settings and vectors keeps every law, by an independent check."""
    units, chunks = chunked(document, chosen, tokenizer, kind)
    note(repr([(c.start, c.end, c.n_tokens, c.boundary.reason) for c in chunks]))
    assert not violations(document, units, chunks, chosen, tokenizer.count)


@QUIET
@given(document=documents(), chosen=settings(), tokenizer=st.sampled_from(TOKENIZERS))
def test_laws_hold_under_counters_that_do_not_add_up(
    document: Document, chosen: ChunkingSettings, tokenizer: FakeTokenizer
) -> None:
    """A counter that disagrees with the tokens costs neither text nor cap nor order."""
    units, chunks = chunked(document, chosen, tokenizer)
    slack = chosen.max_tokens // 3
    found = violations(document, units, chunks, chosen, tokenizer.count, slack=slack)
    # Whether two chunks could be one is decided before the prefix is counted.
    assert not [line for line in found if not line.startswith("minimum")]


@QUIET
@given(document=documents(max_blocks=8), chosen=settings())
def test_the_same_input_gives_the_same_chunks(document: Document, chosen: ChunkingSettings) -> None:
    """Nothing but the arguments decides."""
    assert chunked(document, chosen)[1] == chunked(document, chosen)[1]


@QUIET
@given(
    before=documents(max_blocks=6),
    edited=st.lists(sentences(), max_size=6),
    after=documents(max_blocks=6),
    chosen=settings(),
)
def test_an_edit_moves_nothing_in_other_sections(
    before: Document, edited: list[str], after: Document, chosen: ChunkingSettings
) -> None:
    """A cut of a local strategy depends on its section only, where no small one is merged."""
    if chosen.boundaries in ("fixed", "structural") or chosen.separators != "auto":
        chosen = replace(chosen, boundaries="recursive", separators="auto", target_chars=None)
    if chosen.threshold_type != "absolute":
        chosen = replace(chosen, threshold_type="absolute", threshold=0.4)
    chosen = replace(chosen, min_tokens=0, overlap=0, buffer=0)
    found = []
    for middle in (["One sentence."], ["One sentence.", *edited]):
        document = joined(before, " ".join(middle), after)
        start = len(document.text) - len(after.text) - len(_LAST)
        tokens = ADDITIVE(document.text)
        units = split_units(document, tokens)
        vectors = np.asarray(
            [hashed(document.text[unit.start : unit.end]) for unit in units], dtype=np.float32
        ).reshape(len(units), 8)
        chunks = chunk_document(document, units, tokens, vectors, chosen, ADDITIVE.count)
        if len(chunks) > 1:
            found.append([c.start - start for c in chunks if c.start >= start])
            note(document.text)
    assert len(found) < 2 or found[0] == found[1]


_LAST = "The last part\n\n"


def joined(before: Document, middle: str, after: Document) -> Document:
    """Return a document of three sections, the first and last as they are given."""
    builder = DocumentBuilder()
    for document, name in ((before, "First"), (None, "Second"), (after, _LAST.strip())):
        builder.heading(name, level=1)
        if document is None:
            builder.add("paragraph", re.sub(r"\n\s*\n", " ", middle).strip())
            continue
        for block in document.blocks:
            text = document.text[block.start : block.end]
            rows = [at - block.start for at in block.row_starts]
            kind = "paragraph" if block.kind in ("heading", "title") else block.kind
            builder.add(kind, text, level=block.level, rows=rows)
    return builder.build()


def hashed(text: str) -> list[float]:
    """Return a vector that depends on a text alone."""
    return [digit / 255 - 0.3 for digit in hashlib.sha256(text.encode()).digest()[:8]]


@pytest.mark.parametrize("kind", VECTOR_KINDS)
@pytest.mark.parametrize("threshold_type", get_args(ThresholdType))
def test_degenerate_vectors_make_no_nan(kind: str, threshold_type: ThresholdType) -> None:
    """Equal, zero, huge and tiny vectors give finite distances and thresholds."""
    document = built(("paragraph", "The tide came in again today. " * 80 + "End."))
    for boundaries in ("semantic", "optimal"):
        chosen = ChunkingSettings(boundaries=boundaries, threshold_type=threshold_type)
        units, chunks = chunked(document, chosen, kind=kind)
        assert not violations(document, units, chunks, chosen, ADDITIVE.count)
        assert len(chunks) > 1


def test_uniform_text_is_split_at_the_cap() -> None:
    """Text without a topic change is cut under the cap, and says so."""
    document = built(("paragraph", "The tide came in again today. " * 200 + "End."))
    tokens = ADDITIVE(document.text)
    units = split_units(document, tokens)
    vectors = np.ones((len(units), 4), dtype=np.float32)
    chosen = ChunkingSettings()
    chunks = chunk_document(document, units, tokens, vectors, chosen, ADDITIVE.count)
    assert len(chunks) > 5
    assert {chunk.boundary.reason for chunk in chunks[:-1]} == {"max_tokens"}
    assert all(chunk.boundary.distance == 0.0 for chunk in chunks[:-1])


@pytest.mark.parametrize("boundaries", STRATEGIES)
def test_text_without_marks_is_cut_between_words(boundaries: Strategy) -> None:
    """A transcript without punctuation becomes many chunks, none of them cut inside a word."""
    document = built(("paragraph", " ".join(["and then we sailed on"] * 400)))
    chosen = ChunkingSettings(boundaries=boundaries)
    units, chunks = chunked(document, chosen)
    assert not violations(document, units, chunks, chosen, ADDITIVE.count)
    words = {"and", "then", "we", "sailed", "on"}
    assert all(set(text.split()) <= words for text in texts(document, chunks))


def test_a_topic_change_is_a_semantic_boundary() -> None:
    """Where the vectors turn, a chunk ends, with the distance and threshold that decided."""
    document = built(("paragraph", " ".join(f"Sentence number {i} is here." for i in range(60))))
    tokens = ADDITIVE(document.text)
    units = split_units(document, tokens)
    vectors = np.zeros((60, 2), dtype=np.float32)
    vectors[:25, 0] = vectors[25:, 1] = 1.0
    chosen = ChunkingSettings(boundaries="semantic", threshold_type="absolute", threshold=0.5)
    chunks = chunk_document(document, units, tokens, vectors, chosen, ADDITIVE.count)
    found = [chunk for chunk in chunks if chunk.boundary.reason == "semantic"]
    assert [chunk.end for chunk in found] == [units[24].end]
    assert (found[0].boundary.distance, found[0].boundary.threshold) == (1.0, 0.5)


def test_optimal_cuts_where_the_topic_changes() -> None:
    """Dynamic programming puts a cut at the change although the target lies elsewhere."""
    document = built(("paragraph", " ".join(f"Sentence number {i} is here." for i in range(60))))
    tokens = ADDITIVE(document.text)
    units = split_units(document, tokens)
    vectors = np.zeros((60, 2), dtype=np.float32)
    vectors[:25, 0] = vectors[25:, 1] = 1.0
    chosen = ChunkingSettings(boundaries="optimal")
    chunks = chunk_document(document, units, tokens, vectors, chosen, ADDITIVE.count)
    assert units[24].end in [chunk.end for chunk in chunks]
    assert {chunk.boundaries for chunk in chunks} == {"optimal"}


@pytest.mark.parametrize("boundaries", STRATEGIES)
def test_a_document_that_fits_is_one_chunk(boundaries: Strategy) -> None:
    """A short document is whole, and recorded so."""
    document = built(("heading", "Title"), ("paragraph", "One. Two."), ("paragraph", "Three."))
    (chunk,) = chunked(document, ChunkingSettings(boundaries=boundaries))[1]
    assert (chunk.boundaries, chunk.boundary.reason) == ("whole", "document_end")
    assert (chunk.start, chunk.end, chunk.prefix) == (0, len(document.text), "")
    assert chunk.heading_path == ("Title",)


def test_a_document_without_text_has_no_chunks() -> None:
    """No block, no chunk."""
    assert chunked(Document(text="", blocks=()), ChunkingSettings())[1] == []


@pytest.mark.parametrize("boundaries", ["semantic", "optimal"])
def test_without_vectors_semantic_strategies_are_refused(boundaries: Strategy) -> None:
    """What needs a model pass says so, and names what does not."""
    document = built(("paragraph", "One."))
    tokens = ADDITIVE(document.text)
    units = split_units(document, tokens)
    chosen = ChunkingSettings(boundaries=boundaries)
    with pytest.raises(ConfigError, match="recursive, structural or fixed"):
        chunk_document(document, units, tokens, None, chosen, ADDITIVE.count)


@pytest.mark.parametrize("boundaries", ["fixed", "recursive", "structural", "auto"])
def test_other_strategies_need_no_vectors(boundaries: Strategy) -> None:
    """All laws hold without a model pass, and no distance is claimed."""
    document = built(
        ("heading", "One"), ("paragraph", "It rained. " * 80 + "End."),
        ("heading", "Two"), ("paragraph", "It snowed. " * 80 + "End."),
    )  # fmt: skip
    tokens = ADDITIVE(document.text)
    units = split_units(document, tokens)
    chosen = ChunkingSettings(boundaries=boundaries)
    chunks = chunk_document(document, units, tokens, None, chosen, ADDITIVE.count)
    assert not violations(document, units, chunks, chosen, ADDITIVE.count)
    assert {chunk.boundary.distance for chunk in chunks} == {None}
    assert {chunk.boundaries for chunk in chunks} <= {"fixed", "recursive", "structural"}


def test_vectors_and_units_must_match() -> None:
    """A mismatch is a defect, never smeared."""
    document = built(("paragraph", "One. Two."))
    tokens = ADDITIVE(document.text)
    units = split_units(document, tokens)
    with pytest.raises(AlignmentError, match="1 vectors for 2 units"):
        chunk_document(document, units, tokens, np.ones((1, 2)), ChunkingSettings(), ADDITIVE.count)


def test_a_prompt_that_fills_the_cap_is_refused() -> None:
    """Where the prompt alone leaves no room the configuration is wrong."""
    document = built(("paragraph", "One."))
    tokenizer = FakeTokenizer(pattern=ADDITIVE.pattern, special=16)
    with pytest.raises(ConfigError, match="prompt"):
        chunked(document, ChunkingSettings(max_tokens=16, min_tokens=0, target_tokens=9), tokenizer)


def test_consecutive_headings_stay_with_what_follows() -> None:
    """Two headings in a row open one chunk, together with the first sentence."""
    long = "The harbour was closed. " * 30
    builder = DocumentBuilder()
    builder.add("paragraph", long.strip())
    builder.heading("Part two", level=1)
    builder.heading("Chapter one", level=2)
    builder.add("paragraph", long.strip())
    document = builder.build()
    for boundaries in STRATEGIES:
        found = texts(document, chunked(document, ChunkingSettings(boundaries=boundaries))[1])
        opened = [text for text in found if "Part two" in text]
        assert len(opened) == 1
        assert "Part two\n\nChapter one\n\nThe harbour" in opened[0]


def test_two_headings_stay_with_a_sentence_that_counts_more_than_estimated() -> None:
    """Where the exact count asks for it, the sentence is cut, and no heading parted from it."""
    builder = DocumentBuilder()
    builder.heading("The harbour of the old town of Skagen", level=3)
    builder.heading("Willow!", level=1)
    builder.add("caption", " ".join(f"w{i}" for i in range(25)) + ". And harbour.")
    document = builder.build()
    for cap in range(28, 48):
        chosen = ChunkingSettings(
            boundaries="recursive", separators="code", max_tokens=cap, target_tokens=2, min_tokens=0
        )
        units, chunks = chunked(document, chosen, NASTY)
        found = violations(document, units, chunks, chosen, NASTY.count, slack=cap // 3)
        assert not [line for line in found if not line.startswith("minimum")]


def test_a_giant_heading_loses_nothing() -> None:
    """A heading of 300 tokens is cut, its text kept, and no prefix breaks the cap."""
    heading = " ".join(f"word{i}" for i in range(300))
    document = built(("heading", heading), ("paragraph", "It rained. " * 60))
    for boundaries in STRATEGIES:
        chosen = ChunkingSettings(boundaries=boundaries)
        units, chunks = chunked(document, chosen)
        assert not violations(document, units, chunks, chosen, ADDITIVE.count)


def test_where_heading_and_sentence_exceed_the_cap_the_sentence_is_cut() -> None:
    """A heading keeps the beginning of a sentence that does not fit beside it."""
    document = built(
        ("heading", "A heading of some words " * 4), ("paragraph", "on " * 60 + "end.")
    )
    chosen = ChunkingSettings(max_tokens=40, min_tokens=0, target_tokens=30)
    units, chunks = chunked(document, chosen)
    assert not violations(document, units, chunks, chosen, ADDITIVE.count)
    assert texts(document, chunks)[0].endswith("on")


def test_the_prefix_is_trimmed_from_the_outermost_heading() -> None:
    """What of the path does not fit is given up from outside; the text never is."""
    builder = DocumentBuilder()
    for level in range(1, 5):
        builder.heading(f"Level {level} " + "of the harbour " * 4, level=level)
    builder.add("paragraph", "It rained all day in the harbour. " * 40)
    chunks = chunked(
        builder.build(), ChunkingSettings(max_tokens=60, min_tokens=10, target_tokens=30)
    )[1]
    prefixes = [chunk.prefix for chunk in chunks[1:]]
    assert all(not prefix.startswith("Level 1") for prefix in prefixes)
    assert any(prefix.startswith(("Level 3", "Level 4")) for prefix in prefixes)


def test_a_small_last_chunk_is_merged() -> None:
    """What is left below the minimum joins its neighbour across the heading."""
    document = built(
        ("heading", "One"), ("paragraph", "It rained all day. " * 12),
        ("heading", "Two"), ("paragraph", "Short."),
        ("heading", "Three"), ("paragraph", "It snowed all day. " * 34),
    )  # fmt: skip
    units, chunks = chunked(document, ChunkingSettings())
    assert all(chunk.n_tokens >= 40 for chunk in chunks)
    assert not violations(document, units, chunks, ChunkingSettings(), ADDITIVE.count)


def test_repeated_sentences_have_their_own_offsets() -> None:
    """Equal sentences do not collapse onto the first one's offsets."""
    document = built(("paragraph", "Yes. " * 400 + "No."))
    units, chunks = chunked(document, ChunkingSettings())
    assert not violations(document, units, chunks, ChunkingSettings(), ADDITIVE.count)


def test_few_sentences_at_a_percentile() -> None:
    """One, two and three sentences above the cap are chunked without a NaN."""
    sentence = "So it goes " + "on " * 70 + "and ends."
    for n in (1, 2, 3, 4):
        document = built(("paragraph", " ".join([sentence] * n)))
        chosen = ChunkingSettings(max_tokens=64, min_tokens=0, target_tokens=60)
        units, chunks = chunked(document, chosen)
        assert not violations(document, units, chunks, chosen, ADDITIVE.count)


@pytest.mark.parametrize("boundaries", STRATEGIES)
@pytest.mark.parametrize("tokenizer", [ADDITIVE, NASTY])
@pytest.mark.parametrize("shape", ["line", "tiny", "table", "words"])
def test_counting_is_bounded(boundaries: Strategy, tokenizer: FakeTokenizer, shape: str) -> None:
    """The tokenizer reads a small multiple of the text, in few calls, whatever the shape."""
    document = {
        "line": lambda: built(("paragraph", "The tide came in again today. " * 2000)),
        "tiny": lambda: built(*[("paragraph", f"w{i % 7}") for i in range(2000)]),
        "table": lambda: built(("table", "\n".join([HEADER, *(ROWS * 12)]))),
        "words": lambda: built(("paragraph", "harbour " * 6000)),
    }[shape]()
    tokens = tokenizer(document.text)
    units = split_units(document, tokens)
    read = [0, 0]

    def recording(inputs: Sequence[str]) -> list[int]:
        read[0] += sum(map(len, inputs))
        read[1] += 1
        return tokenizer.count(inputs)

    chosen = ChunkingSettings(boundaries=boundaries)
    chunks = chunk_document(document, units, tokens, vectors_for(units), chosen, recording)
    repeated = sum(len(chunk.prefix) for chunk in chunks)
    assert read[0] <= 5 * (len(document.text) + repeated)
    assert read[1] <= 40


@requires_corpus
@pytest.mark.corpus
@pytest.mark.parametrize(
    "name",
    ["over_budget_by_one.md", "table_over_many_chunks.md", "hash_in_code_fence.md", "dash_run.md"],
)
@pytest.mark.parametrize("boundaries", STRATEGIES)
def test_reported_documents(name: str, boundaries: Strategy) -> None:
    """Documents that broke comparable tools keep every law under every strategy."""
    path = REPORTS / name
    document = convert(path, format="md", name=name, settings=ParserConfig()).document
    chosen = ChunkingSettings(boundaries=boundaries)
    units, chunks = chunked(document, chosen)
    assert not violations(document, units, chunks, chosen, ADDITIVE.count)
