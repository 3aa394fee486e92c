"""The page: one HTML file that needs no network, reads without JavaScript, and prints.

Its content security policy allows the page's own style and script, by their hashes,
and nothing else, so that even a mistake in escaping could not run what a document says.

The page stays light whatever the document's size. Chunks are drawn in full (tables as
tables, parts by kind) until :data:`FULL_ELEMENTS` are spent; further ones plainly, in
six elements each, up to :data:`PLAIN_CHUNKS`; the rest as text, :data:`GROUP` to an
element. Nothing of the text is left out.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from jobs.inspection.body import Part, chunk_parts
from jobs.inspection.curve import BARS_HEIGHT, HEIGHT, LEFT, RIGHT, WIDTH, draw_curve, histogram
from jobs.inspection.facts import furniture, repeated_tokens, setting_lines, strategy
from jobs.notebook.display import ends, facts, pages, path
from jobs.notebook.values import Chunks, ChunkView
from jobs.visible import visible, visible_line

__all__ = ["FULL_ELEMENTS", "GROUP", "PLAIN_CHUNKS", "render_page"]

FULL_ELEMENTS = 30_000
PLAIN_CHUNKS = 4_000
GROUP = 200

_FRAME_ELEMENTS = 16
_PART_ELEMENTS = 4
_FURNITURE = 200
_LONG = 100
"""With more chunks, those outside the window are not laid out before they are scrolled to."""
_WARNINGS = 50
_TABLE_ROWS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawn:
    """A chunk to be drawn in full."""

    view: ChunkView
    parts: Sequence[Part]
    repeated: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layers:
    """The chunks by how they are drawn."""

    full: Sequence[_Drawn]
    plain: Sequence[ChunkView]
    groups: Sequence[Sequence[ChunkView]]


def render_page(chunks: Chunks) -> str:
    """Return the page of a document's chunks."""
    environment = _environment()
    style, script = (_own(name) for name in ("page.css", "page.js"))
    curve = draw_curve(chunks)
    marked = [mark.view for mark in curve.marks] if curve else []
    listed = list(chunks) if len(chunks) <= _TABLE_ROWS else marked
    shown, more = furniture(chunks, _FURNITURE)
    warnings = chunks.document.warnings
    return environment.get_template("page.html").render(
        name=visible_line(chunks.document.key),
        policy=_policy(style, script),
        facts=facts(chunks.document),
        settings=setting_lines(chunks),
        strategy=strategy(chunks) or "none",
        gradient=chunks.settings.threshold_type == "gradient",
        cap=chunks.settings.max_tokens,
        chunks=chunks,
        layers=_layers(chunks),
        curve=curve,
        marked={view.index for view in marked},
        listed=listed,
        bins=histogram([view.n_tokens for view in chunks], chunks.settings.max_tokens),
        width=WIDTH,
        left=LEFT,
        right=WIDTH - RIGHT,
        height=HEIGHT,
        bars_height=BARS_HEIGHT,
        long=len(chunks) > _LONG,
        reasons=sorted({view.reason for view in chunks}),
        kinds=sorted({view.kind for view in chunks}),
        warnings=warnings[:_WARNINGS],
        n_warnings=len(warnings),
        furniture=shown,
        more_furniture=more,
    )


def _layers(chunks: Chunks) -> _Layers:
    """Draw in full while there is room; what comes after, plainly; the rest as text."""
    full: list[_Drawn] = []
    spent = 0
    before: ChunkView | None = None
    for view, parts in zip(chunks, chunk_parts(chunks), strict=True):
        spent += _elements(view, parts)
        if spent > FULL_ELEMENTS:
            break
        full.append(_Drawn(view=view, parts=parts, repeated=repeated_tokens(before, view)))
        before = view
    rest = chunks[len(full) :]
    later = rest[PLAIN_CHUNKS:]
    return _Layers(
        full=full,
        plain=rest[:PLAIN_CHUNKS],
        groups=[later[i : i + GROUP] for i in range(0, len(later), GROUP)],
    )


def _elements(view: ChunkView, parts: Sequence[Part]) -> int:
    cells = sum(
        part.table.n_cells + len(part.table.rows) for part in parts if part.table is not None
    )
    return _FRAME_ELEMENTS + len(view.heading_path) + _PART_ELEMENTS * len(parts) + cells


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("jobs.inspection", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {
        "visible": visible,
        "visible_line": visible_line,
        "ends": ends,
        "pages": pages,
        "path": path,
    }
    environment.filters.update(filters)
    return environment


def _own(name: str) -> str:
    """Return the page's own style or script, exactly as it is included."""
    return _environment().get_template(name).render()


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()
