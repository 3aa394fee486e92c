"""PDFium as the second reader: for files and pages that docling-parse cannot make sense of.

It opens more damaged files and knows more character maps, but tells no fonts, so it
reads only what the first could not.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from docling.backend.pypdfium2_backend import PyPdfiumDocumentBackend
from docling.datamodel.base_models import InputFormat
from docling.datamodel.document import InputDocument

from jobs.parsing.pdf.legible import MAX_ILLEGIBLE, illegible_share
from jobs.parsing.pdf.lines import PageText, page_text

__all__ = ["illegible", "is_better", "is_doubtful", "read_pages"]


def is_doubtful(page: PageText) -> bool:
    """Tell whether a page has no text, or one that does not mean what the page shows."""
    return not _text(page) or illegible(page) > MAX_ILLEGIBLE


def is_better(page: PageText, first: PageText) -> bool:
    """Tell whether a second reading of a page makes more sense than the first."""
    if not _text(first):
        return bool(_text(page))
    return bool(_text(page)) and illegible(page) < illegible(first)


def read_pages(path: Path, wanted: Iterable[int] | None = None) -> dict[int, PageText]:
    """Return pages by number (all, or those wanted); those that cannot be read are absent."""
    source = InputDocument(path, InputFormat.PDF, PyPdfiumDocumentBackend)
    backend = getattr(source, "_backend", None)
    if not isinstance(backend, PyPdfiumDocumentBackend) or not source.valid:
        return {}
    with contextlib.closing(_Unloading(backend)):
        numbers = range(1, backend.page_count() + 1) if wanted is None else wanted
        pages = {number: _page(backend, number) for number in numbers}
    return {number: page for number, page in pages.items() if page is not None}


class _Unloading:
    def __init__(self, backend: PyPdfiumDocumentBackend) -> None:
        self.close = backend.unload


def _page(backend: PyPdfiumDocumentBackend, number: int) -> PageText | None:
    page = backend.load_page(number - 1)
    try:
        content = page.get_segmented_page()
        if content is None:
            return None
        size = page.get_size()
        text = page_text(number, size.width, size.height, content.textline_cells)
    finally:
        page.unload()
    return text


def _text(page: PageText) -> str:
    return "\n".join(line.text for line in (*page.lines, *page.across))


def illegible(page: PageText) -> float:
    """Return which share of a page's text has no meaning."""
    return illegible_share(_text(page))
