"""The laws of chunking, checked from the text and the counter alone.

Nothing here uses the code under test; each function yields one sentence per violation.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from chunking.model import Block, Chunk, Document, Sentence
from chunking.settings import ChunkingSettings

Count = Callable[[Sequence[str]], list[int]]
HEADINGS = ("heading", "title")
BAR = re.compile(r"(?<!\\)\|")


def violations(
    document: Document,
    units: Sequence[Sentence],
    chunks: Sequence[Chunk],
    settings: ChunkingSettings,
    count: Count,
    *,
    slack: int = 0,
) -> list[str]:
    """Return every violation; ``slack`` is how far counts may differ from estimates."""
    context = Laws(
        document=document,
        units=units,
        chunks=chunks,
        settings=settings,
        count=count,
        slack=slack,
    )
    return [
        f"{check.__name__}: {found}"
        for check in (
            context.spans, context.coverage, context.cap, context.prefixes, context.lines,
            context.headings, context.whole_blocks, context.minimum, context.facts,
            context.tokens, context.reasons, context.continuations, context.overlaps,
            context.numbers,
        )
        for found in check()
    ]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Laws:
    """One chunked document under examination."""

    document: Document
    units: Sequence[Sentence]
    chunks: Sequence[Chunk]
    settings: ChunkingSettings
    count: Count
    slack: int
    sizes: dict[str, int] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The document's text."""
        return self.document.text

    def size(self, text: str) -> int:
        """Return the exact size of a text."""
        if text not in self.sizes:
            self.sizes[text] = self.count([text])[0]
        return self.sizes[text]

    def certainly_fits(self, text: str) -> bool:
        """Return whether a text fits under the cap by more than the slack."""
        return self.size(text) <= self.settings.max_tokens - self.slack

    def surely_fits(self, text: str) -> bool:
        """Return whether a text fits, were its estimate off by the slack."""
        return self.size(text) + self.slack <= self.settings.max_tokens

    def spans(self) -> Iterator[str]:
        """Check that spans are trimmed, ordered, and disjoint without overlap."""
        for chunk in self.chunks:
            piece = self.text[chunk.start : chunk.end]
            if not piece or piece != piece.strip():
                yield f"chunk {chunk.index} is blank or not trimmed: {piece[:30]!r}"
        for before, chunk in pairwise(self.chunks):
            if chunk.start <= before.start or chunk.end <= before.end:
                yield f"chunk {chunk.index} does not go on"
            if not self.settings.overlap and chunk.start < before.end:
                yield f"chunk {chunk.index} overlaps"

    def coverage(self) -> Iterator[str]:
        """Check that no visible code point is lost."""
        position = 0
        for chunk in self.chunks:
            if self.text[position : max(position, chunk.start)].strip():
                yield f"lost before chunk {chunk.index}: {self.text[position : chunk.start]!r}"
            position = max(position, chunk.end)
        if self.text[position:].strip():
            yield f"lost at the end: {self.text[position:]!r}"

    def cap(self) -> Iterator[str]:
        """Check the exact model input against the cap."""
        for chunk in self.chunks:
            n = self.size(chunk.prefix + self.text[chunk.start : chunk.end])
            if n != chunk.n_tokens and max(n, 1) != chunk.n_tokens:
                yield f"chunk {chunk.index} says {chunk.n_tokens} tokens, has {n}"
            if n > self.settings.max_tokens:
                yield f"chunk {chunk.index} has {n} tokens"

    def blocks_in(self, chunk: Chunk) -> list[Block]:
        """Return the blocks that share visible text with a chunk."""
        return self.blocks_between(chunk.start, chunk.end)

    def blocks_between(self, start: int, end: int) -> list[Block]:
        """Return the blocks that share text with ``[start, end)``."""
        blocks = self.document.blocks
        first = bisect_right(blocks, start, key=lambda block: block.end)
        last = bisect_left(blocks, end, key=lambda block: block.start)
        return list(blocks[first:last])

    def prefixes(self) -> Iterator[str]:
        """Check that heading lines are the inner end of the path, less what the text has."""
        for chunk in self.chunks:
            if chunk.prefix and not chunk.prefix.endswith("\n"):
                yield f"prefix of chunk {chunk.index} does not end in a newline"
            blocks = self.blocks_in(chunk)
            own = {
                " ".join(self.text[b.start : b.end].split()) for b in blocks if b.kind in HEADINGS
            }
            body = [b for b in blocks if b.kind not in HEADINGS]
            path = [" ".join(p.split()) for p in (body or blocks)[0].heading_path]
            expected = [line for line in path if line not in own]
            if not self.settings.prefix_headings:
                expected = []
            lines = chunk.prefix.removesuffix("\n").split("\n") if chunk.prefix else []
            allowed = [expected + head for head in self.table_heads(chunk)]
            if not any(lines == every[len(every) - len(lines) :] for every in allowed):
                yield f"prefix of chunk {chunk.index} is {lines}, not the end of {allowed}"

    def table_heads(self, chunk: Chunk) -> list[list[str]]:
        """Return caption and header lines that a continuation chunk may repeat.

        Two where estimates decide whether its row exceeds the cap.
        """
        head = self.table_head(chunk)
        return [head, self.table_head(chunk, cells=False)] if self.slack else [head]

    def table_head(self, chunk: Chunk, *, cells: bool = True) -> list[str]:
        """Return caption and header lines, or only the header's cells above a part of a row."""
        first = self.blocks_in(chunk)[0]
        rows = self.lines_of(first) if first.kind == "table" else []
        if len(rows) < 2 or chunk.start < rows[1][0]:
            return []
        lines = self.text[first.start : rows[1][0]].strip().split("\n")
        span = self.columns_span(chunk, first) if cells else None
        if span is not None:
            lines = [self.text[span[0] : span[1]]]
        caption = self.caption_of(first)
        if caption is not None and caption not in self.blocks_in(chunk):
            lines.insert(0, " ".join(self.text[caption.start : caption.end].split()))
        return lines

    def columns_span(self, chunk: Chunk, table: Block) -> tuple[int, int] | None:
        """Return the span of the header cells above a part of a row that exceeds the cap."""
        rows = self.lines_of(table)
        held = [(a, b) for a, b in rows if a < chunk.end and chunk.start < b]
        (start, end) = held[0]
        row = self.text[start:end].strip()
        inside = start <= chunk.start and chunk.end <= end
        if not inside or chunk.end - chunk.start == len(row) or not self.exceeds(row):
            return None
        header = self.text[table.start :].split("\n", 1)[0].rstrip()
        bars = [m.start() + table.start for m in BAR.finditer(header)]
        columns = list(pairwise(bars)) if header.endswith("|") else []
        if not header.startswith("|") or not row.startswith("|"):
            return None
        most = len(BAR.findall(row)) - 1 - row.endswith("|")
        first = min(most, len(BAR.findall(self.text[start : chunk.start + 1])) - 1)
        last = min(most, len(BAR.findall(self.text[start : chunk.end])) - 1)
        if last >= len(columns):
            return None
        return columns[first][0], columns[last][1] + 1

    def exceeds(self, text: str) -> bool:
        """Return whether a text may exceed the cap."""
        return not self.certainly_fits(text)

    def caption_of(self, table: Block) -> Block | None:
        """Return a table's caption: before it, after it, or before the paragraph before it.

        After it only if no other table follows; two before it only if the caption is
        not that of another table, picture or code block.
        """
        blocks, i = self.document.blocks, table.index
        near = {k: blocks[i + k] for k in range(-3, 3) if 0 <= i + k < len(blocks)}
        kinds = {k: block.kind for k, block in near.items()}
        line = near.get(-1)
        if kinds.get(-1) == "caption":
            return line
        if line is not None and line.kind == "paragraph" and line.end - line.start <= 300:
            words = self.text[line.start : line.end].split()
            one_line = "\n" not in self.text[line.start : line.end]
            numbered = words[1:2] and any(map(str.isdigit, words[1].lstrip("ABC.-")[:1]))
            if one_line and numbered and words[0].lower() in ("table", "tabel", "tabelle"):
                return line
        if kinds.get(1) == "caption":
            return None if kinds.get(2) == "table" else near[1]
        if kinds.get(-1) == "paragraph" and kinds.get(-2) == "caption":
            return None if kinds.get(-3) in ("table", "picture", "code") else near[-2]
        return None

    def lines_of(self, block: Block) -> list[tuple[int, int]]:
        """Return the spans of a table's rows or of a code block's lines."""
        if block.kind == "table" and block.row_starts:
            starts = list(block.row_starts)
        else:
            starts = [block.start]
            starts += [i + 1 for i in range(block.start, block.end) if self.text[i] == "\n"]
            if block.kind == "table" and len(starts) > 1:
                second = self.text[starts[1] : block.end].split("\n", 1)[0]
                if second.strip() and not second.strip(" \t|:-") and "-" in second:
                    del starts[1]
        return list(zip(starts, [*starts[1:], block.end], strict=True))

    def lines(self) -> Iterator[str]:
        """Check that rows and code lines are cut only where they exceed the cap alone."""
        for block in self.document.blocks:
            if block.kind not in ("table", "code"):
                continue
            for start, end in self.lines_of(block):
                first = bisect_right(self.chunks, start, key=lambda chunk: chunk.end)
                last = bisect_left(self.chunks, end, key=lambda chunk: chunk.end)
                for chunk in self.chunks[first:last]:
                    left = self.text[start : chunk.end].strip()
                    right = self.text[chunk.end : end].strip()
                    if left and right and self.certainly_fits(self.text[start:end].strip()):
                        yield f"chunk {chunk.index} ends inside {self.text[start:end]!r}"

    def headings(self) -> Iterator[str]:
        """Check that no chunk ends with a heading, where that can be avoided."""
        blocks = self.document.blocks
        for chunk in self.chunks[:-1]:
            last = self.blocks_in(chunk)[-1]
            if last.kind not in HEADINGS or chunk.end < len(self.text[: last.end].rstrip()):
                continue
            first = last.index
            while first and blocks[first - 1].kind in HEADINGS:
                first -= 1
            after = last.index + 1
            while after < len(blocks) and blocks[after].kind in HEADINGS:
                after += 1
            if after == len(blocks):
                continue
            end = self.first_piece(blocks[after])
            nearest = {first, last.index} if last.index == after - 1 else {first}
            if any(self.certainly_fits(self.text[blocks[i].start : end].strip()) for i in nearest):
                yield f"chunk {chunk.index} ends with the heading {last.index}"

    def first_piece(self, block: Block) -> int:
        """Return the end of the smallest beginning of a block that a heading may keep."""
        if block.kind in ("table", "code"):
            start, end = self.lines_of(block)[0]
            if self.size(self.text[start:end].strip()) <= self.settings.max_tokens + self.slack:
                return end
        words = self.text[block.start : block.end].split()
        at = self.text.index(words[0], block.start)
        return min(block.end, at + len(words[0]))

    def whole_blocks(self) -> Iterator[str]:
        """Check that tables and code that fit are whole, unless a heading's law stands before."""
        blocks = self.document.blocks
        for block in blocks:
            piece = self.text[block.start : block.end]
            if block.kind not in ("table", "code") or not self.certainly_fits(piece.strip()):
                continue
            first = block.index
            while first and blocks[first - 1].kind in HEADINGS:
                first -= 1
            together = self.text[blocks[first].start : block.end].strip()
            if self.size(together) > self.settings.max_tokens - self.slack and first < block.index:
                continue
            at = bisect_right(self.chunks, block.start, key=lambda chunk: chunk.end)
            after = bisect_left(self.chunks, block.end, key=lambda chunk: chunk.start)
            holders = self.chunks[at:after]
            if not any(not self.outside(block, c) for c in holders):
                yield f"{block.kind} {block.index} of {self.size(piece)} tokens is cut"

    def outside(self, block: Block, chunk: Chunk) -> str:
        """Return the visible text of a block that a chunk does not hold."""
        before = self.text[block.start : max(block.start, chunk.start)]
        return (before + self.text[min(block.end, chunk.end) : block.end]).strip()

    def minimum(self) -> Iterator[str]:
        """Check that no chunk below the minimum could join a neighbour."""
        if self.settings.overlap:
            return
        for i, chunk in enumerate(self.chunks):
            if chunk.n_tokens >= self.settings.min_tokens:
                continue
            for left in (i - 1, i):
                if left >= 0 and left + 1 < len(self.chunks):
                    start, end = self.chunks[left].start, self.chunks[left + 1].end
                    if self.size(self.text[start:end]) <= self.settings.max_tokens:
                        yield f"chunk {i} of {chunk.n_tokens} tokens could join a neighbour"

    def facts(self) -> Iterator[str]:
        """Check index, kind, heading path, pages and languages."""
        for i, chunk in enumerate(self.chunks):
            blocks = self.blocks_in(chunk)
            body = [b for b in blocks if b.kind not in HEADINGS]
            kinds = {b.kind for b in body}
            if len(kinds) > 1 and chunk.kind != "mixed":
                yield f"chunk {i} of {kinds} is called {chunk.kind}"
            if len(kinds) == 1 and {chunk.kind} != kinds:
                yield f"chunk {i} of {kinds} is called {chunk.kind}"
            if not kinds and chunk.kind not in HEADINGS:
                yield f"chunk {i} of headings is called {chunk.kind}"
            if body and chunk.heading_path != body[0].heading_path:
                yield f"chunk {i} has the path {chunk.heading_path}"
            if chunk.index != i:
                yield f"chunk {i} is numbered {chunk.index}"
            pages = [p for b in blocks for p in (b.page_start, b.page_end) if p is not None]
            if (chunk.page_start, chunk.page_end) != (
                min(pages, default=None),
                max(pages, default=None),
            ):
                yield f"chunk {i} has wrong pages"
            codes = {b.code_language for b in blocks if b.kind == "code"}
            if chunk.code_language != (next(iter(codes)) if len(codes) == 1 else None):
                yield f"chunk {i} has the code language {chunk.code_language}"

    def tokens(self) -> Iterator[str]:
        """Check that the token ranges partition the document's tokens without overlap."""
        n = self.units[-1].token_end if self.units else 0
        if self.settings.overlap or not self.chunks:
            return
        position = 0
        for chunk in self.chunks:
            if chunk.token_start != position:
                yield f"chunk {chunk.index} starts at token {chunk.token_start}, not {position}"
            position = chunk.token_end
        if position != n:
            yield f"the last chunk ends at token {position} of {n}"

    def reasons(self) -> Iterator[str]:
        """Check positions and reasons of boundaries."""
        for i, chunk in enumerate(self.chunks):
            boundary = chunk.boundary
            if boundary.position != chunk.end:
                yield f"boundary {i} is at {boundary.position}, not {chunk.end}"
            if (boundary.reason == "document_end") != (i + 1 == len(self.chunks)):
                yield f"chunk {i} ends for {boundary.reason}"
            if i + 1 == len(self.chunks) or self.settings.overlap:
                continue
            following = self.blocks_in(self.chunks[i + 1])[0]
            together = self.text[chunk.start : self.chunks[i + 1].end]
            if boundary.reason == "max_tokens" and self.surely_fits(chunk.prefix + together):
                yield f"chunk {i} says max_tokens, but could go on"
            opens = following.kind in HEADINGS and self.chunks[i + 1].start <= following.start
            before = self.blocks_in(chunk)[-1]
            if opens and before.kind not in HEADINGS and boundary.reason != "heading":
                yield f"chunk {i} ends before a heading for {boundary.reason}"
            if (boundary.reason, chunk.boundaries) != ("semantic", "semantic"):
                continue
            if boundary.distance is None or boundary.threshold is None:
                yield f"boundary {i} is semantic without a distance"
            elif boundary.distance <= boundary.threshold and (
                self.settings.threshold_type != "gradient"
            ):
                yield f"boundary {i} is semantic at {boundary.distance}"

    def continuations(self) -> Iterator[str]:
        """Check that a continued table repeats its header, and pools its units."""
        for chunk in self.chunks:
            head = self.table_head(chunk)
            if not head:
                if chunk.header_units:
                    yield f"chunk {chunk.index} pools a header it does not repeat"
                continue
            first = self.blocks_in(chunk)[0]
            start, end = first.start, self.lines_of(first)[1][0]
            span = self.columns_span(chunk, first)
            if span is not None:
                start, end = span
            header = self.text[start:end].strip()
            piece = self.text[chunk.start : chunk.end]
            whole = self.text[first.start : self.lines_of(first)[1][0]].strip()
            if self.slack and f"{whole}\n" in chunk.prefix:
                start, end, header = first.start, self.lines_of(first)[1][0], whole
            has = f"{header}\n" in chunk.prefix
            if not has and span is None and self.certainly_fits(f"{header}\n{piece}"):
                yield f"chunk {chunk.index} does not repeat its table's header"
            expected = [u.index for u in self.units if start < u.end and u.start < end]
            if list(chunk.header_units) != (expected if has else []):
                yield f"chunk {chunk.index} pools {chunk.header_units} as its header"

    def overlaps(self) -> Iterator[str]:
        """Check that what is repeated is prose of one kind and section, no more than asked."""
        for before, chunk in pairwise(self.chunks):
            if chunk.start >= before.end:
                continue
            start, end = chunk.start, before.end
            blocks = self.blocks_between(start, end)
            following = self.blocks_between(end, len(self.text))[0]
            if len({(b.kind, b.heading_path) for b in blocks}) > 1:
                yield f"chunk {chunk.index} repeats several kinds or sections"
            if {b.kind for b in blocks} & {*HEADINGS, "table", "code", "formula"}:
                yield f"chunk {chunk.index} repeats {blocks[0].kind}"
            if chunk.end > end and following.kind != blocks[-1].kind:
                yield f"chunk {chunk.index} repeats {blocks[-1].kind} before {following.kind}"
            if self.settings.overlap_unit == "sentences" and self.settings.separators == "auto":
                begun = [u for u in self.units if start <= u.start < end and not u.piece]
                if len(begun) > self.settings.overlap:
                    yield f"chunk {chunk.index} repeats {len(begun)} sentences"

    def numbers(self) -> Iterator[str]:
        """Check that distances are finite, and given with their threshold where one is used."""
        for chunk in self.chunks:
            for value in (chunk.boundary.distance, chunk.boundary.threshold):
                if value is not None and not math.isfinite(value):
                    yield f"boundary {chunk.index} has the distance or threshold {value}"
