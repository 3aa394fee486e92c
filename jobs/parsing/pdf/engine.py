"""The one entry to the PDF engines: a file becomes canonical text, with what was lost.

The fast engine reads docling-parse's text cells and lays the pages out itself. It does
not run inside docling's standard pipeline, because that renders every page and shows a
layout engine a few pages at a time, while furniture, letter sizes and broken words need
the whole document; there, :mod:`jobs.parsing.pdf.plugin` offers the same rules per page.
"""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from docling.backend.docling_parse_backend import (
    ThreadedDoclingParseDocumentBackend,
    ThreadedDoclingParsePageBackend,
)
from docling.datamodel.backend_options import ThreadedDoclingParseBackendOptions
from docling.datamodel.base_models import ConversionStatus, InputFormat
from docling.datamodel.document import InputDocument
from docling.datamodel.pipeline_options import ThreadedPdfPipelineOptions
from docling.document_converter import DocumentConverter, PdfFormatOption
from docling_core.types.doc import DoclingDocument

from chunking.errors import DocumentError
from jobs.config import ParserConfig
from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.canonical import Places, add_docling
from jobs.parsing.converted import Converted
from jobs.parsing.pdf import second
from jobs.parsing.pdf.analysis import analyse
from jobs.parsing.pdf.assemble import assemble
from jobs.parsing.pdf.lines import PageText, page_text

__all__ = ["PdfConversion", "convert_pdf", "read_pdf"]

_NO_TEXT = (
    "no page has a text layer; to read scans, set parser.ocr, "
    "parser.pdf to standard and parser.artifacts_path"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PdfConversion:
    """A PDF that was read, and what could not be.

    ``failed_pages`` count from 1; where there are some, the result is ``partial``.
    ``parser`` names the engine, for ``documents.parser``.
    """

    document: DoclingDocument
    n_pages: int
    failed_pages: tuple[int, ...]
    parser: str


@dataclass(slots=True)
class _Pages:
    """What is gathered while the pages of one file go by."""

    texts: dict[int, PageText] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)
    images: int = 0


def convert_pdf(path: Path, *, name: str, settings: ParserConfig) -> Converted:
    """Read a PDF with the engine that ``settings.pdf`` names, as canonical text.

    Raises:
        DocumentError: ``corrupt``, or ``no_text`` (pages without a text layer).
    """
    del name
    conversion = read_pdf(path, settings)
    builder = DocumentBuilder()
    add_docling(builder, conversion.document, places=Places(pages=True, units_per_point=1.0))
    warnings = tuple(f"page {page_no} could not be read" for page_no in conversion.failed_pages)
    return Converted(
        document=builder.build(n_pages=conversion.n_pages),
        status="partial" if warnings else "ok",
        parser=conversion.parser,
        warnings=(*builder.warnings, *warnings),
    )


def read_pdf(path: Path, settings: ParserConfig) -> PdfConversion:
    """Read a PDF into a ``DoclingDocument`` with pages and boxes; pages are never rendered.

    Raises:
        DocumentError: ``corrupt``: no page can be read; ``no_text``: none has text, and
            some show something.
    """
    # What libraries log about a damaged file is in the outcome.
    logging.getLogger("docling").setLevel(logging.CRITICAL)
    return _standard(path, settings) if settings.pdf == "standard" else _fast(path)


def _fast(path: Path) -> PdfConversion:
    pages = _read(path)
    if not pages.texts:
        n_failed = len(pages.failed)
        msg = f"none of its {n_failed} pages could be read" if n_failed else "not a readable PDF"
        raise DocumentError(msg, kind="corrupt", stage="parse")
    texts = [pages.texts[number] for number in sorted(pages.texts)]
    if pages.images and not any(page.lines or page.across for page in texts):
        raise DocumentError(_NO_TEXT, kind="no_text", stage="parse")
    return PdfConversion(
        document=assemble(analyse(texts), texts),
        n_pages=len(pages.texts) + len(pages.failed),
        failed_pages=tuple(sorted(pages.failed)),
        parser="pdf-fast",
    )


def _read(path: Path) -> _Pages:
    pages = _Pages()
    with _opened(path) as backend:
        for page in backend.iter_pages() if backend is not None else ():
            _take(page, pages)
    if not pages.texts and not pages.failed:
        pages.texts = second.read_pages(path)
        return pages
    doubtful = pages.failed | {n for n, page in pages.texts.items() if second.is_doubtful(page)}
    for number, again in second.read_pages(path, sorted(doubtful)).items() if doubtful else ():
        first = pages.texts.get(number)
        if first is None or second.is_better(again, first):
            pages.texts[number] = again
    pages.failed -= pages.texts.keys()
    return pages


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[ThreadedDoclingParseDocumentBackend | None]:
    source = InputDocument(
        path,
        InputFormat.PDF,
        ThreadedDoclingParseDocumentBackend,
        backend_options=ThreadedDoclingParseBackendOptions(
            parser_threads=1, render_pages=False, max_concurrent_results=4
        ),
    )
    # docling has no public name for the backend, and sets none where opening failed.
    backend = getattr(source, "_backend", None)
    if not isinstance(backend, ThreadedDoclingParseDocumentBackend) or not source.valid:
        yield None
        return
    try:
        yield backend
    finally:
        backend.unload()


def _take(page: ThreadedDoclingParsePageBackend, pages: _Pages) -> None:
    """Keep a page's text, or note that it failed; its cells are freed at once."""
    content = page.get_segmented_page() if page.is_valid() else None
    if content is None:
        pages.failed.add(page.page_no)
        return
    size = page.get_size()
    pages.images += len(content.bitmap_resources)
    text = page_text(page.page_no, size.width, size.height, content.textline_cells)
    pages.texts[page.page_no] = text


def _standard(path: Path, settings: ParserConfig) -> PdfConversion:
    result = _standard_converter(settings.artifacts_path, settings.ocr).convert(
        path, raises_on_error=False
    )
    if result.status is ConversionStatus.FAILURE:
        reasons = "; ".join(error.error_message for error in result.errors)
        raise DocumentError(reasons or "not a readable PDF", kind="corrupt", stage="parse")
    if not settings.ocr and not result.document.texts:
        raise DocumentError(_NO_TEXT, kind="no_text", stage="parse")
    return PdfConversion(
        document=result.document,
        n_pages=result.input.page_count,
        failed_pages=tuple(sorted({error.page_no for error in result.errors if error.page_no})),
        parser="docling-standard",
    )


@functools.cache
def _standard_converter(artifacts_path: str | None, ocr: bool) -> DocumentConverter:  # noqa: FBT001 - a cache key
    options = ThreadedPdfPipelineOptions(artifacts_path=artifacts_path, do_ocr=ocr)
    return DocumentConverter(
        allowed_formats=[InputFormat.PDF],
        format_options={InputFormat.PDF: PdfFormatOption(pipeline_options=options)},
    )
