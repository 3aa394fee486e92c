"""Numbers of spreadsheet cells as text, by their format code (ECMA-376 part 1, 18.8.31).

Rule: what a format adds to the number's meaning is kept (a date, a percentage, a
currency, a unit, leading zeros, a scale); what it hides is not: numbers keep all their
digits (15, as Excel computes), dates are ISO 8601, and nothing parts thousands.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
from dataclasses import dataclass

__all__ = ["BUILT_IN", "number_text", "plain_number"]

BUILT_IN = {
    9: "0%", 10: "0.00%",
    **dict.fromkeys((14, 15, 16, 17, *range(27, 32), 36, *range(50, 55), 57, 58), "yyyy-mm-dd"),
    **dict.fromkeys((18, 19, 20, 21, *range(32, 36), 55, 56), "h:mm:ss"),
    22: "yyyy-mm-dd h:mm", 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0",
    5: '"$"0', 6: '"$"0', 7: '"$"0', 8: '"$"0',
}  # fmt: skip
"""Codes of the built-in formats that add to a number's meaning, by id (18.8.30)."""

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|[_*].|\[(?P<bracket>[^\]]*)\]|(?P<plain>.)', re.DOTALL
)
_CURRENCY = re.compile(r"\$([^-]*)(?:-[0-9A-Fa-f]+)?")
_ELAPSED = re.compile(r"(h+|m+|s+)", re.IGNORECASE)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?[0-9.]+)")
_DIGITS = frozenset("0#?")
_GENERAL = "general"
_DATE_LETTERS = frozenset("ymdhsegb")
_PARENTHESES = str.maketrans("", "", "()")
_MAC_EPOCH_DAYS = 1462
_EXCEL_EPOCH = dt.datetime(1899, 12, 30)  # noqa: DTZ001 - a cell has no time zone
_LAST_DAY = 2_958_466
_LEAP_BUG_DAY = 60
"""Excel counts a 29 February 1900, so days before it are one off."""
_MOST_DIGITS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    """One of the up to four parts of a format code."""

    prefix: str = ""
    suffix: str = ""
    pattern: str = ""
    percent: int = 0
    thousands: int = 0
    has_date: bool = False
    has_time: bool = False
    elapsed: bool = False
    general: bool = False
    condition: tuple[str, float] | None = None


def number_text(value: float, code: str, *, mac_epoch: bool = False) -> str:
    """Return a number as text by its format code; ``mac_epoch``: days count from 1904."""
    sections = _sections(code)
    section = _chosen(sections, value)
    if section.elapsed:
        return _duration(value)
    if section.has_date or section.has_time:
        moment = _moment(value, section, mac_epoch=mac_epoch)
        return plain_number(value) if moment is None else moment
    return _number(value, section)


def plain_number(value: float) -> str:
    """Return a number with the 15 digits that spreadsheets compute with."""
    if value == int(value) and abs(value) < 1e15:  # noqa: PLR2004 - beyond it not every integer
        return str(int(value))
    return f"{value:.15g}"


@functools.lru_cache(maxsize=512)
def _sections(code: str) -> tuple[_Section, ...]:
    parts: list[list[re.Match[str]]] = [[]]
    for token in _TOKEN.finditer(code):
        if token["plain"] == ";":
            parts.append([])
        else:
            parts[-1].append(token)
    return tuple(map(_section, parts))


def _section(tokens: list[re.Match[str]]) -> _Section:
    plain = "".join(token["plain"] or "\0" for token in tokens)
    general = _GENERAL in plain.lower()
    letters = set() if general else set(plain.lower().replace("e+", "").replace("e-", ""))
    places = [i for i, token in enumerate(tokens) if token["plain"] in _DIGITS]
    brackets = [token["bracket"] for token in tokens if token["bracket"] is not None]
    if letters & _DATE_LETTERS and not places:
        return _Section(
            has_date=bool(letters & set("yd")) or ("m" in letters and not letters & set("hs")),
            has_time=bool(letters & set("hs")),
            elapsed=any(_ELAPSED.fullmatch(text) for text in brackets),
        )
    if any(_ELAPSED.fullmatch(text) for text in brackets):
        return _Section(elapsed=True)
    first, last = (places[0], places[-1] + 1) if places else (len(tokens), len(tokens))
    if general:
        first = plain.lower().index(_GENERAL)
        last = first + len(_GENERAL)
    tail = plain[last:]
    condition = next((c for text in brackets if (c := _CONDITION.fullmatch(text))), None)
    return _Section(
        prefix=_literal(tokens[:first]).lstrip("-"),
        suffix=_literal(tokens[last:]),
        pattern="" if general else _pattern(tokens[first:last]),
        percent=plain.count("%"),
        thousands=len(tail) - len(tail.lstrip(",")),
        general=general,
        condition=(condition[1], float(condition[2])) if condition else None,
    )


def _literal(tokens: list[re.Match[str]]) -> str:
    parts = []
    for token in tokens:
        currency = _CURRENCY.fullmatch(token["bracket"] or "")
        plain = token["plain"] or ""
        parts.append(token["quoted"] or token["escaped"] or (currency[1] if currency else ""))
        if not (plain.isascii() and plain.isalnum()) and plain not in "-+,.%@":
            parts.append(plain)
    return "".join(parts).translate(_PARENTHESES)


def _pattern(tokens: list[re.Match[str]]) -> str:
    """Return the digit places, with the literals between them."""
    pattern = "".join(t["plain"] or t["quoted"] or t["escaped"] or "" for t in tokens)
    return pattern.translate(_PARENTHESES)


def _chosen(sections: tuple[_Section, ...], value: float) -> _Section:
    for section in sections:
        if section.condition and _holds(value, *section.condition):
            return section
    if any(section.condition for section in sections):
        return next((s for s in sections if s.condition is None), sections[0])
    if value < 0 and len(sections) > 1:
        return sections[1]
    if value == 0 and len(sections) > 2:  # noqa: PLR2004 - the third one is for zero
        return sections[2]
    return sections[0]


def _holds(value: float, operator: str, bound: float) -> bool:
    return {
        "<": value < bound,
        "<=": value <= bound,
        ">": value > bound,
        ">=": value >= bound,
        "=": value == bound,
        "<>": value != bound,
    }[operator]


def _number(value: float, section: _Section) -> str:
    prefix, suffix = section.prefix, section.suffix
    if not (section.pattern or section.general):
        words = (prefix + suffix).strip()
        # A section without digits shows its own words in place of the number.
        return (
            words if any(map(str.isalpha, words)) and not section.percent else plain_number(value)
        )
    scaled = value * 100**section.percent / 1000**section.thousands
    places = sum(c == "0" for c in section.pattern)
    inner = [c for c in section.pattern if c not in "0#?,."]
    if scaled == int(scaled) and inner and not {"/", "E", "e"} & set(inner):
        digits = _laid_out(abs(int(scaled)), section.pattern)
    elif "." not in section.pattern and places > 1 and scaled == int(scaled):
        digits = f"{abs(int(scaled)):0{min(places, _MOST_DIGITS)}}"
    else:
        digits = plain_number(abs(scaled))
    sign = "-" if value < 0 else ""
    return f"{sign}{prefix}{digits}{'%' * section.percent}{suffix}".strip()


def _laid_out(number: int, pattern: str) -> str:
    """Put digits in their places from the right, such as ``000-00-0000``."""
    digits = list(str(number))
    shown: list[str] = []
    for place in reversed(pattern):
        if place in _DIGITS:
            shown.append(digits.pop() if digits else "0" if place == "0" else "")
        elif place != "," and (digits or "0" in pattern):
            shown.append(place)
    return "".join(digits) + "".join(reversed(shown))


def _duration(value: float) -> str:
    seconds = round(abs(value) * 86_400)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{'-' if value < 0 else ''}{hours}:{minutes:02}:{seconds:02}"


def _moment(value: float, section: _Section, *, mac_epoch: bool) -> str | None:
    days = value + (_MAC_EPOCH_DAYS if mac_epoch else 0)
    if not 0 <= days < _LAST_DAY:
        return None
    if 1 <= days < _LEAP_BUG_DAY and not mac_epoch:
        days += 1
    moment = _EXCEL_EPOCH + dt.timedelta(seconds=round(days * 86_400))
    if section.has_date and section.has_time:
        return moment.isoformat(sep=" ")
    return moment.date().isoformat() if section.has_date else moment.time().isoformat()
