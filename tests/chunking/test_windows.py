from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as profile
from hypothesis import strategies as st

from chunking.errors import AlignmentError
from chunking.model import Document, Sentence, TokenWindow
from chunking.units import split_units
from chunking.windows import SEGMENT_WINDOWS, plan_windows
from tests.chunking.strategies import (
    ADDITIVE,
    TOKENIZERS,
    DocumentBuilder,
    FakeTokenizer,
    documents,
)

QUIET = profile(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    derandomize=True,
)
WINDOW = 120
OVERLAP = 16
CAPACITY = WINDOW - 2 * OVERLAP
WORDS = [f"{a}{b}" for a in ("ri", "sto", "wil", "ha", "cop") for b in ("ver", "ne", "low", "per")]


def plan(
    document: Document, window: int = WINDOW, overlap: int = OVERLAP
) -> tuple[list[Sentence], list[TokenWindow]]:
    """Return a document's units and windows."""
    units = split_units(document, ADDITIVE(document.text))
    return units, plan_windows(document, units, window_tokens=window, overlap=overlap)


def owned_texts(document: Document, units: list[Sentence], windows: list[TokenWindow]) -> list[str]:
    """Return the text that each window owns."""
    return [
        document.text[units[window.first_unit].start : units[window.last_unit - 1].end]
        for window in windows
    ]


def paragraph(rng: random.Random, n_sentences: int = 3) -> str:
    """Return seeded prose of about 30 tokens."""
    return " ".join(
        " ".join(rng.choices(WORDS, k=10)).capitalize() + "." for _ in range(n_sentences)
    )


def sections(seed: int, sizes: list[int]) -> list[tuple[str, list[str]]]:
    """Return headings with paragraphs."""
    rng = random.Random(seed)
    return [
        (f"Part {i} on {rng.choice(WORDS)}", [paragraph(rng) for _ in range(n)])
        for i, n in enumerate(sizes)
    ]


def build(parts: list[tuple[str, list[str]]]) -> Document:
    """Return a document of these sections."""
    builder = DocumentBuilder()
    for heading, paragraphs in parts:
        builder.heading(heading)
        for text in paragraphs:
            builder.add("paragraph", text)
    return builder.build()


@QUIET
@given(
    documents(max_blocks=30),
    st.sampled_from(TOKENIZERS),
    st.sampled_from([64, 100, 254]),
    st.integers(0, 64),
)
def test_each_unit_is_owned_whole_by_exactly_one_window(
    document: Document, tokenizer: FakeTokenizer, window: int, overlap: int
) -> None:
    """Windows own all units in order, hold all their tokens, and never exceed the limit."""
    units = split_units(document, tokenizer(document.text))
    windows = plan_windows(document, units, window_tokens=window, overlap=overlap)
    position = 0
    for one in windows:
        assert one.first_unit == position < one.last_unit
        position = one.last_unit
        first, last = units[one.first_unit].token_start, units[one.last_unit - 1].token_end
        assert 0 <= one.start <= first < last <= one.end <= units[-1].token_end
        assert one.end - one.start <= window
        assert first - one.start <= overlap or len(windows) == 1
        assert one.end - last <= overlap or len(windows) == 1
    assert position == len(units)


@QUIET
@given(documents(max_blocks=30))
def test_a_document_that_fits_is_one_window(document: Document) -> None:
    """The whole document in one window wherever that is possible."""
    units = split_units(document, ADDITIVE(document.text))
    total = sum(unit.n_tokens for unit in units)
    windows = plan_windows(document, units, window_tokens=max(total, 64), overlap=32)
    assert len(windows) == (1 if units else 0)


def test_inner_windows_have_context_on_both_sides() -> None:
    """Each window but the outer ones reads part of its neighbours, across headings too."""
    _, windows = plan(build(sections(1, [3] * 12)))
    units, _ = plan(build(sections(1, [3] * 12)))
    assert len(windows) > 5
    for one in windows[1:-1]:
        assert one.start < units[one.first_unit].token_start
        assert one.end > units[one.last_unit - 1].token_end


def test_sections_that_fit_stay_together() -> None:
    """No window boundary falls inside a section of at most a window's capacity."""
    document = build(sections(2, [2, 1, 2, 1, 1, 2, 2, 1, 2, 2, 1, 2]))
    units, windows = plan(document)
    assert len(windows) > 3
    for one in windows:
        assert document.blocks[units[one.first_unit].block].kind == "heading"


def test_small_sections_share_a_window() -> None:
    """Sections of a few tokens do not each cost a window."""
    document = build(sections(3, [1] * 60))
    units, windows = plan(document, window=254, overlap=24)
    total = units[-1].token_end
    assert total / len(windows) > 254 * 0.55


def test_a_long_section_restarts_at_its_heading_and_is_divided_evenly() -> None:
    """A section above the window begins a window of its own, and leaves no scrap at its end."""
    document = build(sections(4, [1, 7, 1]))
    units, windows = plan(document)
    kinds = [document.blocks[units[one.first_unit].block].kind for one in windows]
    sizes = [
        units[one.last_unit - 1].token_end - units[one.first_unit].token_start for one in windows
    ]
    assert kinds.count("heading") >= 2
    assert min(sizes[1:-1]) > CAPACITY // 2


def edited(parts: list[tuple[str, list[str]]], edit: str) -> list[tuple[str, list[str]]]:
    """Return the sections with a change in the one in the middle."""
    middle = len(parts) // 2
    changed = [(heading, list(texts)) for heading, texts in parts]
    heading, texts = changed[middle]
    place = len(texts) // 2
    if edit == "insert":
        texts.insert(place, paragraph(random.Random(99), 2))
    elif edit == "delete":
        del texts[place]
    elif edit == "replace":
        texts[place] = paragraph(random.Random(98), 4)
    else:
        changed[middle] = (f"{heading} renamed at length", texts)
    return changed


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("edit", ["insert", "delete", "replace", "heading"])
@pytest.mark.parametrize("shape", ["mixed", "small sections", "one section"])
def test_an_edit_moves_no_window_far_from_it(seed: int, edit: str, shape: str) -> None:
    """Windows further away than one segment own the same text after an edit in the middle."""
    rng = random.Random(seed)
    sizes = {
        "mixed": [rng.randint(1, 9) for _ in range(81)],
        "small sections": [1] * 301,
        "one section": [401],
    }
    parts = sections(seed, sizes[shape])
    before, after = build(parts), build(edited(parts, edit))
    old = owned_texts(before, *plan(before))
    new = owned_texts(after, *plan(after))
    head = _common(old, new)
    tail = _common(old[::-1], new[::-1])
    moved = sum(len(ADDITIVE(text).ids) for text in new[head : len(new) - tail])
    assert 0 < moved <= 2 * SEGMENT_WINDOWS * CAPACITY
    assert moved < 0.25 * len(ADDITIVE(after.text).ids)


def _common(one: list[str], other: list[str]) -> int:
    pairs = zip(one, other, strict=False)
    return next(i for i, (a, b) in enumerate(pairs) if a != b)


def test_the_share_of_model_tokens_is_bounded() -> None:
    """With windows of 256 and the default overlap, at most 1.30 model tokens a document token."""
    for sizes in ([40], [1] * 60, [3, 9, 1, 14, 2] * 8, [200]):
        units, windows = plan(build(sections(7, sizes)), window=254, overlap=24)
        read = sum(one.end - one.start + 2 for one in windows)
        assert read / units[-1].token_end <= 1.30


def test_equal_units_are_divided_in_the_middle() -> None:
    """A text that repeats itself neither degenerates into scraps nor into a deep recursion."""
    builder = DocumentBuilder()
    builder.add("code", "\n".join(["same line here"] * 20_000))
    units, windows = plan(builder.build())
    assert units[-1].token_end / len(windows) > CAPACITY * 0.6


def test_windows_below_a_unit_are_refused() -> None:
    """A window that cannot hold the largest unit is an error."""
    document = build(sections(1, [1]))
    with pytest.raises(AlignmentError, match="cannot hold"):
        plan(document, window=63)
