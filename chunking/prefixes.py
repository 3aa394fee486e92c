"""What stands in front of a chunk's text: heading path, caption, repeated table header.

A prefix is made of lines in the order in which they may be given up when the cap is
short: headings from the outermost, then the caption, then the table's header.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from chunking.atoms import Atoms
from chunking.layout import Layout, header_end, is_heading, one_line
from chunking.model import Block
from chunking.tables import WideRows, read_wide_rows

__all__ = ["Part", "Prefixes", "TableHead", "read_prefixes"]

_CAPTION_LINE = re.compile(
    r"(?:table|tab\.|tabelle|tabell?|tableau|tabla|tabella|tabela|tabel|taulukko|tablo"
    r"|\u0442\u0430\u0431\u043b\u0438\u0446\u0430|\u03c0\u03af\u03bd\u03b1\u03ba\u03b1\u03c2"
    r"|\u0627\u0644\u062c\u062f\u0648\u0644|\u05d8\u05d1\u05dc\u05d4|\u8868|\ud45c)"
    r"\s*(?:[0-9]+|[A-Z]?[.-]?[0-9]+|[IVX]+)[^\n]*\Z",
    re.IGNORECASE,
)
"""A paragraph that is a caption by its words; formats without captions write them so."""

_LONGEST_CAPTION = 300
_OWN_CAPTION = (["table"], ["picture"], ["code"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One line (or the header's two) of a prefix, with its estimated size.

    ``span``: where a repeated table header, or those of its cells, stand in the text.
    ``n_tokens``: its number of tokens where it was counted.
    """

    text: str
    size: int
    n_tokens: int | None = None
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHead:
    """What the continuation of a table repeats: ``end`` is where the header ends.

    ``wide``: its rows that exceed the cap, which repeat the header cells of their columns.
    """

    end: int
    header: Part
    caption: Part | None
    caption_block: int | None
    wide: WideRows | None = None

    @property
    def size(self) -> int:
        """Estimated size of all that is repeated."""
        return self.header.size + (self.caption.size if self.caption else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefixes:
    """The prefix parts of a document: lines by the heading's name, heads by table."""

    layout: Layout
    lines: dict[str, Part] = field(repr=False)
    heads: dict[int, TableHead] = field(repr=False)

    def parts(self, atoms: Atoms, start: int, end: int) -> list[Part]:
        """Return the parts for the chunk of atoms ``[start, end)``.

        Outer headings are left out where the inner ones alone exceed the cap.
        """
        first, last = atoms.blocks[start], atoms.blocks[end - 1]
        parts = self._headings(first, last) if self.layout.settings.prefix_headings else []
        head = self.heads.get(first)
        if head is None or atoms.starts[start] < head.end:
            return parts
        if head.caption is not None and not first <= (head.caption_block or 0) <= last:
            parts.append(head.caption)
        text_end = min(atoms.starts[end], self.layout.document.blocks[last].end)
        return [*parts, self._header(head, atoms.starts[start], text_end)]

    def _headings(self, first: int, last: int) -> list[Part]:
        """Return the path of blocks ``[first, last]``, less the headings among them."""
        blocks, text = self.layout.document.blocks, self.layout.document.text
        inside = {
            one_line(text[blocks[i].start : blocks[i].end])
            for i in self.layout.headings_between(first, last)
        }
        parts: list[Part] = []
        room = self.layout.cap
        for name in reversed(self.leading_block(first, last).heading_path):
            part = self.lines.get(name)
            if part is None or part.text in inside:
                continue
            parts.append(part)
            room -= part.size
            if room < 0:
                break
        parts.reverse()
        return parts

    def _header(self, head: TableHead, start: int, end: int) -> Part:
        """Return what of a table's header stands in front of ``[start, end)``."""
        span = head.wide.header_span(start, end) if head.wide else None
        if span is None:
            return head.header
        first, last = span
        size = self.layout.estimate(first, last)
        return Part(text=self.layout.document.text[first:last], size=size, span=span)

    def leading_block(self, first: int, last: int) -> Block:
        """Return the first block of ``[first, last]`` that is no heading, else the first."""
        blocks = self.layout.document.blocks
        for i in range(first, last + 1):
            if not is_heading(blocks[i]):
                return blocks[i]
        return blocks[first]

    def estimates(self, atoms: Atoms) -> tuple[list[int], list[int]]:
        """Return, for a chunk that starts at each atom, its prefix size and what of it is due.

        Due is the repeated table header, as far as it leaves room for the row.
        """
        soft: list[int] = []
        due: list[int] = []
        room = self.layout.cap - self.layout.special
        blocks = self.layout.document.blocks
        path, path_size = None, 0
        for i in range(len(atoms)):
            block = blocks[atoms.blocks[i]]
            if block.heading_path is not path:
                path, path_size = block.heading_path, self._path_size(block)
            head = self.heads.get(block.index)
            size = 0
            if head is not None and atoms.starts[i] >= head.end:
                size = head.size
                if head.wide is not None:
                    text_end = min(atoms.starts[i + 1], block.end)
                    part = self._header(head, atoms.starts[i], text_end)
                    size += part.size - head.header.size
            soft.append(path_size + size)
            due.append(size if size + atoms.sizes[i + 1] - atoms.sizes[i] <= room else 0)
        return soft, due

    def _path_size(self, block: Block) -> int:
        if not self.layout.settings.prefix_headings:
            return 0
        # A path larger than a chunk is trimmed in any case; it must not drive out the text.
        most = self.layout.settings.target_tokens // 2
        path = (self.lines[name].size for name in block.heading_path if name in self.lines)
        return min(sum(path), most)


def read_prefixes(layout: Layout) -> Prefixes:
    """Measure every line that may stand in a prefix, each distinct one once."""
    document = layout.document
    names: dict[str, str] = {}
    if layout.settings.prefix_headings:
        path = None
        for block in document.blocks:
            if block.heading_path is not path:
                path = block.heading_path
                names.update((name, one_line(name)) for name in path if name not in names)
    at_table = _captions(layout)
    captions = {i: _caption_line(layout, at) for i, at in at_table.items()}
    ends = {
        block.index: end
        for block in document.blocks
        if block.kind == "table" and (end := header_end(document.text, block)) is not None
    }
    headers = {i: document.text[document.blocks[i].start : end].strip() for i, end in ends.items()}
    owned = [captions[i] for i in ends if i in captions]
    measured = _measured(layout, [*names.values(), *headers.values(), *owned])
    heads = {
        i: TableHead(
            end=end,
            header=replace(measured[headers[i]], span=(document.blocks[i].start, end)),
            caption=measured.get(captions.get(i, "")),
            caption_block=at_table.get(i),
            wide=read_wide_rows(layout, document.blocks[i]),
        )
        for i, end in ends.items()
    }
    lines = {name: measured[line] for name, line in names.items() if line}
    return Prefixes(layout=layout, lines=lines, heads=heads)


def _measured(layout: Layout, lines: Sequence[str]) -> dict[str, Part]:
    """Return the part of each distinct line that is not empty."""
    distinct = [line for line in dict.fromkeys(lines) if line]
    counts = layout.count(distinct) if distinct else []
    return {
        line: Part(text=line, size=max(1, n - layout.special), n_tokens=n - layout.special)
        for line, n in zip(distinct, counts, strict=True)
    }


def _caption_line(layout: Layout, index: int) -> str:
    block = layout.document.blocks[index]
    return one_line(layout.document.text[block.start : block.end])


def _captions(layout: Layout) -> dict[int, int]:
    """Return the caption of each table.

    The block before, be it a caption or a line such as "Table 3: ..."; else the block
    after it; else a caption with one paragraph between. A caption between two tables
    belongs to the second.
    """
    blocks, text = layout.document.blocks, layout.document.text
    kinds = [block.kind for block in blocks]
    found = {}
    for i, kind in enumerate(kinds):
        if kind != "table" or not i:
            near = [i + 1] if kind == "table" and kinds[i + 1 : i + 2] == ["caption"] else []
        elif kinds[i - 1] == "caption" or _is_caption_line(text, blocks[i - 1]):
            near = [i - 1]
        elif kinds[i + 1 : i + 2] == ["caption"]:
            near = [i + 1]
        elif kinds[i - 1] == "paragraph" and kinds[max(0, i - 2) : i - 1] == ["caption"]:
            near = [] if kinds[max(0, i - 3) : i - 2] in _OWN_CAPTION else [i - 2]
        else:
            near = []
        if near and not (near[0] > i and kinds[i + 2 : i + 3] == ["table"]):
            found[i] = near[0]
    return found


def _is_caption_line(text: str, block: Block) -> bool:
    return (
        block.kind == "paragraph"
        and block.end - block.start <= _LONGEST_CAPTION
        and _CAPTION_LINE.match(text, block.start, block.end) is not None
    )
