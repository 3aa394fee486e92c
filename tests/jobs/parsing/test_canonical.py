from __future__ import annotations

import re
from pathlib import Path

import pytest
from docling_core.types.doc import (
    BoundingBox,
    CoordOrigin,
    DocItemLabel,
    DoclingDocument,
    ProvenanceItem,
    Size,
    TableCell,
    TableData,
)
from docling_core.types.doc.common.content_layer import ContentLayer
from docling_core.types.doc.document import DocumentOrigin
from docling_core.types.doc.items.key_value import GraphCell, GraphData, GraphLink
from docling_core.types.doc.labels import (
    CodeLanguageLabel,
    GraphCellLabel,
    GraphLinkLabel,
    GroupLabel,
)

from chunking.model import Box, Document
from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.canonical import Places, add_docling
from tests.jobs.parsing.made import PHRASE, check_laws, read, read_text, texts


def canonical(document: DoclingDocument, places: Places | None = None) -> Document:
    """Return the canonical form of a DoclingDocument, its laws checked."""
    builder = DocumentBuilder()
    add_docling(builder, document, places=places)
    result = builder.build()
    check_laws(result)
    return result


def cell(row: int, column: int, text: str, *, rows: int = 1, header: bool = False) -> TableCell:
    """Return a table cell at a place."""
    return TableCell(
        text=text,
        row_span=rows,
        start_row_offset_idx=row,
        end_row_offset_idx=row + rows,
        start_col_offset_idx=column,
        end_col_offset_idx=column + 1,
        column_header=header,
    )


def test_inline_groups_are_one_block() -> None:
    """Runs of one line join with the blanks that punctuation asks for."""
    document = DoclingDocument(name="d")
    group = document.add_inline_group()
    for text in ("See", "the plan", ", and (", "maybe", ") more", "."):
        document.add_text(DocItemLabel.TEXT, text, parent=group)
    assert texts(canonical(document)) == ["See the plan, and (maybe) more."]


def test_headings_and_list_items_take_their_inline_group() -> None:
    """A heading with a link in it keeps its text, and so does a list item."""
    document = DoclingDocument(name="d")
    heading = document.add_heading("", level=1)
    group = document.add_inline_group(parent=heading)
    document.add_text(DocItemLabel.TEXT, "Install", parent=group)
    document.add_code("chunkmill", parent=group)
    items = document.add_list_group()
    item = document.add_list_item("", parent=items)
    group = document.add_inline_group(parent=item)
    document.add_text(DocItemLabel.TEXT, "first", parent=group)
    document.add_text(DocItemLabel.TEXT, "part", parent=group)
    assert texts(canonical(document)) == ["Install chunkmill", "- first part"]


def test_lists_nest_and_count() -> None:
    """Numbers are kept or counted, nested lists belong to the outermost."""
    document = DoclingDocument(name="d")
    outer = document.add_list_group()
    document.add_list_item("one", enumerated=True, marker="4.", parent=outer)
    second = document.add_list_item("two", enumerated=True, marker="", parent=outer)
    inner = document.add_list_group(parent=second)
    document.add_list_item("deep", marker="\u2022", parent=inner)
    result = canonical(document)
    assert result.text == "4. one\n2. two\n  - deep"
    assert [b.level for b in result.blocks] == [1, 1, 2]


def test_titles() -> None:
    """A single title stands above level 1; of several, each is a heading of level 1."""
    one, two = DoclingDocument(name="d"), DoclingDocument(name="d")
    one.add_title("T")
    one.add_heading("H", level=1)
    for name in ("A", "B"):
        two.add_title(name)
        two.add_heading(f"{name}1", level=1)
    first, second = canonical(one), canonical(two)
    assert [(b.kind, b.level, b.heading_path) for b in first.blocks] == [
        ("title", None, ()),
        ("heading", 1, ("T",)),
    ]
    assert [(b.level, b.heading_path) for b in second.blocks] == [
        (1, ()),
        (2, ("A",)),
        (1, ()),
        (2, ("B",)),
    ]


def test_tables_with_captions_spans_and_no_header() -> None:
    """The caption comes first; a row span repeats; without flags there is no header."""
    document = DoclingDocument(name="d")
    caption = document.add_text(DocItemLabel.CAPTION, "Tab. 1")
    cells = [cell(0, 0, "a", rows=2), cell(0, 1, "b"), cell(1, 1, "c"), cell(900, 5, "far")]
    data = TableData(table_cells=cells, num_rows=1_000, num_cols=1_000)
    document.add_table(data=data, caption=caption)
    assert texts(canonical(document)) == [
        "Tab. 1",
        "|  |  |  |\n| --- | --- | --- |\n| a | b |  |\n| a | c |  |\n|  |  | far |",
    ]


def test_one_column_keeps_its_header() -> None:
    """A table of one column has its header like any other."""
    document = DoclingDocument(name="d")
    cells = [cell(0, 0, "Trade", header=True), cell(1, 0, "Rope walk")]
    document.add_table(data=TableData(table_cells=cells, num_rows=2, num_cols=1))
    assert texts(canonical(document)) == ["| Trade |\n| --- |\n| Rope walk |"]


def test_furniture_stands_beside_the_text() -> None:
    """Page headers and the furniture layer are no text, footnotes are."""
    document = DoclingDocument(name="d")
    document.add_text(DocItemLabel.PAGE_HEADER, "Running head")
    document.add_text(DocItemLabel.TEXT, "side", content_layer=ContentLayer.FURNITURE)
    document.add_text(DocItemLabel.FOOTNOTE, "1 note", content_layer=ContentLayer.FURNITURE)
    document.add_text(DocItemLabel.TEXT, PHRASE)
    result = canonical(document)
    assert texts(result) == ["1 note", PHRASE]
    assert result.furniture == ("Running head", "side")


def test_the_lead_of_a_web_page_is_text() -> None:
    """What docling puts aside before the first heading of HTML stays in its place."""
    origin = DocumentOrigin(mimetype="text/html", binary_hash=1, filename="a.html")
    document = DoclingDocument(name="d", origin=origin)
    document.add_title("Page", content_layer=ContentLayer.FURNITURE)
    document.add_text(DocItemLabel.TEXT, "Lead.", content_layer=ContentLayer.FURNITURE)
    document.add_heading("H", level=1)
    result = canonical(document)
    assert texts(result) == ["Lead.", "H"]
    assert result.title == "Page"


def test_hidden_sheets_are_named_and_left_out() -> None:
    """Invisible content makes a warning, not text."""
    document = DoclingDocument(name="d")
    sheet = document.add_group(
        label=GroupLabel.SHEET, name="sheet: Secret", content_layer=ContentLayer.INVISIBLE
    )
    document.add_text(DocItemLabel.TEXT, "no", parent=sheet, content_layer=ContentLayer.INVISIBLE)
    builder = DocumentBuilder()
    add_docling(builder, document)
    assert builder.build().text == ""
    assert builder.warnings == ["the hidden sheet 'Secret' was left out"]


@pytest.mark.parametrize("origin", [CoordOrigin.BOTTOMLEFT, CoordOrigin.TOPLEFT])
def test_boxes_are_points_from_the_top_left(origin: CoordOrigin) -> None:
    """Boxes of either origin and any unit become points from the page's top left."""
    document = DoclingDocument(name="d")
    document.add_page(page_no=2, size=Size(width=2000, height=1000))
    up = origin == CoordOrigin.BOTTOMLEFT
    box = BoundingBox(l=100, r=300, t=900 if up else 100, b=800 if up else 200, coord_origin=origin)
    prov = ProvenanceItem(page_no=2, bbox=box, charspan=(0, 1))
    document.add_text(DocItemLabel.TEXT, PHRASE, prov=prov)
    block = canonical(document, Places(pages=True, units_per_point=10)).blocks[0]
    assert block.boxes == (Box(page=2, left=10, top=10, right=30, bottom=20),)
    assert canonical(document).blocks[0].page_start is None


def test_code_formulas_checkboxes_and_key_values() -> None:
    """Each kind of item that docling knows has its form."""
    document = DoclingDocument(name="d")
    document.add_code("x = 1", code_language=CodeLanguageLabel.PYTHON)
    document.add_text(DocItemLabel.FORMULA, "a^2")
    document.add_text(DocItemLabel.CHECKBOX_SELECTED, "agreed")
    cells = [
        GraphCell(label=GraphCellLabel.KEY, cell_id=0, text="Name", orig="Name"),
        GraphCell(label=GraphCellLabel.VALUE, cell_id=1, text="Åse", orig="Åse"),
    ]
    link = GraphLink(label=GraphLinkLabel.TO_VALUE, source_cell_id=0, target_cell_id=1)
    document.add_key_values(graph=GraphData(cells=cells, links=[link]))
    result = canonical(document)
    assert [(b.kind, t) for b, t in zip(result.blocks, texts(result), strict=True)] == [
        ("code", "```python\nx = 1\n```"),
        ("formula", "a^2"),
        ("paragraph", "[x] agreed"),
        ("other", "Name: Åse"),
    ]


def test_deep_trees_need_no_recursion() -> None:
    """Groups and lists nested by the thousand are walked like flat ones."""
    document = DoclingDocument(name="d")
    parent = document.add_group()
    for _ in range(3_000):
        parent = document.add_group(parent=parent)
    document.add_text(DocItemLabel.TEXT, PHRASE, parent=parent)
    assert canonical(document).text == PHRASE


def test_every_text_of_docling_is_there_in_order(tmp_path: Path) -> None:
    """A stored DoclingDocument is read as it is: all its words, in its order."""
    document = DoclingDocument(name="d")
    for number in range(30):
        group = document.add_list_group()
        document.add_heading(f"head{number}", level=number % 3 + 1)
        document.add_list_item(f"item{number} (a)", parent=group)
        document.add_text(DocItemLabel.TEXT, f"text{number}, with  two blanks")
    converted = read_text(tmp_path, document.model_dump_json(), "json_docling")
    words = [w for item, _ in document.iterate_items() for w in re.findall(r"\w+", item.text)]
    assert re.findall(r"\w+", converted.document.text) == words
    assert "with  two blanks" in converted.document.text
    path = tmp_path / "bad"
    path.write_text('{"schema_name": "DoclingDocument", "texts": 3}')
    with pytest.raises(Exception, match="no valid DoclingDocument"):
        read(path, "json_docling")
