"""The blocks of a Word story (body, note, comment, header), in reading order.

Rules: a text box, a chart or a diagram stands behind the paragraph that it is anchored
in; a table of one cell, or around another table, is layout; in any other table whatever
stands in a cell is its text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.formats.docx_numbering import Numbered, Numbering
from jobs.parsing.formats.docx_styles import ParagraphKind, Styles, W
from jobs.parsing.formats.docx_tables import Cell, is_layout, rows_of
from jobs.parsing.formats.docx_text import Line, Notes, ParagraphReader, mark_is_deleted
from jobs.parsing.formats.drawings import ALTERNATE, Drawn, branch, chart_rows, diagram_lines
from jobs.parsing.formats.package import Package
from jobs.parsing.formats.spans import SpanGrid

__all__ = ["Chunk", "Shared", "Story"]

_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_WRAPPERS = frozenset(
    f"{W}{name}" for name in ("sdt", "sdtContent", "customXml", "ins", "moveTo", "smartTag")
)
_DEEPEST = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What the stories of one package share.

    ``title_levels``: levels that titles take above all headings, where there are several.
    """

    builder: DocumentBuilder
    package: Package
    styles: Styles
    numbering: Numbering
    notes: Notes
    one_title: bool
    title_levels: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A file of another format that stands in the place of blocks (``w:altChunk``)."""

    target: str


class Story:
    """Reads one part; chunks of other formats are handed to ``chunks``."""

    def __init__(self, shared: Shared, part: str) -> None:
        self._shared = shared
        self._builder = shared.builder
        self._relationships = shared.package.relationships(part)
        self._reader = ParagraphReader(shared.styles, shared.notes)
        self._code: list[str] = []
        self._list_key: str | None = None
        self._list_id = 0
        self.chunks: list[str] = []

    @property
    def hidden(self) -> bool:
        """Whether hidden text was left out."""
        return self._reader.hidden

    def add(self, container: etree._Element, depth: int = 0) -> Iterator[Chunk]:
        """Add the blocks of a container; yield where a file of another format stands."""
        if depth > _DEEPEST:
            self._flat(container)
            return
        for group in _grouped(container):
            node = group[-1]
            if node.tag == f"{W}p":
                yield from self._paragraph(group, depth)
            elif node.tag == f"{W}tbl":
                self._end_code()
                yield from self._table(node, depth)
            else:
                self._end_code()
                relationship = self._relationships.get(node.get(f"{_R}id") or "")
                if relationship is not None:
                    yield Chunk(relationship.target)
        self._end_code()

    def lines(self, container: etree._Element, depth: int = 0) -> list[str]:
        """Return the text of a container line by line, whatever stands in it."""
        if depth > _DEEPEST:
            return ["".join(t.text or "" for t in container.iter(f"{W}t"))]
        found: list[str] = []
        for group in _grouped(container):
            node = group[-1]
            if node.tag == f"{W}tbl":
                for row in rows_of(node):
                    cells = [" ".join(self._cell_lines(cell, depth)) for cell in row]
                    found.append("\t".join(cells))
            elif node.tag == f"{W}p":
                line = self._reader.read(group)
                found.append(_labelled(line.text, self._shared.numbering.next(node)))
                found += self._drawn_lines(line.drawn, depth)
        return [line for line in map(str.strip, found) if line]

    def _cell_lines(self, cell: Cell, depth: int) -> list[str]:
        return [] if cell.element is None else self.lines(cell.element, depth + 1)

    def _paragraph(self, group: list[etree._Element], depth: int) -> Iterator[Chunk]:
        line = self._reader.read(group)
        numbered = self._shared.numbering.next(group[-1])
        kind = self._shared.styles.kind(group[-1])
        if kind.kind != "code" or numbered is not None:
            self._end_code()
            if line.text.strip():
                self._text(line, kind, numbered)
        else:
            self._code.append(line.text)
        yield from self._drawn(line.drawn, depth)

    def _text(self, line: Line, kind: ParagraphKind, numbered: Numbered | None) -> None:
        shared, text = self._shared, line.text
        is_item = numbered is not None and (numbered.bullet or bool(numbered.label))
        if not is_item or kind.kind != "text":
            self._list_key = None
        if kind.kind == "title":
            level = 0 if shared.one_title else 1
            self._builder.heading(_labelled(text, numbered), level, title=shared.one_title)
        elif kind.kind == "heading":
            level = kind.level + shared.title_levels
            self._builder.heading(_labelled(text, numbered), level)
        elif kind.kind == "caption":
            self._builder.add("caption", _labelled(text, numbered))
        elif line.formula is not None:
            self._builder.add("formula", line.formula)
        elif is_item and numbered is not None:
            self._item(text, numbered)
        else:
            self._builder.add("paragraph", text)

    def _item(self, text: str, numbered: Numbered) -> None:
        if self._list_key is None or (numbered.level == 0 and numbered.list_key != self._list_key):
            self._list_id += 1
            self._list_key = numbered.list_key
        self._builder.list_item(
            text,
            depth=numbered.level + 1,
            marker=numbered.label or "-",
            list_id=self._list_id,
        )

    def _table(self, table: etree._Element, depth: int) -> Iterator[Chunk]:
        self._list_key = None
        rows = rows_of(table)
        if is_layout(table):
            section = self._builder.section()
            for row in rows:
                for cell in row:
                    if cell.element is not None:
                        yield from self.add(cell.element, depth + 1)
            self._builder.return_to(section)
            return
        grid = SpanGrid()
        for row in rows:
            grid.next_row()
            for cell in row:
                text = "\n".join(self._cell_lines(cell, depth))
                grid.add(text, columns=cell.columns, rows=cell.rows)
        self._builder.table(grid.rows())

    def _drawn(self, drawn: Drawn, depth: int) -> Iterator[Chunk]:
        if not drawn:
            return
        self._end_code()
        for box in drawn.boxes:
            yield from self.add(box, depth + 1)
        for text in (*drawn.lines, *self._diagrams(drawn)):
            self._builder.add("paragraph", text)
        for title, rows in self._charts(drawn):
            self._builder.add("caption", title)
            self._builder.table(rows)
        for description in drawn.pictures:
            self._builder.add("picture", description)

    def _drawn_lines(self, drawn: Drawn, depth: int) -> list[str]:
        found = [line for box in drawn.boxes for line in self.lines(box, depth + 1)]
        found += [*drawn.lines, *self._diagrams(drawn)]
        for title, rows in self._charts(drawn):
            found += [title, *map("\t".join, rows)]
        return found + drawn.pictures

    def _charts(self, drawn: Drawn) -> Iterator[tuple[str, list[list[str]]]]:
        for root in self._targets(drawn.charts):
            yield chart_rows(root)

    def _diagrams(self, drawn: Drawn) -> list[str]:
        return [line for root in self._targets(drawn.diagrams) for line in diagram_lines(root)]

    def _targets(self, identifiers: list[str]) -> Iterator[etree._Element]:
        for identifier in identifiers:
            relationship = self._relationships.get(identifier)
            if relationship is not None:
                root = self._shared.package.optional(relationship.target)
                if root is not None:
                    yield root

    def _end_code(self) -> None:
        if self._code:
            self._builder.code("\n".join(self._code).strip("\n"))
            self._code.clear()

    def _flat(self, container: etree._Element) -> None:
        self._builder.warn("elements are nested too deep: structure was left out, text kept")
        self._builder.add("paragraph", "".join(t.text or "" for t in container.iter(f"{W}t")))


def _labelled(text: str, numbered: Numbered | None) -> str:
    return (
        f"{numbered.label} {text.strip()}" if numbered and numbered.label and text.strip() else text
    )


def _grouped(container: etree._Element) -> Iterator[list[etree._Element]]:
    """Yield tables, chunks and paragraphs; paragraphs whose mark is deleted with the next."""
    open_: list[etree._Element] = []
    for node in _blocks(container):
        if node.tag != f"{W}p":
            if open_:
                yield open_
            open_ = []
            yield [node]
            continue
        open_.append(node)
        if not mark_is_deleted(node):
            yield open_
            open_ = []
    if open_:
        yield open_


def _blocks(container: etree._Element) -> Iterator[etree._Element]:
    stack = list(container)[::-1]
    while stack:
        node = stack.pop()
        if node.tag in (f"{W}p", f"{W}tbl", f"{W}altChunk"):
            yield node
        elif node.tag in _WRAPPERS:
            stack += list(node)[::-1]
        elif node.tag == ALTERNATE:
            stack += branch(node)[::-1]
