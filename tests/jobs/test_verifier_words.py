"""The verifier's own readers find the words of a source that the text has lost."""

from __future__ import annotations

import io
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from jobs import verifier
from jobs.verifier import Options, verify
from tests import datasets
from tests.sample_files import SAMPLES


def words(text: str) -> list[str]:
    """Return words as the verifier compares them."""
    return verifier._words(text)


def packed(**parts: str) -> bytes:
    """Return a zip package; ``__`` in a name stands for a folder, the rest is XML."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as package:
        for name, text in parts.items():
            package.writestr(name.replace("__", "/") + ".xml", text)
    return buffer.getvalue()


W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
MC = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
DOCX = packed(
    word__document=f"<w:document {W} {MC}><w:body><w:p><w:r><w:t>Ro</w:t></w:r><w:r><w:t>pe</w:t>"
    "</w:r><w:r><w:tab/></w:r><w:r><w:t>length</w:t></w:r></w:p><w:p><w:r><w:delText>gone"
    "</w:delText><mc:AlternateContent><mc:Choice><w:t>Box</w:t></mc:Choice><mc:Fallback><w:t>Box"
    "</w:t></mc:Fallback></mc:AlternateContent></w:r></w:p></w:body></w:document>",
    word__footnotes=f"<w:footnotes {W}><w:p><w:r><w:t>A note</w:t></w:r></w:p></w:footnotes>",
)
PPTX = packed(
    ppt__slides__slide2=f"<p:sld xmlns:p='p' {A}><a:p><a:r><a:t>second</a:t></a:r></a:p></p:sld>",
    ppt__slides__slide1=f"<p:sld xmlns:p='p' {A}><a:p><a:r><a:t>fir</a:t></a:r><a:r><a:t>st</a:t>"
    "</a:r></a:p></p:sld>",
    ppt__notesSlides__notesSlide1=f"<p:notes xmlns:p='p' {A}><a:t>spoken</a:t></p:notes>",
)
ODT = packed(
    content="<o:document xmlns:o='o' xmlns:t='t'><t:h>Title</t:h><t:p>Inner <t:span>wo</t:span>rd"
    "<t:tab/>last<o:annotation><t:p>aside</t:p></o:annotation> end</t:p></o:document>"
)
JATS = (
    b"<article><front><journal-meta><journal-title>Left out</journal-title></journal-meta>"
    b"<article-meta><title-group><article-title>Of tides</article-title></title-group>"
    b"<abstract><p>Short.</p></abstract></article-meta></front>"
    b"<body><sec><title>One</title><p>H<sub>2</sub>O <tex-math>x</tex-math>rises</p></sec></body>"
    b"</article>"
)
EML = (
    b"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\nMIME-Version: 1.0\r\n"
    b"Content-Type: text/html; charset=utf-8\r\n\r\n<p>Hello <b>the</b>re</p>"
)
TWO_BODIES = (
    b"Subject: Tides\r\nMIME-Version: 1.0\r\n"
    b"Content-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\n"
    b"Content-Type: text/plain\r\n\r\nSee the page\r\n--b\r\n"
    b"Content-Type: text/html\r\n\r\n<p>High water</p>\r\n--b--\r\n"
)
HTML = (
    b"<html><head><title>No</title><style>no</style></head><body>Lead<h1>One</h1>"
    b"<p>wo<b>rd</b> &amp; <i>next</i><br>line</p><script>no</script><td>a</td><td>b</td>"
    b"<p hidden>no</p><!-- no --></body></html>"
)
MD = (
    b'---\ntitle: no\n---\n# One [two](http://no.example/no "no")\n<!-- no -->\n[no]: http://no\n'
    b"```no\ncode_word\n```\n*em*_ph_ &eacute;t <b>tag</b> ![alt](no.png)\n"
)
ADOC = (
    b"= Title\n:no: no\n// no\n[source,no]\n----\ncode\n----\nxref:no.adoc[shown] <<no,also>> "
    b"link:http://no[site]\ninclude::no[]\n"
)
VTT = b"WEBVTT no\n\nNOTE no\n\n1\n00:01.000 --> 00:02.000 no\n<v Ann>Hello &amp; bye\n"
READERS: list[tuple[str, bytes, str]] = [
    ("docx", DOCX, "Rope length Box A note"),
    ("pptx", PPTX, "spoken first second"),
    ("odt", ODT, "Title Inner word last end"),
    ("xml_jats", JATS, "Of tides Short One H2O rises"),
    ("eml", EML, "Gr\u00fc\u00dfe Hello there"),
    ("eml", TWO_BODIES, "Tides High water"),
    ("html", HTML, "Lead One word next line a b"),
    ("html", '<meta charset="koi8-r"><p>bl\u00e5b\u00e6r'.encode(), "bl\u00e5b\u00e6r"),
    ("html", "<p>caf\u00e9".encode("latin-1"), "caf\u00e9"),
    ("md", MD, "One two code word em ph \u00e9t tag alt"),
    ("adoc", ADOC, "Title code shown also site"),
    ("vtt", VTT, "Hello bye"),
    ("txt", "caf\u00e9".encode("cp1252"), "caf\u00e9"),
    ("csv", "\ufeffa;b".encode("utf-16"), "a b"),
]


@pytest.mark.parametrize(("name", "data", "text"), READERS, ids=[case[0] for case in READERS])
def test_reader(tmp_path: Path, name: str, data: bytes, text: str) -> None:
    """Each reader gives the words that a person sees, whole, and no others."""
    path = tmp_path / "source"
    path.write_bytes(data)
    read: Callable[[Path], str] = verifier._WORD_READERS[name]
    assert sorted(words(read(path))) == sorted(words(text))


def test_spreadsheet(tmp_path: Path) -> None:
    """Texts of visible sheets count, numbers and hidden sheets do not."""
    book = openpyxl.Workbook()
    book.active.append(["Berth", 12, None, "north"])
    book.create_sheet("aside").append(["hidden"])
    book["aside"].sheet_state = "hidden"
    book.save(tmp_path / "book.xlsx")
    shutil.move(tmp_path / "book.xlsx", tmp_path / "source")
    assert words(verifier._xlsx_text(tmp_path / "source")) == ["berth", "north"]


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="poppler is not installed")
def test_pdf_samples() -> None:
    """Poppler reads the sample PDFs."""
    found = sorted(SAMPLES.rglob("*.pdf"))
    assert found
    assert any(
        len(words(verifier._pdf_text(path))) > 50 for path in found if path.stat().st_size > 900
    )


def row(text: str, **values: Any) -> dict[str, Any]:
    """Return what the comparison reads of a documents row."""
    return {"text": text, "furniture": [], "title": None, "metadata": [], **values}


@pytest.mark.parametrize(
    ("source", "given", "recall", "missing"),
    [
        ("one two three four", row("one two three four"), 1.0, []),
        ("one two two two", row("one two"), 0.5, ["two"]),
        ("\ufb01ne STRASSE", row("fine stra\u00dfe"), 1.0, []),
        ("exam ple", row("example"), 0.5, ["ple"]),  # too short to be looked for in words
        ("lighthouse", row("light house"), 1.0, []),
        ("head one head two head", row("one two", furniture=["head"]), 1.0, []),
        ("Name of it", row("of it", title="Name"), 1.0, []),
        ("\u6e2f\u306e", row("\u306e\u6e2f"), 1.0, []),
    ],
)
def test_recall(source: str, given: dict[str, Any], recall: float, missing: list[str]) -> None:
    """Recall counts words with their number, forgives ligatures, case and joints."""
    found, lost = verifier._recall(words(source), given)
    assert found == pytest.approx(recall)
    assert lost == missing


def test_letters_divided_otherwise() -> None:
    """Letters that are all there are told from letters that are lost."""
    wanted = words("s p a c e d and w i d e")
    assert verifier._letter_recall(wanted, row("spaced and wide")) == 1.0
    assert verifier._letter_recall(wanted, row("something else")) == 0.0


@pytest.mark.parametrize(("share", "law"), [(0.8, "warning"), (0.4, "violation")])
def test_thresholds(tmp_path: Path, share: float, law: str) -> None:
    """Below one threshold a document is warned of, below the other it is a violation."""
    data = datasets.harbour()
    doc = data.docs["deep/prose.txt"]
    here = len(words(doc.text))
    extra = round(here / share) - here
    doc.source += ("\n" + " ".join(f"absent{n}word" for n in range(extra))).encode()
    version = datasets.sha256(doc.source)
    doc.row |= {"doc_version": version, "size_bytes": len(doc.source)}
    for other in (*doc.chunks, *doc.boundaries, *doc.units):
        other["doc_version"] = version
    dst = datasets.write(data, tmp_path / "work")
    options = Options(readers=False, warn_below=0.95, fail_below=0.5)
    report = verify(str(dst), str(dst.parent / "src"), options=options)
    found = report.warned if law == "warning" else report.violated
    assert found == {"words.recall": 1}
    assert report.findings[0].source_key == "deep/prose.txt"
    assert "absent0word" in report.findings[0].message
