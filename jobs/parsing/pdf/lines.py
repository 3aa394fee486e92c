"""The text of a PDF page as positioned pieces, whichever way the page is turned."""

from __future__ import annotations

import unicodedata
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from docling_core.types.doc.page import PdfTextCell, TextCell

from jobs.parsing.pdf.drawn import NOTHING, Drawn
from jobs.parsing.pdf.fonts import is_bold, is_monospaced, meant
from jobs.parsing.pdf.geometry import Frame, turn, turn_back
from jobs.parsing.pdf.glyphs import Glyph
from jobs.parsing.pdf.runs import runs_of
from jobs.parsing.pdf.words import Blank

__all__ = ["Frame", "Line", "PageText", "body_size", "cut_at", "glyph_text", "page_text"]

_QUARTER = 90
_MIN_PROSE = 0.3
"""Of the letters of code, the least of prose that sets a document's size."""
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
    page_no: int, width: float, height: float, cells: Iterable[PdfTextCell | TextCell]
) -> PageText:
    """Return the pieces of a page that some parser has put together to lines."""
    pieces = []
    for i, cell in enumerate(cells):
        line = _line(i, cell)
        if line is not None:
            angle = round(cell.rect.angle_360 / _QUARTER) * _QUARTER % 360
            frame = turn(line.frame, width, height, angle)
            size = min(frame.height, max(frame.width, 1.0) * 2)
            pieces.append((angle, replace(line, frame=frame, size=size)))
    return _page(page_no, width, height, pieces)


def glyph_text(
    page_no: int,
    width: float,
    height: float,
    glyphs: Iterable[tuple[int, Glyph]],
    drawn: Drawn = NOTHING,
) -> PageText:
    """Return the pieces of a page that its glyphs make.

    ``glyphs``: in the order they are drawn, each with the angle of its line in degrees and
    with its place on the page turned back by that (see :func:`geometry.turn`).
    """
    by_angle: dict[int, list[Glyph]] = {}
    for angle, glyph in glyphs:
        by_angle.setdefault(angle, []).append(glyph)
    runs = [(angle, run) for angle, group in by_angle.items() for run in runs_of(group)]
    pieces = [
        (
            angle,
            Line(
                text=run.text,
                frame=run.frame,
                size=run.size,
                bold=run.bold,
                monospaced=run.monospaced,
                cells=(i,),
                blanks=run.blanks,
            ),
        )
        for i, (angle, run) in enumerate(runs)
    ]
    return _page(page_no, width, height, pieces, drawn)


def _page(
    page_no: int,
    width: float,
    height: float,
    pieces: Sequence[tuple[int, Line]],
    drawn: Drawn = NOTHING,
) -> PageText:
    """Turn a page so that most of its text runs to the right.

    ``pieces``: each with its angle, and framed as it lies once turned back by that.
    """
    weights: Counter[int] = Counter()
    for angle, line in pieces:
        weights[angle] += len(line.text)
    turned = next((angle for angle, _ in weights.most_common() if angle % _QUARTER == 0), 0)
    return PageText(
        page_no=page_no,
        width=height if turned % 180 else width,
        height=width if turned % 180 else height,
        turned=turned,
        lines=tuple(line for angle, line in pieces if angle == turned),
        across=tuple(
            replace(line, frame=_turned(line.frame, width, height, angle, turned))
            for angle, line in pieces
            if angle != turned
        ),
        drawn=drawn.turned(width, height, turned),
    )


def _turned(frame: Frame, width: float, height: float, angle: int, turned: int) -> Frame:
    """Return the frame of a line at ``angle`` as it lies on the page turned by ``turned``."""
    return turn(turn_back(frame, width, height, angle), width, height, turned)


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
    """Return the height of most letters of a document, in half points.

    Code counts only where there is little else: it is often set smaller than the text.
    """
    prose: Counter[float] = Counter()
    code: Counter[float] = Counter()
    for line in lines:
        (code if line.monospaced else prose)[round(line.size * 2) / 2] += len(line.text)
    weights = prose if prose.total() >= code.total() * _MIN_PROSE else code
    return weights.most_common(1)[0][0] if weights else 0.0


def _line(index: int, cell: PdfTextCell | TextCell) -> Line | None:
    font = cell.font_name if isinstance(cell, PdfTextCell) else ""
    text = " ".join(meant(word, font) for word in cell.text.replace("\0", "").split())
    if not text:
        return None
    box = cell.rect.to_bounding_box()
    frame = Frame(left=box.l, top=min(box.t, box.b), right=box.r, bottom=max(box.t, box.b))
    return Line(
        text=text,
        frame=frame,
        size=frame.height,
        bold=is_bold(font),
        monospaced=is_monospaced(font),
        cells=(index,),
    )
