"""docling behind one function: bytes of a known format become a DoclingDocument.

The only module that makes docling converters; nothing is fetched from the network
or from other files, no program is started, and file names play no part.
"""

from __future__ import annotations

import functools
import logging
import warnings
from io import BytesIO

from docling.backend import msexcel_backend, mspowerpoint_backend, msword_backend
from docling.datamodel.backend_options import (
    AsciiDocBackendOptions,
    MsExcelBackendOptions,
    OdsBackendOptions,
)
from docling.datamodel.base_models import DocumentStream, InputFormat
from docling.document_converter import (
    AsciiDocFormatOption,
    DocumentConverter,
    ExcelFormatOption,
    FormatOption,
    OdsFormatOption,
)
from docling.exceptions import ConversionError
from docling_core.types.doc import DoclingDocument

from chunking.errors import DocumentError

__all__ = ["read_with_docling"]

_EXTENSIONS = {
    InputFormat.ASCIIDOC: "adoc",
    InputFormat.LATEX: "tex",
    InputFormat.XML_JATS: "xml",
    InputFormat.XML_USPTO: "xml",
    InputFormat.JSON_DOCLING: "json",
}
_PACKAGES = (InputFormat.PPTX, InputFormat.XLSX)


def read_with_docling(data: bytes, input_format: InputFormat) -> DoclingDocument:
    """Convert bytes with docling's reader of a format.

    Raises:
        DocumentError: ``corrupt``: docling could not read them.
    """
    extension = _EXTENSIONS.get(input_format, input_format.value)
    stream = DocumentStream(name=f"document.{extension}", stream=BytesIO(data))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _converter(input_format).convert(stream).document
    except ConversionError as error:
        msg = f"the {input_format.value} reader failed: {error}"
        raise DocumentError(msg, kind="corrupt", stage="parse") from error
    except (KeyError, RuntimeError) as error:
        # python-pptx and openpyxl raise KeyError for a part that is named and not there.
        lost = error if isinstance(error, KeyError) else error.__cause__
        if input_format not in _PACKAGES or not isinstance(lost, KeyError):
            raise
        msg = f"the {input_format.value} file lacks a part: {lost.args[0]}"
        raise DocumentError(msg, kind="corrupt", stage="parse") from error


@functools.cache
def _converter(input_format: InputFormat) -> DocumentConverter:
    logging.getLogger("docling").setLevel(logging.CRITICAL)
    options: dict[InputFormat, FormatOption] = {}
    _keep_office_out()
    if input_format is InputFormat.XLSX:
        cells = MsExcelBackendOptions(treat_singleton_as_text=True)
        options[input_format] = ExcelFormatOption(backend_options=cells)
    elif input_format is InputFormat.ODS:
        options[input_format] = OdsFormatOption(
            backend_options=OdsBackendOptions(treat_singleton_as_text=True)
        )
    elif input_format is InputFormat.ASCIIDOC:
        backend = AsciiDocBackendOptions(capture_comments=False)
        options[input_format] = AsciiDocFormatOption(backend_options=backend)
    return DocumentConverter(allowed_formats=[input_format], format_options=options or None)


def _keep_office_out() -> None:
    """Let docling find no LibreOffice.

    Where it is installed docling starts it unasked, to draw pictures that are not used
    here (docling-project/docling#3819).
    """
    for backend in (msexcel_backend, mspowerpoint_backend, msword_backend):
        setattr(backend, "get_docx_to_pdf_converter", _no_converter)  # noqa: B010 - not typed as a variable


def _no_converter() -> None:
    return None
