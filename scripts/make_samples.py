"""Write the sample documents that no text editor makes: Office files, e-book and PDFs.

The other samples below ``tests/samples`` are plain text and edited by hand. The same
script and library versions give the same bytes: no clock, no random names.

    python scripts/make_samples.py [FOLDER]
"""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import odfdo
import openpyxl
import pptx
from docx import Document as WordDocument
from openpyxl.styles import Font
from sample_pdfs import annual_report, crane_rules

SAMPLES = Path(__file__).resolve().parents[1] / "tests" / "samples"
MADE = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
NAIVE = MADE.replace(tzinfo=None)
ZIP_DATE = (2026, 1, 5, 8, 0, 0)


def zip_again(data: bytes) -> bytes:
    """Return a zip archive with fixed times, a leading ``mimetype`` stored as ODF asks."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        names = sorted(old.namelist(), key=lambda name: (name != "mimetype", name))
        for name in names:
            entry = zipfile.ZipInfo(name, ZIP_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            if name == "mimetype":
                entry.compress_type = zipfile.ZIP_STORED
            new.writestr(entry, old.read(name))
    return out.getvalue()


def pilotage() -> bytes:
    """Return a Word document with headings, runs of formatting, a list and a table."""
    document = WordDocument()
    properties = document.core_properties
    properties.title, properties.author = "Pilotage", "Norrvig Harbour Authority"
    properties.created = properties.modified = NAIVE
    document.add_heading("Pilotage", level=0)
    intro = document.add_paragraph("Every ship longer than 60 m takes a ")
    intro.add_run("pilot").bold = True
    intro.add_run(
        ". Masters who have entered Norrvig ten times within two years may ask for an exemption; "
        "it holds for one ship and one year. The two pilots share the watch and change at noon."
    )
    document.add_heading("Boarding", level=1)
    document.add_paragraph(
        "The pilot boards at the station 2 nautical miles south-west of the mole. The ladder hangs "
        "on the lee side, 1.5 m above the water, and an officer stands at its head. In waves above "
        "2.5 m the pilot leads the ship in by radio from the pilot boat, if the harbour master "
        "agrees."
    )
    for text in ("the ladder is wet but not icy", "a lifebuoy with a light lies ready"):
        document.add_paragraph(text, style="List Bullet")
    document.add_heading("Fees", level=1)
    document.add_paragraph("The fee hangs on the length of the ship and on the hour of the day.")
    rows = [
        ("Length over all", "By day (kr.)", "By night (kr.)"),
        ("60 to 90 m", "3,400", "4,250"),
        ("90 to 120 m", "4,900", "6,125"),
        ("above 120 m", "7,200", "9,000"),
    ]
    table = document.add_table(rows=0, cols=3, style="Table Grid")
    for row in rows:
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    document.add_heading("Waiting", level=2)
    document.add_paragraph(
        "A pilot who waits longer than an hour because the ship is not ready is paid 650 kr. for "
        "each hour that has begun. Nothing is charged when the weather is the reason."
    )
    out = io.BytesIO()
    document.save(out)
    return zip_again(out.getvalue())


def safety() -> bytes:
    """Return a presentation of three slides, with bullets, a table and speaker notes."""
    slides = pptx.Presentation()
    properties = slides.core_properties
    properties.title, properties.author = "Safety on the quay", "Norrvig Harbour Authority"
    properties.created = properties.modified = NAIVE
    first = slides.slides.add_slide(slides.slide_layouts[0])
    first.shapes.title.text = "Safety on the quay"
    first.placeholders[1].text = "For new line handlers and crane drivers"
    rules = slides.slides.add_slide(slides.slide_layouts[1])
    rules.shapes.title.text = "Five rules"
    rules.placeholders[1].text = (
        "Wear the life jacket closed, also in the sun.\n"
        "Never turn your back to a line under load.\n"
        "Stay outside the yellow circle of the crane.\n"
        "One person gives the signals, and only one.\n"
        "Stop the work when something looks wrong."
    )
    rules.notes_slide.notes_text_frame.text = (
        "Tell the story of the snapped stern line of 2009 before the second rule."
    )
    numbers = slides.slides.add_slide(slides.slide_layouts[5])
    numbers.shapes.title.text = "Numbers to know"
    cells = [
        ("What", "Where"),
        ("Duty officer", "VHF channel 12"),
        ("First aid box", "every crane"),
    ]
    frame = numbers.shapes.add_table(3, 2, pptx.util.Cm(2), pptx.util.Cm(5), pptx.util.Cm(20), 0)
    for i, row in enumerate(cells):
        for j, text in enumerate(row):
            frame.table.cell(i, j).text = text
    out = io.BytesIO()
    slides.save(out)
    return zip_again(out.getvalue())


def dues() -> bytes:
    """Return a workbook of two sheets: dues by kind of ship, and surcharges."""
    book = openpyxl.Workbook()
    book.properties.creator = "Norrvig Harbour Authority"
    book.properties.title = "Harbour dues 2026"
    dues_sheet = book.active
    dues_sheet.title = "Dues 2026"
    rows: list[tuple[object, ...]] = [
        ("Kind of ship", "Unit", "Dues (kr.)", "Smallest bill (kr.)"),
        ("Cargo ship", "gross tonnage", 2.15, 900),
        ("Passenger ferry", "passenger", 4.5, 600),
        ("Fishing vessel", "value of the catch", "2.5 %", 150),
        ("Tug in transit", "call", 480, 480),
        ("Museum ship", "call", 0, 0),
    ]
    for row in rows:
        dues_sheet.append(row)
    surcharges = book.create_sheet("Surcharges")
    for row in [("Reason", "Surcharge"), ("Holiday or night", "25 %"), ("No announcement", "50 %")]:
        surcharges.append(row)
    for sheet in book.worksheets:
        for cell in sheet[1]:
            cell.font = Font(bold=True)
    out = io.BytesIO()
    book.save(out)
    return zip_again(_fix_dates(out.getvalue()))


def _fix_dates(workbook: bytes) -> bytes:
    """Replace the times that openpyxl takes from the clock when it saves."""
    out = io.BytesIO()
    stamp = f"{NAIVE.isoformat()}Z"
    with zipfile.ZipFile(io.BytesIO(workbook)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "docProps/core.xml":
                start, *parts = data.decode().split('W3CDTF">')
                parts = [f"{stamp}<{part.partition('<')[2]}" for part in parts]
                data = 'W3CDTF">'.join([start, *parts]).encode()
            new.writestr(name, data)
    return out.getvalue()


def hafenordnung() -> bytes:
    """Return a German text document with numbered paragraphs of law."""
    document = odfdo.Document("text")
    document.meta.creation_date = document.meta.date = NAIVE
    document.meta.title = "Hafenordnung"
    body = document.body
    body.clear()
    body.append(odfdo.Header(1, "Hafenordnung der Stadt Norrvig"))
    body.append(
        odfdo.Paragraph(
            "Diese Ordnung gilt seit dem 1. Januar 2026 für alle Schiffe und Personen im Hafen. "
            "Ausnahmen erteilt der Hafenmeister, z. B. für Rettungsboote."
        )
    )
    for title, text in HAFENORDNUNG:
        body.append(odfdo.Header(2, title))
        body.append(odfdo.Paragraph(text))
    duties = odfdo.List(["Leinen prüfen", "Landgang beleuchten", "Müll getrennt abgeben"])
    body.append(duties)
    out = io.BytesIO()
    document.save(out)
    return zip_again(out.getvalue())


HAFENORDNUNG = [
    (
        "§ 1 Anmeldung",
        "Jedes Schiff über 15 m Länge meldet sich 24 Stunden vor der Ankunft an. Die Meldung nennt "
        "Tiefgang, Länge, letzten Hafen und gefährliche Güter. Wer sich nicht anmeldet, wartet auf "
        "der Reede und zahlt nach § 4 Abs. 2 einen Zuschlag von 50 v. H.",
    ),
    (
        "§ 2 Liegeplätze",
        "Der Hafenmeister weist den Liegeplatz zu. Ein Schiff muss verholen, wenn er es verlangt, "
        "d. h. auch bei Nacht. Das Liegen in zweiter Reihe ist nur am Kai 2 erlaubt.",
    ),
    (
        "§ 3 Pflichten an Bord",
        "An Bord bleibt stets eine Person, die die Maschine anlassen kann. Bei Sturmwarnung werden "
        "die Leinen verdoppelt. Täglich sind die folgenden Arbeiten zu tun:",
    ),
]


EPUB_PAGES = {
    "EPUB/ch1.xhtml": (
        "The first morning",
        "My first morning in Norrvig began at four. The lamp on the mole turned, the gulls slept, "
        "and old Harald taught me to throw a heaving line: not with the arm, he said, but with the "
        "whole day that lies before you. It took me eleven throws to reach the bollard.",
    ),
    "EPUB/ch2.xhtml": (
        "What the water says",
        "Before a ship comes in, the water in the basin grows restless. Harald saw it long before "
        "the radio spoke. A swell from the west, a short silence of the chains at quay 3, and then "
        "the grey bow behind the light. I learned to look at the chains first.",
    ),
}


def first_year() -> bytes:
    """Return an e-book of two chapters."""
    container = (
        '<?xml version="1.0"?><container version="1.0" '
        'xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile '
        'full-path="EPUB/book.opf" media-type="application/oebps-package+xml"/></rootfiles>'
        "</container>"
    )
    items = "".join(
        f'<item id="c{i}" href="{name.removeprefix("EPUB/")}" media-type="application/xhtml+xml"/>'
        for i, name in enumerate(EPUB_PAGES)
    )
    spine = "".join(f'<itemref idref="c{i}"/>' for i in range(len(EPUB_PAGES)))
    book = (
        '<?xml version="1.0" encoding="utf-8"?><package version="3.0" unique-identifier="id" '
        'xmlns="http://www.idpf.org/2007/opf"><metadata '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">norrvig-first-year'
        "</dc:identifier><dc:title>My first year on the quay</dc:title><dc:language>en"
        '</dc:language><meta property="dcterms:modified">2026-01-05T08:00:00Z</meta></metadata>'
        '<manifest><item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" '
        f'properties="nav"/>{items}</manifest><spine>{spine}</spine></package>'
    )
    links = "".join(
        f'<li><a href="{name.removeprefix("EPUB/")}">{title}</a></li>'
        for name, (title, _) in EPUB_PAGES.items()
    )
    nav = f'<nav xmlns:epub="http://www.idpf.org/2007/ops" epub:type="toc"><ol>{links}</ol></nav>'
    entries = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": container,
        "EPUB/book.opf": book,
        "EPUB/nav.xhtml": _xhtml("Contents", nav),
        **{
            name: _xhtml(title, f"<h1>{title}</h1><p>{text}</p>")
            for name, (title, text) in EPUB_PAGES.items()
        },
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in entries.items():
            archive.writestr(name, text)
    return zip_again(out.getvalue())


def _xhtml(title: str, body: str) -> str:
    return (
        '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html><html '
        f'xmlns="http://www.w3.org/1999/xhtml" lang="en"><head><title>{title}</title></head>'
        f"<body>{body}</body></html>"
    )


def damaged() -> bytes:
    """Return the first half of a Word document, as a broken transfer leaves it."""
    whole = pilotage()
    return whole[: len(whole) // 2]


FILES: dict[str, Callable[[], bytes]] = {
    "damaged/crane-manual.docx": damaged,
    "de/hafenordnung.odt": hafenordnung,
    "de/kranordnung.pdf": crane_rules,
    "handbook/annual-report.pdf": annual_report,
    "handbook/pilotage.docx": pilotage,
    "tariffs/harbour-dues.xlsx": dues,
    "training/first-year.epub": first_year,
    "training/safety.pptx": safety,
}


def main() -> None:
    """Write all files below the folder given, or into the samples of the checkout."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else SAMPLES
    for name, make in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(make())
        print(path)


if __name__ == "__main__":
    main()
