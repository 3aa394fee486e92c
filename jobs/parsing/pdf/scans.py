"""Pages whose text layer is missing or broken: which they are, and their text by OCR.

The only place where a page is rendered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pypdfium2
from PIL import Image

from jobs.parsing.deskew import straightened
from jobs.parsing.ocr import OcrEngine, smoothed
from jobs.parsing.pdf import second
from jobs.parsing.pdf.lines import Frame, Line, PageText

__all__ = [
    "BROKEN",
    "LARGE_SHARE",
    "MAX_PIXELS",
    "POINTS_PER_INCH",
    "Shown",
    "blank_pages",
    "image_text",
    "need",
    "read_scans",
]

MAX_PIXELS = 16_000_000
"""Of a rendered page: A4 at 300 dpi is 9 million; larger ones are rendered more coarsely."""
POINTS_PER_INCH = 72.0
LARGE_SHARE = 0.5
"""Of a page with hardly any text: an image of this size is a scan rather than an ornament."""
_FEW_CHARS = 100

NO_TEXT, STAMPED, BROKEN = "no text layer", "hardly any text over an image", "a broken text layer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a page shows beside its text.

    ``image``: the share of it that its largest image covers. ``drawn``: whether there is
    anything to see at all, which is only asked of pages without text.
    """

    image: float = 0.0
    drawn: bool = True


def need(page: PageText, shown: Shown, *, sound: bool = False) -> str | None:
    """Return why a page should be read by OCR, None if its text layer serves.

    ``sound``: its text is known to have a meaning.
    """
    if page.empty:
        return NO_TEXT if shown.drawn else None
    if not sound and second.is_doubtful(page):
        return BROKEN
    n_chars = sum(len(line.text) for line in (*page.lines, *page.across))
    if n_chars < _FEW_CHARS and shown.image >= LARGE_SHARE:
        return STAMPED
    return None


def blank_pages(path: Path, numbers: Iterable[int]) -> set[int]:
    """Return those of the pages that show nothing: no image, drawing or text."""
    with _opened(path) as document:
        return set() if document is None else {n for n in numbers if _is_blank(document, n)}


def read_scans(path: Path, numbers: Iterable[int], engine: OcrEngine) -> Mapping[int, PageText]:
    """Return pages (numbers from 1) as OCR reads them; those that cannot be shown are absent."""
    pages: dict[int, PageText] = {}
    with _opened(path) as document:
        if document is None:
            return pages
        for number in numbers:
            try:
                page = document[number - 1]
                width, height = page.get_size()
                image = _rendered(page, width, height, engine.dpi)
            except (pypdfium2.PdfiumError, IndexError):
                continue
            pages[number] = image_text(number, image, width, height, engine)
    return pages


def image_text(
    number: int, image: Image.Image, width: float, height: float, engine: OcrEngine
) -> PageText:
    """Return what OCR reads from the image of a page of ``width`` x ``height`` points.

    Frames are those of the straightened page, where it lay askew.
    """
    straight, _ = straightened(image)
    reading = engine.read(straight)
    scale_x, scale_y = width / image.width, height / image.height
    # Turned about its middle, the page has grown alike on both sides.
    dx, dy = (straight.width - image.width) / 2, (straight.height - image.height) / 2
    if reading.turned % 180:
        width, height = height, width
        scale_x, scale_y, dx, dy = scale_y, scale_x, dy, dx
    lines = tuple(
        Line(
            text=line.text,
            frame=Frame(
                left=max(line.left - dx, 0.0) * scale_x,
                top=max(line.top - dy, 0.0) * scale_y,
                right=max(line.right - dx, 0.0) * scale_x,
                bottom=max(line.bottom - dy, 0.0) * scale_y,
            ),
            size=line.size * scale_y,
            bold=False,
            monospaced=False,
            cells=(i,),
        )
        for i, line in enumerate(smoothed(reading.lines))
    )
    return PageText(
        page_no=number,
        width=width,
        height=height,
        turned=reading.turned,
        lines=lines,
        across=(),
    )


@contextmanager
def _opened(path: Path) -> Iterator[pypdfium2.PdfDocument | None]:
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError:
        yield None
        return
    with closing(document):
        yield document


def _is_blank(document: pypdfium2.PdfDocument, number: int) -> bool:
    try:
        return next(iter(document[number - 1].get_objects(max_depth=1)), None) is None
    except (pypdfium2.PdfiumError, IndexError):
        return False


def _rendered(page: pypdfium2.PdfPage, width: float, height: float, dpi: int) -> Image.Image:
    scale = dpi / POINTS_PER_INCH
    pixels = width * height * scale**2
    if pixels > MAX_PIXELS:
        scale *= (MAX_PIXELS / pixels) ** 0.5
    bitmap = page.render(scale=scale, grayscale=True, may_draw_forms=True)
    image: Image.Image = bitmap.to_pil()
    return image
