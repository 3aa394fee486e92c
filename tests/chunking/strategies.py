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


@st.composite
def sentences(draw: st.DrawFn, most: int = 40) -> str:
    """Return one sentence, now and then with odd characters or without an end."""
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=most))
    if draw(st.integers(0, 9)) == 0:
        words.insert(0, draw(st.text(alphabet=ODD + "abc", min_size=1, max_size=6)))
    text = " ".join(words)
    return text[:1].upper() + text[1:] + draw(st.sampled_from([".", ".", ".", "!", "?", "", "…"]))


def _clean(text: str) -> str:
    """Return a text as a block may hold it: no blank lines, no blanks at its ends."""
    return re.sub(r"\n\s*\n", "\n", text).strip() or "x"


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
            builder.table(draw(tables()))
        elif kind == "code":
            builder.add("code", draw(code()), code_language="py")
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


@st.composite
def settings(draw: st.DrawFn, boundaries: Strategy | None = None) -> ChunkingSettings:
    """Return any settings that are allowed."""
    cap = draw(st.sampled_from([16, 24, 40, 64, 120, 200, 400]))
    target = draw(st.integers(1, cap))
    strategies: tuple[Strategy, ...] = get_args(Strategy)
    chosen = draw(st.sampled_from(strategies)) if boundaries is None else boundaries
    kind = draw(st.sampled_from(get_args(ThresholdType)))
    overlap = 0
    unit: Literal["tokens", "sentences"] = draw(st.sampled_from(["tokens", "sentences"]))
    if chosen in ("fixed", "recursive") and draw(st.booleans()):
        overlap = draw(st.integers(1, 3 if unit == "sentences" else cap // 2))
    return ChunkingSettings(
        boundaries=chosen,
        max_tokens=cap,
        target_tokens=target,
        min_tokens=draw(st.integers(0, target)),
        overlap=overlap,
        overlap_unit=unit,
        threshold_type=kind,
        threshold=draw(st.sampled_from([0.0, 0.5, 1.0, 50.0, 95.0, 100.0])),
        buffer=draw(st.integers(0, 2)),
        min_sentences=draw(st.integers(1, 3)),
        prefix_headings=draw(st.booleans()),
    )
