"""The text of a PDF page as positioned pieces, whichever way the page is turned."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from docling_core.types.doc.page import PdfTextCell, TextCell

from jobs.parsing.pdf.drawn import NOTHING, Drawn
from jobs.parsing.pdf.geometry import Frame, turn
from jobs.parsing.pdf.words import Blank, Placed, place_words

__all__ = ["Frame", "Line", "PageText", "body_size", "cut_at", "page_text"]

_LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}
_BOLD = re.compile(r"bold|black|heavy|demi|cmbx|(?<=[-,])medi\b|[-,]bd\b", re.IGNORECASE)
_MONOSPACED = re.compile(r"mono|courier|consol|typewriter|cmtt|tt\d+$|menlo|code", re.IGNORECASE)
_QUARTER = 90
_WIDE_GAP_EM = 0.8
_RIGHT_TO_LEFT = frozenset({"R", "AL"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A piece of one line of text, or, once pieces are joined, the line.

    ``cells``: the indices of the parser's cells in it. ``size``: its height in points.
    ``blanks``: where each blank stands, if that is known.
    ``table``: for a line that stands for the row of a table, that table's place on its page.
    """

    text: str
    frame: Frame
    size: float
    bold: bool
    monospaced: bool
    cells: tuple[int, ...]
    blanks: tuple[Blank, ...] = ()
    table: int | None = None

    @property
    def right_to_left(self) -> bool:
        """Whether its first strong letter is Hebrew, Arabic or the like."""
        for character in self.text:
            direction = unicodedata.bidirectional(character)
            if direction == "L" or direction in _RIGHT_TO_LEFT:
                return direction != "L"
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class PageText:
    """A page's pieces of text in the direction it is read, and those that run across it.

    ``turned``: by how many degrees the text is turned on the page (0, 90, 180 or 270);
    frames are given in the turned page, of ``width`` x ``height`` points.
    """

    page_no: int
    width: float
    height: float
    turned: int
    lines: tuple[Line, ...]
    across: tuple[Line, ...]
    drawn: Drawn = NOTHING

    @property
    def empty(self) -> bool:
        """Whether there is no text; pieces are never blank."""
        return not (self.lines or self.across)

    @property
    def page_size(self) -> tuple[float, float]:
        """Width and height of the page itself."""
        return (self.height, self.width) if self.turned % 180 else (self.width, self.height)

    def on_page(self, frame: Frame) -> Frame:
        """Return a frame of the turned page in the coordinates of the page itself."""
        return turn(frame, self.width, self.height, -self.turned % 360)


def page_text(
    page_no: int,
    width: float,
    height: float,
    cells: Iterable[PdfTextCell | TextCell],
    *,
    words: Sequence[Placed] = (),
    drawn: Drawn = NOTHING,
) -> PageText:
    """Return the pieces of a page, turned so that most of its text runs to the right.

    ``words``: those of the cells, in the same order; with them, cells are cut at wide gaps.
    """
    pieces = []
    weights: Counter[int] = Counter()
    cells = list(cells)
    placed = place_words([cell.text for cell in cells], words) if words else [()] * len(cells)
    for i, (cell, frames) in enumerate(zip(cells, placed, strict=True)):
        line = _line(i, cell)
        if line is not None:
            angle = round(cell.rect.angle_360 / _QUARTER) * _QUARTER % 360
            pieces.append((angle, line, frames))
            weights[angle] += len(line.text)
    turned = weights.most_common(1)[0][0] if weights else 0
    if turned % 180:
        turned_width, turned_height = height, width
    else:
        turned_width, turned_height = width, height
    return PageText(
        page_no=page_no,
        width=turned_width,
        height=turned_height,
        turned=turned,
        lines=tuple(
            piece
            for angle, line, frames in pieces
            if angle == turned
            for piece in _cut(
                _turned(line, width, height, turned),
                [turn(frame, width, height, turned) for frame in frames],
            )
        ),
        across=tuple(_turned(line, width, height, turned) for a, line, _ in pieces if a != turned),
        drawn=drawn.turned(width, height, turned),
    )


def _cut(line: Line, words: Sequence[Frame]) -> list[Line]:
    """Keep where a line's words stand, and cut it at gaps too wide for running text."""
    blanks = [i for i, character in enumerate(line.text) if character == " "]
    if len(words) != len(blanks) + 1 or not blanks:
        return [line]
    spaces = tuple(
        Blank(offset=offset, left=before.right, right=after.left)
        for offset, (before, after) in zip(blanks, itertools.pairwise(words), strict=True)
    )
    line = replace(line, blanks=spaces)
    wide = [blank for blank in spaces if blank.right - blank.left >= line.size * _WIDE_GAP_EM]
    return cut_at(line, wide)


def cut_at(line: Line, blanks: Sequence[Blank]) -> list[Line]:
    """Cut a line at some of its blanks, given in their order."""
    pieces = []
    rest = deque(line.blanks)
    start, left = 0, line.frame.left
    for blank in (*blanks, None):
        end = blank.offset if blank else len(line.text)
        inner = []
        while rest and rest[0].offset < end:
            each = rest.popleft()
            inner.append(replace(each, offset=each.offset - start))
        frame = replace(line.frame, left=left, right=blank.left if blank else line.frame.right)
        pieces.append(replace(line, text=line.text[start:end], frame=frame, blanks=tuple(inner)))
        if blank:
            rest.popleft()
            start, left = end + 1, blank.right
    return pieces


def body_size(lines: Iterable[Line]) -> float:
    """Return the height of most letters of a document, in half points."""
    weights: Counter[float] = Counter()
    for line in lines:
        weights[round(line.size * 2) / 2] += len(line.text)
    return weights.most_common(1)[0][0] if weights else 0.0


def _line(index: int, cell: PdfTextCell | TextCell) -> Line | None:
    text = " ".join(cell.text.translate(_LIGATURES).replace("\0", "").split())
    if not text:
        return None
    box = cell.rect.to_bounding_box()
    font = cell.font_name if isinstance(cell, PdfTextCell) else ""
    frame = Frame(left=box.l, top=min(box.t, box.b), right=box.r, bottom=max(box.t, box.b))
    return Line(
        text=text,
        frame=frame,
        size=frame.height,
        bold=bool(_BOLD.search(font)),
        monospaced=bool(_MONOSPACED.search(font)),
        cells=(index,),
    )


def _turned(line: Line, width: float, height: float, turned: int) -> Line:
    frame = turn(line.frame, width, height, turned)
    return replace(line, frame=frame, size=min(frame.height, max(frame.width, 1.0) * 2))
