"""Which of the lines that look like headings are some, at what level, and which is the title.

Large or bold lines also stand on title pages (authors, dates), in lists of contents and
in forms: what a heading's neighbours say decides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from jobs.parsing.pdf.blocks import Block

__all__ = ["checked_headings", "levels_of", "title_of"]

_SECTION_NUMBER = re.compile(r"(\d{1,2}(?:\.\d{1,3}){0,5})\.?\s+\S")
_PART = re.compile(
    r"(?:chapter|part|appendix|section|kapitel|teil|abschnitt|anhang|\u00a7)\s", re.IGNORECASE
)
_PAGE_AT_END = re.compile(r"(?:\s|\.)(\d{1,4})$")
_LEADERS = re.compile(r"(?:\.\s?){4}")
_BLANK_TO_FILL = re.compile(r"_{4}|(?:\.\s?){6}|\u2026{2,}")
_CONTENTS = frozenset(
    {
        *("contents", "table of contents", "inhalt", "inhaltsverzeichnis", "inhoudsopgave"),
        *("indhold", "indholdsfortegnelse", "sommaire", "table des mati\u00e8res", "indice"),
    }
)
_SIZE_STEP = 1.06
_MAX_LEVEL = 6
_MIN_CONTENTS = 3
_PROSE_CHARS = 80
_LONG_CHARS = 60
_MAX_TITLES = 2


def checked_headings(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks, those that only look like headings as text."""
    refuted = _contents(blocks) | _title_page(blocks)
    return [
        replace(block, kind="text")
        if block.kind == "heading" and (i in refuted or _is_prose(block) or _is_form(block))
        else block
        for i, block in enumerate(blocks)
    ]


def _contents(blocks: Sequence[Block]) -> set[int]:
    """Return the lines of a list of contents: they end in page numbers that rise."""
    found: set[int] = set()
    run: list[int] = []
    last, listed = -1, False
    for i, block in enumerate(blocks):
        if block.kind in ("header", "footer"):
            continue
        match = _PAGE_AT_END.search(block.text)
        entry = match is not None and (block.kind == "heading" or bool(_LEADERS.search(block.text)))
        page = int(match[1]) if match is not None and entry else -1
        if entry and page >= last:
            run.append(i)
            last = page
            continue
        if listed or len(run) >= _MIN_CONTENTS:
            found.update(run)
        run = [i] if entry else []
        last = page
        named = block.text.strip().casefold() in _CONTENTS
        listed = named or (listed and bool(_LEADERS.search(block.text)))
    if listed or len(run) >= _MIN_CONTENTS:
        found.update(run)
    return found


def _title_page(blocks: Sequence[Block]) -> set[int]:
    """Return what stands below the title and above the first prose: authors and dates."""
    title = title_of(blocks)
    if title is None:
        return set()
    found = set()
    for i in range(title + 1, len(blocks)):
        block = blocks[i]
        prose = block.kind == "text" and len(block.text) >= _PROSE_CHARS
        if prose or block.pages[0] != blocks[title].pages[0] or _is_marked(block):
            break
        if block.kind == "heading" and block.size * _SIZE_STEP < blocks[title].size:
            found.add(i)
    return found


def _is_marked(block: Block) -> bool:
    """Tell whether a heading says that it is one: by its weight or its number."""
    if block.kind != "heading":
        return False
    bold = all(line.bold for line in block.lines)
    return bold or bool(_SECTION_NUMBER.match(block.text) or _PART.match(block.text))


def _is_prose(block: Block) -> bool:
    """Tell whether a line is large, but part of a sentence."""
    if _SECTION_NUMBER.match(block.text) or _PART.match(block.text):
        return False
    if block.text.endswith(":"):
        return True
    if all(line.bold for line in block.lines):
        return False
    return block.text[0].islower() or (block.text.endswith(".") and len(block.text) > _LONG_CHARS)


def _is_form(block: Block) -> bool:
    return bool(_BLANK_TO_FILL.search(block.text)) or block.text.count(":") > 1


def levels_of(blocks: Sequence[Block]) -> dict[int, int]:
    """Give headings levels from 1: by the outline, their section number, or their size.

    A size has the level of headings of that size whose level is told by something else.
    """
    headings = {i: block for i, block in enumerate(blocks) if block.kind == "heading"}
    sizes: list[float] = []
    for size in sorted({block.size for block in headings.values()}, reverse=True):
        if not sizes or sizes[-1] > size * _SIZE_STEP:
            sizes.append(size)
    rank = {
        block.size: sum(size > block.size * _SIZE_STEP for size in sizes) + 1
        for block in headings.values()
    }
    told = {i: _told_level(block) for i, block in headings.items()}
    by_size: dict[int, int] = {}
    for i, level in sorted(told.items(), key=lambda pair: not headings[pair[0]].level):
        if level:
            by_size.setdefault(round(headings[i].size), level)
    return {
        i: min(told[i] or by_size.get(round(block.size), rank[block.size]), _MAX_LEVEL)
        for i, block in headings.items()
    }


def _told_level(block: Block) -> int:
    """Return the level that the outline or a section number gives a heading, 0 for none."""
    match = _SECTION_NUMBER.match(block.text)
    return block.level or (match[1].count(".") + 1 if match else 0)


def title_of(blocks: Sequence[Block]) -> int | None:
    """Return the heading of the first page that is larger than the others, if one is.

    It may stand again, as on a cover and the page after it.
    """
    headings = [i for i, block in enumerate(blocks) if block.kind == "heading"]
    if not headings or blocks[headings[0]].text.strip().casefold() in _CONTENTS:
        return None
    largest = max(blocks[i].size for i in headings)
    top = [i for i in headings if blocks[i].size * _SIZE_STEP > largest]
    others = any(i not in top and block.text for i, block in enumerate(blocks))
    first = top[0]
    different = {blocks[i].text.casefold() for i in top if blocks[i].text != blocks[first].text}
    if blocks[first].pages[0] != 1 or not others or len(different) >= _MAX_TITLES:
        return None
    if different and any(blocks[i].pages[0] != 1 for i in top):
        return None
    return first if _SECTION_NUMBER.match(blocks[first].text) is None else None
