"""Separator hierarchies for plain text that is Markdown, HTML or code by name.

A table's text column may hold raw markup that no parser has seen. Its own structure
is then read from the text: each place where it may be cut gets what a cut there costs
beyond one between blocks, so that sections come apart before blocks, blocks before
items and lines, lines before sentences, and a heading stays with what follows.
One pass over the text; nothing is parsed, so broken markup has its places, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from chunking.code import line_costs
from chunking.splitting import line_starts

__all__ = ["find_separators"]

Marks = dict[int, float]
Found = tuple[Marks, list[int]]

_TOGETHER = 50.0
_TITLE = -0.5
_PER_LEVEL = 0.05
_PART = -0.3
_BLOCK = 0.0
_ITEM = 0.15
_ROW = 0.3
_CODE_LINE = 0.1
_NESTED = 0.1
_DEEPEST = 4

_MARKDOWN_LINE = re.compile(
    r"^(?P<indent>[ \t]*)(?:(?P<fence>`{3,}|~{3,})|(?P<heading>\#{1,6})(?=[ \t])"
    r"|(?P<rule>(?:-[ \t]*){3,}$|(?:\*[ \t]*){3,}$|(?:_[ \t]*){3,}$)"
    r"|(?P<item>(?:[-*+]|\d{1,9}[.)])(?=[ \t]))|(?P<row>\|)|(?P<quote>>)|(?P<other>\S))",
    re.MULTILINE,
)
_DELIMITER = re.compile(r"[ \t]*\|[ \t]*:?-[ \t:|-]*$", re.MULTILINE)

_TAG = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z][A-Za-z0-9]*)(?![A-Za-z0-9:_-])[^<>]*>|<!--")
_HTML_PARTS = frozenset({"section", "article", "main", "nav", "aside", "header", "footer", "body"})
_HTML_BLOCKS = frozenset(
    (
        *("p", "div", "table", "ul", "ol", "dl", "pre", "blockquote", "figure", "form", "hr"),
        *("details", "address", "fieldset", "script", "style", "head", "title"),
    )
)
_HTML_ITEMS = frozenset({"li", "tr", "dt", "dd", "thead", "tbody", "tfoot", "caption", "option"})
_HEADING = re.compile(r"[hH][1-6]")


def find_separators(text: str, name: str) -> Found:
    """Return the marks of a text under a named hierarchy, and its closed spans.

    Marks: position to what a cut there costs beyond one between blocks. Closed spans: their
    bounds in order, two each; strictly inside one only marks are places to cut.
    ``auto`` and ``prose`` have neither: sentences and blocks are known already.
    """
    reader: Callable[[str], Found] | None = {
        "markdown": _markdown, "html": _html, "code": _code,
    }.get(name)  # fmt: skip
    return reader(text) if reader else ({}, [])


def _markdown(text: str) -> Found:
    marks: Marks = {}
    closed: list[int] = []
    fence: tuple[str, int] | None = None
    before = ""
    for match in _MARKDOWN_LINE.finditer(text):
        start, kind = match.start(), match.lastgroup or ""
        if fence is not None:
            ends = kind == "fence" and match["fence"].startswith(fence[0])
            if ends:
                line_end = text.find("\n", start)
                end = len(text) if line_end == -1 else line_end
                _add_code(text, fence[1], end, marks)
                closed += (fence[1], end)
                fence, before = None, "code"
            continue
        if kind == "fence":
            fence = (match["fence"], start)
        cost = _markdown_cost(text, match, kind, before)
        if cost is None and _after_blank_line(text, start):
            cost = _BLOCK
        if cost is not None:
            marks[start] = cost
        before = "delimiter" if kind == "row" and _DELIMITER.match(text, start) else kind
    if fence is not None:
        _add_code(text, fence[1], len(text), marks)
        closed += (fence[1], len(text))
    return marks, closed


def _markdown_cost(text: str, match: re.Match[str], kind: str, before: str) -> float | None:
    """Return what is added for a cut before a line of Markdown, None where there is no place."""
    if kind == "heading":
        return (_TOGETHER if before == "heading" else _TITLE) + _PER_LEVEL * len(match["heading"])
    if before == "heading":
        return _TOGETHER
    if kind == "row":
        if _DELIMITER.match(text, match.start()) or before == "delimiter":
            return _TOGETHER
        return _ROW if before == "row" else _BLOCK
    if kind == "item":
        indent = len(match["indent"].replace("\t", "    ")) // 2
        return _ITEM + _NESTED * min(indent, _DEEPEST)
    if kind in ("fence", "rule"):
        return _BLOCK
    if kind == "quote":
        return _ROW if before == "quote" else _BLOCK
    return None if before in ("other", "item", "quote", "") else _BLOCK


def _after_blank_line(text: str, start: int) -> bool:
    line = text.rfind("\n", 0, max(0, start - 1)) + 1
    return start > 0 and not text[line : start - 1].strip()


def _add_code(text: str, start: int, end: int, marks: Marks) -> None:
    """Mark the lines of code in ``text[start:end]``; the first keeps its own mark."""
    starts = line_starts(text, start, end)
    costs = line_costs(text, starts, end)
    for at, cost in zip(starts[1:], costs[1:], strict=True):
        marks[at] = _CODE_LINE + cost


def _code(text: str) -> Found:
    marks: Marks = {}
    _add_code(text, 0, len(text), marks)
    return marks, [0, len(text)]


def _html(text: str) -> Found:
    marks: Marks = {}
    closed: list[int] = []
    after_heading = False
    opened: int | None = None
    position = 0
    for match in _TAG.finditer(text):
        start, end = match.span()
        if start < position:
            continue
        if text[position:start].strip():
            after_heading, opened = False, None
        if match["name"] is None:
            close = text.find("-->", end)
            end = len(text) if close == -1 else close + 3
        closed += (start, end)
        position = end
        name = (match["name"] or "").lower()
        cost = None if match["close"] else _html_cost(name)
        if match["close"]:
            after_heading = after_heading or _HEADING.fullmatch(name) is not None
            opened = None
        elif cost is not None and (after_heading or opened is not None):
            marks[start] = _TOGETHER
            if opened is not None:
                # What opens first takes the cut of all that open with it.
                marks[opened] = min(marks[opened], cost)
        elif cost is not None:
            marks[start], opened = cost, start
    return marks, closed


def _html_cost(name: str) -> float | None:
    if _HEADING.fullmatch(name):
        return _TITLE + _PER_LEVEL * int(name[1])
    if name in _HTML_PARTS:
        return _PART
    if name in _HTML_BLOCKS:
        return _BLOCK
    return _ITEM if name in _HTML_ITEMS else _ROW if name == "br" else None
