"""The one entry to the PDF engines: a file becomes a ``DoclingDocument`` and its losses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from docling.backend.docling_parse_backend import ThreadedDoclingParseDocumentBackend
from docling.datamodel.base_models import ConversionStatus, InputFormat
from docling.datamodel.pipeline_options import NativePdfPipelineOptions
from docling.document_converter import DocumentConverter, PdfFormatOption
from docling.pipeline.native_pdf_pipeline import NativePdfPipeline
from docling_core.types.doc import DoclingDocument

from chunking.errors import DocumentError
from jobs.config import ParserConfig

__all__ = ["PdfConversion", "convert_pdf"]


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


def convert_pdf(path: Path, settings: ParserConfig) -> PdfConversion:
    """Read a PDF with the engine that ``settings.pdf`` names.

    Raises:
        DocumentError: ``encrypted`` (a user password), ``corrupt``, ``no_text`` (pages
            without a text layer and no OCR), ``limit``.
    """
    del settings
    option = PdfFormatOption(
        pipeline_cls=NativePdfPipeline,
        pipeline_options=NativePdfPipelineOptions(),
        backend=ThreadedDoclingParseDocumentBackend,
    )
    converter = DocumentConverter(
        allowed_formats=[InputFormat.PDF], format_options={InputFormat.PDF: option}
    )
    result = converter.convert(path, raises_on_error=False)
    if result.status == ConversionStatus.FAILURE:
        msg = "; ".join(item.error_message for item in result.errors) or "not a readable PDF"
        raise DocumentError(msg, kind="corrupt", stage="parse")
    failed = tuple(sorted({item.page_no for item in result.errors if item.page_no}))
    return PdfConversion(
        document=result.document,
        n_pages=result.input.page_count,
        failed_pages=failed,
        parser="docling-native",
    )
