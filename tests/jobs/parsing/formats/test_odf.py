from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from jobs.parsing.formats import ods_cells
from tests.jobs.parsing.made import read, texts

_NAMES = {
    "office": "urn:oasis:names:tc:opendocument:xmlns:office:1.0",
    "text": "urn:oasis:names:tc:opendocument:xmlns:text:1.0",
    "table": "urn:oasis:names:tc:opendocument:xmlns:table:1.0",
    "style": "urn:oasis:names:tc:opendocument:xmlns:style:1.0",
    "draw": "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0",
    "presentation": "urn:oasis:names:tc:opendocument:xmlns:presentation:1.0",
    "dc": "http://purl.org/dc/elements/1.1/",
}
XMLNS = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in _NAMES.items())
ENDLESS = (
    "<table:table-row table:number-rows-repeated='1048000'>"
    "<table:table-cell table:number-columns-repeated='16384'/></table:table-row>"
)


def make(path: Path, kind: str, body: str, styles: str = "") -> Path:
    """Write an OpenDocument file of a body."""
    media = f"application/vnd.oasis.opendocument.{kind}"
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{media}"/>'
        '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
        "</manifest:manifest>"
    )
    members = {
        "mimetype": media,
        "content.xml": f"<office:document-content {XMLNS}><office:automatic-styles>{styles}"
        f"</office:automatic-styles><office:body>{body}</office:body></office:document-content>",
        "styles.xml": f"<office:document-styles {XMLNS}/>",
        "META-INF/manifest.xml": manifest,
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def cell(text: str, attributes: str = "", extra: str = "") -> str:
    """Return a cell of text."""
    return f"<table:table-cell {attributes}>{extra}<text:p>{text}</text:p></table:table-cell>"


def row(*cells: str, attributes: str = "") -> str:
    """Return a row of cells."""
    return f"<table:table-row {attributes}>{''.join(cells)}</table:table-row>"


def test_text_loses_nothing(tmp_path: Path) -> None:
    """Notes keep their marks, boxes stand behind, indexes and ruby are text, deletions not."""
    note = (
        "<text:note text:note-class='footnote'><text:note-citation>1</text:note-citation>"
        "<text:note-body><text:p>The note.</text:p></text:note-body></text:note>"
    )
    body = (
        "<office:text><text:tracked-changes><text:changed-region text:id='c'><text:deletion>"
        "<text:p>deleted</text:p></text:deletion></text:changed-region></text:tracked-changes>"
        f"<text:p>Noted{note} here<text:change text:change-id='c'/>.</text:p>"
        "<text:p>anchor<draw:frame><draw:text-box><text:p>boxed</text:p></draw:text-box>"
        "</draw:frame></text:p><text:p><text:ruby><text:ruby-base>base</text:ruby-base>"
        "<text:ruby-text>above</text:ruby-text></text:ruby> tail</text:p>"
        "<text:table-of-content><text:index-body><text:index-title><text:p>Contents</text:p>"
        "</text:index-title><text:p>Moorings 3</text:p></text:index-body></text:table-of-content>"
        "<text:numbered-paragraph><text:p>numbered</text:p></text:numbered-paragraph>"
        "<text:p>said<office:annotation><dc:creator>Ann</dc:creator><text:p>Check.</text:p>"
        "</office:annotation></text:p></office:text>"
    )
    found = texts(read(make(tmp_path / "a", "text", body), "odt").document)
    assert found == [
        "Noted[1] here.", "anchor", "boxed", "base(above) tail", "Contents", "Moorings 3",
        "numbered", "said", "Comment by Ann: Check.", "[1] The note.",
    ]  # fmt: skip


def test_a_sheet_is_what_it_uses(tmp_path: Path) -> None:
    """Endless blank repeats cost nothing; filled ones are written out; cells are as shown."""
    body = "<office:spreadsheet><table:table table:name='S'>" + "".join((
        row(cell("share"), cell("7.5%", "office:value-type='percentage' office:value='0.075'")),
        row(cell("twice", "table:number-columns-repeated='2'")),
        row(cell("again"), cell("x"), attributes="table:number-rows-repeated='2'"),
        ENDLESS, row("<table:table-cell table:number-columns-repeated='16000'/>", cell("far")),
    )) + "</table:table></office:spreadsheet>"  # fmt: skip
    converted = read(make(tmp_path / "a", "spreadsheet", body), "ods")
    assert texts(converted.document) == [
        "S",
        "| share | 7.5% |\n| --- | --- |\n| twice | twice |\n| again | x |\n| again | x |",
        "far",
    ]
    assert converted.warnings == ("blank rows and columns between far cells were left out",)


def test_repeats_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A filled cell that is repeated over the whole grid is no bomb."""
    monkeypatch.setattr(ods_cells, "_MOST_COPIED_CELLS", 5_000)
    filled = cell("x", "table:number-columns-repeated='16384'")
    rows = row(filled, attributes="table:number-rows-repeated='1048576'")
    body = (
        f"<office:spreadsheet><table:table table:name='S'>{rows}</table:table></office:spreadsheet>"
    )
    converted = read(make(tmp_path / "a", "spreadsheet", body), "ods")
    assert "repeated rows or cells were left out" in converted.warnings
    assert len(converted.document.text) < 50_000


def test_hidden_sheets_and_comments(tmp_path: Path) -> None:
    """A hidden sheet is named in a warning; a comment stands at the end."""
    styles = (
        "<style:style style:name='h' style:family='table'>"
        "<style:table-properties table:display='false'/></style:style>"
    )
    note = (
        "<office:annotation><dc:creator>Ann</dc:creator><text:p>Check.</text:p></office:annotation>"
    )
    body = (
        f"<office:spreadsheet><table:table table:name='S'>{row(cell('shown', extra=note))}"
        "</table:table><table:table table:name='Secret' table:style-name='h'>"
        f"{row(cell('unseen'))}</table:table></office:spreadsheet>"
    )
    converted = read(make(tmp_path / "a", "spreadsheet", body, styles), "ods")
    assert texts(converted.document) == ["S", "shown", "Comment by Ann: Check."]
    assert converted.warnings == ("the hidden sheet 'Secret' was left out",)


def test_slides(tmp_path: Path) -> None:
    """Groups are their shapes; a title in a list's head is a title."""
    body = (
        "<office:presentation><draw:page draw:name='p'><draw:frame presentation:class='title'>"
        "<draw:text-box><text:list><text:list-header><text:p>Tides</text:p></text:list-header>"
        "</text:list></draw:text-box></draw:frame><draw:g><draw:g><draw:custom-shape>"
        "<text:p>grouped</text:p></draw:custom-shape></draw:g></draw:g></draw:page>"
        "</office:presentation>"
    )
    document = read(make(tmp_path / "a", "presentation", body), "odp").document
    assert [(b.kind, document.text[b.start : b.end]) for b in document.blocks] == [
        ("title", "Tides"),
        ("paragraph", "grouped"),
    ]
