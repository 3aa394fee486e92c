"""Numbers of Word's headings and lists, counted as Word does (ECMA-376 part 1, 17.9).

A number hangs on all paragraphs before it, so :meth:`Numbering.next` is to be called once
for each paragraph, in document order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lxml import etree

from jobs.parsing.formats.docx_styles import Styles, W, is_on, value_of

__all__ = ["Numbered", "Numbering", "roman"]

_PLACE = re.compile(r"%([1-9])")
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"),
    (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_MOST_ROMAN = 10_000
_CIRCLED = range(1, 21)
_TEENS = range(11, 14)
_ORDINALS = {1: "st", 2: "nd", 3: "rd"}
_MOST_LETTERS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """Where a paragraph stands in its list.

    ``label``: its number as it is shown, empty for a bullet; ``level`` counts from 0;
    ``bullet`` is false where the level shows nothing at all. ``list_key`` names the list.
    """

    label: str
    level: int
    bullet: bool
    list_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    start: int
    number_format: str
    text: str
    style: str | None
    legal: bool
    restart: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Num:
    abstract_id: str
    starts: Mapping[int, int]
    levels: Mapping[int, _Level]


@dataclass(slots=True)
class _Counters:
    values: dict[int, int] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)


class Numbering:
    """The numbering part of one package, or none, and its counters."""

    def __init__(self, root: etree._Element | None, styles: Styles) -> None:
        self._styles = styles
        self._levels: dict[str, dict[int, _Level]] = {}
        self._nums: dict[str, _Num] = {}
        self._counters: dict[str, _Counters] = {}
        if root is not None:
            self._read(root)

    def next(self, paragraph: etree._Element) -> Numbered | None:
        """Count a paragraph and return its place in its list; None if it is in none."""
        if not self._nums:
            return None
        holders = (paragraph, *self._styles.chain(self._styles.style_of(paragraph)))
        for holder in holders:
            properties = holder.find(f"{W}pPr/{W}numPr")
            number = value_of(properties, "numId") if properties is not None else None
            if number is None:
                continue
            if number not in self._nums:
                return None
            return self._numbered(number, self._level_index(holders, holder, number))
        return None

    def _read(self, root: etree._Element) -> None:
        linked: dict[str, str] = {}
        links: dict[str, str] = {}
        for abstract in root.iter(f"{W}abstractNum"):
            identifier = abstract.get(f"{W}abstractNumId") or ""
            self._levels[identifier] = _levels(abstract)
            own, other = value_of(abstract, "styleLink"), value_of(abstract, "numStyleLink")
            if own is not None:
                linked[own] = identifier
            if other is not None:
                links[identifier] = other
        for identifier, style in links.items():
            self._levels[identifier] = self._levels.get(linked.get(style, ""), {})
        for num in root.iter(f"{W}num"):
            abstract_id = value_of(num, "abstractNumId") or ""
            starts: dict[int, int] = {}
            own_levels = dict(self._levels.get(abstract_id, {}))
            for override in num.iter(f"{W}lvlOverride"):
                start = value_of(override, "startOverride")
                if start is not None:
                    starts[_integer(override.get(f"{W}ilvl"))] = _integer(start)
                own_levels.update(_levels(override))
            self._nums[num.get(f"{W}numId") or ""] = _Num(
                abstract_id=abstract_id, starts=starts, levels=own_levels
            )

    def _level_index(
        self, holders: tuple[etree._Element, ...], holder: etree._Element, number: str
    ) -> int:
        """Return the level: the nearest that is given, else the one that names the style."""
        for near in holders[: holders.index(holder) + 1]:
            level = value_of(near, "pPr/numPr/ilvl")
            if level is not None:
                return _integer(level)
        for style in holders[1:]:
            identifier = style.get(f"{W}styleId")
            for index, level_ in self._nums[number].levels.items():
                if identifier and level_.style == identifier:
                    return index
        return 0

    def _numbered(self, number: str, level: int) -> Numbered | None:
        num = self._nums[number]
        if level not in num.levels:
            return None
        counters = self._counters.setdefault(num.abstract_id, _Counters())
        values = counters.values
        if number not in counters.begun:
            counters.begun.add(number)
            for i in num.starts:
                values.pop(i, None)
        starts = {i: num.starts.get(i, lvl.start) for i, lvl in num.levels.items()}
        values[level] = values[level] + 1 if level in values else starts[level]
        for other, definition in num.levels.items():
            if other > level and (definition.restart is None or level < definition.restart):
                values.pop(other, None)
            elif other < level:
                values.setdefault(other, starts[other])
        return Numbered(
            label=_label(num.levels, level, values),
            level=level,
            bullet=num.levels[level].number_format == "bullet",
            list_key=num.abstract_id,
        )


def roman(value: int) -> str:
    """Return a positive number in lower-case Roman numerals."""
    text = ""
    for size, letters in _ROMAN:
        count, value = divmod(value, size)
        text += letters * count
    return text


def _levels(holder: etree._Element) -> dict[int, _Level]:
    return {_integer(lvl.get(f"{W}ilvl")): _level(lvl) for lvl in holder.iter(f"{W}lvl")}


def _level(element: etree._Element) -> _Level:
    legal = element.find(f"{W}isLgl")
    restart = value_of(element, "lvlRestart")
    return _Level(
        start=_integer(value_of(element, "start") or "0"),
        number_format=value_of(element, "numFmt") or "decimal",
        text=value_of(element, "lvlText") or "",
        style=value_of(element, "pStyle"),
        legal=legal is not None and is_on(legal),
        restart=None if restart is None else _integer(restart),
    )


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
    if number_format in ("upperLetter", "lowerLetter") and 0 < value <= 26 * _MOST_LETTERS:
        letter = chr(ord("a") + (value - 1) % 26) * ((value - 1) // 26 + 1)
        return letter.upper() if number_format == "upperLetter" else letter
    if number_format in ("upperRoman", "lowerRoman") and 0 < value < _MOST_ROMAN:
        return roman(value).upper() if number_format == "upperRoman" else roman(value)
    if number_format == "decimalEnclosedCircle" and value in _CIRCLED:
        return chr(0x2460 + value - 1)
    if number_format == "ordinal":
        suffix = "th" if value % 100 in _TEENS else _ORDINALS.get(value % 10, "th")
        return f"{value}{suffix}"
    if number_format == "none":
        return ""
    return f"{value:02}" if number_format == "decimalZero" else str(value)


def _integer(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.lstrip("-").isdigit() else 0
