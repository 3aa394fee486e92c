"""What stands in front of a chunk's text: heading path, caption, repeated table header.

A prefix is made of lines in the order in which they may be given up when the cap is
short: headings from the outermost, then the caption, then the table's header.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from chunking.atoms import Atoms
from chunking.layout import Layout, is_heading, one_line
from chunking.model import Block

__all__ = ["Part", "Prefixes", "TableHead", "read_prefixes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One line (or the header's two) of a prefix, with its estimated size."""

    text: str
    size: int
    header: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHead:
    """What the continuation of a table repeats: ``end`` is where the header ends."""

    end: int
    header: Part
    caption: Part | None
    caption_block: int | None

    @property
    def size(self) -> int:
        """Estimated size of all that is repeated."""
        return self.header.size + (self.caption.size if self.caption else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefixes:
    """The prefix parts of a document: heading lines by their text, heads by table."""

    layout: Layout
    sizes: dict[str, int] = field(repr=False)
    heads: dict[int, TableHead] = field(repr=False)

    def parts(self, atoms: Atoms, start: int, end: int) -> list[Part]:
        """Return the parts for the chunk of atoms ``[start, end)``."""
        first, last = atoms.blocks[start], atoms.blocks[end - 1]
        parts = []
        if self.layout.settings.prefix_headings:
            blocks, text = self.layout.document.blocks, self.layout.document.text
            inside = {
                one_line(text[blocks[i].start : blocks[i].end])
                for i in self.layout.headings_between(first, last)
            }
            lines = (one_line(name) for name in self.leading_block(first, last).heading_path)
            parts = [
                Part(text=line, size=self.sizes[line])
                for line in lines
                if line and line not in inside
            ]
        head = self.heads.get(first)
        if head is None or atoms.starts[start] < head.end:
            return parts
        if head.caption is not None and not first <= (head.caption_block or 0) <= last:
            parts.append(head.caption)
        return [*parts, head.header]

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
            soft.append(path_size + size)
            due.append(size if size + atoms.sizes[i + 1] - atoms.sizes[i] <= room else 0)
        return soft, due

    def _path_size(self, block: Block) -> int:
        if not self.layout.settings.prefix_headings:
            return 0
        return sum(self.sizes[one_line(name)] for name in block.heading_path if name.strip())


def read_prefixes(layout: Layout) -> Prefixes:
    """Measure every line that may stand in a prefix, each distinct one once."""
    lines: dict[str, int] = {}
    if layout.settings.prefix_headings:
        path = None
        for block in layout.document.blocks:
            if block.heading_path is not path:
                path = block.heading_path
                lines.update((one_line(name), 0) for name in path if name.strip())
    captions = _captions(layout)
    text = layout.document.text
    headers: dict[int, str] = {}
    for block in layout.document.blocks:
        if block.kind == "table" and len(block.row_starts) > 1:
            headers[block.index] = text[block.start : block.row_starts[1]].strip()
            lines[headers[block.index]] = 0
            if block.index in captions:
                lines[_caption_line(layout, captions[block.index])] = 0
    for line, n in zip(lines, layout.count([*lines]) if lines else (), strict=True):
        lines[line] = max(1, n - layout.special)
    heads = {}
    for index, header in headers.items():
        caption = captions.get(index)
        name = "" if caption is None else _caption_line(layout, caption)
        heads[index] = TableHead(
            end=layout.document.blocks[index].row_starts[1],
            header=Part(text=header, size=lines[header], header=True),
            caption=Part(text=name, size=lines[name]) if name else None,
            caption_block=caption,
        )
    return Prefixes(layout=layout, sizes=lines, heads=heads)


def _caption_line(layout: Layout, index: int) -> str:
    block = layout.document.blocks[index]
    return one_line(layout.document.text[block.start : block.end])


def _captions(layout: Layout) -> dict[int, int]:
    """Return the caption of each table: the block before, else the block after it.

    A caption between two tables belongs to the second.
    """
    blocks = layout.document.blocks
    found = {}
    for i, block in enumerate(blocks):
        if block.kind != "table":
            continue
        if i and blocks[i - 1].kind == "caption":
            found[i] = i - 1
            continue
        after = [following.kind for following in blocks[i + 1 : i + 3]]
        if after[:1] == ["caption"] and after[1:] != ["table"]:
            found[i] = i + 1
    return found
