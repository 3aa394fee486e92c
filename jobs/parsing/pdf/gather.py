"""All pages of a PDF as positioned text, by whichever reader makes the most sense of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from jobs.parsing.careful import AT_ONCE, Pages
from jobs.parsing.pdf import second
from jobs.parsing.pdf.lines import PageText
from jobs.parsing.pdf.reader import ReadPage, opened
from jobs.parsing.pdf.scans import Shown

__all__ = ["FilePages", "gather"]


@dataclass(slots=True)
class FilePages:
    """What is gathered while the pages of one file go by.

    ``sound``: the pages whose first reading has a meaning; the others are asked again.
    """

    texts: dict[int, PageText] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)
    shown: dict[int, Shown] = field(default_factory=dict)
    sound: set[int] = field(default_factory=set)

    @property
    def n_pages(self) -> int:
        """The number of pages, read or not."""
        return len(self.texts) + len(self.failed)

    @property
    def empty(self) -> bool:
        """Whether no page has text."""
        return all(page.empty for page in self.texts.values())


def gather(path: Path, walk: Pages) -> FilePages:
    """Read a file with docling-parse, and what that cannot make sense of with PDFium."""
    pages = FilePages()
    if walk is AT_ONCE:
        with opened(path) as document:
            for page in document.pages() if document is not None else ():
                _take(page, pages)
    else:
        _read_one_by_one(path, pages, walk)
    if not pages.texts and not pages.failed:
        pages.texts = second.read_pages(path)
        return pages
    pages.sound = {n for n, page in pages.texts.items() if not second.is_doubtful(page)}
    doubtful = (pages.failed | pages.texts.keys()) - pages.sound
    for number, again in _read_again(path, doubtful, walk).items():
        first = pages.texts.get(number)
        if first is None or second.is_better(again, first):
            pages.texts[number] = again
    pages.failed -= pages.texts.keys()
    return pages


def _read_one_by_one(path: Path, pages: FilePages, walk: Pages) -> None:
    """Open the file anew for each page: the parser would be pages ahead of its reader."""
    with opened(path) as document:
        numbers = range(1, document.n_pages + 1) if document is not None else range(0)
    pages.failed |= walk.skip & set(numbers)
    for number in walk.walk(numbers):
        with opened(path, number) as document:
            for page in document.pages() if document is not None else ():
                _take(page, pages)


def _read_again(path: Path, doubtful: set[int], walk: Pages) -> dict[int, PageText]:
    numbers = sorted(doubtful - walk.skip)
    return second.read_pages(path, walk.walk(numbers)) if numbers else {}


def _take(page: ReadPage, pages: FilePages) -> None:
    """Keep a page's text, or note that it failed."""
    if page.text is None:
        pages.failed.add(page.page_no)
        return
    pages.shown[page.page_no] = Shown(image=page.image)
    pages.texts[page.page_no] = page.text
