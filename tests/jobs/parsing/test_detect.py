from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from PIL import Image

from jobs.parsing.detect import detect_format
from tests.corpus import bulk_files, requires_corpus

MAIN_TYPES = {
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml",
}


def zipped(members: dict[str, str]) -> bytes:
    """Return a zip archive."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return data.getvalue()


def office(kind: str) -> bytes:
    """Return an Office package that names its main part."""
    override = f'<Override PartName="/main.xml" ContentType="{MAIN_TYPES[kind]}"/>'
    return zipped({"[Content_Types].xml": f"<Types>{override}</Types>", "main.xml": "<x/>"})


SAMPLES: dict[str, tuple[str, bytes]] = {
    "a PDF": ("pdf", b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\n"),
    "a PDF behind junk": ("pdf", b"junk\n%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n"),
    "prose about PDF": ("txt", b"A file begins with %PDF-1.7 and ends with a mark.\n"),
    "a PNG": ("image", b"\x89PNG\r\n\x1a\n" + bytes(40)),
    "a DOCX": ("docx", office("docx")),
    "an XLSX": ("xlsx", office("xlsx")),
    "a PPTX": ("pptx", office("pptx")),
    "a truncated DOCX": (
        "docx",
        zipped({"[Content_Types].xml": "", "word/document.xml": "<x/>"})[:120],
    ),
    "an EPUB": ("epub", zipped({"mimetype": "application/epub+zip"})),
    "an ODT": ("odt", zipped({"mimetype": "application/vnd.oasis.opendocument.text"})),
    "an ODS": ("ods", zipped({"mimetype": "application/vnd.oasis.opendocument.spreadsheet"})),
    "a plain zip": ("zip", zipped({"readme.txt": "x"})),
    "RTF": ("rtf", rb"{\rtf1\ansi Hello}"),
    "WebVTT": ("vtt", b"WEBVTT\n\n00:00.000 --> 00:02.000\nHello\n"),
    "DoclingDocument JSON": ("json_docling", b'{"schema_name": "DoclingDocument", "name": "a"}'),
    "other JSON": ("txt", b'{"name": "John"}'),
    "HTML": ("html", b"<!DOCTYPE html>\n<html><body><p>x</p></body></html>"),
    "HTML after a comment": ("html", b"<!-- c -->\n<HTML><p>x"),
    "XHTML": ("html", b'<?xml version="1.0"?>\n<html xmlns="x"><body/></html>'),
    "a piece of HTML": ("html", b"<div><p>one</p><p>two</p></div>"),
    "Markdown that begins with HTML": (
        "md",
        b'<p align="center"><img src="x.png"></p>\n\n# Head\n\nSee [here](http://x).\n\n## Two\n',
    ),
    "JATS": (
        "xml_jats",
        b'<?xml version="1.0"?>\n<article><front><journal-meta/></front></article>',
    ),
    "XML": ("xml", b'<?xml version="1.0"?>\n<project><name>x</name></project>'),
    "mail": ("eml", b"From: a@b.c\nTo: d@e.f\nSubject: x\n\nBody\n"),
    "a mailbox line before mail": (
        "eml",
        b"From a@b.c Mon Nov 30\nReceived: x\nSubject: y\n\nBody\n",
    ),
    "prose with a colon": ("txt", b"Subject: the harbour\nIt lies in the north.\n"),
    "TeX": ("tex", b"% a comment\n\\documentclass{article}\n\\begin{document}x\\end{document}"),
    "Markdown": ("md", b"# Head\n\nText with **bold** words.\n"),
    "Markdown with a table": ("md", b"| a | b |\n| --- | --- |\n| 1 | 2 |\n"),
    "Markdown with front matter": ("md", b"---\ntitle: x\n---\n\nText.\n"),
    "an open fence": ("md", b"Text\n\n```python\n# no heading\n"),
    "Markdown lists": ("md", b"- one\n- two\n  - three\n"),
    "AsciiDoc": ("adoc", b"= Title\n:toc:\n\n== Section\n\nText `code`.\n"),
    "an AsciiDoc table": ("adoc", b"Text.\n\n|===\n|a |b\n|===\n"),
    "CSV": ("csv", b"a,b,c\n1,2,3\n4,5,6\n"),
    "CSV with semicolons": ("csv", 'Vare;Pris\n"Rødgrød; stor";1,50\nÆble;2,00\n'.encode("cp1252")),
    "CSV with line ends in cells": ("csv", b'id,note\n1,"two\nlines"\n2,"x"\n'),
    "TSV": ("csv", b"a\tb\n1\t2\n3\t4\n"),
    "CSV in UTF-16": ("csv", "a;b\n1;2\n3;4\n".encode("utf-16")),
    "CSV of one column": ("csv", b"Trade\nRope walk\nCooperage\nChandlery\nPilotage\nDredging\n"),
    "an open quote": ("csv", b'a,b,c\n1,"open,3\n' + b"4,5,6\n" * 50),
    "prose with commas": ("txt", b"One, two, three went by.\nFour, five, six came back.\n"),
    "comment lines": ("txt", b"# Licensed to someone\n# under some terms\n# and more\n"),
    "prose": ("txt", "Rødgrød med fløde. Es ist Grün.\n".encode()),
    "prose in latin-1": ("txt", "Rødgrød med fløde.\n".encode("latin-1")),
    "prose in UTF-16 without a mark": ("txt", "The ferry leaves at noon.".encode("utf-16-le")),
    "prose with a NUL": ("txt", b"The ferry\0 leaves at noon.\n"),
    "noise": ("binary", bytes(range(256)) * 8),
}
NAMES = ["a.pdf", "a.docx", "b", "c.csv", "-rf.md", "d.html", "e.jpg"]


@pytest.mark.parametrize("sample", SAMPLES)
def test_tells_the_format_by_content(tmp_path: Path, sample: str) -> None:
    """A sample has its format under every name."""
    expected, content = SAMPLES[sample]
    for name in NAMES:
        path = tmp_path / name
        path.write_bytes(content)
        assert detect_format(path, name) == expected, name


def test_takes_bounded_time_on_hostile_text(tmp_path: Path) -> None:
    """Long lines, many markers, brackets and blank lines are told without backtracking for long."""
    path = tmp_path / "a"
    for content in (
        b"[" * 300_000,
        b"- " * 150_000,
        b"**a" * 90_000,
        b'"' * 250_001,
        b"<!--" * 70_000,
        b"\n" * 300_000 + b"x",
        b" \r\n" * 100_000 + b"x",
    ):
        path.write_bytes(content)
        assert detect_format(path, "a") in {"txt", "md", "csv", "html", "xml"}


@requires_corpus
@pytest.mark.corpus
@pytest.mark.parametrize(
    "folder", ["adoc", "csv", "docx", "eml", "html", "md", "pdf", "pptx", "xlsx"]
)
def test_agrees_with_ordinary_files(folder: str) -> None:
    """Of the ordinary files of a kind, nearly all are told to be of that kind."""
    files = [file for file in bulk_files() if file.format == folder]
    right = sum(detect_format(file.path, "x") == folder for file in files)
    assert right >= 0.98 * len(files), f"{right} of {len(files)}"


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "GIF", "BMP"])
def test_an_image_of_one_colour_is_no_text(tmp_path: Path, kind: str) -> None:
    """Its bytes, mostly zeros, could be letters of two bytes each."""
    path = tmp_path / "document"
    Image.new("L", (3000, 3000)).save(path, kind)
    assert detect_format(path, "a.txt") == "image"


@pytest.mark.parametrize(
    ("part", "kind"),
    [("word/document.xml", "docx"), ("xl/workbook.xml", "xlsx"), ("ppt/presentation.xml", "pptx")],
)
def test_an_office_file_without_its_types_is_no_archive(
    tmp_path: Path, part: str, kind: str
) -> None:
    """Its parts are no documents; below a folder they are files like others."""
    path = tmp_path / "a"
    path.write_bytes(zipped({part: "<x/>"}))
    assert detect_format(path, "a") == kind
    path.write_bytes(zipped({f"unpacked/{part}": "<x/>"}))
    assert detect_format(path, "a") == "zip"
