from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as profile
from hypothesis import strategies as st

from chunking.errors import AlignmentError
from chunking.model import Block, Document, Sentence, Tokens
from chunking.splitting import joins
from chunking.unit_parts import MAX_UNIT_TOKENS
from chunking.units import split_units
from tests.chunking.strategies import (
    ADDITIVE,
    BYTES,
    DROPPING,
    LEADING_BLANKS,
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


@st.composite
def any_tokens(draw: st.DrawFn, text: str) -> Tokens:
    """Return tokens with any ordered offsets: of no width, repeated, overlapping, blank."""
    places = st.integers(0, len(text))
    starts = sorted(draw(st.lists(places, max_size=3 * MAX_UNIT_TOKENS)))
    ends = [min(start + draw(st.sampled_from([0, 1, 1, 2, 5, 40])), len(text)) for start in starts]
    return Tokens(
        ids=np.arange(len(starts), dtype=np.uint32),
        starts=np.array(starts, np.int64),
        ends=np.array(ends, np.int64),
    )


def texts(document: Document, units: list[Sentence]) -> list[str]:
    """Return what the units cover."""
    return [document.text[unit.start : unit.end] for unit in units]


def assert_partition(document: Document, tokens: Tokens, units: list[Sentence]) -> None:
    """Check the laws that hold for any tokens whatever."""
    position = 0
    for i, unit in enumerate(units):
        assert (unit.index, unit.token_start) == (i, position)
        assert 0 < unit.n_tokens <= MAX_UNIT_TOKENS
        position = unit.token_end
        block = document.blocks[unit.block]
        assert block.start <= unit.start <= unit.end <= block.end
    for one, other in pairwise(units):
        assert one.end <= other.start
        assert one.block <= other.block
    assert position == (len(tokens.ids) if units else 0)


@QUIET
@given(documents(), st.sampled_from(TOKENIZERS))
def test_units_partition_the_tokens_and_cover_the_text(
    document: Document, tokenizer: FakeTokenizer
) -> None:
    """Every token has one unit; visible text is covered wherever its block makes a token."""
    tokens = tokenizer(document.text)
    units = split_units(document, tokens)
    assert_partition(document, tokens, units)
    covered = np.zeros(len(document.text), bool)
    for unit in units:
        assert document.text[unit.start : unit.end].strip() == document.text[unit.start : unit.end]
        covered[unit.start : unit.end] = True
    with_units = {unit.block for unit in units}
    for block in document.blocks:
        if block.index in with_units:
            for place in range(block.start, block.end):
                assert covered[place] or document.text[place].isspace()


@QUIET
@given(st.data())
def test_any_ordered_offsets_are_partitioned(data: st.DataObject) -> None:
    """Tokens of no width, of one code point, or across blocks break no law."""
    document = data.draw(documents(max_blocks=5))
    tokens = data.draw(any_tokens(document.text))
    assert_partition(document, tokens, split_units(document, tokens))


@QUIET
@given(documents(), st.sampled_from([ADDITIVE, LEADING_BLANKS, BYTES]))
def test_a_token_lies_in_the_unit_of_its_first_visible_code_point(
    document: Document, tokenizer: FakeTokenizer
) -> None:
    """Leading blanks inside a token's offsets do not pull it into the unit before."""
    tokens = tokenizer(document.text)
    for unit in split_units(document, tokens):
        for token in range(unit.token_start, unit.token_end):
            start, end = int(tokens.starts[token]), int(tokens.ends[token])
            visible = [i for i in range(start, end) if not document.text[i].isspace()]
            assert not visible or unit.start <= visible[0] < unit.end


def test_kinds_have_their_units() -> None:
    """Sentences, rows with the delimiter at the header, lines, whole items and headings."""
    builder = DocumentBuilder()
    builder.heading("1. Scope. Of this")
    builder.add("paragraph", "One is here.  Two is there.")
    builder.table(["| a | b |\n| --- | --- |", "| 1 | 2 |", "| 3 | 4 |"])
    builder.add("code", "def f():\n\n    return 1")
    builder.add("list_item", "First. Still first.")
    document = builder.build()
    assert texts(document, split_units(document, ADDITIVE(document.text))) == [
        "1. Scope. Of this",
        "One is here.",
        "Two is there.",
        "| a | b |\n| --- | --- |",
        "| 1 | 2 |",
        "| 3 | 4 |",
        "def f():",
        "return 1",
        "First. Still first.",
    ]


@pytest.mark.parametrize("n_words", [64, 65, 129, 1000])
def test_long_units_are_cut_between_words_into_even_pieces(n_words: int) -> None:
    """No piece exceeds the limit, none is a scrap, and no word is cut where it need not be."""
    builder = DocumentBuilder()
    builder.add("list_item", " ".join(["word"] * n_words))
    document = builder.build()
    units = split_units(document, ADDITIVE(document.text))
    sizes = [unit.n_tokens for unit in units]
    assert len(sizes) == -(-n_words // MAX_UNIT_TOKENS)
    assert max(sizes) - min(sizes) <= len(sizes)
    assert all(text.startswith("word") and text.endswith("word") for text in texts(document, units))


def test_a_code_point_of_several_tokens_is_not_cut() -> None:
    """Tokens that share a code point stay in one unit."""
    builder = DocumentBuilder()
    builder.add("list_item", "\u00e6" * 100)
    document = builder.build()
    tokenizer = FakeTokenizer(pattern=r"\w", copies=3)
    units = split_units(document, tokenizer(document.text))
    assert sum(unit.end - unit.start for unit in units) == 100
    assert all(unit.n_tokens == 3 * (unit.end - unit.start) for unit in units)


def test_text_without_tokens_stays_with_a_neighbour_of_its_block() -> None:
    """A sentence of control characters joins the one before, or the one after it."""
    builder = DocumentBuilder()
    builder.add("code", "\x01\x02\nplain\n\x03\x04\nmore")
    builder.add("paragraph", "\x05")
    document = builder.build()
    units = split_units(document, DROPPING(document.text))
    assert texts(document, units) == ["\x01\x02\nplain\n\x03\x04", "more"]


def test_tokens_between_units_belong_to_the_one_before() -> None:
    """A token of blanks goes to the unit before it, a leading one to the first."""
    builder = DocumentBuilder()
    builder.add("paragraph", "One.")
    builder.add("paragraph", "Two.")
    document = builder.build()
    spans = [(0, 0), (0, 4), (4, 6), (6, 6), (6, 10)]
    tokens = Tokens(
        ids=np.arange(5, dtype=np.uint32),
        starts=np.array([start for start, _ in spans]),
        ends=np.array([end for _, end in spans]),
    )
    units = split_units(document, tokens)
    assert [(unit.token_start, unit.token_end) for unit in units] == [(0, 3), (3, 5)]


@pytest.mark.parametrize(
    ("starts", "ends"), [([3, 1], [4, 2]), ([0], [99]), ([2], [1]), ([0, 1], [1])]
)
def test_offsets_that_do_not_fit_are_refused(starts: list[int], ends: list[int]) -> None:
    """Tokens that are no tokens of the text are an error, never smeared."""
    builder = DocumentBuilder()
    builder.add("paragraph", "Some text.")
    tokens = Tokens(
        ids=np.zeros(len(starts), np.uint32), starts=np.array(starts), ends=np.array(ends)
    )
    with pytest.raises(AlignmentError):
        split_units(builder.build(), tokens)


def test_empty_documents_have_no_units() -> None:
    """No text, or no token, gives no unit."""
    empty = Document(text="", blocks=())
    assert split_units(empty, ADDITIVE("")) == []
    builder = DocumentBuilder()
    builder.add("paragraph", "\x01")
    assert split_units(builder.build(), DROPPING("\x01")) == []


def test_pieces_are_told_from_beginnings() -> None:
    """Only the later parts of a sentence, row or line above the limit are pieces."""
    builder = DocumentBuilder()
    builder.add("paragraph", "Short. A " + " ".join(["word"] * 130) + ". End.")
    builder.table(["| a |\n| --- |", "| " + " ".join(["cell"] * 70) + " |", "| b |"])
    builder.add("code", "x = 1\n" + " ".join(["y"] * 80))
    document = builder.build()
    units = split_units(document, ADDITIVE(document.text))
    assert [(unit.block, unit.piece) for unit in units] == [
        *((0, piece) for piece in (False, False, True, True, False)),
        *((1, piece) for piece in (False, False, True, False)),
        *((2, piece) for piece in (False, False, True)),
    ]


def test_long_items_and_headings_are_cut_at_their_sentences() -> None:
    """Above the limit an item, heading, caption or footnote gives its sentences."""
    first = "3. The harbour " + " ".join(["word"] * 40) + "."
    second = "Dr. Smith " + " ".join(["word"] * 40) + "."
    for kind in ("list_item", "heading", "title", "caption", "footnote", "picture", "other"):
        builder = DocumentBuilder()
        builder.add(kind, f"{first} {second}")
        document = builder.build()
        units = split_units(document, ADDITIVE(document.text))
        assert texts(document, units) == [first, second], kind
        assert not any(unit.piece for unit in units)


@pytest.mark.parametrize(
    ("words", "mark", "joint"),
    [
        ("word", ";", " "),
        ("word", ",", " "),
        ("word", "", "\n"),
        ("Wort", ":", " "),
        ("字", "，", ""),
    ],
)
def test_long_sentences_are_cut_between_clauses(words: str, mark: str, joint: str) -> None:
    """A clause end, then a line end, is a better place than any other word's."""
    gap = "" if words == "字" else " "
    clause = gap.join([words] * 50)
    builder = DocumentBuilder()
    builder.add("paragraph", f"{clause}{mark}{joint}{clause}.")
    document = builder.build()
    tokenizer = FakeTokenizer(pattern=r"[^\W字]+|字|[^\w\s]")
    units = split_units(document, tokenizer(document.text))
    assert texts(document, units) == [f"{clause}{mark}", f"{clause}."]
    assert [unit.piece for unit in units] == [False, True]


def test_words_of_a_script_without_blanks_come_from_the_port() -> None:
    """Where a finder of words is given, no part begins inside one; else none inside a cluster."""
    builder = DocumentBuilder(language="th")
    builder.add("paragraph", "ภาษาไทย" * 30)
    document = builder.build()
    tokens = FakeTokenizer(pattern=r".")(document.text)
    asked = []

    def seven(text: str, language: str | None) -> list[int]:
        asked.append((len(text), language))
        return list(range(0, len(text), 7))

    units = split_units(document, tokens, seven)
    assert asked == [(210, "th")]
    assert len(units) == 4
    assert all(unit.start % 7 == 0 for unit in units)
    bare = split_units(document, tokens)
    assert not any(joins(document.text, unit.start) for unit in bare[1:])


def test_a_long_stretch_without_ends_has_parts_of_equal_standing() -> None:
    """In a transcript without marks no part is said to go on with a sentence."""
    builder = DocumentBuilder()
    builder.add("paragraph", " ".join(["word"] * 1000))
    document = builder.build()
    units = split_units(document, ADDITIVE(document.text))
    assert len(units) == 16
    assert not any(unit.piece for unit in units)


def test_a_paragraph_is_split_by_its_own_language() -> None:
    """The block's language goes before the document's."""
    text = "Wir trafen ihn am 3. Dezember usw. Danach kam die 4. Kompanie."
    for language, n in (("en", 4), ("de", 2)):
        block = Block(start=0, end=len(text), index=0, kind="paragraph", language=language)
        document = Document(text=text, blocks=(block,), language="zh")
        assert len(split_units(document, ADDITIVE(text))) == n
