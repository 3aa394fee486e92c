"""A layout becomes a ``DoclingDocument``."""

from __future__ import annotations

from collections.abc import Sequence

from docling_core.types.doc import (
    BoundingBox,
    ContentLayer,
    CoordOrigin,
    DocItem,
    DocItemLabel,
    DoclingDocument,
    ListGroup,
    ListItem,
    ProvenanceItem,
    Size,
    TableCell,
    TableData,
    TableItem,
)

from jobs.parsing.pdf.analysis import Layout
from jobs.parsing.pdf.blocks import Block
from jobs.parsing.pdf.captions import captioned_table
from jobs.parsing.pdf.lines import PageText

__all__ = ["assemble", "table_data"]

_LABELS = {
    "text": DocItemLabel.TEXT,
    "caption": DocItemLabel.CAPTION,
    "footnote": DocItemLabel.FOOTNOTE,
    "header": DocItemLabel.PAGE_HEADER,
    "footer": DocItemLabel.PAGE_FOOTER,
}


def assemble(layout: Layout, pages: Sequence[PageText]) -> DoclingDocument:
    """Build the document of a layout and the pages that it was made of."""
    return _Assembly(layout, pages).run()


class _Assembly:
    def __init__(self, layout: Layout, pages: Sequence[PageText]) -> None:
        self._layout = layout
        self._pages = {page.page_no: page for page in pages}
        self._document = DoclingDocument(name="document")
        for page in pages:
            width, height = page.page_size
            self._document.add_page(page_no=page.page_no, size=Size(width=width, height=height))
        self._lists: list[tuple[ListGroup, ListItem]] = []

    def run(self) -> DoclingDocument:
        items: list[DocItem] = []
        blocks = self._layout.blocks
        for i, block in enumerate(blocks):
            places = self._places(block)
            if block.kind != "list_item" and block.kind in {"text", "heading", "table", "code"}:
                self._lists = []
            item = self._add(i, block, places[0])
            item.prov.extend(places[1:])
            items.append(item)
        for i, block in enumerate(blocks):
            place = captioned_table(blocks, i) if block.kind == "caption" else None
            table = items[place] if place is not None else None
            if isinstance(table, TableItem) and not table.captions:
                table.captions.append(items[i].get_ref())
        return self._document

    def _add(self, index: int, block: Block, place: ProvenanceItem) -> DocItem:
        # docling-core's decorators hide the types of these methods.
        document = self._document
        item: DocItem
        if index == self._layout.title:
            item = document.add_title(block.text, prov=place)
        elif block.kind == "heading":
            item = document.add_heading(block.text, level=self._layout.levels[index], prov=place)
        elif block.kind == "list_item":
            item = self._add_list_item(block, place)
        elif block.kind == "code":
            item = document.add_code(block.text, prov=place)
        elif block.kind == "table":
            item = document.add_table(table_data(block), prov=place)
        else:
            furniture = block.kind in {"header", "footer"}
            layer = ContentLayer.FURNITURE if furniture else ContentLayer.BODY
            label = _LABELS[block.kind]
            item = document.add_text(label, block.text, prov=place, content_layer=layer)
        return item

    def _add_list_item(self, block: Block, place: ProvenanceItem) -> ListItem:
        """Add an item to the list of its depth; a deeper list stands in the item before it."""
        del self._lists[block.depth :]
        if len(self._lists) < block.depth:
            above = self._lists[-1][1] if self._lists else None
            group = self._document.add_list_group(parent=above)
        else:
            group, _ = self._lists.pop()
        item: ListItem = self._document.add_list_item(
            block.text,
            enumerated=any(map(str.isalnum, block.marker)),
            marker=block.marker,
            parent=group,
            prov=place,
        )
        self._lists.append((group, item))
        return item

    def _places(self, block: Block) -> list[ProvenanceItem]:
        places = []
        for page_no, frame in block.frames():
            box = self._pages[page_no].on_page(frame)
            places.append(
                ProvenanceItem(
                    page_no=page_no,
                    bbox=BoundingBox(
                        l=box.left,
                        t=box.top,
                        r=box.right,
                        b=box.bottom,
                        coord_origin=CoordOrigin.TOPLEFT,
                    ),
                    charspan=(0, len(block.text)),
                )
            )
        return places


def table_data(block: Block) -> TableData:
    """Return the cells of a table's block."""
    cells = [
        TableCell(
            text=cell.text,
            start_row_offset_idx=cell.row,
            end_row_offset_idx=cell.row + cell.n_rows,
            start_col_offset_idx=cell.column,
            end_col_offset_idx=cell.column + cell.n_columns,
            row_span=cell.n_rows,
            col_span=cell.n_columns,
            column_header=cell.header,
        )
        for cell in block.cells
    ]
    return TableData(
        num_rows=max((cell.end_row_offset_idx for cell in cells), default=0),
        num_cols=max((cell.end_col_offset_idx for cell in cells), default=0),
        table_cells=cells,
    )
