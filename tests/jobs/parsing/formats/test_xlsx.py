from __future__ import annotations

import datetime as dt
import zipfile
from pathlib import Path

import openpyxl
import pytest
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment

from chunking.errors import DocumentError
from tests.jobs.parsing.made import change_member, read, texts


def save(book: openpyxl.Workbook, tmp_path: Path) -> Path:
    """Write a workbook."""
    path = tmp_path / "a"
    book.save(str(path))
    return path


def test_cells_are_what_they_show(tmp_path: Path) -> None:
    """Formats, booleans, errors, rich text and formulas that were never computed."""
    book = openpyxl.Workbook()
    values: list[tuple[object, str | None]] = [
        (0.075, "0.0%"), (1234, "00000"), (dt.date(2024, 3, 1), None), (True, None),
        (dt.timedelta(hours=30), "[h]:mm"), ("#DIV/0!", None), ("=A1*2", None), (12.0, None),
        (CellRichText("plain ", TextBlock(InlineFont(b=True), "bo"), "ld"), None),
        ("'007", None), ("two\nlines", None), (1234567890123451, None),
    ]  # fmt: skip
    for number, (value, code) in enumerate(values, 1):
        cell = book.active.cell(number, 1, value)
        if code:
            cell.number_format = code
    (table,) = texts(read(save(book, tmp_path), "xlsx").document, "table")
    assert [line.strip("| ") for line in table.split("\n")] == [
        "7.5%", "---", "01234", "2024-03-01", "TRUE", "30:00:00", "#DIV/0!", "=A1*2", "12",
        "plain bold", "'007", "two lines", "1234567890123451",
    ]  # fmt: skip


def test_tables_beside_one_another(tmp_path: Path) -> None:
    """Blank rows and columns part tables; a lone cell or a merged one above is a paragraph."""
    book = openpyxl.Workbook()
    sheet = book.active
    for place, value in {
        "A1": "a", "B1": "b", "A2": 1, "B2": 2, "E1": "c", "F1": "d", "E2": 3, "F2": 4,
        "A9": "remark", "E5": "wide", "E6": "x", "F6": "y",
    }.items():  # fmt: skip
        sheet[place] = value
    sheet.merge_cells("E5:F5")
    sheet.row_dimensions[2].hidden = True
    assert texts(read(save(book, tmp_path), "xlsx").document, "table", "paragraph") == [
        "| a | b |\n| --- | --- |\n| 1 | 2 |",
        "| c | d |\n| --- | --- |\n| 3 | 4 |",
        "wide",
        "| x | y |\n| --- | --- |",
        "remark",
    ]


def test_what_stands_around_the_cells(tmp_path: Path) -> None:
    """Comments follow their sheet, headers are furniture, a chart repeats no cells."""
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (("k", "n"), ("x", 3), ("y", 4)):
        sheet.append(row)
    sheet["A2"].comment = Comment("Count again.", "Ann")
    sheet.oddHeader.center.text = "Harbour &P"
    sheet.oddFooter.left.text = "&BDraft"
    chart = BarChart()
    chart.title = "Ships"
    chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=3), titles_from_data=True)
    sheet.add_chart(chart, "E5")
    document = read(save(book, tmp_path), "xlsx").document
    assert document.furniture == ("Harbour", "Draft")
    assert texts(document) == [
        "Sheet",
        "| k | n |\n| --- | --- |\n| x | 3 |\n| y | 4 |",
        "Ships",
        "Comment by Ann: Count again.",
    ]


def test_rows_without_references_and_binary_workbooks(tmp_path: Path) -> None:
    """Cells need not say where they stand; a binary workbook is not read, by name."""
    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    book.active.append([0.5, 1])
    path = save(book, tmp_path)
    sheet = "xl/worksheets/sheet1.xml"
    for reference in ("A1", "B1", "A2", "B2"):
        change_member(path, sheet, f' r="{reference}"', "")
    assert texts(read(path, "xlsx").document, "table") == ["| a | b |\n| --- | --- |\n| 0.5 | 1 |"]
    change_member(path, "[Content_Types].xml", "/xl/workbook.xml", "/xl/workbook.bin")
    with pytest.raises(DocumentError):
        read(path, "xlsx")


def test_text_boxes_stand_below_the_cells(tmp_path: Path) -> None:
    """The text of a shape that is drawn over a sheet is a paragraph of it."""
    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    chart = BarChart()
    book.active.add_chart(chart, "E5")
    path = save(book, tmp_path)
    shape = (
        '<sp xmlns="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing"><txBody>'
        '<p xmlns="http://schemas.openxmlformats.org/drawingml/2006/main"><r><t>Read me.</t></r>'
        "</p></txBody></sp>"
    )
    change_member(
        path,
        "xl/drawings/drawing1.xml",
        "</wsDr>",
        f"<oneCellAnchor>{shape}</oneCellAnchor></wsDr>",
    )
    assert texts(read(path, "xlsx").document) == ["Sheet", "| a | b |\n| --- | --- |", "Read me."]


def test_a_sheet_that_is_not_in_the_file_is_told(tmp_path: Path) -> None:
    """What is left is read, and the document says that it is not whole."""
    book = openpyxl.Workbook()
    book.worksheets[0].title = "Lost"
    book.create_sheet("Left").append(["Quay"])
    book.save(tmp_path / "whole")
    path = tmp_path / "a"
    with zipfile.ZipFile(tmp_path / "whole") as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            if name != "xl/worksheets/sheet1.xml":
                target.writestr(name, source.read(name))
    converted = read(path, "xlsx")
    assert texts(converted.document) == ["Left", "Quay"]
    assert converted.status == "partial"
    assert converted.warnings == ("the sheet 'Lost' is not in the file",)
