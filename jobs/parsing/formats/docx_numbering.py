"""Outline numbers of Word headings, counted as Word does (ECMA-376 part 1, 17.9).

docling counts every outline from 1. Here the number of each numbered heading becomes
text of its paragraph, whose own numbering is switched off.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lxml import etree

from chunking.errors import DocumentError
from jobs.parsing.formats.archive import parse_part

__all__ = ["HeadingNumbers"]

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PLACE = re.compile(r"%([1-9])")
_HEADING = re.compile(r"heading \d", re.IGNORECASE)
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"),
    (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_DEEPEST_BASE = 20


@dataclass(frozen=True, slots=True)
class _Level:
    start: int
    number_format: str
    text: str
    style: str | None
    legal: bool


@dataclass(slots=True)
class _Counters:
    values: dict[int, int] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)


class HeadingNumbers:
    """The numbering of one package; call it on the root of its main part."""

    def __init__(self, members: Mapping[str, bytes]) -> None:
        self._levels: dict[str, dict[int, _Level]] = {}
        self._nums: dict[str, tuple[str, dict[int, int]]] = {}
        self._styles: dict[str, etree._Element] = {}
        self._counters: dict[str, _Counters] = {}
        self._read_numbering(_part(members, "word/numbering.xml"))
        styles = _part(members, "word/styles.xml")
        for style in styles.iter(_W + "style") if styles is not None else ():
            self._styles[style.get(_W + "styleId") or ""] = style

    def __call__(self, root: etree._Element) -> None:
        """Write the number of every numbered heading into its text, in place."""
        for paragraph in root.iter(_W + "p") if self._nums else ():
            chain = self._style_chain(_value(paragraph, "pPr/pStyle"))
            numbered = self._numbered(paragraph, chain)
            if numbered is None:
                continue
            label = self._count(*numbered)
            if label and any(_HEADING.match(_value(style, "name") or "") for style in chain):
                _write(paragraph, label)

    def _read_numbering(self, root: etree._Element | None) -> None:
        if root is None:
            return
        for abstract in root.iter(_W + "abstractNum"):
            levels = {
                _integer(lvl.get(_W + "ilvl")): _level(lvl) for lvl in abstract.iter(_W + "lvl")
            }
            self._levels[abstract.get(_W + "abstractNumId") or ""] = levels
        for num in root.iter(_W + "num"):
            overrides = {}
            for override in num.iter(_W + "lvlOverride"):
                start = _value(override, "startOverride")
                if start is not None:
                    overrides[_integer(override.get(_W + "ilvl"))] = _integer(start)
            abstract_id = _value(num, "abstractNumId") or ""
            self._nums[num.get(_W + "numId") or ""] = (abstract_id, overrides)

    def _style_chain(self, style_id: str | None) -> list[etree._Element]:
        chain: list[etree._Element] = []
        while style_id in self._styles and len(chain) < _DEEPEST_BASE:
            chain.append(self._styles[style_id])
            style_id = _value(chain[-1], "basedOn")
        return chain

    def _numbered(
        self, paragraph: etree._Element, chain: list[etree._Element]
    ) -> tuple[str, int] | None:
        """Return the numbering and level of a paragraph: its own, else its style's."""
        for holder in (paragraph, *chain):
            number = _value(holder, "pPr/numPr/numId")
            if number is None:
                continue
            if number not in self._nums:
                return None
            level = _value(holder, "pPr/numPr/ilvl")
            if level is None:
                level = str(self._level_of_style(number, holder.get(_W + "styleId")))
            return number, _integer(level)
        return None

    def _level_of_style(self, number: str, style_id: str | None) -> int:
        levels = self._levels.get(self._nums[number][0], {})
        return next((i for i, lvl in levels.items() if style_id and lvl.style == style_id), 0)

    def _count(self, number: str, level: int) -> str:
        abstract_id, overrides = self._nums[number]
        levels = self._levels.get(abstract_id, {})
        if level not in levels:
            return ""
        counters = self._counters.setdefault(abstract_id, _Counters())
        if number not in counters.begun:
            counters.begun.add(number)
            for i in overrides:
                counters.values.pop(i, None)
        values = counters.values
        starts = {i: overrides.get(i, lvl.start) for i, lvl in levels.items()}
        values[level] = values[level] + 1 if level in values else starts[level]
        for other in levels:
            if other > level:
                values.pop(other, None)
            elif other < level:
                values.setdefault(other, starts[other])
        return _label(levels, level, values)


def _label(levels: Mapping[int, _Level], level: int, values: Mapping[int, int]) -> str:
    if levels[level].number_format in ("bullet", "none"):
        return ""
    legal = levels[level].legal

    def number(found: re.Match[str]) -> str:
        index = int(found[1]) - 1
        if index not in values or index not in levels:
            return ""
        return _format(values[index], "decimal" if legal else levels[index].number_format)

    return _PLACE.sub(number, levels[level].text).strip()


def _format(value: int, number_format: str) -> str:
    if number_format in ("upperLetter", "lowerLetter") and value > 0:
        letter = chr(ord("a") + (value - 1) % 26) * ((value - 1) // 26 + 1)
        return letter.upper() if number_format == "upperLetter" else letter
    if number_format in ("upperRoman", "lowerRoman") and value > 0:
        roman = _roman(value)
        return roman.upper() if number_format == "upperRoman" else roman
    return f"{value:02}" if number_format == "decimalZero" else str(value)


def _roman(value: int) -> str:
    text = ""
    for size, letters in _ROMAN:
        count, value = divmod(value, size)
        text += letters * count
    return text


def _level(element: etree._Element) -> _Level:
    legal = element.find(_W + "isLgl")
    return _Level(
        start=_integer(_value(element, "start") or "1"),
        number_format=_value(element, "numFmt") or "decimal",
        text=_value(element, "lvlText") or "",
        style=_value(element, "pStyle"),
        legal=legal is not None and legal.get(_W + "val") not in ("0", "false"),
    )


def _write(paragraph: etree._Element, label: str) -> None:
    """Switch a paragraph's numbering off and put the label before its text."""
    if not any(text.text for text in paragraph.iter(_W + "t")):
        return
    properties = paragraph.find(_W + "pPr")
    if properties is None:
        properties = etree.Element(_W + "pPr")
        paragraph.insert(0, properties)
    for old in properties.findall(_W + "numPr"):
        properties.remove(old)
    numbering = etree.SubElement(properties, _W + "numPr")
    etree.SubElement(numbering, _W + "ilvl").set(_W + "val", "0")
    etree.SubElement(numbering, _W + "numId").set(_W + "val", "0")
    run = etree.Element(_W + "r")
    text = etree.SubElement(run, _W + "t")
    text.text = f"{label} "
    text.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
    paragraph.insert(paragraph.index(properties) + 1, run)


def _part(members: Mapping[str, bytes], name: str) -> etree._Element | None:
    try:
        return parse_part(members[name], name) if name in members else None
    except DocumentError:
        return None


def _value(element: etree._Element, path: str) -> str | None:
    found = element.find("/".join(_W + step for step in path.split("/")))
    return found.get(_W + "val") if found is not None else None


def _integer(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.lstrip("-").isdigit() else 0
