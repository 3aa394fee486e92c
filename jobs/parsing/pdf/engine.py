"""The one entry to the PDF engines: a file becomes canonical text, with what was lost.

The fast engine reads docling-parse's text cells and lays the pages out itself. It does
not run inside docling's standard pipeline, because that renders every page and shows a
layout engine a few pages at a time, while furniture, letter sizes and broken words need
the whole document; there, :mod:`jobs.parsing.pdf.plugin` offers the same rules per page.

Each page takes its way by itself: the fast one where it has sound text and a plain
layout, OCR where its text is missing or broken, docling's network where its weights are
given and the layout is complex (:mod:`jobs.parsing.pdf.routing`).
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from docling_core.types.doc import DoclingDocument

from chunking.errors import DocumentError
from jobs.config import ParserConfig
from jobs.parsing.builder import DocumentBuilder
from jobs.parsing.canonical import Places, add_docling
from jobs.parsing.careful import AT_ONCE, Pages
from jobs.parsing.converted import Converted
from jobs.parsing.members import Bin, Room
from jobs.parsing.ocr import INSTALL_HINT, OcrEngine, engine_of
from jobs.parsing.pdf.analysis import Layout, analyse
from jobs.parsing.pdf.assemble import assemble
from jobs.parsing.pdf.beside import add_notes, read_beside
from jobs.parsing.pdf.gather import FilePages, gather
from jobs.parsing.pdf.lines import Line, PageText
from jobs.parsing.pdf.outline import Entry, read_outline
from jobs.parsing.pdf.routing import complexity
from jobs.parsing.pdf.scans import BROKEN, LARGE_SHARE, Shown, blank_pages, need, read_scans
from jobs.parsing.pdf.second import illegible

__all__ = ["PdfConversion", "convert_pdf", "read_pdf"]

_NO_TEXT = f"no page has a text layer; to read scans by OCR, {INSTALL_HINT}"
_FAST = "pdf-fast"
_STANDARD = "docling-standard"
_KEPT_SHARE = 0.97
"""Of a page's letters, that docling's network must keep for its reading to be taken."""
_ENOUGH_OCR = 0.8
"""Of a broken page's legible letters, that OCR must read to take its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PdfConversion:
    """A PDF that was read, and what could not be.

    ``documents``: its parts in order, one after each change of the engine. ``losses``: what
    is missing, by pages; where there is some, the result is ``partial``. ``notes``: pages
    that were read in another way than the rest, and why. ``parser`` names the engines, for
    ``documents.parser``.
    """

    documents: tuple[DoclingDocument, ...]
    n_pages: int
    parser: str
    losses: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def document(self) -> DoclingDocument:
        """The first part: the whole, where one engine has read it."""
        return self.documents[0]


def convert_pdf(
    path: Path,
    *,
    name: str,
    settings: ParserConfig,
    pages: Pages = AT_ONCE,
    members: Bin | None = None,
) -> Converted:
    """Read a PDF with the engine that ``settings.pdf`` names, as canonical text.

    The files in it go to ``members``; comments and what a form holds follow the text.

    Raises:
        DocumentError: ``corrupt``, or ``no_text`` (pages without a text layer).
    """
    del name
    members = members or Bin(Room(folder=None), container_bytes=0)
    notes = read_beside(path, members, pages)
    conversion = read_pdf(path, settings, pages)
    builder = DocumentBuilder()
    for document in conversion.documents:
        add_docling(builder, document, places=Places(pages=True, units_per_point=1.0))
    add_notes(builder, notes, builder.build().text if notes else "")
    for skipped in members.skipped:
        builder.warn(f"the attachment {skipped!r} was not read")
    return Converted(
        document=builder.build(n_pages=conversion.n_pages),
        status="partial" if conversion.losses or members.skipped else "ok",
        parser=conversion.parser,
        warnings=(*builder.warnings, *conversion.losses, *conversion.notes),
    )


def read_pdf(path: Path, settings: ParserConfig, pages: Pages = AT_ONCE) -> PdfConversion:
    """Read a PDF into ``DoclingDocument`` values with pages and boxes.

    The fast engine renders a page only where OCR or docling's network reads it. A document
    that is read page by page is left to it: docling's own pipeline has no way to.

    Raises:
        DocumentError: ``corrupt``: no page can be read; ``no_text``: none has text, and
            some show something.
    """
    # What libraries log about a damaged file is in the outcome.
    logging.getLogger("docling").setLevel(logging.CRITICAL)
    if settings.pdf == "standard" and pages is AT_ONCE:
        return _standard(path, settings)
    return _by_page(path, settings, pages)


def _by_page(path: Path, settings: ParserConfig, walk: Pages) -> PdfConversion:
    pages = gather(path, walk)
    wanted = _scans(path, pages, walk)
    # Asked for only where it may be needed: it looks for packages and files.
    engine = engine_of(settings) if wanted or pages.empty else None
    losses, done = [], {}
    if engine is None:
        losses = [f"{where}: {why}, and no OCR is at hand" for why, where in _lost(pages, wanted)]
    elif wanted:
        done = _add_scans(path, pages, wanted, engine, walk)
    if not pages.texts:
        n_failed = len(pages.failed)
        msg = f"none of its {n_failed} pages could be read" if n_failed else "not a readable PDF"
        raise DocumentError(msg, kind="corrupt", stage="parse")
    if engine is None and pages.empty and any(shown.image for shown in pages.shown.values()):
        raise DocumentError(_NO_TEXT, kind="no_text", stage="parse")
    network = settings.pdf == "auto" and settings.artifacts_path and walk is AT_ONCE
    hard = _hard(pages, done) if network else {}
    drawn_up = _by_network(path, pages, hard, settings)
    taken = {number: why for number, why in hard.items() if number in drawn_up}
    ocr = engine.name if engine and wanted else ""
    used = [_FAST, *filter(None, [ocr, _STANDARD if taken else ""])]
    notes = [f"{where}: {why}, read by {ocr}" for why, where in _by_reason(done)]
    notes += [f"{where}: {why}, read by {_STANDARD}" for why, where in _by_reason(taken)]
    return PdfConversion(
        documents=tuple(_in_order(pages, drawn_up, read_outline(path) if walk is AT_ONCE else ())),
        n_pages=pages.n_pages,
        parser="+".join(used),
        losses=(*losses, *_unread(pages.failed)),
        notes=tuple(notes),
    )


def _scans(path: Path, pages: FilePages, walk: Pages) -> dict[int, str]:
    """Return the pages that OCR should read, with the reason."""
    silent = [n for n, page in pages.texts.items() if page.empty]
    for number in blank_pages(path, walk.walk(silent)) if silent else ():
        pages.shown[number] = Shown(drawn=False)
    found = {}
    for number, page in sorted(pages.texts.items()):
        # A page that only the second reader could open may show anything.
        shown = pages.shown.setdefault(number, Shown())
        reason = need(page, shown, sound=number in pages.sound)
        if reason is not None:
            found[number] = reason
    return found


def _lost(pages: FilePages, wanted: Mapping[int, str]) -> list[tuple[str, str]]:
    """Return what is missing without OCR: broken text, and what large images may say."""
    return _by_reason(
        {
            number: why
            for number, why in wanted.items()
            if why == BROKEN or pages.shown[number].image >= LARGE_SHARE
        }
    )


def _add_scans(
    path: Path, pages: FilePages, wanted: Mapping[int, str], engine: OcrEngine, walk: Pages
) -> dict[int, str]:
    """Take what OCR reads on pages where it reads more; return those, with the reason."""
    taken = {}
    for number, page in read_scans(path, walk.walk(wanted), engine).items():
        before, after = (
            sum(_n_letters(line.text) for line in _lines(reading))
            for reading in (pages.texts[number], page)
        )
        # OCR that does not know the language reads little of it.
        enough = before * (1 - illegible(pages.texts[number])) * _ENOUGH_OCR
        if after > (enough if wanted[number] == BROKEN else before):
            pages.texts[number] = page
            taken[number] = wanted[number]
    return taken


def _hard(pages: FilePages, done: Mapping[int, str]) -> dict[int, str]:
    """Return the pages whose layout is complex, with the reason; OCR has read the others."""
    reasons = {n: complexity(page) for n, page in sorted(pages.texts.items()) if n not in done}
    return {number: reason for number, reason in reasons.items() if reason is not None}


def _by_network(
    path: Path, pages: FilePages, hard: Iterable[int], settings: ParserConfig
) -> dict[int, DoclingDocument]:
    """Return pages as docling's pipeline reads them, unless letters are missing there."""
    found = {}
    for number in hard:
        from jobs.parsing.pdf.standard import read_standard  # noqa: PLC0415 - slow to import

        document = read_standard(path, settings, page=number).document
        n_letters = sum(_n_letters(line.text) for line in _lines(pages.texts[number]))
        if document is not None and _letters_of(document) >= _KEPT_SHARE * n_letters:
            found[number] = document
    return found


def _lines(page: PageText) -> tuple[Line, ...]:
    return (*page.lines, *page.across)


def _letters_of(document: DoclingDocument) -> int:
    cells = (cell.text for table in document.tables for cell in table.data.table_cells)
    return sum(map(_n_letters, (*(item.text for item in document.texts), *cells)))


def _n_letters(text: str) -> int:
    return sum(map(str.isalnum, text))


def _in_order(
    pages: FilePages, others: Mapping[int, DoclingDocument], outline: Sequence[Entry]
) -> Iterable[DoclingDocument]:
    """Yield the document in parts: runs of pages of our own, and between them the others."""
    texts = [page for number, page in sorted(pages.texts.items()) if number not in others]
    layout = analyse(texts, outline)
    if not others:
        yield assemble(layout, texts)
        return
    for foreign, numbers in itertools.groupby(sorted(pages.texts), others.__contains__):
        if foreign:
            yield from (others[number] for number in numbers)
        else:
            yield assemble(_part(layout, frozenset(numbers)), texts)


def _part(layout: Layout, numbers: frozenset[int]) -> Layout:
    """Return the blocks that begin on some pages."""
    kept = [i for i, block in enumerate(layout.blocks) if block.pages[0] in numbers]
    levels = {place: layout.levels[i] for place, i in enumerate(kept) if i in layout.levels}
    return replace(
        layout,
        blocks=tuple(layout.blocks[i] for i in kept),
        levels=levels,
        title=kept.index(layout.title) if layout.title in kept else None,
    )


def _by_reason(reasons: Mapping[int, str]) -> list[tuple[str, str]]:
    """Return each reason with its pages, such as ``pages 1-3, 7``."""
    pages: dict[str, list[int]] = {}
    for number, reason in sorted(reasons.items()):
        pages.setdefault(reason, []).append(number)
    return [(reason, _ranges(numbers)) for reason, numbers in pages.items()]


def _unread(numbers: Iterable[int]) -> list[str]:
    return [f"page {number} could not be read" for number in sorted(numbers)]


def _ranges(numbers: Sequence[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    return f"page{'s' if len(numbers) > 1 else ''} {', '.join(parts)}"


def _standard(path: Path, settings: ParserConfig) -> PdfConversion:
    from jobs.parsing.pdf.standard import read_standard  # noqa: PLC0415 - slow to import

    engine = engine_of(settings)
    ocr = (engine.name, settings.ocr_languages) if engine else None
    result = read_standard(path, settings, ocr=ocr)
    if result.document is None:
        msg = result.reasons or "not a readable PDF"
        raise DocumentError(msg, kind="corrupt", stage="parse")
    if engine is None and not result.document.texts:
        raise DocumentError(_NO_TEXT, kind="no_text", stage="parse")
    return PdfConversion(
        documents=(result.document,),
        n_pages=result.n_pages,
        parser=f"{_STANDARD}+{engine.name}" if engine else _STANDARD,
        losses=tuple(_unread(result.failed)),
    )
