"""A DoclingDocument becomes canonical text and blocks.

Rules: an inline group is one block; captions stand before what they caption; a
picture makes a block only by its description, a chart a table of its data; the text of
a merged table cell stands in its first column, in each of its rows when short; speaker
notes and comments stand where they are said; each running line is furniture, once;
hidden sheets and invisible text are left out with a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from docling_core.types.doc import (
    CodeItem,
    ContentLayer,
    DocItem,
    DocItemLabel,
    DoclingDocument,
    FormulaItem,
    GroupItem,
    GroupLabel,
    ListGroup,
    ListItem,
    NodeItem,
    PictureItem,
    RefItem,
    SectionHeaderItem,
    TableItem,
    TextItem,
    TitleItem,
)
from docling_core.types.doc.document import FormItem, InlineGroup, KeyValueItem

from chunking.model import BlockKind, Box
from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.docling_tables import cell_rows, table_rows

__all__ = ["Places", "add_docling", "inline_text"]

_PAGE_LABELS = frozenset({DocItemLabel.PAGE_HEADER, DocItemLabel.PAGE_FOOTER})
_KINDS: dict[DocItemLabel, BlockKind] = {
    DocItemLabel.CAPTION: "caption",
    DocItemLabel.FOOTNOTE: "footnote",
    DocItemLabel.FORMULA: "formula",
}
_CLOSING = re.compile(r"[,.;:!?)\]}%\u201d\u2019]")
_OPENING = re.compile(r"[(\[{/\u201c\u201e]$")
_SHEET = "sheet: "
_COMMENT = re.compile(
    r"\[author: ([^\]\n]*?)(?: \([^()\n]*\))?(?:, time: [^\]\n]*)?\]: |\[time: [^\]\n]*()\]: "
)
"""What docling puts before the text of a comment."""
_CHECKBOX = {DocItemLabel.CHECKBOX_SELECTED: "[x] ", DocItemLabel.CHECKBOX_UNSELECTED: "[ ] "}


class _Where(TypedDict):
    boxes: Sequence[Box]
    page: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """What of docling's items a format has.

    ``pages``: whether it has any; ``units_per_point``: docling's units of a box that make a
    point, 0 where there are no boxes; ``charts``: whether a chart's data is to be a table.
    """

    pages: bool = False
    units_per_point: float = 0.0
    charts: bool = True


@dataclass(frozen=True, slots=True)
class _Frame:
    """A node to visit, with the list it stands in."""

    node: NodeItem
    list_id: int = 0
    depth: int = 0
    number: int = 1


def add_docling(
    builder: DocumentBuilder, document: DoclingDocument, *, places: Places | None = None
) -> None:
    """Add the blocks of a DoclingDocument, in its reading order."""
    _Walk(builder, document, places or Places()).run()


def inline_text(document: DoclingDocument, node: NodeItem) -> str:
    """Return the text of a node and all below it, as one run."""
    parts = []
    for below in _descend(document, node):
        if isinstance(below, TextItem) and below.text:
            parts.append(below.text)
        elif isinstance(below, TableItem):
            parts += [cell.text for cell in below.data.table_cells if cell.text]
    return _join(parts)


def _descend(document: DoclingDocument, node: NodeItem) -> Iterator[NodeItem]:
    stack, seen = [node], set()
    while stack:
        current = stack.pop()
        if current.self_ref in seen:
            continue
        seen.add(current.self_ref)
        yield current
        stack.extend(_resolve(document, current.children)[::-1])


def _resolve(document: DoclingDocument, refs: Iterable[RefItem]) -> list[NodeItem]:
    return [ref.resolve(document) for ref in refs]


def _join(parts: Sequence[str]) -> str:
    """Join runs of one line: docling trims them, so blanks are put back by punctuation."""
    text = ""
    pieces = []
    for part in parts:
        tight = not text or text[-1].isspace() or part[:1].isspace()
        if not tight and not _CLOSING.match(part) and not _OPENING.search(text[-1]):
            pieces.append(" ")
        pieces.append(part)
        text = part or text
    return "".join(pieces)


class _Walk:
    """One pass over the tree of a document, without recursion."""

    def __init__(self, builder: DocumentBuilder, document: DoclingDocument, places: Places) -> None:
        self._builder = builder
        self._document = document
        self._places = places
        self._seen: set[str] = set()
        self._running: set[str] = set()
        self._n_lists = 0
        titles = [t for t in document.texts if isinstance(t, TitleItem) and _in_text(t)]
        self._one_title = len(titles) == 1
        self._title_levels = int(len(titles) > 1)
        origin = document.origin
        self._lead_is_text = origin is not None and origin.mimetype == "text/html"

    def run(self) -> None:
        """Visit every node under the body."""
        stack = [_Frame(self._document.body)]
        while stack:
            frame = stack.pop()
            if frame.node.self_ref not in self._seen:
                self._seen.add(frame.node.self_ref)
                stack.extend(self._visit(frame))

    def _visit(self, frame: _Frame) -> list[_Frame]:
        """Add what a node says; return its children still to visit, last first."""
        node = frame.node
        if node.content_layer == ContentLayer.INVISIBLE:
            self._hidden(node)
            return []
        if self._is_furniture(node):
            self._furniture(node)
            return []
        if isinstance(node, InlineGroup):
            self._prose("paragraph", node, node)
            return []
        if isinstance(node, TableItem):
            self._table(node)
            return []
        children = self._document_children(node)
        if isinstance(node, GroupItem):
            return self._group(frame, node, children)
        self._item(frame, node)
        return _reversed(replace(frame, node=child) for child in children)

    def _document_children(self, node: NodeItem) -> list[NodeItem]:
        return _resolve(self._document, node.children)

    def _group(self, frame: _Frame, node: GroupItem, children: list[NodeItem]) -> list[_Frame]:
        sheet = _sheet_name(node)
        if sheet is not None:
            self._builder.heading(sheet, 1)
        if node.label == GroupLabel.COMMENT_SECTION:
            self._comments(children)
            return []
        if not isinstance(node, ListGroup):
            return _reversed(replace(frame, node=child) for child in children)
        self._n_lists += not frame.depth
        list_id = frame.list_id if frame.depth else self._n_lists
        frames = []
        number = 0
        for child in children:
            number += isinstance(child, ListItem) and child.enumerated
            frames.append(_Frame(child, list_id, frame.depth + 1, number))
        return frames[::-1]

    def _item(self, frame: _Frame, node: NodeItem) -> None:
        if isinstance(node, TitleItem | SectionHeaderItem):
            self._heading(node)
        elif isinstance(node, ListItem):
            self._list_item(frame, node)
        elif isinstance(node, CodeItem):
            self._captions(node)
            language = node.code_language.value.lower()
            self._builder.code(
                node.text, None if language == "unknown" else language, **self._where(node)
            )
        elif isinstance(node, PictureItem):
            self._captions(node)
            self._picture(node)
        elif isinstance(node, KeyValueItem | FormItem):
            self._captions(node)
            self._key_values(node)
        elif isinstance(node, TextItem):
            self._text(node)

    def _text(self, node: TextItem) -> None:
        note = node.content_layer in (ContentLayer.NOTES, ContentLayer.BACKGROUND)
        kind: BlockKind = _KINDS.get(node.label, "other" if note else "paragraph")
        if isinstance(node, FormulaItem):
            kind = "formula"
        self._prose(kind, node, node, lead=_CHECKBOX.get(node.label, ""))

    def _prose(self, kind: BlockKind, node: NodeItem, place: NodeItem, lead: str = "") -> None:
        self._builder.add(kind, lead + self._own_text(node), **self._where(place))

    def _own_text(self, node: NodeItem) -> str:
        """Return a node's text, or that of the inline group that stands for it."""
        if isinstance(node, TextItem) and node.text.strip():
            return node.text
        if isinstance(node, InlineGroup):
            return self._consume(node)
        for child in self._document_children(node):
            if isinstance(child, InlineGroup):
                return self._consume(child)
        return ""

    def _consume(self, node: NodeItem) -> str:
        self._seen.update(below.self_ref for below in _descend(self._document, node))
        return inline_text(self._document, node)

    def _heading(self, node: TitleItem | SectionHeaderItem) -> None:
        text, where = self._own_text(node), self._where(node)
        if isinstance(node, SectionHeaderItem):
            level = node.level + self._title_levels
            self._builder.heading(text, level, **where)
        else:
            level = 0 if self._one_title else 1
            self._builder.heading(text, level, title=self._one_title, **where)

    def _list_item(self, frame: _Frame, node: ListItem) -> None:
        marker = node.marker.strip()
        if node.enumerated and not any(map(str.isalnum, marker)):
            marker = f"{frame.number}."
        elif not any(map(str.isalnum, marker)):
            marker = "-"
        self._builder.list_item(
            self._own_text(node),
            marker=marker,
            depth=max(frame.depth, 1),
            list_id=frame.list_id,
            **self._where(node),
        )

    def _table(self, node: TableItem) -> None:
        self._captions(node)
        rows, header = table_rows(self._document, node, inline_text)
        self._builder.table(rows, header=header, **self._where(node))
        self._seen.update(below.self_ref for below in _descend(self._document, node))
        for note in _resolve(self._document, node.footnotes):
            self._builder.add("footnote", inline_text(self._document, note), **self._where(note))

    def _captions(self, node: TableItem | PictureItem | CodeItem | KeyValueItem | FormItem) -> None:
        for caption in _resolve(self._document, node.captions):
            if caption.self_ref not in self._seen:
                text = self._consume(caption)
                self._builder.add("caption", text, **self._where(caption))

    def _picture(self, node: PictureItem) -> None:
        if node.meta and node.meta.description:
            self._builder.add("picture", node.meta.description.text, **self._where(node))
        chart = node.meta.tabular_chart if node.meta and self._places.charts else None
        if chart is not None:
            cells = cell_rows(chart.chart_data.table_cells)
            self._builder.table(cells, **self._where(node))
        for note in _resolve(self._document, node.footnotes):
            self._builder.add("footnote", self._consume(note), **self._where(note))

    def _key_values(self, node: KeyValueItem | FormItem) -> None:
        cells = {cell.cell_id: cell for cell in node.graph.cells if cell.item_ref is None}
        values: dict[int, list[str]] = {}
        for link in node.graph.links:
            if link.label == "to_value" and link.target_cell_id in cells:
                target = cells[link.target_cell_id].text
                values.setdefault(link.source_cell_id, []).append(target)
        linked = {link.target_cell_id for link in node.graph.links if link.label == "to_value"}
        lines = [
            f"{cell.text}: {', '.join(values[i])}" if i in values else cell.text
            for i, cell in cells.items()
            if i not in linked
        ]
        self._builder.add("other", "\n".join(lines), **self._where(node))

    def _comments(self, nodes: list[NodeItem]) -> None:
        for node in nodes:
            text = self._consume(node)
            told = _COMMENT.match(text)
            author = told[1] if told else None
            text = text[told.end() :] if told else text
            self._builder.add("other", f"Comment by {author or 'unknown'}: {text}")

    def _is_furniture(self, node: NodeItem) -> bool:
        if isinstance(node, DocItem) and node.label in _PAGE_LABELS:
            return True
        if node.content_layer != ContentLayer.FURNITURE:
            return False
        if isinstance(node, DocItem) and node.label == DocItemLabel.FOOTNOTE:
            return False
        return isinstance(node, TitleItem) or not self._lead_is_text

    def _furniture(self, node: NodeItem) -> None:
        text = self._consume(node)
        if isinstance(node, TitleItem) and self._lead_is_text:
            self._builder.title = text
        elif text not in self._running:
            self._running.add(text)
            self._builder.furniture(text)

    def _hidden(self, node: NodeItem) -> None:
        sheet = _sheet_name(node)
        if sheet is not None:
            self._builder.warn(f"the hidden sheet {sheet!r} was left out")
        elif self._consume(node).strip():
            self._builder.warn("hidden text was left out")

    def _where(self, node: NodeItem) -> _Where:
        provs = node.prov if isinstance(node, DocItem) and self._places.pages else []
        boxes = []
        if self._places.units_per_point:
            for prov in provs:
                page = self._document.pages.get(prov.page_no)
                if page is None:
                    continue
                box = prov.bbox.to_top_left_origin(page.size.height)
                unit = self._places.units_per_point
                boxes.append(
                    Box(
                        page=prov.page_no,
                        left=box.l / unit,
                        top=box.t / unit,
                        right=box.r / unit,
                        bottom=box.b / unit,
                    )
                )
        return {"boxes": tuple(boxes), "page": provs[0].page_no if provs else None}


def _sheet_name(node: NodeItem) -> str | None:
    """Return the name of a worksheet's group; its label hangs on the format."""
    if isinstance(node, GroupItem):
        is_sheet = node.label == GroupLabel.SHEET or node.name.startswith(_SHEET)
        return node.name.removeprefix(_SHEET) if is_sheet else None
    return None


def _in_text(node: DocItem) -> bool:
    return node.content_layer == ContentLayer.BODY


def _reversed(frames: Iterable[_Frame]) -> list[_Frame]:
    return list(frames)[::-1]
