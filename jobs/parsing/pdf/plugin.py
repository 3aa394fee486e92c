"""The layout rules as a docling plugin, for docling's own pipeline without layout weights.

Declared as entry point ``chunkmill`` of the group ``docling``; docling loads it under
``allow_external_plugins=True`` and uses it with ``layout_options=ChunkmillLayoutOptions()``.
It sees a few pages at a time, so furniture is found only where those pages repeat it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from docling.datamodel.accelerator_options import AcceleratorOptions
from docling.datamodel.base_models import Cluster, LayoutPrediction, Page
from docling.datamodel.document import ConversionResult
from docling.datamodel.pipeline_options import BaseLayoutOptions
from docling.models.base_layout_model import BaseLayoutModel
from docling_core.types.doc import BoundingBox, CoordOrigin, DocItemLabel

from jobs.parsing.pdf.analysis import analyse
from jobs.parsing.pdf.blocks import BlockKind
from jobs.parsing.pdf.lines import Frame, PageText, page_text

__all__ = ["ChunkmillLayoutModel", "ChunkmillLayoutOptions", "layout_engines"]

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


def layout_engines() -> dict[str, list[type[BaseLayoutModel]]]:
    """Return what docling registers."""
    return {"layout_engines": [ChunkmillLayoutModel]}


def _text(page: Page) -> PageText:
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
