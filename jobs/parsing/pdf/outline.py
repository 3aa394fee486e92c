"""The outline of a PDF (its bookmarks): headings by the word of whoever made the file."""

from __future__ import annotations

import contextlib
import itertools
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pypdfium2

from jobs.parsing.pdf.blocks import Block

__all__ = ["Entry", "read_outline", "with_outline"]

_MAX_DEPTH = 6
_MAX_ENTRIES = 10_000
_MAX_CHARS = 200
_NUMBER = re.compile(r"\s*(?:\u00a7\s*)?(?:\d{1,3}|[A-Z]|[IVXL]{1,6})(?:\.\d{1,3})*[.)]?\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One heading: its ``level`` from 1, its title, and the page (from 1) that it leads to."""

    title: str
    level: int
    page: int


def read_outline(path: Path) -> tuple[Entry, ...]:
    """Return the entries of a file's outline that lead to pages; none if it cannot be read."""
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError:
        return ()
    entries = []
    with contextlib.closing(document), contextlib.suppress(pypdfium2.PdfiumError):
        for item in itertools.islice(document.get_toc(max_depth=_MAX_DEPTH), _MAX_ENTRIES):
            target = item.get_dest()
            page = target.get_index() if target is not None else None
            if page is not None:
                entries.append(Entry(title=item.get_title(), level=item.level + 1, page=page + 1))
    return tuple(entries)


def with_outline(blocks: Sequence[Block], outline: Sequence[Entry]) -> list[Block]:
    """Return the blocks, those that the outline names as headings of its levels."""
    wanted = {(entry.page, name): entry for entry in outline for name in _names(entry.title)}
    named: list[Block] = []
    for block in blocks:
        entry = _entry_of(block, wanted)
        if entry is None:
            named.append(block)
            continue
        for name in _names(entry.title):
            wanted.pop((entry.page, name), None)
        text = f"{block.marker} {block.text}".strip()
        named.append(replace(block, kind="heading", level=entry.level, text=text, marker=""))
    return named


def _entry_of(block: Block, wanted: dict[tuple[int, str], Entry]) -> Entry | None:
    if block.kind not in ("heading", "text", "list_item") or len(block.text) > _MAX_CHARS:
        return None
    page = block.pages[0]
    for name in _names(f"{block.marker} {block.text}".strip()):
        # A heading at the top of a page may be led to by the end of the page before.
        entry = wanted.get((page, name)) or wanted.get((page - 1, name))
        if entry is not None:
            return entry
    return None


def _names(title: str) -> tuple[str, ...]:
    """Return a title as it is compared: its letters and figures, with and without its number."""
    plain = unicodedata.normalize("NFKC", title)
    bare = _NUMBER.sub("", plain, count=1)
    names = ("".join(filter(str.isalnum, each)).casefold() for each in (plain, bare))
    return tuple(dict.fromkeys(filter(None, names)))
