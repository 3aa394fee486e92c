from __future__ import annotations

from pathlib import Path

import pytest

from chunking.model import Document
from tests.jobs.parsing.made import make_docx, read, texts
from tests.jobs.parsing.packages import make_word, paragraph, run

P = paragraph
BOX = "<w:txbxContent>{}</w:txbxContent>"
SHAPE = (
    "<w:drawing><wp:anchor><wp:docPr id='1' name='x' descr='Text Box 2'/><a:graphic>"
    "<a:graphicData><wps:wsp><wps:txbx>{}</wps:txbx></wps:wsp></a:graphicData></a:graphic>"
    "</wp:anchor></w:drawing>"
)
VML = "<w:pict><v:shape><v:textbox>{}</v:textbox></v:shape></w:pict>"


def document(tmp_path: Path, body: str, parts: dict[str, str | bytes] | None = None) -> Document:
    """Read a Word document of a body."""
    return read(make_word(tmp_path / "a", body, parts), "docx").document


def test_tracked_changes_are_accepted(tmp_path: Path) -> None:
    """Insertions are text, deletions are not, a move stands at its new place only."""
    body = (
        P(run("kept ") + f"<w:ins>{run('new ')}</w:ins>"
          + "<w:del><w:r><w:delText>old</w:delText></w:r></w:del>" + run("end"))
        + P(f"<w:moveFrom>{run('moved')}</w:moveFrom>") + P(f"<w:moveTo>{run('moved')}</w:moveTo>")
        + P("first ", "<w:rPr><w:del w:id='1'/></w:rPr>") + P("second")
        + "<w:tbl><w:tr><w:trPr><w:del/></w:trPr><w:tc>" + P("gone") + "</w:tc></w:tr>"
        + "<w:tr><w:tc>" + P("a") + "</w:tc><w:tc>" + P("b") + "</w:tc></w:tr></w:tbl>"
    )  # fmt: skip
    assert texts(document(tmp_path, body)) == [
        "kept new end",
        "moved",
        "first second",
        "| a | b |\n| --- | --- |",
    ]


@pytest.mark.parametrize("wrapper", ["ins", "smartTag", "customXml", "hyperlink", "dir", "sdt"])
def test_wrappers_are_transparent(tmp_path: Path, wrapper: str) -> None:
    """What wraps runs parts no word."""
    inner = run("believ") if wrapper != "sdt" else f"<w:sdtContent>{run('believ')}</w:sdtContent>"
    body = P(run("un") + f"<w:{wrapper}>{inner}</w:{wrapper}>" + run("able"))
    assert texts(document(tmp_path, body)) == ["unbelievable"]


def test_wrapped_blocks_are_read(tmp_path: Path) -> None:
    """Content controls and the like around paragraphs, rows and cells lose none of them."""
    cell = f"<w:sdt><w:sdtContent><w:tc>{P('c2')}</w:tc></w:sdtContent></w:sdt>"
    row = f"<w:sdt><w:sdtContent><w:tr><w:tc>{P('c1')}</w:tc>{cell}</w:tr></w:sdtContent></w:sdt>"
    body = (
        f"<w:sdt><w:sdtContent>{P('in control')}</w:sdtContent></w:sdt>"
        f"<w:customXml>{P('in xml')}</w:customXml><w:tbl>{row}</w:tbl>"
    )
    assert texts(document(tmp_path, body)) == [
        "in control",
        "in xml",
        "| c1 | c2 |\n| --- | --- |",
    ]


@pytest.mark.parametrize(
    "drawn",
    [
        SHAPE.format(BOX.format(P("boxed"))),
        VML.format(BOX.format(P("boxed"))),
        "<mc:AlternateContent><mc:Choice Requires='wps'>"
        + SHAPE.format(BOX.format(P("boxed")))
        + "</mc:Choice><mc:Fallback>"
        + VML.format(BOX.format(P("boxed")))
        + "</mc:Fallback></mc:AlternateContent>",
        SHAPE.replace("<wps:wsp>", "<wpg:wgp><wpg:grpSp><wps:wsp>")
        .replace("</wps:wsp>", "</wps:wsp></wpg:grpSp></wpg:wgp>")
        .format(BOX.format(P("boxed"))),
        (
            "<w:drawing><wp:inline><a:graphic><a:p><a:r><a:t>boxed</a:t></a:r></a:p></a:graphic>"
            "</wp:inline></w:drawing>"
        ),
        "<w:pict><v:shape><v:textpath string='boxed'/></v:shape></w:pict>",
    ],
    ids=["drawing", "vml", "both", "group", "shape", "word art"],
)
def test_text_boxes_are_read_once(tmp_path: Path, drawn: str) -> None:
    """A text box of any form stands behind its paragraph, once; in a cell it is its text."""
    body = P(run("anchor") + f"<w:r>{drawn}</w:r>") + P("after")
    table = (
        f"<w:tbl><w:tr><w:tc>{P('c')}</w:tc><w:tc>{P(f'<w:r>{drawn}</w:r>')}</w:tc></w:tr></w:tbl>"
    )
    assert texts(document(tmp_path, body + table)) == [
        "anchor",
        "boxed",
        "after",
        "| c | boxed |\n| --- | --- |",
    ]


def test_notes_stand_at_the_end_behind_their_marks(tmp_path: Path) -> None:
    """Footnotes and endnotes are numbered by their references; deleted ones are gone."""

    def note(kind: str, number: int, text: str) -> str:
        return f"<w:{kind} w:id='{number}'>{P(f'<w:r><w:{kind}Ref/></w:r>' + run(text))}</w:{kind}>"

    body = P(
        run("One") + "<w:r><w:footnoteReference w:id='5'/></w:r>" + run(" two")
        + "<w:r><w:endnoteReference w:id='2'/></w:r>" + run(" three")
        + "<w:r><w:footnoteReference w:id='4'/></w:r>" + run(" own")
        + "<w:r><w:footnoteReference w:customMarkFollows='1' w:id='6'/><w:t>*</w:t></w:r>"
        + "<w:del><w:r><w:footnoteReference w:id='7'/></w:r></w:del>"
    )  # fmt: skip
    parts: dict[str, str | bytes] = {
        "footnotes:footnotes.xml": "<w:footnotes>"
         "<w:footnote w:type='separator' w:id='0'><w:p/></w:footnote>"
        + "".join(note("footnote", n, t) for n, t in ((4, "later"), (5, "first"), (6, "* star")))
        + note("footnote", 7, "deleted") + "</w:footnotes>",
        "endnotes:endnotes.xml": f"<w:endnotes>{note('endnote', 2, 'at the end')}</w:endnotes>",
    }  # fmt: skip
    result = document(tmp_path, body, parts)
    assert texts(result, "paragraph") == ["One[1] two[i] three[2] own*"]
    assert texts(result, "footnote") == ["[1] first", "[2] later", "* star", "[i] at the end"]


def test_running_lines_and_comments(tmp_path: Path) -> None:
    """Each line of headers and footers is furniture once; comments name their authors."""
    section = (
        "<w:sectPr><w:headerReference w:type='{}' r:id='header1'/>"
        "<w:footerReference w:type='default' r:id='footer1'/></w:sectPr>"
    )
    body = P("text", section.format("default")) + section.format("first")
    table = f"<w:tbl><w:tr><w:tc>{P('left')}</w:tc><w:tc>{P('right')}</w:tc></w:tr></w:tbl>"
    parts: dict[str, str | bytes] = {
        "header:header1.xml": f"<w:hdr>{P('Harbour')}{table}</w:hdr>",
        "footer:footer1.xml": f"<w:ftr>{P('Harbour')}{P('Page 1')}</w:ftr>",
        "comments:comments.xml": "<w:comments><w:comment w:id='1' w:author='Ann  B.'>"
        + P("Check this.") + "</w:comment></w:comments>",
    }  # fmt: skip
    result = document(tmp_path, body, parts)
    assert result.furniture == ("Harbour", "left\tright", "Page 1")
    assert texts(result) == ["text", "Comment by Ann B.: Check this."]


def test_fields_give_their_results(tmp_path: Path) -> None:
    """Instructions are no text, results are; an unclosed field swallows one paragraph at most."""

    def mark(kind: str) -> str:
        return f"<w:r><w:fldChar w:fldCharType='{kind}'/></w:r>"

    nested = (
        mark("begin") + run("IF ") + mark("begin") + run("PAGE") + mark("separate") + run("3")
        + mark("end") + mark("separate") + run("shown") + mark("end")
    )  # fmt: skip
    body = (
        P(run("see ") + mark("begin") + "<w:r><w:instrText>REF x</w:instrText></w:r>"
          + mark("separate") + run("Figure 2") + mark("end"))
        + P(nested) + P("<w:fldSimple w:instr='DATE'>" + run("today") + "</w:fldSimple>")
        + P(run("kept ") + mark("begin") + run("lost")) + P("next")
    )  # fmt: skip
    assert texts(document(tmp_path, body)) == ["see Figure 2", "shown", "today", "kept", "next"]


def test_hidden_text_is_left_out_and_said(tmp_path: Path) -> None:
    """Hidden by run or style; a style separator hides no text."""
    styles = (
        "<w:styles><w:style w:styleId='S'><w:name w:val='secret'/><w:rPr><w:vanish/></w:rPr>"
        "</w:style></w:styles>"
    )
    body = P(
        run("a") + run("b", "<w:vanish/>") + run("c", "<w:vanish w:val='0'/>")
        + run("d", "<w:rStyle w:val='S'/>") + run("e", "<w:vanish/><w:specVanish/>")
    )  # fmt: skip
    converted = read(make_word(tmp_path / "a", body, {"styles:styles.xml": styles}), "docx")
    assert texts(converted.document) == ["ace"]
    assert converted.warnings == ("hidden text was left out",)


def test_characters_of_their_own_kind(tmp_path: Path) -> None:
    """Symbols, tabs, hyphens, breaks and ruby are characters; codes without a meaning go."""
    ruby = (
        f"<w:r><w:ruby><w:rt>{run('kan')}</w:rt><w:rubyBase>{run('漢')}</w:rubyBase></w:ruby></w:r>"
    )
    body = P(
        "<w:r><w:sym w:font='Symbol' w:char='F061'/><w:sym w:font='Wingdings' w:char='F0FC'/>"
        "<w:sym w:font='Odd' w:char='F099'/><w:tab/><w:t>x</w:t><w:noBreakHyphen/><w:t>y</w:t>"
        "<w:softHyphen/><w:t>z</w:t><w:br/></w:r>" + ruby
        + run("\uf062", "<w:rFonts w:ascii='Symbol'/>")
    )  # fmt: skip
    assert texts(document(tmp_path, body)) == ["α✓\tx-yz\n漢(kan)β"]


def test_equations_are_latex(tmp_path: Path) -> None:
    """An equation in a line stands between dollar signs, one alone is a formula."""
    math = (
        "<m:oMath><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num>"
        "<m:den><m:r><m:t>x</m:t></m:r></m:den></m:f></m:oMath>"
    )
    result = document(
        tmp_path, P(run("with") + math + run(".")) + P(f"<m:oMathPara>{math}</m:oMathPara>")
    )
    assert texts(result, "paragraph") == ["with $\\frac{1}{x}$."]
    assert texts(result, "formula") == ["\\frac{1}{x}"]


def test_numbers_are_counted_as_shown(tmp_path: Path) -> None:
    """Lists start where they say, restart where they say, and name the levels above them."""
    levels = "".join(
        f"<w:lvl w:ilvl='{i}'><w:start w:val='{start}'/><w:numFmt w:val='{kind}'/>"
        f"<w:lvlText w:val='{text}'/></w:lvl>"
        for i, (start, kind, text) in enumerate(
            ((3, "decimal", "%1."), (1, "lowerLetter", "%1.%2)"), (1, "bullet", "•"))
        )
    )
    numbering = (
        f"<w:numbering><w:abstractNum w:abstractNumId='0'>{levels}</w:abstractNum>"
        "<w:num w:numId='1'><w:abstractNumId w:val='0'/></w:num><w:num w:numId='2'>"
        "<w:abstractNumId w:val='0'/><w:lvlOverride w:ilvl='0'><w:startOverride w:val='9'/>"
        "</w:lvlOverride></w:num></w:numbering>"
    )

    def item(text: str, level: int, number: int = 1) -> str:
        place = f"<w:numPr><w:ilvl w:val='{level}'/><w:numId w:val='{number}'/></w:numPr>"
        return P(text, place)

    body = (
        item("a", 0) + item("b", 1) + item("c", 1) + item("d", 2) + item("e", 0) + item("f", 1)
        + P("between") + item("g", 0) + item("h", 0, 2) + item("i", 0, 2)
    )  # fmt: skip
    result = document(tmp_path, body, {"numbering:numbering.xml": numbering})
    assert texts(result, "list_item") == [
        "3. a", "  3.a) b", "  3.b) c", "    - d", "4. e", "  4.a) f", "5. g", "9. h", "10. i",
    ]  # fmt: skip


def test_styles_say_what_a_paragraph_is(tmp_path: Path) -> None:
    """Headings by name, by outline level in any language, titles, captions and code."""
    style = "<w:style w:type='paragraph' w:styleId='{0}'><w:name w:val='{1}'/>{2}</w:style>"
    styles = "<w:styles>" + "".join(
        style.format(*entry)
        for entry in (
            ("T", "Title", ""), ("H2", "heading 2", ""), ("C", "caption", ""),
            ("N", "Nadpis", "<w:pPr><w:outlineLvl w:val='0'/></w:pPr>"),
            ("B", "Derived", "<w:basedOn w:val='H2'/>"), ("K", "Source Code", ""),
        )
    ) + "</w:styles>"  # fmt: skip
    body = "".join(
        P(text, f"<w:pStyle w:val='{name}'/>")
        for name, text in (
            ("T", "Report"), ("N", "One"), ("B", "Two"), ("C", "Table 1"), ("K", "if x:"),
            ("K", "  y"), ("X", "prose"),
        )
    )  # fmt: skip
    result = document(tmp_path, body, {"styles:styles.xml": styles})
    assert [(b.kind, b.level) for b in result.blocks] == [
        ("title", None), ("heading", 1), ("heading", 2), ("caption", None), ("code", None),
        ("paragraph", None),
    ]  # fmt: skip
    assert "```\nif x:\n  y\n```" in result.text
    assert result.blocks[-1].heading_path == ("Report", "One", "Two")


def test_merged_and_nested_cells(tmp_path: Path) -> None:
    """A cell over rows is repeated, one over columns not; a table around tables is layout."""

    def cell(text: str, properties: str = "") -> str:
        return f"<w:tc><w:tcPr>{properties}</w:tcPr>{P(text)}</w:tc>"

    table = (
        "<w:tbl><w:tr>" + cell("A", "<w:gridSpan w:val='2'/>") + cell("B") + "</w:tr><w:tr>"
        + cell("x", "<w:vMerge w:val='restart'/>") + cell("1") + cell("2") + "</w:tr><w:tr>"
        + cell("", "<w:vMerge/>") + cell("3") + cell("4") + "</w:tr></w:tbl>"
    )  # fmt: skip
    outer = (
        f"<w:tbl><w:tr><w:tc>{P('before')}{table}</w:tc><w:tc>{P('beside')}</w:tc></w:tr></w:tbl>"
    )
    assert texts(document(tmp_path, outer)) == [
        "before",
        "| A |  | B |\n| --- | --- | --- |\n| x | 1 | 2 |\n| x | 3 | 4 |",
        "beside",
    ]


def test_charts_diagrams_and_pictures(tmp_path: Path) -> None:
    """A chart is a table of its data, SmartArt its texts, a picture its alternative text."""
    drawing = (
        "<w:r><w:drawing><wp:inline><wp:docPr id='1' name='n' descr='{}'/><a:graphic>"
        "<a:graphicData>{}</a:graphicData></a:graphic></wp:inline></w:drawing></w:r>"
    )
    body = P(
        drawing.format("", "<c:chart r:id='chart1'/>")
        + drawing.format("", "<dgm:relIds r:dm='data1'/>")
        + drawing.format("A ferry", "<pic:pic/>")
    )

    def points(name: str, *values: object) -> str:
        inner = "".join(f"<c:pt idx='{i}'><c:v>{v}</c:v></c:pt>" for i, v in enumerate(values))
        return f"<c:{name}><c:cache>{inner}</c:cache></c:{name}>"

    chart = (
        "<c:chartSpace><c:chart><c:title><a:p><a:r><a:t>Traffic</a:t></a:r></a:p></c:title>"
        "<c:ser><c:tx><c:v>Ships</c:v></c:tx>" + points("cat", "May", "June")
        + points("val", 3, 4) + "</c:ser></c:chart></c:chartSpace>"
    )  # fmt: skip
    data = (
        "<dgm:dataModel><dgm:pt><a:p><a:r><a:t>top</a:t></a:r></a:p></dgm:pt>"
        "<dgm:pt type='pres'><a:p><a:r><a:t>top</a:t></a:r></a:p></dgm:pt></dgm:dataModel>"
    )
    result = document(tmp_path, body, {"chart:chart1.xml": chart, "diagramData:data1.xml": data})
    assert texts(result) == [
        "top",
        "Traffic",
        "|  | Ships |\n| --- | --- |\n| May | 3 |\n| June | 4 |",
        "A ferry",
    ]


def test_parts_of_other_formats(tmp_path: Path) -> None:
    """HTML, text and Word files in the place of blocks are read; another makes it partial."""
    parts: dict[str, str | bytes] = {
        "aFChunk:one.html": b"<html><body><p>from a page</p></body></html>",
        "aFChunk:two.txt": b"from a text",
        "aFChunk:three.docx": make_docx(tmp_path / "inner").read_bytes(),
        "aFChunk:four.bin": bytes(range(256)),
    }
    body = "".join(f"<w:altChunk r:id='{name}'/>" for name in ("one", "two", "three", "four"))
    converted = read(make_word(tmp_path / "a", P("start") + body, parts), "docx")
    found = texts(converted.document)
    assert found[:3] == ["start", "from a page", "from a text"]
    assert "Moorings" in found
    assert converted.status == "partial"
    assert converted.warnings == ("a part of another format could not be read and was left out",)


def test_deep_nesting_keeps_the_text(tmp_path: Path) -> None:
    """Tables and text boxes within one another by the hundred end, with their text."""
    body = P("innermost")
    for _ in range(300):
        body = f"<w:tbl><w:tr><w:tc>{body}</w:tc></w:tr></w:tbl>"
    assert "innermost" in document(tmp_path, body).text
    runs = run("deep")
    for _ in range(300):
        runs = f"<w:smartTag>{runs}</w:smartTag>"
    assert "deep" in document(tmp_path, P(runs)).text
