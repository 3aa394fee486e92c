"""Whether a text is a table of delimited values: every record has the same fields."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import re
from collections import Counter

__all__ = ["is_table"]

_DELIMITERS = (",", ";", "\t", "|")
_MAX_RECORDS = 500
_MIN_CONSISTENT = 0.9
_MIN_RECORDS = 2
_MIN_SURE_RECORDS = 4
_MOST_TITLES = 3
_MIN_WIDTH = 3
_MAX_PROSE_CELL = 100
_PROSE = {delimiter: re.compile(rf"{delimiter}\s+\w") for delimiter in ",;"}
_SINGLE = re.compile(r"[^\W_][^.!?;:,*#=`|]{0,39}")
_MAX_SINGLE_WORDS = 4
_MIN_SINGLE_LINES = 5


def is_table(text: str, *, whole: bool) -> bool:
    """Tell whether a text is CSV in some dialect: delimited by ``, ; |`` or tab.

    Quoted fields may hold line ends. A table of one column is told by its quotes, or by
    short lines without any punctuation below a heading line.
    """
    text = text.lstrip("\ufeff").replace("\0", "")
    if not whole:
        text = text[: text.rfind("\n") + 1]
    if any(_is_delimited(text, delimiter) for delimiter in _DELIMITERS):
        return True
    return _is_single_column(text)


def _records(text: str, delimiter: str) -> list[list[str]]:
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    records: list[list[str]] = []
    # A field beyond the reader's limit ends it: the records before it decide.
    with contextlib.suppress(csv.Error):
        records.extend(itertools.islice(reader, _MAX_RECORDS))
    return [record for record in records if record]


def _is_delimited(text: str, delimiter: str) -> bool:
    records = _records(text, delimiter)
    records = _below_titles(records)
    if len(records) < _MIN_RECORDS:
        return False
    width, count = Counter(map(len, records)).most_common(1)[0]
    if width < _MIN_RECORDS or len(records[0]) != width:
        return False
    if _unquoted_prose(text, records, delimiter):
        return False
    return count / len(records) >= _MIN_CONSISTENT or _open_quote(text, records, width)


def _below_titles(records: list[list[str]]) -> list[list[str]]:
    """Return the records without up to three lines of one field above wider ones."""
    first = next((i for i, record in enumerate(records) if len(record) > 1), 0)
    wide = records[first:]
    if first > _MOST_TITLES or len(wide) < _MIN_SURE_RECORDS or len(wide[0]) < _MIN_WIDTH:
        return records
    return wide


def _open_quote(text: str, records: list[list[str]], width: int) -> bool:
    """Tell whether an unbalanced quote swallowed the rest of a table."""
    if text.count('"') % 2 == 0:
        return False
    balanced = text.replace('"', "")
    again = _records(balanced, ",")
    same = sum(len(record) == width for record in again)
    return len(records[0]) == width and same / max(len(again), 1) >= _MIN_CONSISTENT


def _unquoted_prose(text: str, records: list[list[str]], delimiter: str) -> bool:
    """Tell whether the delimiter is a mark of running text: followed by blanks, in sentences."""
    if delimiter not in _PROSE or '"' in text:
        return False
    cells = sum(len(record) - 1 for record in records)
    spaced = len(_PROSE[delimiter].findall(text))
    return spaced > cells / 2 and len(records) < _MIN_SURE_RECORDS * 5


def _is_single_column(text: str) -> bool:
    lines = text.splitlines()
    while lines and not lines[-1].strip():
        lines.pop()
    if len(lines) >= _MIN_RECORDS and all(_is_quoted(line) for line in lines):
        return True
    return len(lines) >= _MIN_SINGLE_LINES and all(
        _SINGLE.fullmatch(line) and len(line.split()) <= _MAX_SINGLE_WORDS and line[0].isupper()
        for line in lines
    )


def _is_quoted(line: str) -> bool:
    return len(line) > 1 and line[0] == line[-1] == '"'
