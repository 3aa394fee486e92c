"""Headings, lists, tables, captions, notes, furniture: ``pdf_structure.py CORPUS``.

Precision, recall and F1 of PDF engines on pages that were labelled by hand
(``pdf_labels.json``; CORPUS is the folder below which their files lie). The labels were
made from pictures of the pages before any engine's output was seen. The rules by which
items match are those of ``pdf_matching.py``, the engines those of ``pdf_engines.py``.

Each document is read whole, so that furniture can be known by its repetition; engines
that judge a page by its picture are given the labelled pages only. What is not structure
(paragraphs, code, formulas) is not counted. Title: told as the document's title. Heading:
told as a heading or a title. Level: of two headings on one page, which is above the other.

``--peers-python`` names an interpreter with docling, rapid-layout and onnxruntime; with
``--artifacts``, the folder of docling's weights, docling's own networks are measured, too.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

import pypdfium2
from pdf_engines import ENGINES, NATIVE, NETWORK, STANDARD
from pdf_matching import KINDS, Count, Details, Item, details, grid_cells, match
from pdf_worker import PACKAGES, Worker

OURS = "chunkmill"
LABELS = Path(__file__).with_name("pdf_labels.json")
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One labelled page."""

    file: str
    sha256: str
    page: int
    items: tuple[Item, ...]


@dataclass(slots=True, kw_only=True)
class Score:
    """What one engine found on all pages."""

    kinds: dict[str, Count] = field(default_factory=lambda: {kind: Count() for kind in KINDS})
    details: Details = field(default_factory=Details)
    disagreements: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def read_labels(path: Path) -> list[Page]:
    """Return the labelled pages of a file."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return [Page(**{**entry, "items": tuple(entry["items"])}) for entry in found]


def check_files(pages: Sequence[Page], corpus: Path) -> None:
    """Exit with the reason where a labelled file is not there or is another one."""
    for page in pages:
        path = corpus / page.file
        if not path.is_file():
            sys.exit(f"{path} is missing: CORPUS is the folder that holds the labelled files")
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
        if digest.hexdigest() != page.sha256:
            sys.exit(f"{path} is not the file that was labelled: its SHA-256 differs")


def characters(path: Path, number: int) -> Iterator[tuple[str, float, float]]:
    """Yield a page's characters as PDFium reads them, with their middles from the top left."""
    document = pypdfium2.PdfDocument(path)
    page = document[number - 1]
    text = page.get_textpage()
    height = page.get_height()
    for i in range(text.count_chars()):
        left, bottom, right, top = text.get_charbox(i)
        yield text.get_text_range(i, 1), (left + right) / 2, height - (bottom + top) / 2
    text.close()
    page.close()
    document.close()


def grids_of(page: Page, corpus: Path) -> list[list[str]]:
    """Return the texts in the cells of each labelled table; none where no grid is labelled."""
    tables = [item for item in page.items if item["kind"] == "table"]
    if not any("row_edges" in table for table in tables):
        return [[] for _ in tables]
    seen = list(characters(corpus / page.file, page.page))
    return [list(grid_cells(table, seen)) if "row_edges" in table else [] for table in tables]


def measure(
    engine: str, pages: Sequence[Page], corpus: Path, worker: Worker, artifacts: str | None
) -> Score:
    """Let one engine read the labelled pages, and count."""
    score = Score()
    for file in dict.fromkeys(page.file for page in pages):
        here = [page for page in pages if page.file == file]
        request = {
            "engine": engine,
            "path": str(corpus / file),
            "pages": [page.page for page in here],
            "artifacts": artifacts,
        }
        answer = worker.ask(request)
        if "error" in answer:
            score.failed.append(f"{file}: {answer['error']}")
        for page in here:
            items = answer.get("pages", {}).get(str(page.page), [])
            add(score, page, items, grids_of(page, corpus))
    return score


def add(score: Score, page: Page, items: Sequence[Item], grids: Sequence[Sequence[str]]) -> None:
    """Add what an engine found on a page."""
    for kind in KINDS:
        count = match(kind, page.items, items)
        score.kinds[kind].add(count)
        where = f"{page.file} page {page.page}"
        score.disagreements += [f"{where}: {kind} missed: {text[:80]}" for text in count.missed]
        score.disagreements += [f"{where}: {kind} wrong: {text[:80]}" for text in count.wrong]
    more = details(page.items, items, grids)
    for each in fields(Details):
        if each.name == "cells":
            score.details.cells.add(more.cells)
        else:
            total = getattr(score.details, each.name) + getattr(more, each.name)
            setattr(score.details, each.name, total)


def table(scores: Mapping[str, Score]) -> str:
    """Return the scores as Markdown: per kind and engine, then tables and levels."""
    lines = [
        "| kind | engine | precision | recall | F1 | found | wrong |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for kind in KINDS:
        for name, score in scores.items():
            count = score.kinds[kind]
            figures = f"{count.precision:.3f} | {count.recall:.3f} | {count.f1:.3f}"
            found = f"{count.found} of {count.labels} | {count.items - count.right}"
            lines.append(f"| {kind} | {name} | {figures} | {found} |")
    lines += [
        "",
        "| engine | tables found | rows right | rows below the header | columns | header rows "
        "| cells: precision | recall | F1 | heading pairs in order |",
        "|---|" + "---:|" * 9,
    ]
    for name, score in scores.items():
        more, cells = score.details, score.details.cells
        labels = score.kinds["table"].labels
        figures = f"{cells.precision:.3f} | {cells.recall:.3f} | {cells.f1:.3f}"
        lines.append(
            f"| {name} | {more.tables} of {labels} | {more.rows} | {more.body_rows} "
            f"| {more.columns} | {more.header_rows} | {figures} "
            f"| {more.ordered} of {more.pairs} |"
        )
    return "\n".join(lines)


def chosen(args: argparse.Namespace) -> dict[str, str]:
    """Return the engines to measure, each with its interpreter."""
    peers = args.peers_python or sys.executable
    names = args.engines or [
        OURS,
        NATIVE,
        *([NETWORK] if args.peers_python else []),
        *([STANDARD] if args.artifacts else []),
    ]
    return {name: sys.executable if name == OURS else peers for name in names}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("corpus", type=Path, metavar="CORPUS")
    parser.add_argument("--labels", type=Path, default=LABELS)
    parser.add_argument("--engines", nargs="+", choices=sorted(ENGINES), metavar="ENGINE")
    parser.add_argument("--peers-python", help="an interpreter with the other engines")
    parser.add_argument("--artifacts", help="a folder with docling's own weights")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every disagreement")
    args = parser.parse_args()
    pages = read_labels(args.labels)
    check_files(pages, args.corpus)
    scores: dict[str, Score] = {}
    for name, python in chosen(args).items():
        with Worker(python) as worker:
            known = worker.ask({"versions": PACKAGES})
            scores[name] = measure(name, pages, args.corpus, worker, args.artifacts)
        told = ", ".join(f"{package} {version}" for package, version in known.items())
        print(f"{name}: {told}")
        for failure in scores[name].failed:
            print(f"  could not read {failure}")
        for line in scores[name].disagreements if args.verbose else ():
            print(f"  {line}")
    files = len({page.file for page in pages})
    print(f"\n{len(pages)} pages of {files} documents\n\n{table(scores)}")


if __name__ == "__main__":
    main()
