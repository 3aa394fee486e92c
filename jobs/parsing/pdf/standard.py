"""docling's standard pipeline: the only place that loads its weights.

They lie in ``parser.artifacts_path`` as ``docling-tools models download`` lays them out:
one folder per model, named after its repository. Tables are structured by TableFormer
where its weights are there, too, else by our own rules as a plugin.
"""

from __future__ import annotations

import functools
import logging
import warnings
from dataclasses import dataclass
from pathlib import Path

from docling.datamodel.accelerator_options import AcceleratorDevice, AcceleratorOptions
from docling.datamodel.base_models import ConversionStatus, InputFormat
from docling.datamodel.pipeline_options import (
    LayoutObjectDetectionOptions,
    OcrAutoOptions,
    OcrOptions,
    RapidOcrOptions,
    TableStructureOptions,
    TesseractOcrOptions,
    ThreadedPdfPipelineOptions,
)
from docling.datamodel.settings import DEFAULT_PAGE_RANGE
from docling.document_converter import DocumentConverter, PdfFormatOption
from docling_core.types.doc import DoclingDocument
from safetensors import SafetensorError

from chunking.errors import ConfigError
from jobs.config import ParserConfig
from jobs.parsing.pdf.plugin import ChunkmillTableOptions

__all__ = ["STANDARD", "StandardResult", "check_weights", "read_standard"]

STANDARD = "docling-standard"
_DOWNLOAD = "fetch them with: docling-tools models download -o FOLDER layout tableformer"
_TABLES = Path("docling-project--docling-models", "model_artifacts", "tableformer")
_UNUSABLE = (
    *(OSError, RuntimeError, ValueError, LookupError, TypeError, AttributeError),
    SafetensorError,
)
"""What docling and its libraries raise for weights that are missing, damaged or others'."""

Ocr = tuple[str, tuple[str, ...]]
"""An OCR engine and its languages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandardResult:
    """What docling made of a file or page; ``document`` is None, with reasons, for nothing."""

    document: DoclingDocument | None
    n_pages: int
    failed: frozenset[int] = frozenset()
    reasons: str = ""


def check_weights(settings: ParserConfig) -> None:
    """Load the weights, if any are named and may be used.

    Raises:
        ConfigError: they are missing or cannot be used.
    """
    if settings.artifacts_path is None or settings.pdf == "fast":
        return
    folder = Path(settings.artifacts_path)
    layout = folder / _layout_name()
    if not layout.is_dir():
        msg = f"parser.artifacts_path is {folder}, but {layout} is missing; {_DOWNLOAD}"
        raise ConfigError(msg)
    try:
        with warnings.catch_warnings(action="ignore"):
            _converter(settings.artifacts_path, None).initialize_pipeline(InputFormat.PDF)
    except _UNUSABLE as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        msg = f"the weights in parser.artifacts_path = {folder} cannot be used: {reason}"
        raise ConfigError(msg) from error
    finally:
        _converter.cache_clear()


def read_standard(
    path: Path, settings: ParserConfig, *, page: int | None = None, ocr: Ocr | None = None
) -> StandardResult:
    """Convert a file, or one page of it, which keeps its number."""
    pages = DEFAULT_PAGE_RANGE if page is None else (page, page)
    with warnings.catch_warnings(action="ignore"):
        converter = _converter(settings.artifacts_path, ocr)
        result = converter.convert(path, raises_on_error=False, page_range=pages)
    failed = frozenset(error.page_no for error in result.errors if error.page_no)
    reasons = "; ".join(error.error_message for error in result.errors)
    lost = result.status is ConversionStatus.FAILURE or page in failed
    return StandardResult(
        document=None if lost else result.document,
        n_pages=result.input.page_count,
        failed=failed,
        reasons=reasons,
    )


def _layout_name() -> str:
    return LayoutObjectDetectionOptions().model_spec.repo_id.replace("/", "--")


@functools.cache
def _converter(artifacts_path: str | None, ocr: Ocr | None) -> DocumentConverter:
    tables = artifacts_path is not None and (Path(artifacts_path) / _TABLES).is_dir()
    options = ThreadedPdfPipelineOptions(
        artifacts_path=artifacts_path,
        do_ocr=ocr is not None,
        ocr_options=_ocr_options(ocr),
        table_structure_options=TableStructureOptions() if tables else ChunkmillTableOptions(),
        allow_external_plugins=not tables,
        accelerator_options=AcceleratorOptions(num_threads=1, device=AcceleratorDevice.CPU),
    )
    logging.getLogger("docling").setLevel(logging.CRITICAL)
    return DocumentConverter(
        allowed_formats=[InputFormat.PDF],
        format_options={InputFormat.PDF: PdfFormatOption(pipeline_options=options)},
    )


def _ocr_options(ocr: Ocr | None) -> OcrOptions:
    if ocr is None:
        return OcrAutoOptions()
    if ocr[0] == "rapidocr":
        return RapidOcrOptions()
    return TesseractOcrOptions(lang=list(ocr[1]) or ["eng"])
