"""Small documents that tests write themselves, and the laws that each result obeys."""

from __future__ import annotations

import zipfile
from pathlib import Path

import docx
import openpyxl
import pptx
from pptx.util import Inches

from chunking.model import Block, Document
from jobs.config import ParserConfig
from jobs.parsing.convert import Converted, convert

PHRASE = "The ferry leaves at noon from the north quay."


def read(path: Path, format_: str) -> Converted:
    """Convert a file and check the laws of its document."""
    converted = convert(path, format=format_, name=path.name, settings=ParserConfig())
    check_laws(converted.document)
    return converted


def read_text(tmp_path: Path, text: str | bytes, format_: str) -> Converted:
    """Convert text or bytes as a file of a format."""
    path = tmp_path / "document"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(path, format_)


def texts(document: Document, *kinds: str) -> list[str]:
    """Return the text of each block (of the given kinds)."""
    return [document.text[b.start : b.end] for b in document.blocks if not kinds or b.kind in kinds]


def block_of(document: Document, text: str) -> Block:
    """Return the first block that holds the text."""
    return next(b for b in document.blocks if text in document.text[b.start : b.end])


def check_laws(document: Document) -> None:
    """Assert what holds for every canonical document, whatever it was made from."""
    assert "\0" not in document.text
    document.text.encode("utf-8")
    for before, block in zip((None, *document.blocks), document.blocks, strict=False):
        text = document.text[block.start : block.end]
        assert text.strip("\n")
        assert not text.isspace()
        gap = document.text[before.end : block.start] if before else ""
        lists = before is not None and before.kind == block.kind == "list_item"
        assert gap in (("\n", "\n\n") if lists else ("\n\n",) if before else ("",))
        if block.kind == "table":
            check_table(document, block)
        else:
            assert not block.row_starts
        if block.kind in ("heading", "title"):
            assert "\n" not in text


def check_table(document: Document, block: Block) -> None:
    """Assert that the row starts are the table's lines, the delimiter line left out."""
    lines = document.text[block.start : block.end].split("\n")
    assert set(lines[1]) <= set("|- ")
    rows = [lines[0], *lines[2:]]
    assert len(block.row_starts) == len(rows)
    for start, row in zip(block.row_starts, rows, strict=True):
        assert document.text.startswith(row, start)
        assert start == 0 or document.text[start - 1] == "\n"
    widths = {row.replace("\\|", "").count("|") for row in lines}
    assert len(widths) == 1


def make_docx(path: Path) -> Path:
    """Write a Word document with headings, mixed formatting, lists and a table."""
    document = docx.Document()
    document.core_properties.author = "A. Pilot"
    document.core_properties.title = "Harbour"
    document.add_heading("Moorings", 1)
    paragraph = document.add_paragraph("An un")
    paragraph.add_run("believ").bold = True
    paragraph.add_run("able berth.")
    document.add_paragraph("alpha", style="List Bullet")
    document.add_paragraph("beta", style="List Bullet")
    document.add_heading("Fees", 2)
    table = document.add_table(2, 2)
    for cell, text in zip(
        (c for row in table.rows for c in row.cells), ("Berth", "Fee", "B|1", "7\n8"), strict=True
    ):
        cell.text = text
    document.add_paragraph(PHRASE)
    document.save(str(path))
    return path


def make_pptx(path: Path) -> Path:
    """Write a presentation of two slides, with a table and speaker notes."""
    deck = pptx.Presentation()
    first = deck.slides.add_slide(deck.slide_layouts[1])
    first.shapes.title.text = "Tides"
    first.placeholders[1].text = PHRASE
    first.notes_slide.notes_text_frame.text = "Say it slowly."
    second = deck.slides.add_slide(deck.slide_layouts[5])
    second.shapes.title.text = "Ebb"
    table = second.shapes.add_table(2, 2, Inches(1), Inches(2), Inches(4), Inches(1)).table
    for row in range(2):
        for column in range(2):
            table.cell(row, column).text = f"r{row}c{column}"
    deck.save(str(path))
    return path


def make_xlsx(path: Path) -> Path:
    """Write a workbook with a table, a hidden sheet and a cell in the far corner."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Berths"
    for row in (("Berth", "Vessel"), ("B1", "Skagen"), ("B2", "Fænø")):
        sheet.append(row)
    hidden = book.create_sheet("Secret")
    hidden["A1"] = "unseen"
    hidden.sheet_state = "hidden"
    far = book.create_sheet("Far")
    far["A1"] = "near corner"
    far["XFD1048576"] = "far corner"
    book.save(str(path))
    return path


def make_epub(path: Path) -> Path:
    """Write a book of two pages whose spine turns their names' order round."""
    page = '<html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>{}</body></html>'
    members = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": "<container"
        ' xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
        '<rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>',
        "OPS/book.opf": '<package xmlns="http://www.idpf.org/2007/opf"'
        ' xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>Quays</dc:title>'
        "<dc:creator>A. Pilot</dc:creator></metadata><manifest>"
        '<item id="a" href="a%20page.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="b" href="b.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="b"/><itemref idref="a"/></spine></package>',
        "OPS/a page.xhtml": page.format(f"<h1>Last</h1><p>{PHRASE}</p>"),
        "OPS/b.xhtml": page.format("<h1>First</h1><p>Opening.</p>"),
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def make_odt(path: Path) -> Path:
    """Write a text document of the Open Document Format."""
    names = (
        'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
        ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
        ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
        ' xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"'
    )
    kind = "application/vnd.oasis.opendocument.text"
    members = {
        "mimetype": kind,
        "content.xml": f'<office:document-content {names} office:version="1.2"><office:body>'
        '<office:text><text:h text:outline-level="1">Moorings</text:h>'
        f"<text:p>{PHRASE}</text:p></office:text></office:body></office:document-content>",
        "meta.xml": f'<office:document-meta {names} office:version="1.2"><office:meta>'
        "<dc:title>Harbour</dc:title><dc:creator>A. Pilot</dc:creator></office:meta>"
        "</office:document-meta>",
        "styles.xml": f'<office:document-styles {names} office:version="1.2"/>',
        "META-INF/manifest.xml": f'<manifest:manifest {names} manifest:version="1.2">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
        '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
        "</manifest:manifest>",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def change_member(path: Path, member: str, before: str, after: str) -> Path:
    """Replace text in one member of a zip container."""
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    assert before.encode() in members[member]
    members[member] = members[member].replace(before.encode(), after.encode(), 1)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path
