"""CSV and its kin: one table, its first row the header.

Read with the standard library; docling's reader fails on one column, takes the first
kilobyte's delimiter by luck, and knows neither UTF-16 nor a lone open quote. The
delimiter is the one of ``, ; tab |`` that splits the rows most evenly. Lines of one cell
above a table are paragraphs; a first row of numbers only is no header.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.converted import Converted, Source
from jobs.parsing.text import decode, decode_warnings

__all__ = ["read", "sniff_delimiter"]

_DELIMITERS = ",;\t|"
_NUMBER = re.compile(r"[-+]?(?:\d[\d.,' ]*)?\d(?:[eE][-+]?\d+)?\s*[%€$£]?")
_MOST_TITLES = 10
_MIN_WIDE_ROWS = 3
_SAMPLE_ROWS = 200
_FIELD_LIMIT = 1 << 30
_OPEN_QUOTE_LINES = 100
"""A quoted cell over more lines than this is a quote that never closes."""


def read(source: Source) -> Converted:
    """Read delimited text."""
    text = decode(source.path.read_bytes())
    builder = DocumentBuilder()
    builder.warnings += decode_warnings(text)
    delimiter, text = _declared(text)
    delimiter = delimiter or sniff_delimiter(text)
    rows = list(_rows(text, delimiter, quoted=True))
    if _never_closes(rows, text):
        builder.warn("a quotation mark never closes: quotation marks were taken as text")
        rows = list(_rows(text, delimiter, quoted=False))
    titles, rows = _titles(rows)
    for title in titles:
        builder.add("paragraph", title)
    used = {i for row in rows for i, cell in enumerate(row) if cell.strip()}
    rows = [[cell for i, cell in enumerate(row) if i in used] for row in rows]
    builder.table(rows, header=not _all_numbers(next(filter(any, rows), [])))
    return Converted(document=builder.build(), parser="csv", warnings=tuple(builder.warnings))


def _never_closes(rows: list[list[str]], text: str) -> bool:
    """Tell whether a quotation mark opens a cell that swallows what follows."""
    if any(cell.count("\n") > _OPEN_QUOTE_LINES for row in rows for cell in row):
        return True
    last = next((row[-1] for row in reversed(rows) if row), "")
    return "\n" in last and not text.rstrip().endswith('"')


def _titles(rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Split off lines above a table: lone cells before the first of many wide rows."""
    filled = [[cell for cell in row if cell.strip()] for row in rows]
    first = next((i for i, row in enumerate(filled) if len(row) > 1), 0)
    lone = [row[0] for row in filled[:first] if row]
    if not lone or first > _MOST_TITLES or len(filled) - first < _MIN_WIDE_ROWS:
        return [], rows
    wide = sum(len(row) > 1 for row in filled[first:])
    return (lone, rows[first:]) if wide == sum(map(bool, filled[first:])) else ([], rows)


def _all_numbers(row: list[str]) -> bool:
    """Tell whether every cell of a row is a number, so that it names no columns."""
    cells = [cell.strip() for cell in row if cell.strip()]
    return bool(cells) and all(map(_NUMBER.fullmatch, cells))


def sniff_delimiter(text: str) -> str:
    """Return the delimiter that most rows agree on; a comma where there is one column."""
    best, best_score = ",", 0.0
    for delimiter in _DELIMITERS:
        rows = [row for row in islice(_rows(text, delimiter, quoted=True), _SAMPLE_ROWS) if row]
        widths = Counter(map(len, rows))
        if not widths:
            continue
        width, count = widths.most_common(1)[0]
        score = (count / len(rows)) * (width > 1) + min(width, 100) / 1000
        if width > 1 and score > best_score:
            best, best_score = delimiter, score
    return best


def _declared(text: str) -> tuple[str | None, str]:
    """Return the delimiter of Excel's ``sep=;`` line, and the text below it."""
    line, _, rest = text.partition("\n")
    if line.lower().startswith("sep=") and len(line) == len("sep=;"):
        return line[-1], rest
    return None, text


def _rows(text: str, delimiter: str, *, quoted: bool) -> Iterator[list[str]]:
    csv.field_size_limit(_FIELD_LIMIT)
    lines = io.StringIO(text, newline="")
    if quoted:
        return csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    return csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE, skipinitialspace=True)
