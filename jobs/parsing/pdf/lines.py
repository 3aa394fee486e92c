"""The text of a PDF page as positioned pieces, whichever way the page is turned."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from docling_core.types.doc.page import PdfTextCell, TextCell

__all__ = ["Frame", "Line", "PageText", "body_size", "page_text"]

_LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}
_BOLD = re.compile(r"bold|black|heavy|demi|cmbx|(?<=[-,])medi\b|[-,]bd\b", re.IGNORECASE)
_MONOSPACED = re.compile(r"mono|courier|consol|typewriter|cmtt|tt\d+$|menlo|code", re.IGNORECASE)
_QUARTER = 90
_RIGHT_TO_LEFT = frozenset({"R", "AL"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """An axis-parallel rectangle in points, from the top left of the page as it is read."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        """Extent along the text."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """Extent across the text: about the font's size."""
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        """Vertical middle."""
        return (self.top + self.bottom) / 2

    def union(self, other: Frame) -> Frame:
        """Return the smallest frame around both."""
        return Frame(
            left=min(self.left, other.left),
            top=min(self.top, other.top),
            right=max(self.right, other.right),
            bottom=max(self.bottom, other.bottom),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A piece of one line of text, or, once pieces are joined, the line.

    ``cells``: the indices of the parser's cells in it. ``size``: its height in points.
    """

    text: str
    frame: Frame
    size: float
    bold: bool
    monospaced: bool
    cells: tuple[int, ...]

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
        return _turn(frame, self.width, self.height, -self.turned % 360)


def page_text(
    page_no: int, width: float, height: float, cells: Iterable[PdfTextCell | TextCell]
) -> PageText:
    """Return the pieces of a page, turned so that most of its text runs to the right."""
    pieces = []
    weights: Counter[int] = Counter()
    for i, cell in enumerate(cells):
        line = _line(i, cell)
        if line is not None:
            angle = round(cell.rect.angle_360 / _QUARTER) * _QUARTER % 360
            pieces.append((angle, line))
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
        lines=tuple(_turned(line, width, height, turned) for a, line in pieces if a == turned),
        across=tuple(_turned(line, width, height, turned) for a, line in pieces if a != turned),
    )


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
    frame = _turn(line.frame, width, height, turned)
    return replace(line, frame=frame, size=min(frame.height, max(frame.width, 1.0) * 2))


def _turn(frame: Frame, width: float, height: float, degrees: int) -> Frame:
    """Return a frame as it lies once its page was turned back by ``degrees``."""
    left, top, right, bottom = frame.left, frame.top, frame.right, frame.bottom
    if degrees == 90:  # noqa: PLR2004 - quarter turns
        return Frame(left=height - bottom, top=left, right=height - top, bottom=right)
    if degrees == 180:  # noqa: PLR2004 - quarter turns
        return Frame(
            left=width - right, top=height - bottom, right=width - left, bottom=height - top
        )
    if degrees == 270:  # noqa: PLR2004 - quarter turns
        return Frame(left=top, top=width - right, right=bottom, bottom=width - left)
    return frame
