from __future__ import annotations

from lxml import etree

from jobs.parsing.formats.sheet_gaps import close_gaps, is_scattered

SHEET = (
    '<worksheet><dimension ref="A1:XFD1048576"/><sheetData>'
    '<row r="1"><c r="A1"><v>1</v></c><c r="B1"><v>2</v></c></row>'
    '<row r="2"><c r="A2"><v>3</v></c><c r="ZZ2"/></row>'
    '<row r="1048576"><c r="XFD1048576"><v>4</v></c></row>'
    '</sheetData><mergeCells><mergeCell ref="A1:B2"/></mergeCells></worksheet>'
)


def test_gaps_become_one_blank() -> None:
    """Neighbours stay neighbours, any distance becomes one blank row or column."""
    root = etree.fromstring(SHEET)
    close_gaps(root)
    assert [c.get("r") for c in root.iter("c")] == ["A1", "B1", "A2", "D4"]
    assert [r.get("r") for r in root.iter("row")] == ["1", "2", "4"]
    assert [m.get("ref") for m in root.iter("mergeCell")] == ["A1:B2"]
    assert root.find("dimension") is None


def test_only_vast_and_nearly_empty_sheets_are_scattered() -> None:
    """A large full sheet and a small sparse one are ordinary."""
    full = "".join(f'<c r="A{row}"/><c r="B{row}"/>' for row in range(1, 5_000))
    assert is_scattered(SHEET.encode())
    assert not is_scattered(full.encode())
    assert not is_scattered(b'<c r="A1"/><c r="Z999"/>')
    assert not is_scattered(b"<c><v>1</v></c>")
