"""Whether cells that line up are a table: lists, contents, forms and code line up, too."""

from __future__ import annotations

import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from jobs.parsing.pdf.headers import is_numeric
from jobs.parsing.pdf.lines import Line
from jobs.parsing.pdf.tables import Cell

__all__ = ["is_convincing"]

_MARKER = re.compile(
    r"[\[(]?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5}|[A-Z][A-Za-z+]{0,4}\d{2}[a-z]?)[\].):]*"
    r"|[\u2022\u2023\u25aa\u25ab\u25cf\u25cb\u25a0\u25e6\u2043\u2219\u00b7*\u2013\u2014-]"
)
_LEADERS = re.compile(r"[.\s\u2026]+|.*?(?:\.{4,}|(?: \.){3,}|(?:\. ){3,}|\u2026{2,}|_{5,}).*")
_EQUATION_NUMBER = re.compile(r"\(\w{0,2}\.?\d+(?:[.\u2013-]\d+)*[a-z]?\)")
_SECTION = re.compile(r"(?:\d+|[A-Z])(?:\.\d+)*\.?(?:\s|$)")
_PAGE = re.compile(r"(?:\d{1,4}|[ivxlc]{1,6})")

_CODE = re.compile(r"[\\{}$#@_=;<>|&]|%\w")

_ALIGNED_EM = 0.35
_MIN_ALIGNED = 0.7
_MIN_CELLS = 6
_MIN_LETTERS = 12
_MIN_WORDS = 0.2
_MIN_FILLED = 0.6
_MIN_RULED_FILLED = 0.5
_MIN_RULED_ALIGNED = 0.6
_MIN_SMALL_FILLED = 0.8
_MIN_NUMERIC = 0.6
_MAX_CODE = 0.4
_MAX_CHARS = 60
_MAX_RULED_CHARS = 250
_MAX_RULED_CELL = 300
_MAX_PAIR_CHARS = 40
_MAX_ACROSS = 0.35
"""Of the letters of a table, in cells over several columns."""
_MIN_ROWS = 3
_MIN_PAIR_ROWS = 4

_Column = list[tuple[int, Cell]]


def is_convincing(
    cells: Sequence[Cell], n_columns: int, *, ruled: bool, between: bool = False
) -> bool:
    """Tell whether the cells of lined-up rows are those of a table.

    ``ruled``: horizontal rules stand above and below or between the rows, which is
    evidence of its own; ``between``: of one width, with nothing else between them, so
    that cells may be long.
    """
    columns = _columns(cells)
    n_rows = len({cell.row for cell in cells})
    if n_columns < 2 or len(columns) < n_columns or n_rows * n_columns < _MIN_CELLS:  # noqa: PLR2004
        return False
    if _is_other(columns, n_rows) or _prose_across(cells) or _n_letters(cells) < _MIN_LETTERS:
        return False
    if n_rows <= _MIN_ROWS and _share_of_words(cells) < _MIN_WORDS:
        return False
    filled = sum(map(len, columns.values())) / (n_rows * n_columns)
    aligned = sum(map(_is_aligned, columns.values())) / n_columns
    paired = _share_of_pairs(cells)
    longest = max(_typical_chars(column) for column in columns.values())
    if ruled:
        return (
            min(filled, paired) >= _MIN_RULED_FILLED
            and longest <= (_MAX_RULED_CHARS if between else _MAX_CHARS)
            and aligned >= _MIN_RULED_ALIGNED
            and max(len(_text(cell)) for cell in cells) <= _MAX_RULED_CELL
        )
    if min(filled, paired) < _MIN_FILLED or longest > _MAX_CHARS or _is_code(cells):
        return False
    if aligned < (1 if n_columns < 4 else 1 - 1 / n_columns):  # noqa: PLR2004 - one may be out
        return False
    if n_rows <= _MIN_ROWS and (
        n_rows < _MIN_ROWS
        or filled < _MIN_SMALL_FILLED
        or max(_share(column, is_numeric) for column in columns.values()) < _MIN_NUMERIC
    ):
        return False
    return n_columns > 2 or _is_pairs(columns, n_rows)  # noqa: PLR2004 - only two columns


def _share_of_words(cells: Sequence[Cell]) -> float:
    """Return the share of cells that hold more than a number: few are the scales of a chart."""
    return sum(not is_numeric(_text(cell)) for cell in cells) / len(cells)


def _n_letters(cells: Sequence[Cell]) -> int:
    return sum(map(str.isalnum, (c for cell in cells for line in cell.lines for c in line.text)))


def _share_of_pairs(cells: Sequence[Cell]) -> float:
    """Return the share of rows that fill two columns or more."""
    counts = Counter(cell.row for cell in cells)
    return sum(n > 1 for n in counts.values()) / len(counts)


def _is_code(cells: Sequence[Cell]) -> bool:
    """Tell lines of code, whose parts may line up, by their marks."""
    texts = [text for cell in cells if not is_numeric(text := _text(cell))]
    return sum(bool(_CODE.search(text)) for text in texts) > _MAX_CODE * len(texts)


def _prose_across(cells: Sequence[Cell]) -> bool:
    """Tell whether much of the text runs across columns."""
    across = [len(_text(cell)) for cell in cells if cell.n_columns > 1]
    n_chars = sum(len(_text(cell)) for cell in cells)
    return max(across, default=0) > _MAX_RULED_CHARS or sum(across) > _MAX_ACROSS * n_chars


def _columns(cells: Sequence[Cell]) -> dict[int, _Column]:
    columns: dict[int, _Column] = defaultdict(list)
    for cell in cells:
        if cell.n_columns == 1:
            columns[cell.column].append((cell.row, cell))
    return columns


def _is_other(columns: dict[int, _Column], n_rows: int) -> bool:
    """Tell lists, tables of contents, numbered equations, forms and code."""
    lines = [line for column in columns.values() for _, cell in column for line in cell.lines]
    n_chars = sum(len(line.text) for line in lines)
    if sum(len(line.text) for line in lines if line.monospaced) > 0.7 * n_chars:
        return True
    first, last = columns[min(columns)], columns[max(columns)]
    if sum(bool(_LEADERS.fullmatch(line.text)) for line in lines) * 3 >= n_rows:
        return True
    if _share(last, lambda text: bool(_EQUATION_NUMBER.fullmatch(text))) > 0.5:  # noqa: PLR2004
        return True
    if _is_contents(first, last) or _all_rise(columns):
        return True
    if len(columns) > 2:  # noqa: PLR2004 - what follows has a mark and a text
        return False
    marked = _share(first, lambda text: bool(_MARKER.fullmatch(text)))
    labelled = _share(first, lambda text: text.endswith(":"))
    return labelled >= 0.5 or (marked >= 0.7 and _share(last, is_numeric) < 0.5)  # noqa: PLR2004


def _is_contents(first: _Column, last: _Column) -> bool:
    """Tell a table of contents: titles, and pages that do not go back, without a header."""
    texts = [_text(cell) for _, cell in last]
    pages = [int(text) for text in texts if text.isdecimal() and _PAGE.fullmatch(text)]
    if len(pages) < 3 or len(pages) < 0.8 * len(texts) or pages != sorted(pages):  # noqa: PLR2004
        return False
    numbered = _share(first, lambda text: bool(_SECTION.match(text))) > 0.5  # noqa: PLR2004
    return texts[0].isdecimal() and (numbered or _share(first, is_numeric) == 0)


def _all_rise(columns: dict[int, _Column]) -> bool:
    """Tell contents in several columns: whole numbers that only rise beside titles."""
    n_numbers = 0
    for column in columns.values():
        texts = [_text(cell) for _, cell in column]
        numbers = [int(text) for text in texts if text.isdecimal() and _PAGE.fullmatch(text)]
        if any(is_numeric(text) for text in texts) and len(numbers) < len(texts):
            return False
        if numbers != sorted(set(numbers)):
            return False
        n_numbers += len(numbers)
    return n_numbers >= _MIN_CELLS


def _is_pairs(columns: dict[int, _Column], n_rows: int) -> bool:
    """Ask more of two columns: rows enough, both short, one of them numbers or all alike."""
    if n_rows < _MIN_PAIR_ROWS:
        return False
    left, right = (columns[key] for key in sorted(columns))
    if max(_typical_chars(left), _typical_chars(right)) > _MAX_PAIR_CHARS:
        return False
    if min(len(left), len(right)) < 0.75 * n_rows:
        return False
    if max(_share(left, is_numeric), _share(right, is_numeric)) >= 0.6:  # noqa: PLR2004
        return True
    wrapped = sum(len(cell.lines) > 1 for _, cell in [*left, *right])
    return wrapped * 4 <= n_rows and _typical_chars(left) + _typical_chars(right) <= _MAX_PAIR_CHARS


def _is_aligned(column: _Column) -> bool:
    """Tell whether cells share their left or right edges, or their middles."""
    lines = [line for _, cell in column for line in cell.lines]
    edges: list[Callable[[Line], float]] = [
        lambda line: line.frame.left,
        lambda line: line.frame.right,
        lambda line: line.frame.center,
    ]
    return max(_shared(list(map(edge, lines)), lines[0].size) for edge in edges) >= _MIN_ALIGNED


def _shared(places: list[float], em: float) -> float:
    """Return the largest share of places that lie together."""
    places = sorted(places)
    best = start = 0
    for end, place in enumerate(places):
        while place - places[start] > 2 * em * _ALIGNED_EM:
            start += 1
        best = max(best, end - start + 1)
    return best / len(places)


def _share(column: _Column, says: Callable[[str], bool]) -> float:
    return sum(says(_text(cell)) for _, cell in column) / len(column)


def _typical_chars(column: _Column) -> float:
    return statistics.median(len(_text(cell)) for _, cell in column)


def _text(cell: Cell) -> str:
    return " ".join(line.text for line in cell.lines)
