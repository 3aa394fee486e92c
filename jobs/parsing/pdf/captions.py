"""Captions: told by their label, in several languages, and by what they stand beside."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from jobs.parsing.pdf.blocks import Block
from jobs.parsing.pdf.geometry import Frame

__all__ = ["CONTINUED", "captioned_table", "with_captions"]

_TABLES = "tab(?:le|elle|leau|el|la|ella|ela|ell)?|cuadro|taulukko|\u00fcbersicht"
_FIGURES = (
    "fig(?:ure|ur|ura|uur)?|abb(?:ildung)?|bild|gra(?:f|ph)ik|gr\u00e1fico|graphique|chart|graph"
    "|illustration|ilustraci\u00f3n|sch(?:e|\u00e9)ma|scheme|schaubild|diagram(?:m|me)?|exhibit|plate"
    "|map|karte|carte|mapa|kort|listing|algorithm(?:us)?|photo|foto|box"
)
_NUMBER = (
    r"(?:[A-Z]{1,2}[.\u2013-]?)?\d{1,3}(?:[.\u2013-]\d{1,3}){0,3}[a-z]?(?![\w])"
    r"|[IVXL]{1,6}(?!\w)|[A-Z](?:\.\d{1,3})?(?![\w'\u2019])"
)
_LABEL = re.compile(
    rf"(?i:(?P<table>{_TABLES})|{_FIGURES})(?:\.|\b)\s*(?:{_NUMBER})"
    r"(?P<end>\s*(?:[.:|\u2013\u2014-]|\)\s|$))?\s*"
)
CONTINUED = re.compile(r"(?i)\b(?:cont(?:inued|inuaci\u00f3n|\.|d\b)|fort(?:s|setzung|sat)|suite)")

_MAX_CHARS = 900
_MAX_LABEL_REST = 1
_BESIDE_EM = 3.0
_KINDS = frozenset({"text", "heading"})


def with_captions(blocks: Sequence[Block], images: Sequence[Frame]) -> list[Block]:
    """Mark the captions among the blocks of one page.

    A label followed by a stop makes a caption anywhere; without one, as in "Table 2 shows",
    it must stand beside a table or an image and go on like a title.
    """
    shown = [frame for block in blocks if block.kind == "table" for _, frame in block.frames()]
    shown += images
    marked: list[Block] = []
    for block in blocks:
        last = marked[-1] if marked else None
        if last is not None and _titles(last, block, shown):
            marked[-1] = replace(
                last,
                text=f"{last.text} {block.text}",
                lines=last.lines + block.lines,
                pages=last.pages + block.pages,
            )
        elif block.kind in _KINDS and _is_caption(block, shown):
            marked.append(replace(block, kind="caption"))
        else:
            marked.append(block)
    return marked


def captioned_table(blocks: Sequence[Block], index: int) -> int | None:
    """Return the position of the table that the caption at ``index`` names, if one is next to it.

    Captions stand above their tables more often than below.
    """
    match = _LABEL.match(blocks[index].text)
    if match is None or match["table"] is None:
        return None
    for step in (1, -1):
        place = index + step
        while 0 <= place < len(blocks) and blocks[place].kind in ("header", "footer"):
            place += step
        if 0 <= place < len(blocks) and blocks[place].kind == "table":
            return place
    return None


def _is_caption(block: Block, shown: Sequence[Frame]) -> bool:
    match = _LABEL.match(block.text)
    if match is None or len(block.text) > _MAX_CHARS:
        return False
    rest = block.text[match.end() :]
    if match["end"] is not None:
        return bool(rest) or _is_beside(block, shown)
    return rest[:1].isupper() and _is_beside(block, shown)


def _titles(label: Block, block: Block, shown: Sequence[Frame]) -> bool:
    """Tell whether a block is the title below a caption that is only a label."""
    if label.kind != "caption" or block.kind not in _KINDS or len(block.lines) > 3:  # noqa: PLR2004
        return False
    match = _LABEL.match(label.text)
    if match is None or len(label.text) - match.end() > _MAX_LABEL_REST:
        return False
    return _is_beside(block, shown) and not block.text.endswith(".")


def _is_beside(block: Block, shown: Sequence[Frame]) -> bool:
    """Tell whether a block stands right above or below a table or an image."""
    near = _BESIDE_EM * block.size
    return any(
        min(frame.right, other.right) > max(frame.left, other.left)
        and -near / 2 < max(other.top - frame.bottom, frame.top - other.bottom) < near
        for _, frame in block.frames()
        for other in shown
    )
