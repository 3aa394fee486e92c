"""No document reaches the network: connections and name look-ups are counted.

Each document points at a server of this test in the ways that its format knows. Its
reader is called in this process, without the guard of the parsing child, so that the
reader itself is what does not ask.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from docling.datamodel.base_models import InputFormat
from docling.datamodel.pipeline_options import ThreadedPdfPipelineOptions
from docling.document_converter import DocumentConverter, PdfFormatOption

from chunking.errors import DocumentError
from jobs.config import ParserConfig
from jobs.parsing.convert import convert
from jobs.parsing.pdf.plugin import ChunkmillLayoutOptions, ChunkmillTableOptions
from jobs.parsing.preload import preload
from tests.jobs.parsing import made
from tests.jobs.parsing.pdfs import REGULAR, pdf

_asked: list[str] = []
_EVENTS = ("socket.connect", "socket.getaddrinfo", "socket.gethostby", "socket.sendto")
_counting = threading.Event()


def _note(event: str, _: tuple[object, ...]) -> None:
    if _counting.is_set() and event.startswith(_EVENTS):
        _asked.append(event)


class Server:
    """Accepts connections on a free port, counts them and says nothing."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.connections = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                self.connections += 1
                connection.close()

    def close(self) -> None:
        """Take no more connections."""
        self._socket.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Start a server; from here on, what this process asks of the network is noted."""
    preload()
    sys.addaudithook(_note)
    started = Server()
    yield started
    started.close()


def _html(url: str) -> str:
    return f"""<!doctype html><html><head><base href="{url}/"><title>Berths</title>
<link rel="stylesheet" href="{url}/a.css"><meta http-equiv="refresh" content="0; url={url}/b">
<script src="{url}/c.js"></script><style>@import url("{url}/d.css");</style></head>
<body background="{url}/e.png"><h1>Berths</h1><p>Words <img src="{url}/f.png" alt="quay">
<img srcset="relative.png 2x" src="//127.0.0.1/g.png"></p><iframe src="{url}/h"></iframe>
<object data="{url}/i.svg"></object><embed src="{url}/j"><video src="{url}/k"></video>
<svg><image href="{url}/l.png"/><use href="{url}/m.svg#n"/></svg></body></html>"""


def _xml(url: str) -> str:
    return f"""<?xml version="1.0"?><?xml-stylesheet href="{url}/a.xsl" type="text/xsl"?>
<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) Journal Archiving//EN" "{url}/JATS.dtd">
<article xmlns:xlink="http://www.w3.org/1999/xlink"
 xmlns:xi="http://www.w3.org/2001/XInclude" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
 xsi:schemaLocation="urn:x {url}/a.xsd"><front><article-meta><title-group>
<article-title>Berths</article-title></title-group></article-meta></front><body><sec>
<title>One</title><p>Words. <xi:include href="{url}/b.xml"/></p>
<fig><graphic xlink:href="{url}/c.png"/></fig></sec></body></article>"""


def _write(text: Callable[[str], str]) -> Callable[[Path, str], Path]:
    def write(path: Path, url: str) -> Path:
        path.write_text(text(url), encoding="utf-8")
        return path

    return write


def _linked(make: Callable[[Path], Path], part: str, kind: str) -> Callable[[Path, str], Path]:
    """Return a writer of an Office file with external relationships of several kinds."""
    base = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"

    def write(path: Path, url: str) -> Path:
        make(path)
        links = "".join(
            f'<Relationship Id="x{i}" Type="{base}/{name}" Target="{url}/{name}"'
            ' TargetMode="External"/>'
            for i, name in enumerate(("image", "attachedTemplate", "oleObject", "frame", kind))
        )
        return made.change_member(path, part, "</Relationships>", f"{links}</Relationships>")

    return write


def _docx(path: Path, url: str) -> Path:
    """Write a Word file with a picture that is linked, not embedded."""
    _linked(made.make_docx, "word/_rels/document.xml.rels", "hyperlink")(path, url)
    picture = (
        '<w:p><w:r><w:drawing><wp:inline xmlns:wp="http://schemas.openxmlformats.org/drawingml/'
        '2006/wordprocessingDrawing"><a:graphic xmlns:a="http://schemas.openxmlformats.org/'
        'drawingml/2006/main"><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/'
        '2006/picture"><pic:pic xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/'
        'picture"><pic:blipFill><a:blip xmlns:r="http://schemas.openxmlformats.org/'
        'officeDocument/2006/relationships" r:link="x0"/></pic:blipFill></pic:pic>'
        "</a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>"
    )
    return made.change_member(path, "word/document.xml", "<w:sectPr", f"{picture}<w:sectPr")


def _odt(path: Path, url: str) -> Path:
    frame = (
        '<draw:frame xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0">'
        f'<draw:image xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="{url}/a.png"/>'
        "</draw:frame></office:text>"
    )
    return made.change_member(made.make_odt(path), "content.xml", "</office:text>", frame)


def _epub(path: Path, url: str) -> Path:
    picture = f'<img src="{url}/a.png"/><link rel="stylesheet" href="{url}/b.css"/><h1>First'
    return made.change_member(made.make_epub(path), "OPS/b.xhtml", "<h1>First", picture)


def _pdf(path: Path, url: str) -> Path:
    data = pdf([[(60, 700, REGULAR, 11, made.PHRASE)]])
    action = f"/Type /Catalog /OpenAction << /S /URI /URI ({url}/a) >>".encode()
    path.write_bytes(data.replace(b"/Type /Catalog", action, 1))
    return path


def _mail(url: str) -> str:
    return f"Subject: Berths\nContent-Type: text/html; charset=utf-8\n\n{_html(url)}"


_DOCLING = """{"schema_name": "DoclingDocument", "version": "1.0.0", "name": "a",
"body": {"self_ref": "#/body", "children": [{"$ref": "#/texts/0"}, {"$ref": "#/pictures/0"}]},
"texts": [{"self_ref": "#/texts/0", "parent": {"$ref": "#/body"}, "label": "text", "prov": [],
"orig": "Words.", "text": "Words."}],
"pictures": [{"self_ref": "#/pictures/0", "parent": {"$ref": "#/body"}, "label": "picture",
"prov": [], "image": {"mimetype": "image/png", "dpi": 72, "size": {"width": 1, "height": 1},
"uri": "URL/a.png"}}]}"""


WRITERS: dict[str, Callable[[Path, str], Path]] = {
    "html": _write(_html),
    "md": _write(lambda url: f"# Berths\n\n![quay]({url}/a.png)\n\n{_html(url)}\n\n<{url}/b>\n"),
    "txt": _write(lambda url: f"Words at {url}/a.\n"),
    "csv": _write(lambda url: f'name,link\n"quay","=WEBSERVICE(""{url}/a"")"\n'),
    "adoc": _write(lambda url: f"= Berths\n\ninclude::{url}/a.adoc[]\n\nimage::{url}/b.png[]\n"),
    "tex": _write(
        lambda url: (
            "\\documentclass{article}\\begin{document}Words \\input{URL/a}"
            "\\includegraphics{URL/b.png}\\end{document}\n".replace("URL", url)
        )
    ),
    "vtt": _write(lambda url: f"WEBVTT\n\n00:01.000 --> 00:02.000\n<c>Words</c> {url}/a\n"),
    "xml_jats": _write(_xml),
    "xml": _write(lambda url: _xml(url).replace("article", "berth")),
    "eml": _write(_mail),
    "json_docling": _write(lambda url: _DOCLING.replace("URL", url)),
    "docx": _docx,
    "pptx": _linked(made.make_pptx, "ppt/slides/_rels/slide1.xml.rels", "video"),
    "xlsx": _linked(made.make_xlsx, "xl/_rels/workbook.xml.rels", "externalLink"),
    "odt": _odt,
    "epub": _epub,
    "pdf": _pdf,
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # docling reads its own old options
def test_doclings_pipeline_with_our_plugins_asks_nothing(server: Server, tmp_path: Path) -> None:
    """Where no model needs weights, none are looked for."""
    path = _pdf(tmp_path / "document.pdf", server.url)
    options = ThreadedPdfPipelineOptions(
        do_ocr=False,
        table_structure_options=ChunkmillTableOptions(),
        layout_options=ChunkmillLayoutOptions(),
        allow_external_plugins=True,
    )
    formats = {InputFormat.PDF: PdfFormatOption(pipeline_options=options)}
    converter = DocumentConverter(allowed_formats=[InputFormat.PDF], format_options=formats)
    before = server.connections
    _counting.set()
    try:
        assert converter.convert(path).document.texts
    finally:
        _counting.clear()
    assert _asked == []
    assert server.connections == before


def test_what_asks_is_counted(server: Server) -> None:
    """The counters count: a connection, and the look-up of a name."""
    before = server.connections
    _counting.set()
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.recv(1)
    socket.gethostbyname("localhost")
    _counting.clear()
    assert server.connections == before + 1
    assert {"socket.connect", "socket.gethostbyname"} <= set(_asked)
    _asked.clear()


@pytest.mark.parametrize("format_", WRITERS)
def test_a_document_asks_nothing_of_the_network(
    server: Server, tmp_path: Path, format_: str
) -> None:
    """Pictures, style sheets, includes, schemas and actions that lie elsewhere stay there."""
    path = WRITERS[format_](tmp_path / "document", server.url)
    before = server.connections
    _counting.set()
    try:
        document = convert(path, format=format_, name="a", settings=ParserConfig()).document
    except DocumentError as error:
        if error.kind != "unsafe":  # an external entity may be refused
            raise
    else:
        assert document.text
    finally:
        _counting.clear()
    assert _asked == []
    assert server.connections == before
