"""The born-digital PDFs among the sample documents, drawn with fixed times and names."""

from __future__ import annotations

import io
from collections.abc import Sequence

from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.lib.units import cm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    NextPageTemplate,
    PageBreak,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
)

__all__ = ["annual_report", "crane_rules"]

WIDTH, HEIGHT = A4
MARGIN = 2.2 * cm
GUTTER = 0.9 * cm
STYLES = getSampleStyleSheet()
for _name in ("Heading1", "Heading2"):
    STYLES[_name].keepWithNext = 1

INTRODUCTION = (
    "In 2025 the harbour of Norrvig received 1,284 ships, 61 more than in the year before. The "
    "traffic of grain and timber grew, the traffic of coal ended in June. Two passenger ferries "
    "carried 412,000 people across the sound, and no one was hurt on board or on the quays."
)
TRAFFIC = (
    "Grain is the largest cargo and came mostly by coaster. The table gives the weights that "
    "crossed the quays. The figures of 2024 were corrected after the new weighbridge had been "
    "tested against the old one in March."
)
CARGO = [
    ["Cargo", "2024 (t)", "2025 (t)", "Change"],
    ["Grain", "184,200", "201,700", "+9.5 %"],
    ["Timber", "96,450", "113,900", "+18.1 %"],
    ["Coal", "40,300", "11,250", "-72.1 %"],
    ["Fertiliser", "22,800", "23,100", "+1.3 %"],
    ["Fish", "7,940", "8,015", "+0.9 %"],
]
OUTLOOK = [
    (
        "Dredging",
        [
            "The basin loses about 12 cm of depth each year, because the stream Norr carries sand "
            "from the heath into the harbour. The last dredging was in 2019. Since then the depth "
            "at quay 4 has fallen from 8.5 m to 7.8 m, and two ships had to wait for the tide.",
            "In March 2026 the dredger Sandpiper will take 38,000 cubic metres from the turning "
            "circle and from the berth of quay 4. The sand is clean and goes to the beach of "
            "Tornby, which lost its dune in the storm of October 2023.",
        ],
    ),
    (
        "Shore power",
        [
            "Ships at quay 2 can take their power from the shore since August. In the first five "
            "months 214 ships did so and bought 310 megawatt hours. The noise at night has fallen, "
            "and the letters of complaint have fallen with it, from 31 to 6.",
            "Quay 5 follows in 2027. The cable lies ready, but the transformer is late: its maker "
            "has moved the date of delivery twice.",
        ],
    ),
    (
        "People",
        [
            "Two line handlers retired after more than thirty years, and three young people began "
            "to learn the trade. Harald Brink, who taught most of us to throw a line, left on the "
            "last day of November. The board thanks him for 41 years.",
        ],
    ),
]
KRANORDNUNG = [
    (
        "Allgemeines",
        "Der fahrbare Kran hebt bei kurzer Ausladung 63 Tonnen. Er darf nur von Personen gefahren "
        "werden, die den Schein der Klasse K2 besitzen und am selben Tag gesund und ausgeruht "
        "sind. Bei Wind über 15 m/s wird nicht gehoben.",
    ),
    (
        "Prüfung vor der Arbeit",
        "Vor jeder Schicht werden Seile, Haken und Bremsen geprüft. Ein Seil mit mehr als sechs "
        "gebrochenen Drähten auf einer Länge von 30 cm wird sofort ersetzt. Die Prüfung wird im "
        "Kranbuch vermerkt, auch wenn kein Mangel gefunden wurde.",
    ),
    (
        "Zeichen",
        "Nur der Einweiser gibt Zeichen. Das Zeichen Halt gilt, gleich wer es gibt. Unter der Last "
        "steht niemand, und niemand fährt auf der Last mit.",
    ),
]


def annual_report() -> bytes:
    """Return a report: title, headings and a table, then a page in two columns.

    Every page has a running head and a page number.
    """
    story: list[Flowable] = [
        Paragraph("Annual report 2025", STYLES["Title"]),
        Paragraph(INTRODUCTION, STYLES["BodyText"]),
        Paragraph("Traffic", STYLES["Heading1"]),
        Paragraph(TRAFFIC, STYLES["BodyText"]),
        Spacer(0, 0.4 * cm),
        _table(CARGO),
        NextPageTemplate("columns"),
        PageBreak(),
    ]
    for title, paragraphs in OUTLOOK:
        story.append(Paragraph(title, STYLES["Heading2"]))
        story += [Paragraph(text, STYLES["BodyText"]) for text in paragraphs]
    return _pdf(story, title="Annual report 2025", head="Norrvig Harbour Authority - Annual report")


def crane_rules() -> bytes:
    """Return a German page of headings and paragraphs."""
    story: list[Flowable] = [Paragraph("Kranordnung", STYLES["Title"])]
    for title, text in KRANORDNUNG:
        story += [Paragraph(title, STYLES["Heading2"]), Paragraph(text, STYLES["BodyText"])]
    return _pdf(story, title="Kranordnung", head="Hafen Norrvig")


def _table(rows: Sequence[Sequence[str]]) -> Table:
    table = Table(rows, colWidths=[4 * cm, 3 * cm, 3 * cm, 3 * cm])
    table.setStyle(
        [
            ("GRID", (0, 0), (-1, -1), 0.5, colors.black),
            ("FONTNAME", (0, 0), (-1, 0), "Helvetica-Bold"),
            ("ALIGN", (1, 0), (-1, -1), "RIGHT"),
        ]
    )
    return table


def _pdf(story: list[Flowable], *, title: str, head: str) -> bytes:
    """Lay the story out on A4; ``invariant`` keeps the clock and random ids out."""
    out = io.BytesIO()

    def furniture(canvas: Canvas, _document: BaseDocTemplate) -> None:
        canvas.setFont("Helvetica", 8)
        canvas.drawString(MARGIN, HEIGHT - 1.3 * cm, head)
        canvas.drawCentredString(WIDTH / 2, 1.2 * cm, f"Page {canvas.getPageNumber()}")

    column = (WIDTH - 2 * MARGIN - GUTTER) / 2
    body = HEIGHT - 2 * MARGIN
    whole = Frame(MARGIN, MARGIN, WIDTH - 2 * MARGIN, body)
    left = Frame(MARGIN, MARGIN + 0.5 * body, column, 0.5 * body)
    right = Frame(MARGIN + column + GUTTER, MARGIN + 0.5 * body, column, 0.5 * body)
    document = BaseDocTemplate(out, pagesize=A4, title=title, author="Norrvig", invariant=1)
    document.addPageTemplates(
        [
            PageTemplate(id="page", frames=[whole], onPage=furniture),
            PageTemplate(id="columns", frames=[left, right], onPage=furniture),
        ]
    )
    document.build(story)
    return out.getvalue()
