"""Running heads and feet and page numbers: found by standing again on other pages."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from jobs.parsing.pdf.lines import Line, PageText, body_size

__all__ = ["furniture_of"]

_ZONE = 0.14
"""Share of a page's height, from its top and its bottom, where furniture may stand."""
_LONE_ZONE = 0.25
"""As much for a page number at the bottom that nothing stands near: text areas may be low."""
_MAX_ROWS = 3
_ROWS_OF_TABLE = 4
"""Pieces of a page alike but for their figures: of furniture there are a head and a foot."""
_SAME_PLACE_PT = 8.0
_MIN_PAGES = 3
_LARGE = 1.12
_FIGURES = re.compile(r"\d+|\b[ivxlc]+\b")
_DASHES = r"[-\u2013\u2014\s]*"
_PAGE_NUMBER = re.compile(rf"{_DASHES}(?:\d{{1,4}}|[ivxlc]{{1,7}}){_DASHES}", re.IGNORECASE)
_PAGE_LABEL = re.compile(
    r"(?:(?:page|seite|side|pagina|p\.|s\.)\s*)?\d{1,4}(?:\s*(?:/|of|von|af|van|de)\s*\d{1,4})?",
    re.IGNORECASE,
)
_APART_EM = 1.0
"""How far from all other text a page number stands that nothing else tells."""


def furniture_of(pages: Sequence[PageText]) -> dict[int, dict[Line, str]]:
    """Return, per page number, its pieces that are furniture: ``header`` or ``footer``.

    A piece is furniture if it is among the outermost rows of its page and the same text,
    figures aside, stands at the same height on enough other pages.
    """
    seen: dict[tuple[str, str], list[tuple[int, float, Line]]] = defaultdict(list)
    body = body_size(line for page in pages for line in page.lines)
    for page in pages:
        for zone, line, place in _candidates(page):
            # "Chapter 1", "Chapter 2" in large letters are headings, whatever their place.
            large = line.size > body * _LARGE
            text = line.text if large else _pattern(line.text)
            seen[zone, text].append((page.page_no, place, line))
    found: dict[int, dict[Line, str]] = defaultdict(dict)
    for (zone, _), places in seen.items():
        for page_no, place, line in places:
            others = {n for n, at, _ in places if abs(at - place) <= _SAME_PLACE_PT}
            if len(others) >= _needed(len(pages), line.text):
                found[page_no][line] = zone
    for page in pages:
        lone = _lone_number(page)
        if lone is not None:
            found[page.page_no].setdefault(lone[0], lone[1])
    return {page.page_no: _spared(page, found[page.page_no]) for page in pages}


def _lone_number(page: PageText) -> tuple[Line, str] | None:
    """Return the page number in the last or first row of a page, if it stands there alone."""
    rows = sorted(page.lines, key=lambda line: line.frame.middle)
    if len(rows) < _MIN_PAGES:
        return None
    for line, beside, zone in ((rows[-1], rows[-2], "footer"), (rows[0], rows[1], "header")):
        lower, upper = (line, beside) if zone == "footer" else (beside, line)
        apart = lower.frame.top - upper.frame.bottom > line.size * _APART_EM
        outside = (
            line.frame.top >= page.height * (1 - _LONE_ZONE)
            if zone == "footer"
            else line.frame.bottom <= page.height * _ZONE
        )
        number = _PAGE_NUMBER.fullmatch(line.text) or _PAGE_LABEL.fullmatch(line.text)
        if apart and outside and number:
            return line, zone
    return None


def _spared(page: PageText, furniture: dict[Line, str]) -> dict[Line, str]:
    """Leave a page its rows of tables, and its words where all of them would go."""
    rows = _repeated_rows(page, furniture)
    furniture = {
        line: zone
        for line, zone in furniture.items()
        if not any(abs(line.frame.middle - row) <= line.size * 0.5 for row in rows)
    }
    if any(line not in furniture for line in page.lines):
        return furniture
    return {line: zone for line, zone in furniture.items() if _PAGE_NUMBER.fullmatch(line.text)}


def _repeated_rows(page: PageText, furniture: Iterable[Line]) -> list[float]:
    """Return where pieces stand that the page repeats with other figures, as tables do."""
    varying = {
        line: pattern
        for line in furniture
        if "#" in (pattern := _pattern(line.text)) and not _PAGE_NUMBER.fullmatch(line.text)
    }
    if not varying:
        return []
    counts = Counter(_pattern(line.text) for line in page.lines)
    return [
        line.frame.middle for line, pattern in varying.items() if counts[pattern] >= _ROWS_OF_TABLE
    ]


def _needed(n_pages: int, text: str) -> int:
    if n_pages < 2:  # noqa: PLR2004 - nothing can be repeated on one page
        return n_pages + 1
    return 2 if n_pages <= _MIN_PAGES or _PAGE_NUMBER.fullmatch(text) else _MIN_PAGES


def _pattern(text: str) -> str:
    return _FIGURES.sub("#", " ".join(text.lower().split()))


def _candidates(page: PageText) -> list[tuple[str, Line, float]]:
    """Return the outermost pieces of a page with their distance from its edge."""
    top = page.height * _ZONE
    bottom = page.height * (1 - _ZONE)
    found = []
    heads = sorted((p for p in page.lines if p.frame.bottom <= top), key=lambda p: p.frame.top)
    feet = sorted((p for p in page.lines if p.frame.top >= bottom), key=lambda p: -p.frame.bottom)
    for zone, pieces in (("header", heads), ("footer", feet)):
        rows: list[float] = []
        for piece in pieces:
            if not rows or abs(piece.frame.middle - rows[-1]) > piece.size * 0.5:
                rows.append(piece.frame.middle)
            if len(rows) > _MAX_ROWS:
                break
            place = piece.frame.middle if zone == "header" else page.height - piece.frame.middle
            found.append((zone, piece, place))
    return found
