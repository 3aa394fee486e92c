from __future__ import annotations

import zipfile
from pathlib import Path

import pptx
import pytest
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.presentation import Presentation
from pptx.util import Inches

from chunking.errors import DocumentError
from tests.jobs.parsing.made import change_member, read, texts

BOX = (Inches(1), Inches(2), Inches(3), Inches(1))
SLIDE = "ppt/slides/slide1.xml"


def save(deck: Presentation, tmp_path: Path) -> Path:
    """Write a presentation."""
    path = tmp_path / "a"
    deck.save(str(path))
    return path


def one_slide() -> Presentation:
    """Return a presentation of one slide with a title."""
    deck = pptx.Presentation()
    deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = "Tides"
    return deck


def test_shapes_come_from_top_to_bottom(tmp_path: Path) -> None:
    """Boxes, shapes and groups within groups are read in the order of their places."""
    deck = one_slide()
    shapes = deck.slides[0].shapes
    shapes.add_textbox(Inches(1), Inches(5), *BOX[2:]).text_frame.text = "lower"
    group = shapes.add_group_shape().shapes.add_group_shape()
    group.shapes.add_textbox(Inches(1), Inches(3), *BOX[2:]).text_frame.text = "grouped"
    shapes.add_shape(1, Inches(1), Inches(2), *BOX[2:]).text_frame.text = "upper"
    assert texts(read(save(deck, tmp_path), "pptx").document) == [
        "Tides", "upper", "grouped", "lower",
    ]  # fmt: skip


def test_a_chart_is_a_table_of_its_data(tmp_path: Path) -> None:
    """Title, categories and series of a chart are text."""
    deck = one_slide()
    data = CategoryChartData()
    data.categories = ["East", "West"]
    data.add_series("Ebb", (1.5, 2))
    data.add_series("Flow", (3, 4))
    chart = deck.slides[0].shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *BOX, data).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "Currents"
    assert texts(read(save(deck, tmp_path), "pptx").document) == [
        "Tides",
        "Currents",
        "|  | Ebb | Flow |\n| --- | --- | --- |\n| East | 1.5 | 3 |\n| West | 2 | 4 |",
    ]


def test_hidden_slides_are_left_out_and_said(tmp_path: Path) -> None:
    """A hidden slide keeps its page number, and its text is left out with a warning."""
    deck = one_slide()
    hidden = deck.slides.add_slide(deck.slide_layouts[5])
    hidden.shapes.title.text = "Secret"
    hidden._element.set("show", "0")
    deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = "Ebb"
    converted = read(save(deck, tmp_path), "pptx")
    document = converted.document
    assert [(b.page_start, document.text[b.start : b.end]) for b in document.blocks] == [
        (1, "Tides"), (3, "Ebb"),
    ]  # fmt: skip
    assert converted.warnings == ("hidden text was left out",)


def test_shapes_in_two_forms_are_read_once(tmp_path: Path) -> None:
    """Of a shape with a modern and a legacy form one is read, of unknown elements none."""
    deck = one_slide()
    deck.slides[0].shapes.add_textbox(*BOX).text_frame.text = "modern"
    path = save(deck, tmp_path)
    names = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    change_member(path, SLIDE, "</p:spTree>", "</mc:Choice><mc:Fallback><p:sp/></mc:Fallback>"
                  "</mc:AlternateContent></p:spTree>")  # fmt: skip
    with_choice = f'<mc:AlternateContent {names}><mc:Choice Requires="a14">'
    # The text box is the last shape: everything from it on goes into the modern form.
    change_member(
        path,
        SLIDE,
        '<p:sp><p:nvSpPr><p:cNvPr id="3"',
        f'{with_choice}<p:sp><p:nvSpPr><p:cNvPr id="3"',
    )
    assert texts(read(path, "pptx").document) == ["Tides", "modern"]


def test_smart_art_and_pictures_are_their_texts(tmp_path: Path) -> None:
    """SmartArt gives its texts; a picture its alternative text, unless it is a file's name."""
    deck = one_slide()
    path = save(deck, tmp_path)
    frame = (
        '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="9" name="d"/><p:cNvGraphicFramePr/>'
        '<p:nvPr/></p:nvGraphicFramePr><p:xfrm><a:off x="0" y="3000000"/><a:ext cx="9" cy="9"/>'
        '</p:xfrm><a:graphic><a:graphicData uri="d"><dgm:relIds xmlns:dgm="http://schemas.'
        'openxmlformats.org/drawingml/2006/diagram" r:dm="rId77"/></a:graphicData></a:graphic>'
        "</p:graphicFrame>"
    )
    picture = (
        '<p:pic><p:nvPicPr><p:cNvPr id="{0}" name="p" descr="{1}"/><p:cNvPicPr/><p:nvPr/>'
        '</p:nvPicPr><p:blipFill/><p:spPr><a:xfrm><a:off x="0" y="4000000"/><a:ext cx="9" cy="9"/>'
        "</a:xfrm></p:spPr></p:pic>"
    )
    shapes = frame + picture.format(10, "A ferry at noon") + picture.format(11, "IMG_1.jpeg")
    change_member(path, SLIDE, "</p:spTree>", f"{shapes}</p:spTree>")
    data = (
        '<dgm:dataModel xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
        ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><dgm:pt><dgm:t><a:p>'
        "<a:r><a:t>Ebb and flow</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:dataModel>"
    )
    relationship = (
        '<Relationship Id="rId77" Type="http://schemas.openxmlformats.org/officeDocument/2006/'
        'relationships/diagramData" Target="../diagrams/data1.xml"/></Relationships>'
    )
    change_member(path, "ppt/slides/_rels/slide1.xml.rels", "</Relationships>", relationship)
    add_member(path, "ppt/diagrams/data1.xml", data)
    assert texts(read(path, "pptx").document) == ["Tides", "Ebb and flow", "A ferry at noon"]


def test_notes_follow_their_slide(tmp_path: Path) -> None:
    """Speaker notes stand below their slide."""
    deck = one_slide()
    deck.slides[0].notes_slide.notes_text_frame.text = "Say it slowly."
    assert texts(read(save(deck, tmp_path), "pptx").document, "other") == ["Say it slowly."]


def add_member(path: Path, name: str, text: str) -> None:
    """Write one more member into a container."""
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, text)


@pytest.mark.parametrize("lost", ["ppt/slides/slide2.xml", "ppt/slides/_rels/slide2.xml.rels"])
def test_a_slide_that_is_named_and_not_there_is_damage(tmp_path: Path, lost: str) -> None:
    """A package without a part that it lists is corrupt, not a defect of the reader."""
    deck = one_slide()
    deck.slides.add_slide(deck.slide_layouts[5])
    whole = save(deck, tmp_path)
    path = tmp_path / "b"
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            if name != lost:
                target.writestr(name, source.read(name))
    with pytest.raises(DocumentError, match="lacks a part") as caught:
        read(path, "pptx")
    assert caught.value.kind == "corrupt"
