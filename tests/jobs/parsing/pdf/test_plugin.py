from __future__ import annotations

from pathlib import Path

import pytest
from docling.datamodel.base_models import InputFormat
from docling.datamodel.pipeline_options import ThreadedPdfPipelineOptions
from docling.document_converter import DocumentConverter, PdfFormatOption
from docling_core.types.doc import DocItemLabel

from jobs.parsing.pdf.plugin import ChunkmillLayoutOptions, ChunkmillTableOptions
from tests.jobs.parsing.pdfs import BOLD, Rule, Text, grid, paragraph, pdf, rows


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # docling reads its own old options
def test_works_in_doclings_own_pipeline(tmp_path: Path) -> None:
    """Docling finds the plugins by their entry point: regions and table cells without weights."""
    path = tmp_path / "a.pdf"
    lines = ["Plain words fill the line of the page", "and another line of it."]
    cells = [("Berth", "Ships"), ("A1", "12"), ("A2", "7")]
    page: list[Text | Rule] = [
        (60, 790, BOLD, 16, "Heading"),
        *paragraph(lines),
        *rows(cells, (64, 184), top=601),
        *grid((60, 180, 300), (612, 598, 584, 570)),
    ]
    path.write_bytes(pdf([page]))
    options = ThreadedPdfPipelineOptions(
        do_ocr=False,
        do_table_structure=True,
        table_structure_options=ChunkmillTableOptions(),
        allow_external_plugins=True,
        layout_options=ChunkmillLayoutOptions(),
    )
    converter = DocumentConverter(
        allowed_formats=[InputFormat.PDF],
        format_options={InputFormat.PDF: PdfFormatOption(pipeline_options=options)},
    )
    document = converter.convert(path).document
    assert [(item.label, item.text) for item in document.texts] == [
        (DocItemLabel.SECTION_HEADER, "Heading"),
        (DocItemLabel.TEXT, " ".join(lines)),
    ]
    table = document.tables[0].data
    assert [tuple(cell.text for cell in row) for row in table.grid] == cells
    assert [cell.column_header for cell in table.grid[0]] == [True, True]
