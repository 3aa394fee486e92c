"""docling behind one function: bytes of a known format become a DoclingDocument.

The only module that makes docling converters; nothing is fetched from the network
or from other files, and file names play no part.
"""

from __future__ import annotations

import functools
import logging
import warnings
from io import BytesIO

from docling.datamodel.backend_options import AsciiDocBackendOptions
from docling.datamodel.base_models import DocumentStream, InputFormat
from docling.document_converter import AsciiDocFormatOption, DocumentConverter, FormatOption
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


def read_with_docling(data: bytes, input_format: InputFormat) -> DoclingDocument:
    """Convert bytes with docling's reader of a format.

    Raises:
        DocumentError: ``corrupt``; docling could not read them.
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


@functools.cache
def _converter(input_format: InputFormat) -> DocumentConverter:
    logging.getLogger("docling").setLevel(logging.CRITICAL)
    options: dict[InputFormat, FormatOption] = {}
    if input_format is InputFormat.ASCIIDOC:
        backend = AsciiDocBackendOptions(capture_comments=False)
        options[input_format] = AsciiDocFormatOption(backend_options=backend)
    return DocumentConverter(allowed_formats=[input_format], format_options=options or None)
