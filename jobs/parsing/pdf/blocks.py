"""Lines in reading order become paragraphs, headings, list items, code and tables."""

from __future__ import annotations

import itertools
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from jobs.parsing.pdf.lines import Frame, Line
from jobs.parsing.pdf.markers import BULLET, NUMBER, SURE, item_lines
from jobs.parsing.pdf.order import Region
from jobs.parsing.pdf.tables import CellText

__all__ = ["Block", "BlockKind", "Vocabulary", "join_across", "region_blocks"]

BlockKind = Literal[
    "text",
    "heading",
    "list_item",
    "code",
    "table",
    "caption",
    "footnote",
    "header",
    "footer",
]

_ASIDE = frozenset({"table", "caption", "footnote", "header", "footer"})
"""What may stand between the halves of a paragraph that goes on elsewhere."""

_SENTENCE_END = re.compile(r"[.!?:;\u3002\uff01\uff1f\u061f][\"'\u201d\u2019)\]]*$")
_HYPHENS = "-\u00ad\u2010"
_HYPHENATED = re.compile(rf"(\w+)[{_HYPHENS}]$")
_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*")
_LEADERS_TO_PAGE = re.compile(r"(?:\.\s?){4}\s*\d{1,4}$")
_PAGE_AT_END = re.compile(r"\s\d{1,4}$")
_SECTION_NUMBER = re.compile(r"(\d{1,2}(?:\.\d{1,3}){0,5})\.?\s+\S")

_NEW_PARAGRAPH_GAP = 1.45
"""Distance of baselines over that of the lines before, from which a paragraph ends."""
_SAME_SIZE = 1.12
_INDENT_EM = 0.8
_SHORT_LINE_EM = 3.0
_HEADING_SIZE = 1.12
_MAX_HEADING_CHARS = 160
_MAX_HEADING_LINES = 3
_MAX_BOLD_HEADING_CHARS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One piece of structure with its lines, all of ``pages`` (line by line, from 1).

    ``cells``, ``edges``: of a table, its cells and the left edges of its columns.
    ``size``: the height of its letters. ``marker``, ``depth``: of a list item, whose
    marker is already taken off the text. ``level``: of a heading that the outline names.
    """

    kind: BlockKind
    lines: tuple[Line, ...]
    pages: tuple[int, ...]
    text: str
    size: float
    marker: str = ""
    depth: int = 1
    level: int = 0
    cells: tuple[CellText, ...] = ()
    edges: tuple[float, ...] = ()

    def frames(self) -> list[tuple[int, Frame]]:
        """Return the frame of the block on each of its pages, or columns of one page."""
        frames: list[tuple[int, Frame]] = []
        last: Line | None = None
        for page, line in zip(self.pages, self.lines, strict=True):
            broken = (
                last is not None and self.kind != "table" and line.frame.bottom < last.frame.top
            )
            if frames and frames[-1][0] == page and not broken:
                frames[-1] = (page, frames[-1][1].union(line.frame))
            else:
                frames.append((page, line.frame))
            last = line
        return frames


@dataclass(slots=True)
class Vocabulary:
    """The words of a document, to tell a hyphen of the word from one of the line's end."""

    words: Counter[str] = field(default_factory=Counter)

    def add(self, lines: Iterable[Line]) -> None:
        """Count the words of lines, but not those cut at a line's end."""
        for line in lines:
            self.words.update(w.lower() for w in _WORD.findall(line.text.rstrip(_HYPHENS)))

    def join(self, before: str, after: str) -> str:
        """Join the texts of two lines of one paragraph."""
        match = _HYPHENATED.search(before)
        if match is None or not after[:1].isalpha():
            return f"{before} {after}"
        if before[-1] == "\u00ad":
            return before[:-1] + after
        head, tail = match[1].lower(), _WORD.match(after)
        rest = tail[0].lower() if tail else ""
        whole, hyphenated = self.words[head + rest], self.words[f"{head}-{rest}"]
        if after[0].isupper() or hyphenated > whole or not head.isalpha():
            return before + after
        return before[:-1] + after


def region_blocks(
    region: Region, page: int, vocabulary: Vocabulary, body: float
) -> Iterator[Block]:
    """Yield the blocks of one region of a page."""
    for lines in _paragraphs(_with_markers(region.lines)):
        yield _classified(lines, page, vocabulary, body)


def join_across(blocks: Sequence[Block], vocabulary: Vocabulary) -> list[Block]:
    """Join paragraphs that go on in the next column or on the next page."""
    joined: list[Block] = []
    previous: int | None = None
    for block in blocks:
        if block.kind in _ASIDE:
            joined.append(block)
            continue
        before = joined[previous] if previous is not None else None
        if before is not None and previous is not None and _goes_on(before, block):
            joined[previous] = replace(
                before,
                lines=before.lines + block.lines,
                pages=before.pages + block.pages,
                text=vocabulary.join(before.text, block.text),
            )
            continue
        joined.append(block)
        previous = len(joined) - 1
    return joined


def _goes_on(before: Block, block: Block) -> bool:
    if before.kind not in ("text", "list_item") or block.kind != "text":
        return False
    same_place = before.pages[-1] == block.pages[0] and (
        block.lines[0].frame.top >= before.lines[-1].frame.top
    )
    if same_place or not _same_size(before.size, block.size):
        return False
    if before.text[-1] in _HYPHENS and len(before.text) > 1 and before.text[-2].isalpha():
        return True
    return not _SENTENCE_END.search(before.text) and block.text[0].islower()


def _same_size(a: float, b: float) -> bool:
    return max(a, b) <= min(a, b) * _SAME_SIZE


def _with_markers(lines: tuple[Line, ...]) -> list[Line]:
    """Put a bullet that stands alone before the line that it belongs to."""
    joined: list[Line] = []
    for line in lines:
        last = joined[-1] if joined else None
        if last and last.text in SURE and line.frame.top < last.frame.bottom:
            joined[-1] = replace(
                line, text=f"{last.text} {line.text}", cells=last.cells + line.cells
            )
        else:
            joined.append(line)
    return joined


def _paragraphs(lines: list[Line]) -> Iterator[list[Line]]:
    """Cut lines of one column where a new paragraph begins."""
    if not lines:
        return
    pitch = _pitch(lines)
    items = item_lines(lines)
    paragraph = [lines[0]]
    for i, line in enumerate(lines[1:], start=1):
        if i in items or _begins(paragraph, line, pitch):
            yield paragraph
            paragraph = []
        paragraph.append(line)
    yield paragraph


def _pitch(lines: list[Line]) -> float:
    """Return the usual distance from line to line, in units of their size."""
    steps = [
        (below.frame.bottom - above.frame.bottom) / above.size
        for above, below in itertools.pairwise(lines)
        if _same_size(above.size, below.size) and below.frame.bottom > above.frame.bottom
    ]
    usual = [step for step in steps if step < 3]  # noqa: PLR2004 - further apart is no text
    return statistics.median_low(usual) if usual else 1.2


def _begins(paragraph: list[Line], line: Line, pitch: float) -> bool:
    last = paragraph[-1]
    step = line.frame.bottom - last.frame.bottom
    if step < -last.size or step > last.size * pitch * _NEW_PARAGRAPH_GAP:
        return True
    if _LEADERS_TO_PAGE.search(last.text) or (_is_entry(last) and _is_entry(line)):
        return True
    if not _same_size(last.size, line.size) or line.monospaced != last.monospaced:
        # A formula or a raised figure changes the height of a line in mid-sentence.
        return len(line.text) > 3 and not _in_sentence(last, line)  # noqa: PLR2004 - a figure
    if line.bold != last.bold and all(each.bold == last.bold for each in paragraph):
        return not _in_sentence(last, line)
    if line.monospaced:
        return False
    if BULLET.match(line.text) or NUMBER.match(line.text):
        return _is_item(paragraph, line)
    return _indented(paragraph, line)


def _is_entry(line: Line) -> bool:
    """Tell whether a line may be one of a list of contents: a number, a name, a page."""
    return bool(_SECTION_NUMBER.match(line.text) and _PAGE_AT_END.search(line.text))


def _in_sentence(last: Line, line: Line) -> bool:
    return line.text[:1].islower() and not _SENTENCE_END.search(last.text)


def _is_item(paragraph: list[Line], line: Line) -> bool:
    """Tell whether a line that looks like a list item is one, not a wrapped figure or dash."""
    first = paragraph[0]
    if BULLET.match(first.text) or NUMBER.match(first.text):
        return line.frame.left <= paragraph[-1].frame.left + line.size * _INDENT_EM
    return bool(_SENTENCE_END.search(paragraph[-1].text)) or (
        abs(line.frame.left - paragraph[-1].frame.left) > line.size * _INDENT_EM / 2
    )


def _indented(paragraph: list[Line], line: Line) -> bool:
    last = paragraph[-1]
    em = line.size
    if BULLET.match(paragraph[0].text) or NUMBER.match(paragraph[0].text):
        return line.frame.left < paragraph[0].frame.left - em * _INDENT_EM / 2
    ended = bool(_SENTENCE_END.search(last.text))
    margin = min(each.frame.left for each in paragraph[1:] or paragraph)
    if line.frame.left > margin + em * _INDENT_EM and ended:
        return True
    right = max(each.frame.right for each in [*paragraph, line])
    short = last.frame.right < right - em * _SHORT_LINE_EM
    return ended and short and line.text[:1].isupper()


def _classified(lines: list[Line], page: int, vocabulary: Vocabulary, body: float) -> Block:
    size = statistics.median(line.size for line in lines)
    code = all(line.monospaced for line in lines) and len(lines) > 1
    text = _code(lines) if code else _joined(lines, vocabulary)
    kind: BlockKind = "code" if code else "text"
    marker = ""
    item = BULLET.match(text) or NUMBER.match(text)
    if not code and _is_heading(lines, text, size, body):
        kind = "heading"
    elif not code and item:
        kind, marker, text = "list_item", item[1], text[item.end() :]
    return Block(
        kind=kind,
        lines=tuple(lines),
        pages=(page,) * len(lines),
        text=text,
        size=size,
        marker=marker,
    )


def _joined(lines: list[Line], vocabulary: Vocabulary) -> str:
    text = lines[0].text
    for line in lines[1:]:
        text = vocabulary.join(text, line.text)
    return text


def _code(lines: list[Line]) -> str:
    """Keep the lines of code, and their indent as blanks of the letters' width."""
    margin = min(line.frame.left for line in lines)
    width = statistics.median(line.frame.width / max(len(line.text), 1) for line in lines)
    return "\n".join(
        " " * round((line.frame.left - margin) / max(width, 1.0)) + line.text for line in lines
    )


def _is_heading(lines: list[Line], text: str, size: float, body: float) -> bool:
    if len(lines) > _MAX_HEADING_LINES or len(text) > _MAX_HEADING_CHARS:
        return False
    if not any(character.isalpha() for character in text):
        return False
    if size >= body * _HEADING_SIZE:
        return not text.endswith((",", ";"))
    if not all(line.bold for line in lines) or len(text) > _MAX_BOLD_HEADING_CHARS:
        return False
    if size < body / _SAME_SIZE:
        return False
    return bool(_SECTION_NUMBER.match(text)) or not _SENTENCE_END.search(text)
