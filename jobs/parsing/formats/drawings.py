"""What drawings of Office documents say: text boxes, shapes, charts, diagrams, alternative text.

A drawing is often there twice, in a modern and in a legacy form (``mc:AlternateContent``,
ECMA-376 part 3); one of them is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from lxml import etree

__all__ = [
    "ALTERNATE",
    "Drawn",
    "alternative_text",
    "branch",
    "chart_rows",
    "diagram_lines",
    "read_drawing",
]

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_DGM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_PIC = "{http://schemas.openxmlformats.org/drawingml/2006/picture}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_V = "{urn:schemas-microsoft-com:vml}"
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_WP = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
ALTERNATE = f"{_MC}AlternateContent"
_FILE = re.compile(r"(?:\w+://|[A-Za-z]:\\|/).*|[^\n]*\.\w{2,4}")
_MOST_POINTS = 10_000
"""Points of a chart that are read; a table of more is data, not a figure."""


@dataclass(slots=True)
class Drawn:
    """What a drawing holds, each in document order.

    ``boxes``: elements whose children are paragraphs and tables. ``lines``: text of
    shapes that have no such element. ``charts`` and ``diagrams``: relationship ids.
    """

    boxes: list[etree._Element] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)
    charts: list[str] = field(default_factory=list)
    diagrams: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.boxes or self.lines or self.pictures or self.charts or self.diagrams)

    def __iadd__(self, other: Drawn) -> Self:
        self.boxes += other.boxes
        self.lines += other.lines
        self.pictures += other.pictures
        self.charts += other.charts
        self.diagrams += other.diagrams
        return self


def branch(alternate: etree._Element) -> list[etree._Element]:
    """Return the children of the first choice that holds anything, else of the fallback."""
    for choice in alternate.iterchildren(f"{_MC}Choice", f"{_MC}Fallback"):
        if len(choice):
            return list(choice)
    return []


def alternative_text(properties: etree._Element | None, attribute: str) -> str:
    """Return the alternative text of a picture; none where it is but a file's name or address."""
    text = " ".join(((properties.get(attribute) if properties is not None else "") or "").split())
    return "" if _FILE.fullmatch(text) else text


def read_drawing(element: etree._Element) -> Drawn:
    """Return what a drawing or VML picture holds; the content of a text box is not entered."""
    drawn = Drawn()
    stack = [element]
    while stack:
        node = stack.pop()
        if node.tag == ALTERNATE:
            stack += branch(node)[::-1]
            continue
        reader = _READERS.get(node.tag)
        if reader is None or reader(node, drawn):
            stack += list(node)[::-1]
    return drawn


def _box(node: etree._Element, drawn: Drawn) -> bool:
    drawn.boxes.append(node)
    return False


def _line(node: etree._Element, drawn: Drawn) -> bool:
    text = "".join(t.text or "" for t in node.iter(f"{_A}t"))
    if text.strip():
        drawn.lines.append(text)
    return False


def _word_art(node: etree._Element, drawn: Drawn) -> bool:
    text = node.get("string") or ""
    if text.strip():
        drawn.lines.append(text)
    return True


def _chart(node: etree._Element, drawn: Drawn) -> bool:
    if node.get(f"{_R}id"):
        drawn.charts.append(node.get(f"{_R}id") or "")
    return False


def _diagram(node: etree._Element, drawn: Drawn) -> bool:
    if node.get(f"{_R}dm"):
        drawn.diagrams.append(node.get(f"{_R}dm") or "")
    return False


def _frame(node: etree._Element, drawn: Drawn) -> bool:
    """Note the alternative text of a picture; that of a shape repeats what is in it."""
    if next(node.iter(f"{_PIC}pic"), None) is not None:
        _describe(alternative_text(node.find(f"{_WP}docPr"), "descr"), drawn)
    return True


def _vml_shape(node: etree._Element, drawn: Drawn) -> bool:
    if next(node.iter(f"{_V}imagedata"), None) is not None:
        _describe(alternative_text(node, "alt"), drawn)
    return True


def _describe(text: str, drawn: Drawn) -> None:
    if text:
        drawn.pictures.append(text)


_READERS: dict[str, Callable[[etree._Element, Drawn], bool]] = {
    f"{_W}txbxContent": _box,
    f"{_A}p": _line,
    f"{_V}textpath": _word_art,
    f"{_C}chart": _chart,
    f"{_DGM}relIds": _diagram,
    f"{_WP}inline": _frame,
    f"{_WP}anchor": _frame,
    f"{_V}shape": _vml_shape,
    f"{_V}rect": _vml_shape,
}
"""By tag: reads a node; true where its children are to be read too."""


def diagram_lines(root: etree._Element) -> list[str]:
    """Return the texts of a SmartArt data part, in its order."""
    lines = []
    for point in root.iter(f"{_DGM}pt"):
        if point.get("type") in ("pres", "parTrans", "sibTrans"):
            continue
        for paragraph in point.iter(f"{_A}p"):
            text = "".join(t.text or "" for t in paragraph.iter(f"{_A}t")).strip()
            if text:
                lines.append(text)
    return lines


def chart_rows(root: etree._Element) -> tuple[str, list[list[str]]]:
    """Return a chart's title and its data: categories down, one column per series."""
    names: list[str] = []
    columns: list[dict[int, str]] = []
    categories: dict[int, str] = {}
    for series in root.iter(f"{_C}ser"):
        names.append(" ".join(_texts(series.find(f"{_C}tx"))))
        labels = _points(series, "cat", "xVal")
        categories = categories or labels
        columns.append(_points(series, "val", "yVal"))
    indices = sorted(set(categories).union(*columns))[:_MOST_POINTS]
    rows = [["", *names]]
    rows += [[categories.get(i, ""), *[column.get(i, "") for column in columns]] for i in indices]
    title = root.find(f"{_C}chart/{_C}title")
    return " ".join(_texts(title)), rows if any(map(any, rows)) else []


def _points(series: etree._Element, *names: str) -> dict[int, str]:
    holder = next((found for name in names if (found := series.find(_C + name)) is not None), None)
    points: dict[int, list[str]] = {}
    for point in holder.iter(f"{_C}pt") if holder is not None else ():
        index = point.get("idx") or ""
        value = point.findtext(f"{_C}v") or ""
        if index.isascii() and index.isdigit():
            points.setdefault(int(index), []).insert(0, value)  # outer levels come last
    return {index: " ".join(values) for index, values in points.items()}


def _texts(element: etree._Element | None) -> list[str]:
    if element is None:
        return []
    found = [node.text or "" for node in element.iter(f"{_C}v", f"{_A}t")]
    return [text for text in found if text.strip()]
