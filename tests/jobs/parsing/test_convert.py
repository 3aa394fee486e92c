from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from chunking.errors import DocumentError
from jobs.config import ParserConfig
from jobs.parsing.convert import convert
from tests.jobs.parsing.made import (
    PHRASE,
    block_of,
    change_member,
    make_docx,
    make_epub,
    make_odt,
    make_pptx,
    make_xlsx,
    read,
    read_text,
    texts,
)


def test_word_document(tmp_path: Path) -> None:
    """Headings, joined formatting, lists, tables and properties come through."""
    converted = read(make_docx(tmp_path / "a"), "docx")
    document = converted.document
    assert converted.parser == "docx"
    assert texts(document) == [
        "Moorings",
        "An unbelievable berth.",
        "- alpha",
        "- beta",
        "Fees",
        "| Berth | Fee |\n| --- | --- |\n| B\\|1 | 7 8 |",
        PHRASE,
    ]
    assert block_of(document, PHRASE).heading_path == ("Moorings", "Fees")
    assert document.title == "Harbour"
    assert document.metadata["author"] == "A. Pilot"
    assert "- alpha\n- beta" in document.text


@pytest.mark.parametrize(
    "addition",
    ["<!-- note -->", "<?word hint?>", "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"],
)
def test_word_body_with_odd_nodes(tmp_path: Path, addition: str) -> None:
    """Comments, processing instructions and deletions in the body do no harm."""
    path = change_member(make_docx(tmp_path / "a"), "word/document.xml", PHRASE, f"{PHRASE}")
    change_member(
        path,
        "word/document.xml",
        "<w:body>",
        f"<w:body>{addition}" if "w:del" not in addition else f"<w:body><w:p>{addition}</w:p>",
    )
    document = read(path, "docx").document
    assert PHRASE in document.text
    assert "gone" not in document.text


def test_word_entities_are_not_resolved(tmp_path: Path) -> None:
    """An external entity's file is never read, and a warning says so."""
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    path = make_docx(tmp_path / "a")
    doctype = f'<!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">]><w:document'
    change_member(path, "word/document.xml", "<w:document", doctype)
    change_member(path, "word/document.xml", PHRASE, f"{PHRASE} &e;")
    converted = read(path, "docx")
    assert PHRASE in converted.document.text
    assert "the secret" not in converted.document.text
    assert converted.warnings == ("the entity &e; was not resolved",)


def test_word_template_is_read(tmp_path: Path) -> None:
    """A template or macro file is a document by its content."""
    path = change_member(
        make_docx(tmp_path / "a"), "[Content_Types].xml", "document.main", "template.main"
    )
    assert PHRASE in read(path, "docx").document.text


def test_presentation(tmp_path: Path) -> None:
    """Slides are pages with boxes in points; notes and tables are in place."""
    document = read(make_pptx(tmp_path / "a"), "pptx").document
    assert document.n_pages == 2
    assert [b.page_start for b in document.blocks if b.kind == "heading"] == [1, 2]
    assert block_of(document, PHRASE).heading_path == ("Tides",)
    assert document.text.index(PHRASE) < document.text.index("Say it slowly.")
    assert document.text.index("Say it slowly.") < document.text.index("Ebb")
    table = next(b for b in document.blocks if b.kind == "table")
    assert "| r1c0 | r1c1 |" in document.text
    assert [round(table.boxes[0].left), round(table.boxes[0].top)] == [72, 144]


def test_workbook(tmp_path: Path) -> None:
    """Sheets are headings; the hidden one is named; far cells cost nothing."""
    converted = read(make_xlsx(tmp_path / "a"), "xlsx")
    document = converted.document
    assert texts(document, "heading") == ["Berths", "Far"]
    assert texts(document, "table")[0].endswith("| B1 | Skagen |\n| B2 | Fænø |")
    assert "near corner" in document.text
    assert "far corner" in document.text
    assert "unseen" not in document.text
    assert "the hidden sheet 'Secret' was left out" in converted.warnings
    assert document.n_pages is None


def test_book(tmp_path: Path) -> None:
    """Pages come in the spine's order, whatever their names."""
    document = read(make_epub(tmp_path / "a"), "epub").document
    assert texts(document) == ["First", "Opening.", "Last", PHRASE]
    assert (document.title, document.metadata["author"]) == ("Quays", "A. Pilot")


def test_book_with_a_missing_page_is_partial(tmp_path: Path) -> None:
    """A page that the spine names but the book lacks is said."""
    path = change_member(make_epub(tmp_path / "a"), "OPS/book.opf", "b.xhtml", "c.xhtml")
    converted = read(path, "epub")
    assert converted.status == "partial"
    assert converted.warnings == ("the book has no page OPS/c.xhtml",)


def test_open_document(tmp_path: Path) -> None:
    """An ODT file gives headings, text and metadata."""
    document = read(make_odt(tmp_path / "a"), "odt").document
    assert texts(document) == ["Moorings", PHRASE]
    assert document.title == "Harbour"


def test_web_video_text(tmp_path: Path) -> None:
    """Cues of WebVTT are the text, in order, behind the names of who speaks."""
    vtt = (
        "WEBVTT - Ferries\n\n00:00.000 --> 00:02.000\n<v.loud Ann>First cue.</v>\n\n"
        f"00:02.000 --> 00:04.000\n{PHRASE}\n"
    )
    text = read_text(tmp_path, vtt, "vtt").document.text
    assert text == f"Ferries\n\nAnn: First cue.\n\n{PHRASE}"


def test_article(tmp_path: Path) -> None:
    """A JATS article gives its title, headings and paragraphs."""
    jats = (
        '<?xml version="1.0"?><!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) Journal'
        ' Archiving and Interchange DTD v1.2 20190208//EN" "JATS-archivearticle1.dtd">'
        "<article><front><article-meta><title-group><article-title>On quays</article-title>"
        "</title-group></article-meta></front><body><sec><title>Method</title>"
        f"<p>{PHRASE}</p></sec></body></article>"
    )
    document = read_text(tmp_path, jats, "xml_jats").document
    assert block_of(document, PHRASE).heading_path[-1] == "Method"
    assert "On quays" in document.text


def test_generic_xml(tmp_path: Path) -> None:
    """Elements with text are paragraphs; mixed content stays together; entities stay shut."""
    xml = '<!DOCTYPE a [<!ENTITY e "x">]><a><b>one</b><c>two <i>and</i> three &e;</c><d/></a>'
    converted = read_text(tmp_path, xml, "xml")
    assert texts(converted.document) == ["one", "two and three"]
    assert converted.warnings == ("the entity &e; was not resolved",)


def test_nothing_hangs_on_the_name(tmp_path: Path) -> None:
    """The same bytes under another name give an equal result."""
    path = make_docx(tmp_path / "first name.docx")
    other = tmp_path / "x"
    other.write_bytes(path.read_bytes())
    assert read(path, "docx") == read(other, "docx")


@pytest.mark.parametrize("format_", ["docx", "pptx", "xlsx", "odt", "epub"])
def test_damaged_containers_are_corrupt(tmp_path: Path, format_: str) -> None:
    """A cut-off container, no container and a foreign container all say corrupt."""
    whole = make_docx(tmp_path / "whole").read_bytes()
    foreign = tmp_path / "foreign"
    with zipfile.ZipFile(foreign, "w") as archive:
        archive.writestr("readme.txt", "hello")
    for data in (whole[: len(whole) // 2], b"plain text", foreign.read_bytes()):
        path = tmp_path / "damaged"
        path.write_bytes(data)
        with pytest.raises(DocumentError) as caught:
            read(path, format_)
        assert (caught.value.kind, caught.value.stage) == ("corrupt", "parse")


def test_unknown_formats_are_refused(tmp_path: Path) -> None:
    """A format without a reader is unsupported, by name."""
    with pytest.raises(DocumentError, match="no reader for rar files") as caught:
        convert(tmp_path / "a", format="rar", name="a", settings=ParserConfig())
    assert caught.value.kind == "unsupported_format"


def test_latex(tmp_path: Path) -> None:
    """Sections and lists come through; a file that the source names is not read."""
    secret = tmp_path / "secret.tex"
    secret.write_text("not for this document")
    path = tmp_path / "a"
    path.write_text(
        "\\documentclass{article}\n\\begin{document}\n\\section{Mooring}\n"
        f"Every ship takes a \\emph{{pilot}}.\n\\input{{{secret}}}\n"
        "\\begin{itemize}\\item one \\item two\\end{itemize}\n\\end{document}\n"
    )
    document = read(path, "tex").document
    assert texts(document) == ["Mooring", "Every ship takes a pilot.", "- one", "- two"]
    assert "not for this" not in document.text
