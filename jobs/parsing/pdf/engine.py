"""The one entry to the PDF engines: a file becomes canonical text, with what was lost.

The fast engine reads docling-parse's text cells and lays the pages out itself. It does
not run inside docling's standard pipeline, because that renders every page and shows a
layout engine a few pages at a time, while furniture, letter sizes and broken words need
the whole document; there, :mod:`jobs.parsing.pdf.plugin` offers the same rules per page.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from docling.datamodel.base_models import ConversionStatus, InputFormat
from docling.datamodel.pipeline_options import (
    RapidOcrOptions,
    TesseractOcrOptions,
    ThreadedPdfPipelineOptions,
)
from docling.document_converter import DocumentConverter, PdfFormatOption
from docling_core.types.doc import DoclingDocument

from chunking.errors import DocumentError
from jobs.config import ParserConfig
from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.canonical import Places, add_docling
from jobs.parsing.careful import AT_ONCE, Pages
from jobs.parsing.converted import Converted
from jobs.parsing.ocr import INSTALL_HINT, OcrEngine, engine_of
from jobs.parsing.pdf import second
from jobs.parsing.pdf.analysis import analyse
from jobs.parsing.pdf.assemble import assemble
from jobs.parsing.pdf.lines import PageText
from jobs.parsing.pdf.reader import ReadPage, opened
from jobs.parsing.pdf.scans import BROKEN, LARGE_SHARE, Shown, blank_pages, need, read_scans

__all__ = ["PdfConversion", "convert_pdf", "read_pdf"]

_NO_TEXT = f"no page has a text layer; to read scans by OCR, {INSTALL_HINT}"
_FAST = "pdf-fast"


@dataclass(frozen=True, slots=True, kw_only=True)
class PdfConversion:
    """A PDF that was read, and what could not be.

    ``losses``: what is missing, by pages; where there is some, the result is ``partial``.
    ``notes``: pages that were read in another way than the rest, and why. ``parser`` names
    the engines, for ``documents.parser``.
    """

    document: DoclingDocument
    n_pages: int
    parser: str
    losses: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Pages:
    """What is gathered while the pages of one file go by."""

    texts: dict[int, PageText] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)
    shown: dict[int, Shown] = field(default_factory=dict)

    @property
    def n_pages(self) -> int:
        return len(self.texts) + len(self.failed)

    @property
    def empty(self) -> bool:
        return all(page.empty for page in self.texts.values())


def convert_pdf(
    path: Path, *, name: str, settings: ParserConfig, pages: Pages = AT_ONCE
) -> Converted:
    """Read a PDF with the engine that ``settings.pdf`` names, as canonical text.

    Raises:
        DocumentError: ``corrupt``, or ``no_text`` (pages without a text layer).
    """
    del name
    conversion = read_pdf(path, settings, pages)
    builder = DocumentBuilder()
    add_docling(builder, conversion.document, places=Places(pages=True, units_per_point=1.0))
    return Converted(
        document=builder.build(n_pages=conversion.n_pages),
        status="partial" if conversion.losses else "ok",
        parser=conversion.parser,
        warnings=(*builder.warnings, *conversion.losses, *conversion.notes),
    )


def read_pdf(path: Path, settings: ParserConfig, pages: Pages = AT_ONCE) -> PdfConversion:
    """Read a PDF into a ``DoclingDocument`` with pages and boxes.

    The fast engine renders a page only where OCR reads it. A document that is read page
    by page is left to it: docling's own pipeline has no way to.

    Raises:
        DocumentError: ``corrupt``: no page can be read; ``no_text``: none has text, and
            some show something.
    """
    # What libraries log about a damaged file is in the outcome.
    logging.getLogger("docling").setLevel(logging.CRITICAL)
    if settings.pdf == "standard" and pages is AT_ONCE:
        return _standard(path, settings)
    return _fast(path, settings, pages)


def _fast(path: Path, settings: ParserConfig, walk: Pages) -> PdfConversion:
    pages = _read(path, walk)
    notes, losses, parser = [], [], _FAST
    wanted = _scans(path, pages, walk)
    # Asked for only where it may be needed: it looks for packages and files.
    engine = engine_of(settings) if wanted or pages.empty else None
    if engine is None:
        lost = {n: why for n, why in wanted.items() if pages.shown[n].image >= LARGE_SHARE}
        losses = [f"{where}: {why}, and no OCR is at hand" for why, where in _by_reason(lost)]
    elif wanted:
        done = _add_scans(path, pages, wanted, engine, walk)
        notes = [f"{where}: {why}, read by {engine.name}" for why, where in _by_reason(done)]
        parser += f"+{engine.name}"
    losses += _unread(pages.failed)
    if not pages.texts:
        n_failed = len(pages.failed)
        msg = f"none of its {n_failed} pages could be read" if n_failed else "not a readable PDF"
        raise DocumentError(msg, kind="corrupt", stage="parse")
    if engine is None and pages.empty and any(shown.image for shown in pages.shown.values()):
        raise DocumentError(_NO_TEXT, kind="no_text", stage="parse")
    texts = [pages.texts[number] for number in sorted(pages.texts)]
    return PdfConversion(
        document=assemble(analyse(texts), texts),
        n_pages=pages.n_pages,
        parser=parser,
        losses=tuple(losses),
        notes=tuple(notes),
    )


def _scans(path: Path, pages: _Pages, walk: Pages) -> dict[int, str]:
    """Return the pages that OCR should read, with the reason."""
    silent = [n for n, page in pages.texts.items() if page.empty]
    for number in blank_pages(path, walk.walk(silent)) if silent else ():
        pages.shown[number] = Shown(drawn=False)
    found = {}
    for number, page in sorted(pages.texts.items()):
        # A page that only the second reader could open may show anything.
        reason = need(page, pages.shown.setdefault(number, Shown()))
        if reason is not None:
            found[number] = reason
    return found


def _add_scans(
    path: Path, pages: _Pages, wanted: Mapping[int, str], engine: OcrEngine, walk: Pages
) -> dict[int, str]:
    """Take what OCR reads on pages where it reads more; return those, with the reason."""
    taken = {}
    for number, page in read_scans(path, walk.walk(wanted), engine).items():
        before = sum(len(line.text) for line in pages.texts[number].lines)
        n_chars = sum(len(line.text) for line in page.lines)
        if n_chars > before or (n_chars and wanted[number] == BROKEN):
            pages.texts[number] = page
            taken[number] = wanted[number]
    return taken


def _by_reason(reasons: Mapping[int, str]) -> list[tuple[str, str]]:
    """Return each reason with its pages, such as ``pages 1-3, 7``."""
    pages: dict[str, list[int]] = {}
    for number, reason in sorted(reasons.items()):
        pages.setdefault(reason, []).append(number)
    return [(reason, _ranges(numbers)) for reason, numbers in pages.items()]


def _unread(numbers: set[int]) -> list[str]:
    return [f"page {number} could not be read" for number in sorted(numbers)]


def _ranges(numbers: list[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    return f"page{'s' if len(numbers) > 1 else ''} {', '.join(parts)}"


def _read(path: Path, walk: Pages) -> _Pages:
    pages = _Pages()
    if walk is AT_ONCE:
        with opened(path) as document:
            for page in document.pages() if document is not None else ():
                _take(page, pages)
    else:
        _read_one_by_one(path, pages, walk)
    if not pages.texts and not pages.failed:
        pages.texts = second.read_pages(path)
        return pages
    doubtful = pages.failed | {n for n, page in pages.texts.items() if second.is_doubtful(page)}
    for number, again in _read_again(path, doubtful, walk).items():
        first = pages.texts.get(number)
        if first is None or second.is_better(again, first):
            pages.texts[number] = again
    pages.failed -= pages.texts.keys()
    return pages


def _read_one_by_one(path: Path, pages: _Pages, walk: Pages) -> None:
    """Open the file anew for each page: the parser would be pages ahead of its reader."""
    with opened(path) as document:
        numbers = range(1, document.n_pages + 1) if document is not None else range(0)
    pages.failed |= walk.skip & set(numbers)
    for number in walk.walk(numbers):
        with opened(path, number) as document:
            for page in document.pages() if document is not None else ():
                _take(page, pages)


def _read_again(path: Path, doubtful: set[int], walk: Pages) -> dict[int, PageText]:
    numbers = sorted(doubtful - walk.skip)
    return second.read_pages(path, walk.walk(numbers)) if numbers else {}


def _take(page: ReadPage, pages: _Pages) -> None:
    """Keep a page's text, or note that it failed."""
    if page.text is None:
        pages.failed.add(page.page_no)
        return
    pages.shown[page.page_no] = Shown(image=page.image)
    pages.texts[page.page_no] = page.text


def _standard(path: Path, settings: ParserConfig) -> PdfConversion:
    engine = engine_of(settings)
    ocr = (engine.name, settings.ocr_languages) if engine else None
    result = _standard_converter(settings.artifacts_path, ocr).convert(path, raises_on_error=False)
    if result.status is ConversionStatus.FAILURE:
        reasons = "; ".join(error.error_message for error in result.errors)
        raise DocumentError(reasons or "not a readable PDF", kind="corrupt", stage="parse")
    if engine is None and not result.document.texts:
        raise DocumentError(_NO_TEXT, kind="no_text", stage="parse")
    return PdfConversion(
        document=result.document,
        n_pages=result.input.page_count,
        parser=f"docling-standard+{engine.name}" if engine else "docling-standard",
        losses=tuple(_unread({error.page_no for error in result.errors if error.page_no})),
    )


@functools.cache
def _standard_converter(
    artifacts_path: str | None, ocr: tuple[str, tuple[str, ...]] | None
) -> DocumentConverter:
    options = ThreadedPdfPipelineOptions(artifacts_path=artifacts_path, do_ocr=ocr is not None)
    if ocr is not None and ocr[0] == "rapidocr":
        options.ocr_options = RapidOcrOptions()
    elif ocr is not None:
        options.ocr_options = TesseractOcrOptions(lang=list(ocr[1]) or ["eng"])
    return DocumentConverter(
        allowed_formats=[InputFormat.PDF],
        format_options={InputFormat.PDF: PdfFormatOption(pipeline_options=options)},
    )
