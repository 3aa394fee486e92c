"""Hypothesis strategies for the core: documents of all kinds, tokenizers, settings.

Documents are small but degenerate: odd Unicode, empty cells, headings in a row,
rows and headings above the cap.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from chunking.model import Block, BlockKind, Document, Tokens
from chunking.settings import ChunkingSettings, Strategy, ThresholdType

WORDS = [
    "harbour",
    "ledger",
    "willow",
    "stone",
    "copper",
    "river",
    "signal",
    "the",
    "of",
    "and",
    "however",
    "candle",
    "market",
    "antidisestablishmentarianism",
    "Grundstücksverkehrsgenehmigung",
    "rødgrød",
    "東京都",
    "مدينة",
    "शहर",
]
ODD = "\u00a0\u200b\u200d\ufeff\u0301\U0001f468\U0001f3fd\u202e\ufffd\x0b\x1f\u3000\t|`#*"


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeTokenizer:
    """Tokens by a regular expression, and a counter that may disagree with them.

    ``pattern``: what is a token; text that matches nothing makes none. ``copies``:
    tokens per non-ASCII match, as a byte-level tokenizer has. ``bend``: the exact
    size of a text from its number of tokens and its length.
    """

    pattern: str
    special: int = 2
    copies: int = 1
    bend: Callable[[int, int], int] = field(default=lambda n, _: n)

    def __call__(self, text: str) -> Tokens:
        """Return the tokens of a text with their offsets."""
        spans = []
        for match in re.finditer(self.pattern, text):
            times = 1 if match.group().isascii() else self.copies
            spans += [match.span()] * times
        array = np.asarray(spans, dtype=np.int64).reshape(-1, 2)
        return Tokens(
            ids=np.arange(len(array), dtype=np.uint32), starts=array[:, 0], ends=array[:, 1]
        )

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the exact sizes of texts, special tokens included."""
        sizes = []
        for text in texts:
            found = re.findall(self.pattern, text)
            n = sum(1 if match.isascii() else self.copies for match in found)
            sizes.append(self.special + self.bend(n, len(text)))
        return sizes


ADDITIVE = FakeTokenizer(pattern=r"\w{1,6}|[^\w\s]")
LEADING_BLANKS = FakeTokenizer(pattern=r"\s*\w{1,5}|\s*[^\w\s]|\s+", special=0)
BYTES = FakeTokenizer(pattern=r"\w{1,4}|[^\w\s]", copies=3)
DROPPING = FakeTokenizer(pattern=r"[a-zA-Z]{1,8}|[.|#-]")
NASTY = FakeTokenizer(pattern=r"\w{1,6}|[^\w\s]", bend=lambda n, length: n + n // 5 + length % 3)
SHRINKING = FakeTokenizer(pattern=r"\w{1,3}|[^\w\s]", bend=lambda n, _: n - n // 4)
TOKENIZERS = (ADDITIVE, LEADING_BLANKS, BYTES, DROPPING, NASTY, SHRINKING)
EXACT = (ADDITIVE, BYTES, DROPPING)
"""Tokenizers whose counts are the sums that the document's tokens promise."""


ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
"""Any Unicode but lone surrogates: NUL, marks, joiners, right-to-left, private use."""

PRETTY = (
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\U0001f3fd",
    "e\u0301\u0327",
    "\u05e9\u05dc\u05d5\u05dd",
    "\x00",
    "\u0e17\u0e35\u0e48",
    "\r\n",
    "\ufeff",
    "https://a.example/x?y=1.2",
    "v1.2.3",
    "\u3002\u300d",
)


@st.composite
def sentences(draw: st.DrawFn, most: int = 40) -> str:
    """Return one sentence, now and then with odd characters or without an end."""
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=most))
    odd = draw(st.integers(0, 19))
    if odd == 0:
        words.insert(0, draw(st.text(alphabet=ODD + "abc", min_size=1, max_size=6)))
    elif odd == 1:
        words.append(draw(ANY_TEXT))
    elif odd == 2:
        words.insert(len(words) // 2, draw(st.sampled_from(PRETTY)))
    text = " ".join(words)
    return text[:1].upper() + text[1:] + draw(st.sampled_from([".", ".", ".", "!", "?", "", "…"]))


def _clean(text: str) -> str:
    """Return a text as a block may hold it: no blank lines, no blanks at its ends."""
    return re.sub(r"\n\s*\n", "\n", text).strip() or "x"


MARKUP = (
    *("# Harbour rules", "## Of pilots", "- a willow", "  1. a ledger", "| a | b |", "|---|---|"),
    *("> said", "```py", "def f(x):", "    return x", "---", "@cached", "// note", "}"),
    *("<h2>Ports</h2>", "<p>The <b>river</b> is long.", "</div>", "<ul><li>one</li>", "<br>"),
    *("<!-- a", "-->", "<table><tr><td>x"),
)


@st.composite
def markup(draw: st.DrawFn) -> str:
    """Return lines of raw Markdown, HTML and code, as a text column may hold them."""
    line = st.one_of(st.sampled_from(MARKUP), sentences(most=20))
    return _clean("\n".join(draw(st.lists(line, min_size=1, max_size=10))))


@st.composite
def prose(draw: st.DrawFn) -> str:
    """Return a paragraph."""
    parts = draw(st.lists(sentences(), min_size=1, max_size=8))
    return _clean(draw(st.sampled_from([" ", " ", "  ", "\n"])).join(parts))


@st.composite
def tables(draw: st.DrawFn) -> list[str]:
    """Return the row lines of a Markdown table, header with its delimiter first."""
    n_columns = draw(st.integers(1, 4))
    longest = draw(st.sampled_from([2, 2, 6, 30]))
    cell = st.lists(st.sampled_from(WORDS), min_size=0, max_size=longest).map(" ".join)
    rows = draw(
        st.lists(st.lists(cell, min_size=n_columns, max_size=n_columns), min_size=1, max_size=14)
    )
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines[0] += "\n|" + " --- |" * n_columns
    return lines


@st.composite
def code(draw: st.DrawFn) -> str:
    """Return a fenced code block."""
    line = st.one_of(
        st.just(""),
        st.just("# a comment"),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(lambda w: "\t" + "_".join(w)),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=60).map(" ".join),
    )
    lines = draw(st.lists(line, min_size=1, max_size=20))
    return "```py\n" + "\n".join([*lines, "end"]) + "\n```"


@st.composite
def code_of_definitions(draw: st.DrawFn) -> str:
    """Return a fenced code block of definitions with comments and decorators."""
    parts = []
    for i in range(draw(st.integers(1, 8))):
        lead = draw(st.sampled_from(["", "# about it\n", "@cached\n", "/** doc */\n"]))
        body = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12))
        parts.append(f"{lead}def f{i}(x):\n" + "\n".join(f"\t{word} = x" for word in body))
    return "```\n" + draw(st.sampled_from(["\n\n", "\n"])).join(parts) + "\n```"


_PROSE_KINDS: tuple[BlockKind, ...] = (
    "paragraph", "paragraph", "paragraph", "list_item", "list_item", "caption", "footnote",
    "formula", "picture", "other",
)  # fmt: skip


@st.composite
def documents(draw: st.DrawFn, max_blocks: int = 14) -> Document:
    """Return a document with blocks of all kinds under a consistent heading hierarchy."""
    kinds: list[BlockKind] = draw(
        st.lists(
            st.sampled_from(
                [*_PROSE_KINDS, "heading", "heading", "heading", "title", "table", "table", "code"]
            ),
            max_size=max_blocks,
        )
    )
    builder = DocumentBuilder(language=draw(st.sampled_from([None, "en", "de", "da", "zh"])))
    for kind in kinds:
        if kind in ("heading", "title"):
            text = _clean(draw(sentences(most=draw(st.sampled_from([3, 3, 3, 60])))))
            builder.heading(text.replace("\n", " "), level=draw(st.integers(1, 4)), kind=kind)
        elif kind == "table":
            lines = draw(tables())
            if draw(st.integers(0, 4)):
                builder.table(lines)
            else:
                builder.add("table", "\n".join(lines))
        elif kind == "code":
            builder.add("code", draw(st.one_of(code(), code_of_definitions())), code_language="py")
        elif kind == "paragraph" and not draw(st.integers(0, 5)):
            builder.add(kind, draw(markup()))
        elif kind == "list_item":
            builder.add(kind, draw(prose()), level=draw(st.integers(1, 3)))
        else:
            builder.add(kind, draw(prose()))
    return builder.build()


class DocumentBuilder:
    """Builds test documents block by block."""

    def __init__(self, language: str | None = "en") -> None:
        self._language = language
        self._text = ""
        self._blocks: list[Block] = []
        self._stack: list[tuple[int, str]] = []

    def heading(self, text: str, level: int = 1, kind: BlockKind = "heading") -> None:
        """Add a heading; what follows stands under it."""
        while self._stack and self._stack[-1][0] >= level:
            self._stack.pop()
        self.add(kind, text, level=level)
        self._stack.append((level, text))

    def table(self, lines: Sequence[str], page: int | None = None) -> None:
        """Add a table of row lines; the first holds the delimiter line, too."""
        offsets, position = [], 0
        for line in lines:
            offsets.append(position)
            position += len(line) + 1
        self.add("table", "\n".join(lines), rows=offsets, page=page)

    def add(
        self,
        kind: BlockKind,
        text: str,
        *,
        level: int | None = None,
        code_language: str | None = None,
        rows: Sequence[int] = (),
        page: int | None = None,
    ) -> None:
        """Add a block of any kind."""
        before = self._blocks[-1].kind if self._blocks else None
        gap = "\n" if kind == before == "list_item" else "\n\n"
        if self._blocks:
            self._text += gap
        start = len(self._text)
        self._text += text
        self._blocks.append(
            Block(
                index=len(self._blocks),
                kind=kind,
                start=start,
                end=len(self._text),
                level=level,
                heading_path=tuple(name for _, name in self._stack),
                code_language=code_language,
                row_starts=tuple(start + offset for offset in rows),
                page_start=page,
                page_end=page,
            )
        )

    def build(self) -> Document:
        """Return the document."""
        return Document(text=self._text, blocks=tuple(self._blocks), language=self._language)


VECTOR_KINDS = ("topics", "equal", "zero", "random", "huge", "tiny", "half")


def vectors_of(kind: str, n_units: int, seed: int = 0) -> NDArray[np.floating]:
    """Return one vector per unit: of topics with noise, or degenerate."""
    rng = np.random.default_rng(seed)
    shape = (n_units, 12)
    if kind == "equal":
        return np.ones(shape, dtype=np.float32)
    if kind == "zero":
        return np.zeros(shape, dtype=np.float32)
    if kind in ("random", "half"):
        values = rng.normal(size=shape)
        return values.astype(np.float16 if kind == "half" else np.float32)
    if kind in ("huge", "tiny"):
        exponents = rng.integers(20, 37, size=(n_units, 1)) * (1 if kind == "huge" else -1)
        return (rng.uniform(-1, 1, size=shape) * 10.0**exponents).astype(np.float32)
    topics = rng.normal(size=(8, 12))
    chosen = np.cumsum(rng.random(n_units) < 0.2) % 8
    return (topics[chosen] + rng.normal(size=shape) * 0.4).astype(np.float32)


@st.composite
def settings(draw: st.DrawFn, boundaries: Strategy | None = None) -> ChunkingSettings:
    """Return any settings that are allowed."""
    cap = draw(
        st.one_of(st.sampled_from([16, 24, 40, 64, 120, 200, 400, 2000]), st.integers(16, 2000))
    )
    target = draw(st.one_of(st.integers(1, cap), st.just(cap)))
    minimum = draw(st.one_of(st.integers(0, target), st.just(target)))
    strategies: tuple[Strategy, ...] = get_args(Strategy)
    chosen = draw(st.sampled_from(strategies)) if boundaries is None else boundaries
    kind = draw(st.sampled_from(get_args(ThresholdType)))
    highest = 100.0 if kind in ("percentile", "gradient") else 5.0
    overlap = 0
    unit: Literal["tokens", "sentences"] = draw(st.sampled_from(["tokens", "sentences"]))
    if chosen in ("fixed", "recursive") and draw(st.booleans()):
        overlap = draw(st.integers(1, 5 if unit == "sentences" else cap - 1))
    in_chars = chosen == "fixed" and draw(st.booleans())
    return ChunkingSettings(
        boundaries=chosen,
        max_tokens=cap,
        target_tokens=target,
        min_tokens=minimum,
        target_chars=draw(st.integers(1, 3000)) if in_chars else None,
        separators=draw(st.sampled_from(["auto", "auto", "prose", "markdown", "html", "code"]))
        if chosen == "recursive"
        else "auto",
        overlap=overlap,
        overlap_unit=unit,
        threshold_type=kind,
        threshold=draw(st.one_of(st.none(), st.floats(0.0, highest))),
        buffer=draw(st.integers(0, 3)),
        min_sentences=draw(st.integers(1, 4)),
        prefix_headings=draw(st.booleans()),
    )
