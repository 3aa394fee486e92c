"""docling-parse opened for what the fast engine needs: letters, and what is drawn.

docling's own backend for it computes rules only to render them, and makes Python objects
of all words and lines, which takes as long as parsing the page.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docling_parse.pdf_parser import (
    ContentConfig,
    ContentLevel,
    DecodeConfig,
    DoclingThreadedPdfParser,
    PageParseResult,
    ThreadedPdfParserConfig,
)

from jobs.parsing.pdf.drawn import STRAIGHT, Drawn, Shape, drawn_of
from jobs.parsing.pdf.geometry import Frame, turn
from jobs.parsing.pdf.glyphs import Glyph
from jobs.parsing.pdf.lines import PageText, glyph_text

__all__ = ["OpenPdf", "ReadPage", "opened", "read_page"]

_PAGES_AHEAD = 4
_PAGES_PER_RELEASE = 128
_TILT = 5
"""Degrees by which text may lean and still be read as upright."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPage:
    """A page that was read; ``text`` is None where it could not be.

    ``image``: the share of the page that its largest image covers.
    """

    page_no: int
    text: PageText | None
    image: float = 0.0


class OpenPdf:
    """A PDF in docling-parse, read page after page."""

    def __init__(self, parser: DoclingThreadedPdfParser, key: str) -> None:
        self._parser = parser
        self._key = key

    @property
    def n_pages(self) -> int:
        """The number of pages of the file."""
        return self._parser.page_count(self._key)

    def pages(self) -> Iterator[ReadPage]:
        """Yield the pages in their order; what the parser holds of one is freed at the next."""
        for result in self._parser.iterate_results():
            yield (
                read_page(result)
                if result.success
                else ReadPage(page_no=result.page_number, text=None)
            )

    def close(self) -> None:
        """Free the file; a parser with pages still to come cannot be closed before them."""
        while self._parser.has_tasks():
            self._parser.get_task()
        self._parser.unload(self._key)


@contextlib.contextmanager
def opened(path: Path, page: int | None = None) -> Iterator[OpenPdf | None]:
    """Open a file, or one page of it; None if it is no PDF that can be read."""
    compute = ContentLevel.COMPUTE
    content = ContentConfig(
        char_cells_content_level=compute,
        word_cells_content_level=ContentLevel.SKIP,
        line_cells_content_level=ContentLevel.SKIP,
        shapes_content_level=compute,
        bitmaps_content_level=ContentLevel.COMPUTE_AND_MATERIALIZE,
        include_bitmap_bytes=False,
    )
    parser = DoclingThreadedPdfParser(
        ThreadedPdfParserConfig(
            threads=1, max_concurrent_results=_PAGES_AHEAD, page_content_config=content
        ),
        DecodeConfig(release_native_memory_every_n_pages=_PAGES_PER_RELEASE),
    )
    try:
        key = parser.load(path, page_range=None if page is None else (page, page))
    except (RuntimeError, ValueError):  # what the native parser raises for a damaged file
        yield None
        return
    with contextlib.closing(OpenPdf(parser, key)) as document:
        yield document


def read_page(result: PageParseResult) -> ReadPage:
    """Return what docling-parse read of a page."""
    width, height = result.page_width, result.page_height
    decoder = result._require_page_decoder()  # noqa: SLF001 - as docling does
    content = result.get_page()
    boxes = [resource.rect for resource in content.bitmap_resources]
    images = [_frame(box.r_x0, box.r_y0, box.r_x2, box.r_y2, height) for box in boxes]
    text = glyph_text(
        result.page_number,
        width,
        height,
        _glyphs(decoder.get_char_cells(), width, height),
        _drawn(result, images, width, height),
    )
    areas = [image.width * image.height for image in images]
    share = max(areas, default=0.0) / max(width * height, 1.0)
    return ReadPage(page_no=result.page_number, text=text, image=min(share, 1.0))


def _glyphs(cells: Iterable[Any], width: float, height: float) -> Iterator[tuple[int, Glyph]]:
    """Yield the letters with the angle of their lines, placed on the page turned back by it."""
    for cell in cells:
        x0, y0, x1, y1 = cell.r_x0, cell.r_y0, cell.r_x1, cell.r_y1
        x2, y2 = cell.r_x2, cell.r_y2
        if y0 == y1 and x0 <= x1:
            angle = 0
            left, top, right, bottom = x0, height - y2, x2, height - y0
        else:
            angle = _angle(x1 - x0, y1 - y0, x2 - x1, y2 - y1)
            if angle % 90 == 0:
                frame = turn(_frame(x0, y0, x2, y2, height), width, height, angle)
                left, top, right, bottom = frame.left, frame.top, frame.right, frame.bottom
            else:
                left, bottom = _along(x0, height - y0, angle)
                right, top = _along(x2, height - y2, angle)
        if top > bottom:
            top, bottom = bottom, top
        yield angle, Glyph(cell.text, left, top, right, bottom, cell.font_name)


def _angle(along_x: float, along_y: float, up_x: float, up_y: float) -> int:
    """Return the angle of a line in degrees, a quarter turn if it is near to one."""
    if not (along_x or along_y):
        along_x, along_y = up_y, -up_x
    degrees = round(math.degrees(math.atan2(along_y, along_x)))
    quarter = round(degrees / 90) * 90
    return (quarter if abs(degrees - quarter) <= _TILT else degrees) % 360


def _along(x: float, y: float, angle: int) -> tuple[float, float]:
    cosine, sine = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    return x * cosine - y * sine, x * sine + y * cosine


def _drawn(result: PageParseResult, images: list[Frame], width: float, height: float) -> Drawn:
    decoder = result._require_page_decoder()  # noqa: SLF001 - as docling does
    lines = decoder.get_shape_lines(horizontal=True, vertical=True, tolerance=STRAIGHT)
    strokes = [_frame(left, bottom, right, top, height) for left, bottom, right, top in lines]
    page = Frame(left=0.0, top=0.0, right=width, bottom=height)
    return drawn_of(strokes, _shapes(decoder.get_page_shapes(), height), images, page)


def _shapes(shapes: Iterable[Any], height: float) -> Iterator[Shape]:
    for shape in shapes:
        xs, ys = shape.get_x(), shape.get_y()
        if xs and ys:
            red, green, blue = shape.get_rgb_filling_ops()
            frame = _frame(min(xs), min(ys), max(xs), max(ys), height)
            yield frame, (red, green, blue)


def _frame(x0: float, y0: float, x1: float, y1: float, height: float) -> Frame:
    """Return the frame of two opposite corners given from the bottom of the page."""
    return Frame(
        left=min(x0, x1),
        top=height - max(y0, y1),
        right=max(x0, x1),
        bottom=height - min(y0, y1),
    )
