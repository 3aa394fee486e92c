"""CSV and its kin: one table, its first row the header.

Read with the standard library; docling's reader fails on one column, takes the first
kilobyte's delimiter by luck, and knows neither UTF-16 nor a lone open quote. The
delimiter is the one of ``, ; tab |`` that splits the rows most evenly.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.converted import Converted, Source
from jobs.parsing.text import decode, decode_warnings

__all__ = ["read", "sniff_delimiter"]

_DELIMITERS = ",;\t|"
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
    if any(cell.count("\n") > _OPEN_QUOTE_LINES for row in rows for cell in row):
        builder.warn("a quotation mark never closes: quotation marks were taken as text")
        rows = list(_rows(text, delimiter, quoted=False))
    builder.table(rows)
    return Converted(document=builder.build(), parser="csv", warnings=tuple(builder.warnings))


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
