"""Workbooks: docling finds their tables; what their cells show is put into them before.

docling takes stored values, so that 7.5 % becomes 0.075 and a formula that was never
computed is lost (docling-project/docling#2520). Rules: a sheet's name is a heading; cells
show what their format means (:mod:`jobs.parsing.formats.number_formats`), a formula
without a stored value its own text; hidden sheets are left out with a warning, hidden rows
and columns are not; text boxes stand below their sheet's cells; each distinct header or
footer is furniture; comments stand at the end of their sheet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from docling.datamodel.base_models import InputFormat
from lxml import etree

from chunking.errors import DocumentError
from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.canonical import Places, add_docling
from jobs.parsing.converted import Converted, Source
from jobs.parsing.docling_reader import read_with_docling
from jobs.parsing.formats.archive import core_properties, rewrite
from jobs.parsing.formats.number_formats import BUILT_IN, number_text, plain_number
from jobs.parsing.formats.ooxml import open_package
from jobs.parsing.formats.package import Package, Relationship
from jobs.parsing.formats.sheet_gaps import close_gaps, is_scattered

__all__ = ["read"]

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_XDR = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}"
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml", re.IGNORECASE)
_CODES = re.compile(r'&(?:"[^"]*"|K[0-9A-F]{6}|K\d\d[+-]\d{3}|\d{1,3}|[A-Z&])', re.IGNORECASE)
_PLACES = re.compile(r"&[LCR]")
_HEADERS = frozenset(
    ("oddHeader", "oddFooter", "evenHeader", "evenFooter", "firstHeader", "firstFooter")
)
_INTEGER = re.compile(r"-?[0-9]+")
_GENERAL = "general"


def read(source: Source) -> Converted:
    """Read an XLSX file.

    Raises:
        DocumentError: ``unsupported_format`` for a binary workbook (XLSB).
    """
    members = open_package(source)
    if any(name.endswith("workbook.bin") for name in members):
        msg = "a binary workbook (XLSB) is not read; saved as XLSX it is"
        raise DocumentError(msg, kind="unsupported_format", stage="parse")
    builder = DocumentBuilder()
    builder.title, builder.metadata = core_properties(members)
    mend = _Mend(builder, members)
    changes = {name: mend.sheet(name) for name in members if _SHEET.fullmatch(name)}
    data = rewrite(members, changes)
    add_docling(builder, read_with_docling(data, InputFormat.XLSX), places=Places(charts=False))
    for sheet in mend.lost:
        builder.warn(f"the sheet {sheet!r} is not in the file")
    return Converted(
        document=builder.build(),
        status="partial" if mend.lost else "ok",
        warnings=tuple(builder.warnings),
    )


def _lost_sheets(
    workbook: etree._Element, related: Mapping[str, Relationship], members: Mapping[str, bytes]
) -> list[str]:
    """Return the names of sheets whose parts are not there, which openpyxl passes over."""
    there = {name.lower() for name in members}
    lost = []
    for sheet in workbook.iterfind("{*}sheets/{*}sheet"):
        number = next((value for key, value in sheet.attrib.items() if key.endswith("}id")), "")
        part = related.get(number)
        if part is not None and part.target.lower() not in there:
            lost.append(sheet.get("name") or "")
    return lost


class _Mend:
    """Changes the sheets of one workbook so that each cell's value is what it shows."""

    def __init__(self, builder: DocumentBuilder, members: Mapping[str, bytes]) -> None:
        self._builder = builder
        self._members = members
        self._package = Package(members, builder.warn)
        main = self._package.main_part("xl/workbook.xml")
        workbook = self._package.root(main)
        properties = workbook.find("{*}workbookPr")
        flag = properties.get("date1904") if properties is not None else None
        self._mac_epoch = flag in ("1", "true")
        related = self._package.relationships(main)
        self.lost = _lost_sheets(workbook, related, members)
        parts = related.values()
        styles = next((part.target for part in parts if part.kind == "styles"), "")
        self._codes = _format_codes(self._package.optional(styles))
        self._running: set[str] = set()

    def sheet(self, name: str) -> Callable[[etree._Element], None]:
        """Return what changes one worksheet in place."""

        def change(root: etree._Element) -> None:
            for cell in root.iter("{*}c"):
                self._show(cell)
            if is_scattered(self._members[name]):
                self._builder.warn("blank rows and columns between far cells were left out")
                close_gaps(root)
            _append_rows(root, self._shape_texts(name))
            self._add_running_lines(root)

        return change

    def _show(self, cell: etree._Element) -> None:
        kind = cell.get("t") or "n"
        value = cell.find("{*}v")
        if value is None or not value.text:
            formula = cell.find("{*}f")
            if formula is not None and formula.text and kind != "inlineStr":
                _set_text(cell, f"={formula.text}")
        elif kind == "b":
            _set_text(cell, "TRUE" if value.text.strip() in ("1", "true") else "FALSE")
        elif kind == "n":
            code = self._codes.get(cell.get("s") or "0")
            number = _number(value.text)
            if code is None and _INTEGER.fullmatch(value.text):
                _set_text(cell, value.text)
            elif number is not None:
                shown = number_text(number, code, mac_epoch=self._mac_epoch) if code else None
                _set_text(cell, shown or plain_number(number))

    def _shape_texts(self, name: str) -> list[str]:
        """Return the texts of the shapes that are drawn over a sheet."""
        texts = []
        for part in self._package.relationships(name).values():
            root = self._package.optional(part.target) if part.kind == "drawing" else None
            for shape in root.iter(f"{_XDR}txBody") if root is not None else ():
                lines = (
                    "".join(text.text or "" for text in paragraph.iter(f"{_A}t"))
                    for paragraph in shape.iter(f"{_A}p")
                )
                texts.append("\n".join(line for line in lines if line.strip()))
        return [text for text in texts if text]

    def _add_running_lines(self, root: etree._Element) -> None:
        for element in root.iterfind("{*}headerFooter/*"):
            if etree.QName(element).localname not in _HEADERS:
                continue
            for place in _PLACES.split(element.text or ""):
                line = " ".join(_CODES.sub(" ", place).split())
                if line and line not in self._running:
                    self._running.add(line)
                    self._builder.furniture(line)


def _format_codes(root: etree._Element | None) -> dict[str, str]:
    """Return the format code of each cell style that has one, by its index."""
    if root is None:
        return {}
    codes = {str(identifier): code for identifier, code in BUILT_IN.items()}
    for element in root.iterfind("{*}numFmts/{*}numFmt"):
        codes[element.get("numFmtId") or ""] = element.get("formatCode") or ""
    styles = root.iterfind("{*}cellXfs/{*}xf")
    own = {str(index): codes.get(xf.get("numFmtId") or "") for index, xf in enumerate(styles)}
    return {index: code for index, code in own.items() if code and code.lower() != _GENERAL}


def _set_text(cell: etree._Element, text: str) -> None:
    """Make a cell one of text without a formula or a format."""
    value = cell.find("{*}v")
    for child in list(cell):
        if child is not value:
            cell.remove(child)
    if value is None:
        value = etree.SubElement(cell, etree.QName(etree.QName(cell).namespace, "v"))
    value.text = text
    cell.set("t", "str")
    cell.attrib.pop("s", None)


def _append_rows(root: etree._Element, texts: list[str]) -> None:
    """Put texts into cells below all others, a blank row before each."""
    data = root.find("{*}sheetData")
    if data is None or not texts:
        return
    namespace = etree.QName(data).namespace
    number = max(len(data), max((_row_number(row) for row in data), default=0))
    for text in texts:
        number += 2
        row = etree.SubElement(data, etree.QName(namespace, "row"))
        row.set("r", str(number))
        cell = etree.SubElement(row, etree.QName(namespace, "c"))
        cell.set("r", f"A{number}")
        _set_text(cell, text)


def _row_number(row: etree._Element) -> int:
    number = row.get("r") or ""
    return int(number) if number.isascii() and number.isdigit() else 0


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None
