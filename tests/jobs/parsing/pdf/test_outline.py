from __future__ import annotations

from pathlib import Path

from jobs.parsing.pdf.blocks import Block
from jobs.parsing.pdf.headings import levels_of
from jobs.parsing.pdf.lines import Frame, Line
from jobs.parsing.pdf.outline import Entry, read_outline, with_outline
from tests.jobs.parsing.pdf.test_engine import read, texts
from tests.jobs.parsing.pdfs import Text, paragraph, pdf


def block(text: str, page: int = 1, kind: str = "text") -> Block:
    """Return a block of one line."""
    frame = Frame(left=0, top=0, right=100, bottom=10)
    line = Line(text=text, frame=frame, size=10, bold=False, monospaced=False, cells=(0,))
    return Block(kind=kind, lines=(line,), pages=(page,), text=text, size=10.0)  # type: ignore[arg-type]


def test_names_headings_and_their_levels() -> None:
    """A line that the outline names is a heading of its level, number or not, once."""
    outline = [
        Entry(title="1 Quays", level=1, page=1),
        Entry(title="The north\u00a0quay", level=2, page=1),
        Entry(title="Piers", level=1, page=2),
    ]
    blocks = [
        block("1. Quays"),
        block("1.1 The north quay"),
        block("Quays"),
        block("2 Piers", page=3),
    ]
    named = with_outline(blocks, outline)
    assert [each.kind for each in named] == ["heading", "heading", "text", "heading"]
    assert levels_of(named) == {0: 1, 1: 2, 3: 1}


def test_a_size_has_the_level_that_is_told() -> None:
    """A heading that the outline leaves out has the level of others of its size."""
    told = with_outline([block("Quays")], [Entry(title="Quays", level=3, page=1)])
    assert levels_of([*told, block("Piers", kind="heading")]) == {0: 3, 1: 3}


def test_reads_the_outline_of_a_file(tmp_path: Path) -> None:
    """Bookmarks make headings of lines that do not look like any."""
    prose = ["Plain words that fill a line of the page from left to right, as they do here."] * 3
    page: list[Text] = [
        (60, 780, "F1", 10, "The north quay"),
        *paragraph(prose, top=760),
    ]
    content = pdf([page]).replace(b"/Type /Catalog", b"/Type /Catalog /Outlines 90 0 R")
    bookmarks = (
        b"90 0 obj\n<< /Type /Outlines /First 91 0 R /Last 91 0 R /Count 1 >>\nendobj\n"
        b"91 0 obj\n<< /Title (The north quay) /Parent 90 0 R /Dest [6 0 R /Fit] >>\nendobj\n"
    )
    content = content.replace(b"xref\n", bookmarks + b"xref\n", 1)
    path = tmp_path / "document"
    path.write_bytes(content.replace(b"startxref", b"startxref 0 ", 1))
    assert [entry.title for entry in read_outline(path)] == ["The north quay"]
    document = read(tmp_path, path.read_bytes())
    assert texts(document, "heading") + texts(document, "title") == ["The north quay"]


def test_a_file_without_an_outline_has_none(tmp_path: Path) -> None:
    """Neither a plain file nor noise has one."""
    path = tmp_path / "document"
    path.write_bytes(pdf([paragraph(["Words."])]))
    assert read_outline(path) == ()
    path.write_bytes(b"noise")
    assert read_outline(path) == ()
