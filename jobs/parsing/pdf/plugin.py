"""The layout and table rules as docling plugins, for docling's own pipeline without weights.

Declared as entry point ``chunkmill`` of the group ``docling``; docling loads it under
``allow_external_plugins=True`` and uses it with ``layout_options=ChunkmillLayoutOptions()``
and ``table_structure_options=ChunkmillTableOptions()``.
It sees a few pages at a time, so furniture is found only where those pages repeat it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from docling.backend.docling_parse_backend import ThreadedDoclingParsePageBackend
from docling.datamodel.accelerator_options import AcceleratorOptions
from docling.datamodel.base_models import (
    Cluster,
    LayoutPrediction,
    Page,
    Table,
    TableStructurePrediction,
)
from docling.datamodel.document import ConversionResult
from docling.datamodel.pipeline_options import BaseLayoutOptions, BaseTableStructureOptions
from docling.models.base_layout_model import BaseLayoutModel
from docling.models.base_table_model import BaseTableStructureModel
from docling_core.types.doc import BoundingBox, CoordOrigin, DocItemLabel

from jobs.parsing.pdf.analysis import analyse
from jobs.parsing.pdf.assemble import table_data
from jobs.parsing.pdf.blocks import BlockKind
from jobs.parsing.pdf.geometry import Frame
from jobs.parsing.pdf.lines import PageText, page_text
from jobs.parsing.pdf.reader import read_page

__all__ = [
    "ChunkmillLayoutModel",
    "ChunkmillLayoutOptions",
    "ChunkmillTableModel",
    "ChunkmillTableOptions",
    "layout_engines",
    "table_structure_engines",
]

_TABLE_LABELS = frozenset({DocItemLabel.TABLE, DocItemLabel.DOCUMENT_INDEX})
_MIN_OVERLAP = 0.3

_LABELS: dict[BlockKind, DocItemLabel] = {
    "text": DocItemLabel.TEXT,
    "heading": DocItemLabel.SECTION_HEADER,
    "list_item": DocItemLabel.LIST_ITEM,
    "code": DocItemLabel.CODE,
    "table": DocItemLabel.TABLE,
    "caption": DocItemLabel.CAPTION,
    "footnote": DocItemLabel.FOOTNOTE,
    "header": DocItemLabel.PAGE_HEADER,
    "footer": DocItemLabel.PAGE_FOOTER,
}


class ChunkmillLayoutOptions(BaseLayoutOptions):
    """Selects :class:`ChunkmillLayoutModel` in docling's pipeline options."""

    kind: ClassVar[str] = "chunkmill_layout"


class ChunkmillLayoutModel(BaseLayoutModel):
    """Regions of a page from the positions and sizes of its text; no weights, no images."""

    def __init__(
        self,
        *,
        options: ChunkmillLayoutOptions,
        artifacts_path: Path | None = None,
        accelerator_options: AcceleratorOptions | None = None,
        enable_remote_services: bool = False,
    ) -> None:
        del artifacts_path, accelerator_options, enable_remote_services
        self.options = options

    @classmethod
    def get_options_type(cls) -> type[BaseLayoutOptions]:
        """Return the options that select this model."""
        return ChunkmillLayoutOptions

    def predict_layout(
        self, conv_res: ConversionResult, pages: Sequence[Page]
    ) -> Sequence[LayoutPrediction]:
        """Return one prediction per page, in the order given."""
        del conv_res
        texts = {page.page_no: _text(page) for page in pages}
        clusters: dict[int, list[Cluster]] = {page.page_no: [] for page in pages}
        for block in analyse(list(texts.values())).blocks:
            for page_no, frame in block.frames():
                page_clusters = clusters[page_no]
                page_clusters.append(
                    Cluster(
                        id=len(page_clusters),
                        label=_LABELS[block.kind],
                        bbox=_box(texts[page_no].on_page(frame)),
                    )
                )
        return [LayoutPrediction(clusters=clusters[page.page_no]) for page in pages]


class ChunkmillTableOptions(BaseTableStructureOptions):
    """Selects :class:`ChunkmillTableModel` in docling's pipeline options."""

    kind: ClassVar[str] = "chunkmill_tables"


class ChunkmillTableModel(BaseTableStructureModel):
    """Cells of tables from rules and from where words stand; no weights, no images."""

    def __init__(
        self,
        *,
        options: ChunkmillTableOptions,
        enabled: bool = True,
        artifacts_path: Path | None = None,
        accelerator_options: AcceleratorOptions | None = None,
        enable_remote_services: bool = False,
    ) -> None:
        del artifacts_path, accelerator_options, enable_remote_services
        self.options = options
        self.enabled = enabled

    @classmethod
    def get_options_type(cls) -> type[BaseTableStructureOptions]:
        """Return the options that select this model."""
        return ChunkmillTableOptions

    def predict_tables(
        self, conv_res: ConversionResult, pages: Sequence[Page]
    ) -> Sequence[TableStructurePrediction]:
        """Return one prediction per page: the tables whose places docling found, too."""
        del conv_res
        return [TableStructurePrediction(table_map=_tables(page)) for page in pages]


def _tables(page: Page) -> dict[int, Table]:
    layout = page.predictions.layout
    wanted = [
        cluster for cluster in (layout.clusters if layout else ()) if cluster.label in _TABLE_LABELS
    ]
    text = _text(page)
    found = [block for block in analyse([text]).blocks if block.kind == "table"] if wanted else []
    tables = {}
    for block in found:
        box = _box(text.on_page(block.frames()[0][1]))
        cluster = max(wanted, key=lambda each: each.bbox.intersection_over_union(box))
        if cluster.bbox.intersection_over_union(box) < _MIN_OVERLAP or cluster.id in tables:
            continue
        data = table_data(block)
        tables[cluster.id] = Table(
            otsl_seq=[],
            table_cells=data.table_cells,
            num_rows=data.num_rows,
            num_cols=data.num_cols,
            id=cluster.id,
            page_no=page.page_no,
            cluster=cluster,
            label=cluster.label,
        )
    return tables


def layout_engines() -> dict[str, list[type[BaseLayoutModel]]]:
    """Return what docling registers."""
    return {"layout_engines": [ChunkmillLayoutModel]}


def table_structure_engines() -> dict[str, list[type[BaseTableStructureModel]]]:
    """Return what docling registers."""
    return {"table_structure_engines": [ChunkmillTableModel]}


def _text(page: Page) -> PageText:
    backend = page._backend  # noqa: SLF001 - docling's own models read it so
    if isinstance(backend, ThreadedDoclingParsePageBackend) and backend.is_valid():
        text = read_page(backend._result).text  # noqa: SLF001 - letters and rules are only there
        if text is not None:
            return text
    cells = page.parsed_page.textline_cells if page.parsed_page else []
    width, height = (page.size.width, page.size.height) if page.size else (0.0, 0.0)
    return page_text(page.page_no, width, height, cells)


def _box(frame: Frame) -> BoundingBox:
    return BoundingBox(
        l=frame.left,
        t=frame.top,
        r=frame.right,
        b=frame.bottom,
        coord_origin=CoordOrigin.TOPLEFT,
    )
