"""Inputs after public bug reports of parsers, written anew, each with its right outcome.

The same checks run on the original minimal inputs where they lie beside the checkout.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import docx
import openpyxl
import pytest
from docx.oxml import OxmlElement
from docx.oxml.ns import qn

from chunking.model import Document
from jobs.parsing.convert import Converted
from jobs.parsing.detect import detect_format
from tests.corpus import REPORTS, hard_files, normalise, requires_corpus
from tests.jobs.parsing.made import block_of, change_member, read, texts


def rows(document: Document) -> list[list[str]]:
    """Return the cells of the only table, header first."""
    (table,) = texts(document, "table")
    lines = table.split("\n")
    return [line.strip("| ").split(" | ") for line in (lines[0], *lines[2:])]


def headings(document: Document) -> list[str]:
    """Return titles and headings in order."""
    return texts(document, "title", "heading")


def outline_docx(path: Path) -> None:
    """Write headings numbered by their styles, from 3."""
    document = docx.Document()
    numbering = document.part.numbering_part.element
    abstract = OxmlElement("w:abstractNum")
    abstract.set(qn("w:abstractNumId"), "77")
    for level, label in enumerate(("%1", "%1.%2", "%1.%2.%3")):
        element = OxmlElement("w:lvl")
        element.set(qn("w:ilvl"), str(level))
        values = (
            ("w:start", "3" if level == 0 else "1"),
            ("w:numFmt", "decimal"),
            ("w:pStyle", f"Heading{level + 1}"),
            ("w:lvlText", label),
        )
        for name, value in values:
            child = OxmlElement(name)
            child.set(qn("w:val"), value)
            element.append(child)
        abstract.append(element)
    numbering.insert(0, abstract)
    num = OxmlElement("w:num")
    num.set(qn("w:numId"), "77")
    reference = OxmlElement("w:abstractNumId")
    reference.set(qn("w:val"), "77")
    num.append(reference)
    numbering.append(num)
    titles = (
        ("Mooring rules", 1), ("Scope of the rules", 2), ("Duties of the pilot", 2),
        ("Night pilotage", 3), ("Fees", 2),
    )  # fmt: skip
    for level in (1, 2, 3):
        properties = document.styles[f"Heading {level}"].element.get_or_add_pPr()
        properties.get_or_add_numPr().get_or_add_numId().val = 77
        properties.get_or_add_numPr().get_or_add_ilvl().val = level - 1
    for title, level in titles:
        document.add_heading(title, level)
        document.add_paragraph(f"Body of {title}.")
    document.save(str(path))


def list_docx(path: Path) -> None:
    """Write lists below headings."""
    document = docx.Document()
    for kind, text in (
        ("Heading 1", "First part"), ("List Bullet", "alpha point"), ("List Bullet", "beta point"),
        ("Heading 1", "Second part"), ("List Bullet", "gamma point"),
        ("List Bullet", "delta point"), ("Normal", "Closing remark"),
        ("Heading 1", "Third part"), ("Normal", "Last words"),
    ):  # fmt: skip
        document.add_paragraph(text, style=kind)
    document.save(str(path))


def link_docx(path: Path) -> None:
    """Write a link whose address holds a blank."""
    document = docx.Document()
    document.add_paragraph("Text ahead of the link.")
    paragraph = document.add_paragraph()
    target = document.part.relate_to(
        "http://bad address/x y", docx.opc.constants.RELATIONSHIP_TYPE.HYPERLINK, is_external=True
    )
    link = OxmlElement("w:hyperlink")
    link.set(qn("r:id"), target)
    link.append(paragraph.add_run("tide tables")._r)
    paragraph._p.append(link)
    document.add_paragraph("Text behind the link.")
    document.save(str(path))


def layout_docx(path: Path) -> None:
    """Write a table of one column that holds prose."""
    document = docx.Document()
    document.add_heading("Minutes", 1)
    table = document.add_table(6, 1)
    for number, row in enumerate(table.rows):
        words = " ".join(f"item{number:02}{word:02}" for word in range(14))
        row.cells[0].text = f"Decision {number + 1}: {words}"
    document.save(str(path))


def inflated_xlsx(path: Path) -> None:
    """Write 20 rows in a sheet that claims a million."""
    book = openpyxl.Workbook()
    for number in range(1, 21):
        book.active.append([f"row {number}", number * 11, f"note {number}"])
    book.save(str(path))
    change_member(path, "xl/worksheets/sheet1.xml", 'ref="A1:C20"', 'ref="A1:BH1048500"')


def check_outline(converted: Converted) -> None:
    """Demand the outline's own numbers, none other."""
    document = converted.document
    assert headings(document) == [
        "3 Mooring rules", "3.1 Scope of the rules", "3.2 Duties of the pilot",
        "3.2.1 Night pilotage", "3.3 Fees",
    ]  # fmt: skip
    assert [b.level for b in document.blocks if b.kind == "heading"] == [1, 2, 2, 3, 2]


def check_list(converted: Converted) -> None:
    """List items stay below their heading."""
    document = converted.document
    names = ("alpha point", "beta point", "Second part", "gamma point", "delta point",
             "Closing remark", "Third part", "Last words")  # fmt: skip
    places = [document.text.index(name) for name in names]
    assert places == sorted(places)
    assert block_of(document, "gamma point").heading_path[-1].endswith("Second part")


def check_link(converted: Converted) -> None:
    """Demand that a bad address costs no text."""
    for text in ("Text ahead of the link.", "tide tables", "Text behind the link."):
        assert text in converted.document.text


def check_layout(converted: Converted) -> None:
    """Every decision is there, the first too."""
    for number in range(1, 7):
        assert f"Decision {number}:" in converted.document.text


def check_table_in_item(converted: Converted) -> None:
    """Demand a whole table, its inner list in its cell, an outer list that counts on."""
    document = converted.document
    assert rows(document)[0] == ["Part", "Stock"]
    assert rows(document)[2] == ["bollard", "3"]
    assert "left store" in rows(document)[1][0]
    items = texts(document, "list_item")
    assert [item.partition(" ")[0] for item in items] == ["1.", "2.", "3."]


def check_lead(converted: Converted) -> None:
    """Demand the lead ahead of the first heading."""
    document = converted.document
    heading = document.text.index("History")
    assert document.text.index("Skagen light burns 24 hours") < heading
    assert document.text.index("Focal height 44 m") < heading
    assert document.text.index("Paragraph below the heading") > heading


def check_dashes(converted: Converted) -> None:
    """Demand that a run of markers nests no lists."""
    assert "free use with naming of the source" in converted.document.text
    assert "Closing line" in converted.document.text


def check_one_column(converted: Converted) -> None:
    """One column with its header."""
    cells = rows(converted.document)
    assert cells[:2] == [["Trade"], ["Sailmaking/Rigging"]]
    assert all(len(row) == 1 for row in cells)


def check_utf16(converted: Converted) -> None:
    """UTF-16 cells come out right."""
    assert rows(converted.document)[0] == ["Navn", "Alder", "By"]
    assert ["Jörg Weiß", "47", "Flensborg"] in rows(converted.document)
    assert "\ufffd" not in converted.document.text


def check_specifiers(converted: Converted) -> None:
    """Cells with format specifiers are cells."""
    for text in ("Field", "Description", "First value", "Second value"):
        assert text in converted.document.text


def check_inflated(converted: Converted) -> None:
    """20 rows of 3 columns, whatever the sheet claims."""
    cells = rows(converted.document)
    assert (len(cells), {len(row) for row in cells}) == (20, {3})
    assert "220" in cells[-1]


def check_fence(converted: Converted) -> None:
    """Demand that a comment in code is no heading, and the fence one block."""
    document = converted.document
    assert headings(document) == ["Install", "Run", "Clean up"]
    block = block_of(document, "# fetch the sources")
    assert (block.kind, block.heading_path) == ("code", ("Install",))


def check_cell_heading(converted: Converted) -> None:
    """Demand that a heading in a cell is no parent."""
    assert block_of(converted.document, "After the table").heading_path[-1] == "Main"


def check_cp1252(converted: Converted) -> None:
    """Windows-1252 is read as such."""
    assert "Müller zahlte 30 € für „Grüße“ – Smørrebrød" in converted.document.text


def check_admonition(converted: Converted) -> None:
    """Block marks are no headings."""
    assert headings(converted.document) == ["Guide", "Steps"]
    assert "Mind the gap" in converted.document.text
    assert "Text after" in converted.document.text


def check_budget(converted: Converted) -> None:
    """Every item once."""
    for number in range(120):
        assert converted.document.text.count(f"item{number:04}") == 1


def check_long_table(converted: Converted) -> None:
    """One table of 60 rows below one header."""
    cells = rows(converted.document)
    assert cells[0] == ["Berth", "Vessel", "Tonnage", "Departed"]
    assert [row[1][:5] for row in cells[1:]] == [f"V-{number:03}" for number in range(1, 61)]


CASES: dict[str, tuple[str, str | bytes | Callable[[Path], None], Callable[[Converted], None]]] = {
    "outline_numbers.docx": ("docx", outline_docx, check_outline),
    "list_after_numbered_heading.docx": ("docx", list_docx, check_list),
    "malformed_hyperlink.docx": ("docx", link_docx, check_link),
    "one_column_layout_table.docx": ("docx", layout_docx, check_layout),
    "table_in_list_item.html": (
        "html",
        (
            "<h1>Stock</h1><ol><li>Open.</li><li>Count:<table><tr><th>Part</th><th>Stock</th></tr>"
            "<tr><td>cleat<ul><li>left store</li><li>right store</li></ul></td><td>14</td></tr>"
            "<tr><td>bollard</td><td>3</td></tr></table></li><li>Close.</li></ol>"
        ),
        check_table_in_item,
    ),
    "text_before_first_heading.html": (
        "html",
        (
            "<title>L</title><p>Skagen light burns 24 hours.</p><table><tr>"
            "<td>Focal height 44 m</td><td>x</td></tr></table>"
            "<h2>History</h2><p>Paragraph below the heading.</p>"
        ),
        check_lead,
    ),
    "heading_in_cell.html": (
        "html",
        (
            "<h1>Doc</h1><h2>Main</h2><table><tr><td><h1>Cell</h1>text</td><td>b</td></tr></table>"
            "<p>After the table.</p>"
        ),
        check_cell_heading,
    ),
    "dash_run.md": (
        "md",
        f"## Note\n\n{'- ' * 200}free use with naming of the source\n\nClosing line.\n",
        check_dashes,
    ),
    "hash_in_code_fence.md": (
        "md",
        "# Install\n```sh\n# fetch the sources\nmake\n```\n\n# Run\n\n```\n# no\n```\n# Clean up\n",
        check_fence,
    ),
    "over_budget_by_one.md": (
        "md",
        "# H\n\n" + "\n\n".join(f"## S{n}\n\nitem{n:04} is stored." for n in range(120)),
        check_budget,
    ),
    "table_over_many_chunks.md": (
        "md",
        (
            "| Berth | Vessel | Tonnage | Departed |\n|---|---|---|---|\n"
            + "\n".join(f"| B{n % 4} | V-{n:03} x | {n} | 2023 |" for n in range(1, 61))
        ),
        check_long_table,
    ),
    "single_column.csv": ("csv", "Trade\nSailmaking/Rigging\nRope walk\n", check_one_column),
    "utf16le_bom.csv": (
        "csv",
        "Navn;Alder;By\r\nÅse;31;Ærø\r\nJörg Weiß;47;Flensborg\r\n".encode("utf-16"),
        check_utf16,
    ),
    "cell_specifiers.adoc": (
        "adoc",
        (
            "= Settings\n\n[cols=2*]\n|===\n^.^h|Field\n^.^h|Description\n\n|a\n|First value\n"
            "\n|b\n|Second value\n|===\n"
        ),
        check_specifiers,
    ),
    "admonition_block.adoc": (
        "adoc",
        "= Guide\n\nIntro.\n\n== Steps\n\n[NOTE]\n====\nMind the gap.\n====\n\nText after.\n",
        check_admonition,
    ),
    "inflated_dimension.xlsx": ("xlsx", inflated_xlsx, check_inflated),
    "cp1252.txt": (
        "txt",
        "Müller zahlte 30 € für „Grüße“ – Smørrebrød.".encode("cp1252"),
        check_cp1252,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_reported_faults_do_not_occur(tmp_path: Path, case: str) -> None:
    """Our own input of each reported kind has the right outcome."""
    format_, content, check = CASES[case]
    path = tmp_path / "document"
    if callable(content):
        content(path)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    check(read(path, format_))


@pytest.mark.corpus
@requires_corpus
@pytest.mark.parametrize("case", CASES)
def test_reported_inputs_come_out_right(case: str) -> None:
    """The minimal input of each report has the right outcome."""
    format_, _, check = CASES[case]
    check(read(REPORTS / case, format_))


_LARGEST = 60_000
READ_HERE = frozenset(
    ("adoc", "csv", "docx", "eml", "epub", "html", "md", "odp", "ods", "odt", "pptx", "txt", "vtt")
)


@pytest.mark.corpus
@requires_corpus
def test_foreign_documents_hold_their_text() -> None:
    """Every foreign file of ordinary size holds the text an independent reader found in it."""
    missing = []
    n_read = 0
    for file in hard_files():
        format_ = detect_format(file.path, file.key)
        if format_ not in READ_HERE or not file.must_contain or file.size > _LARGEST:
            continue
        document = read(file.path, format_).document
        held = " ".join((document.text, *document.furniture, document.title or ""))
        n_read += 1
        if normalise(file.must_contain) not in normalise(held):
            missing.append(file.key)
    assert not missing
    assert n_read > 50
