"""Builds a :class:`Document` piece by piece, so that every reader obeys one set of rules.

The canonical text: blocks in reading order separated by one blank line, the items
of one list by a line end; outer blanks of a block dropped, blank blocks left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chunking.model import Block, BlockKind, Box, Document
from jobs.parsing.language import detect_block_languages, detect_language
from jobs.parsing.text import clean, clean_metadata, split_paragraphs

__all__ = ["DocumentBuilder"]

_FENCE = re.compile("`{3,}")
_INDENT = "  "
_BULLET = "-"
_PROSE = frozenset({"title", "heading", "paragraph", "list_item", "caption", "footnote", "other"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    text: str
    kind: BlockKind
    level: int | None
    heading_path: tuple[str, ...]
    list_id: int | None
    code_language: str | None
    rows: tuple[int, ...]
    boxes: tuple[Box, ...]
    page: int | None


class DocumentBuilder:
    """Collects blocks in reading order; :meth:`build` makes the document.

    Every method takes ``boxes`` and, where a format has pages without boxes,
    ``page``; blank text adds nothing.
    """

    def __init__(self) -> None:
        self._pieces: list[_Piece] = []
        self._stack: list[tuple[int, str]] = []
        self._path: tuple[str, ...] = ()
        self._furniture: list[str] = []
        self._damaged = False
        self.metadata: dict[str, str] = {}
        self.warnings: list[str] = []
        self.title: str | None = None

    @property
    def empty(self) -> bool:
        """Whether no block has been added yet."""
        return not self._pieces

    def heading(
        self,
        text: str,
        level: int,
        *,
        title: bool = False,
        boxes: Sequence[Box] = (),
        page: int | None = None,
    ) -> None:
        """Add a heading, which all that follows stands under until one of its level comes.

        ``level`` counts from 1; 0 is allowed for a title above all headings.
        """
        line = _one_line(self._clean(text))
        if not line:
            return
        while self._stack and self._stack[-1][0] >= level:
            self._stack.pop()
        self._path = tuple(name for _, name in self._stack)
        kind: BlockKind = "title" if title else "heading"
        self._append(line, kind, level=None if title else max(level, 1), boxes=boxes, page=page)
        self._stack.append((level, line))
        self._path = (*self._path, line)

    def section(self) -> tuple[tuple[int, str], ...]:
        """Return where in the heading hierarchy the document stands."""
        return tuple(self._stack)

    def return_to(self, section: tuple[tuple[int, str], ...]) -> None:
        """Go back to where :meth:`section` was: what follows stands under those headings."""
        self._stack = list(section)
        self._path = tuple(name for _, name in section)

    def add(
        self, kind: BlockKind, text: str, *, boxes: Sequence[Box] = (), page: int | None = None
    ) -> None:
        """Add prose of a kind; blank lines in it separate blocks."""
        for part in split_paragraphs(self._clean(text)):
            self._append(part, kind, boxes=boxes, page=page)

    def list_item(
        self,
        text: str,
        *,
        depth: int = 1,
        marker: str = _BULLET,
        list_id: int = 0,
        boxes: Sequence[Box] = (),
        page: int | None = None,
    ) -> None:
        """Add an item of the list ``list_id`` (its outermost list); depth counts from 1."""
        first, *others = split_paragraphs(self._clean(text)) or [""]
        if not first:
            return
        lead = _INDENT * (depth - 1) + (f"{marker} " if marker else "")
        self._append(
            lead + first, "list_item", level=depth, list_id=list_id, boxes=boxes, page=page
        )
        for part in others:
            self._append(part, "paragraph", boxes=boxes, page=page)

    def code(
        self,
        text: str,
        language: str | None = None,
        *,
        info: str | None = None,
        boxes: Sequence[Box] = (),
        page: int | None = None,
    ) -> None:
        """Add code, verbatim between fences longer than any fence inside.

        ``info``: what stands behind the opening fence where that is more than the
        language, such as the name of a file.
        """
        code = self._clean(text).removesuffix("\n")
        if not code.strip():
            return
        longest = max((len(found) for found in _FENCE.findall(code)), default=2)
        fence = "`" * (longest + 1)
        line = " ".join(self._clean(info or "").replace("`", "").split()) or language or ""
        block = f"{fence}{line}\n{code}\n{fence}"
        self._append(block, "code", code_language=language, boxes=boxes, page=page)

    def table(
        self,
        rows: Iterable[Sequence[str]],
        *,
        header: bool = True,
        boxes: Sequence[Box] = (),
        page: int | None = None,
    ) -> None:
        r"""Add a Markdown table; its first row is the header unless ``header`` is false.

        Blank rows are left out, short ones filled up. Cells are one line each, with
        ``|`` written as ``\|``. Without a header the header line has blank cells.
        """
        grid = [cells for row in rows if any(cells := [self._cell(cell) for cell in row])]
        width = max((len(row) for row in grid), default=0)
        if not width:
            return
        if not header:
            grid.insert(0, [])
        lines = []
        for row in grid:
            filled = row + [""] * (width - len(row))
            lines.append(f"| {' | '.join(filled)} |")
        lines[0] += "\n|" + " --- |" * width
        starts, position = [], 0
        for line in lines:
            starts.append(position)
            position += len(line) + 1
        self._append("\n".join(lines), "table", rows=tuple(starts), boxes=boxes, page=page)

    def furniture(self, text: str) -> None:
        """Add a running head, foot or page number: kept beside the text."""
        line = self._clean(text).strip()
        if line:
            self._furniture.append(line)

    def warn(self, message: str) -> None:
        """Say what was lost or replaced; equal messages once."""
        if message not in self.warnings:
            self.warnings.append(clean(message))

    def build(self, *, n_pages: int | None = None, language: str | None = None) -> Document:
        """Return the document; languages are told from its prose, its own if not given."""
        blocks: list[Block] = []
        parts: list[str] = []
        position = 0
        for index, piece in enumerate(self._pieces):
            gap = self._gap(index)
            start = position + len(gap)
            position = start + len(piece.text)
            parts += (gap, piece.text)
            blocks.append(_block(piece, index=index, start=start))
        if self._damaged:
            self.warn("characters that are no text (NUL, lone surrogates) became U+FFFD")
        document = Document(
            text="".join(parts),
            blocks=tuple(blocks),
            title=self._title(),
            language=language or detect_language(p.text for p in self._pieces if p.kind in _PROSE),
            n_pages=n_pages,
            furniture=tuple(self._furniture),
            metadata=clean_metadata(self.metadata),
        )
        return detect_block_languages(document)

    def _title(self) -> str | None:
        given = " ".join(clean(self.title or "").split())
        if given:
            return given
        names = [p.text for p in self._pieces if p.kind == "title"]
        tops = [p.text for p in self._pieces if p.kind == "heading" and p.level == 1]
        return next(iter(names), tops[0] if len(tops) == 1 else None)

    def _gap(self, index: int) -> str:
        if index == 0:
            return ""
        before, piece = self._pieces[index - 1], self._pieces[index]
        same_list = piece.list_id is not None and piece.list_id == before.list_id
        return "\n" if same_list else "\n\n"

    def _cell(self, text: str) -> str:
        return _one_line(self._clean(text)).replace("|", "\\|")

    def _clean(self, text: str) -> str:
        cleaned = clean(text)
        self._damaged = self._damaged or cleaned != text
        return cleaned

    def _append(
        self,
        text: str,
        kind: BlockKind,
        *,
        level: int | None = None,
        list_id: int | None = None,
        code_language: str | None = None,
        rows: tuple[int, ...] = (),
        boxes: Sequence[Box] = (),
        page: int | None = None,
    ) -> None:
        self._pieces.append(
            _Piece(
                text=text,
                kind=kind,
                level=level,
                heading_path=self._path,
                list_id=list_id,
                code_language=code_language,
                rows=rows,
                boxes=tuple(boxes),
                page=page,
            )
        )


def _one_line(text: str) -> str:
    return " ".join(filter(None, map(str.strip, text.split("\n"))))


def _block(piece: _Piece, *, index: int, start: int) -> Block:
    pages = [box.page for box in piece.boxes] or ([piece.page] if piece.page else [])
    return Block(
        index=index,
        kind=piece.kind,
        start=start,
        end=start + len(piece.text),
        level=piece.level,
        heading_path=piece.heading_path,
        page_start=min(pages, default=None),
        page_end=max(pages, default=None),
        code_language=piece.code_language,
        row_starts=tuple(start + offset for offset in piece.rows),
        boxes=piece.boxes,
    )
