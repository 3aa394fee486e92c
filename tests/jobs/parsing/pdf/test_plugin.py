from __future__ import annotations

from pathlib import Path

import pytest
from docling.datamodel.base_models import InputFormat
from docling.datamodel.pipeline_options import ThreadedPdfPipelineOptions
from docling.document_converter import DocumentConverter, PdfFormatOption
from docling_core.types.doc import DocItemLabel

from jobs.parsing.pdf.plugin import ChunkmillLayoutOptions
from tests.jobs.parsing.pdfs import BOLD, paragraph, pdf


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # docling reads its own old options
def test_works_in_doclings_own_pipeline(tmp_path: Path) -> None:
    """Docling finds the plugin by its entry point and uses its regions, without weights."""
    path = tmp_path / "a.pdf"
    lines = ["Plain words fill the line of the page", "and another line of it."]
    path.write_bytes(pdf([[(60, 790, BOLD, 16, "Heading"), *paragraph(lines)]]))
    options = ThreadedPdfPipelineOptions(
        do_ocr=False,
        do_table_structure=False,
        allow_external_plugins=True,
        layout_options=ChunkmillLayoutOptions(),
    )
    converter = DocumentConverter(
        allowed_formats=[InputFormat.PDF],
        format_options={InputFormat.PDF: PdfFormatOption(pipeline_options=options)},
    )
    items = [(item.label, item.text) for item in converter.convert(path).document.texts]
    assert items == [
        (DocItemLabel.SECTION_HEADER, "Heading"),
        (DocItemLabel.TEXT, " ".join(lines)),
    ]
