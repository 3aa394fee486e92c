"""Images of pages, read by OCR; each frame of a TIFF is a page."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from PIL import Image, ImageOps, ImageSequence, UnidentifiedImageError

from chunking.errors import DocumentError
from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.canonical import Places, add_docling
from jobs.parsing.converted import Converted, Source
from jobs.parsing.ocr import INSTALL_HINT, OcrEngine, engine_of
from jobs.parsing.pdf.analysis import analyse
from jobs.parsing.pdf.assemble import assemble
from jobs.parsing.pdf.lines import PageText
from jobs.parsing.pdf.scans import MAX_PIXELS, POINTS_PER_INCH, image_text

__all__ = ["read"]

_MAX_DECODED_PIXELS = 200_000_000
"""An A3 scan at 600 dpi has 70 million; a bomb declares billions."""
_DEFAULT_DPI, _LEAST_DPI, _MOST_DPI = 200.0, 50.0, 1200.0


def read(source: Source) -> Converted:
    """Read an image file by OCR.

    Raises:
        DocumentError: ``no_text``: no OCR is at hand; ``unsafe``: too many pixels;
            ``corrupt``; ``unsupported_format``: an image of a kind that is not decoded.
    """
    engine = engine_of(source.settings)
    if engine is None:
        msg = f"an image holds no text without OCR; {INSTALL_HINT}"
        raise DocumentError(msg, kind="no_text", stage="parse")
    pages = list(_pages(source, engine))
    builder = DocumentBuilder()
    document = assemble(analyse(pages), pages)
    add_docling(builder, document, places=Places(pages=True, units_per_point=1.0))
    return Converted(
        document=builder.build(n_pages=len(pages)),
        parser=f"image+{engine.name}",
        warnings=tuple(builder.warnings),
    )


def _pages(source: Source, engine: OcrEngine) -> Iterator[PageText]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with Image.open(source.path) as file:
                for number, frame in enumerate(ImageSequence.Iterator(file), 1):
                    _check_size(frame)
                    yield _page(number, frame, engine)
        except UnidentifiedImageError as error:
            msg = "an image of a kind that is not decoded here; save it as PNG or PDF"
            raise DocumentError(msg, kind="unsupported_format", stage="parse") from error
        except Image.DecompressionBombError as error:
            raise _too_large(str(error)) from error
        except (OSError, SyntaxError, ValueError, EOFError) as error:
            msg = f"a damaged image: {' '.join(str(error).split())}"
            raise DocumentError(msg, kind="corrupt", stage="parse") from error


def _check_size(frame: Image.Image) -> None:
    if frame.width * frame.height > _MAX_DECODED_PIXELS:
        size = f"{frame.width} x {frame.height} pixels"
        raise _too_large(size)


def _too_large(what: str) -> DocumentError:
    msg = f"an image of too many pixels: {what}"
    return DocumentError(msg, kind="unsafe", stage="parse")


def _page(number: int, frame: Image.Image, engine: OcrEngine) -> PageText:
    dpi = float(frame.info.get("dpi", (_DEFAULT_DPI,))[0] or _DEFAULT_DPI)
    dpi = dpi if _LEAST_DPI <= dpi <= _MOST_DPI else _DEFAULT_DPI
    image = ImageOps.exif_transpose(frame)
    if image.mode in ("RGBA", "LA", "PA", "P"):
        # Transparent means paper.
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    image = image.convert("L")
    width, height = (side * POINTS_PER_INCH / dpi for side in image.size)
    scale = min(1.0, engine.dpi / dpi, (MAX_PIXELS / (image.width * image.height)) ** 0.5)
    if scale < 1:
        size = (max(round(image.width * scale), 1), max(round(image.height * scale), 1))
        image = image.resize(size, Image.Resampling.LANCZOS)
    return image_text(number, image, width, height, engine)
