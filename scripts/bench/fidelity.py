"""Text fidelity against independent readers: ``python scripts/bench/fidelity.py FOLDER...``.

Every file below the folders is parsed as in a job, in a killable child and without OCR,
and its words are compared with those of an independent reader (``independent_readers.py``)
after normalising both alike (``word_measures.py``). Printed is, per format, the number of
files, the median and the 5th percentile of

- recall: of the other reader's words, those in our text, furniture, title or metadata,
- precision: of the words of our text and furniture, those that the other reader has,
- order (PDF only): words of our text that follow each other as they do in the other's,
- confirmed (PDF only): recall, but a word is only missing if PDFium sees it, too,

and the worst files by each. Poppler reads a PDF in three ways (reading order, as drawn, as
laid out): for recall, precision and order the one counts that is nearest to ours, since
where it disagrees with itself either is right. PDFs in whose text layer poppler finds no
meaning (shifted letters, glyph names) are named and not compared. The goals are a median
recall of 0.995 and a 5th percentile of 0.95. ``--json`` also writes all figures, with the
missing and the extra words of each file. Needs poppler's ``pdftotext`` and ``marko``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from zipfile import BadZipFile

import lxml.etree

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from independent_readers import (  # noqa: E402 - run by path, not installed
    READERS,
    read_pdf,
    read_pdf_again,
)
from word_measures import Coverage, Words, coverage, order, read_words  # noqa: E402 - as above

from jobs.config import LimitsConfig, ParserConfig  # noqa: E402 - as above
from jobs.parsing.pdf.legible import MAX_ILLEGIBLE, illegible_share  # noqa: E402 - as above
from jobs.parsing.pool import ChildParser  # noqa: E402 - as above
from jobs.ports import ParseOutcome  # noqa: E402 - as above

MEASURES = ("recall", "precision", "order", "confirmed")
_LOW = 0.05
_UNREADABLE = (
    *(BadZipFile, KeyError, StopIteration, ValueError, LookupError, TypeError, OSError),
    lxml.etree.LxmlError,
)
"""What independent readers raise on damaged files: those files are counted, not compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One file that both read; ``order`` and ``confirmed`` are None but for PDF."""

    path: str
    format: str
    n_words: int
    recall: float
    precision: float
    order: float | None
    confirmed: float | None
    missing: tuple[str, ...]
    extra: tuple[str, ...]


@dataclass(slots=True)
class Tally:
    """What became of the files."""

    compared: list[Compared]
    unparsed: list[tuple[str, str]]
    unread: list[str]
    seconds: float = 0.0


def compare(path: Path, outcome: ParseOutcome) -> Compared | None:
    """Compare one parsed file with the independent reader of its format.

    None where there is no such reader, or it finds no words.
    """
    document = outcome.document
    if document is None:
        return None
    theirs = [words for words in map(read_words, _other_texts(path, outcome.format)) if words.words]
    if not theirs:
        return None
    body = read_words(document.text)
    ours = read_words("\n".join([document.text, *document.furniture]))
    beside = read_words("\n".join([document.title or "", *document.metadata.values()]))
    all_coverages = [coverage(words, ours, beside) for words in theirs]
    nearest = max(all_coverages, key=lambda each: each.recall)
    is_pdf = outcome.format == "pdf"
    return Compared(
        path=str(path),
        format=outcome.format,
        n_words=nearest.n_words,
        recall=nearest.recall,
        precision=max(each.precision for each in all_coverages),
        order=max(order(words, body) for words in theirs) if is_pdf else None,
        confirmed=_confirmed(path, nearest, ours, beside) if is_pdf else None,
        missing=nearest.missing,
        extra=nearest.extra,
    )


def _confirmed(path: Path, first: Coverage, ours: Words, beside: Words) -> float:
    second = coverage(read_words(read_pdf_again(path)), ours, beside)
    agreed = Counter(first.missing) & Counter(second.missing)
    return 1 - agreed.total() / max(first.n_words, 1)


def _other_texts(path: Path, file_format: str) -> list[str]:
    if file_format == "pdf":
        return [text for text in read_pdf(path) if illegible_share(text) <= MAX_ILLEGIBLE]
    reader = READERS.get(file_format)
    return [] if reader is None else [reader(path)]


def files(folders: Sequence[Path]) -> Iterator[Path]:
    """Yield all files below folders, in the order of their names."""
    for folder in folders:
        yield from (
            (p for p in sorted(folder.rglob("*")) if p.is_file()) if folder.is_dir() else [folder]
        )


def run(paths: Sequence[Path], formats: frozenset[str]) -> Tally:
    """Parse and compare files, of all formats or those given."""
    tally = Tally(compared=[], unparsed=[], unread=[])
    parser = ChildParser(ParserConfig(ocr="none"), LimitsConfig())
    started = time.monotonic()
    try:
        for path in paths:
            _add(tally, path, parser.parse(path, name=path.name), formats)
    finally:
        parser.close()
    tally.seconds = time.monotonic() - started
    return tally


def _add(tally: Tally, path: Path, outcome: ParseOutcome, formats: frozenset[str]) -> None:
    if formats and outcome.format not in formats:
        return
    if outcome.document is None:
        tally.unparsed.append((str(path), f"{outcome.status}/{outcome.error_kind}"))
        return
    try:
        compared = compare(path, outcome)
    except _UNREADABLE as error:
        print(f"{path}: the independent reader raised {error!r}", file=sys.stderr)
        compared = None
    if compared is None:
        tally.unread.append(str(path))
    else:
        tally.compared.append(compared)


def table(compared: Sequence[Compared]) -> Iterator[str]:
    """Yield the lines of the table: per format, then over all files."""
    yield f"{'format':10}{'n':>6}{'words':>10}" + "".join(
        f"{name + ' median':>19}{'5 %':>9}" for name in MEASURES
    )
    for name in [*sorted({each.format for each in compared}), "all"]:
        group = [each for each in compared if name in (each.format, "all")]
        cells = ""
        for measure in MEASURES:
            values = _values(group, measure)
            cells += f"{statistics.median(values):19.4f}{low(values):9.4f}" if values else " " * 28
        yield f"{name:10}{len(group):6}{sum(e.n_words for e in group):10}{cells}".rstrip()


def _values(group: Sequence[Compared], measure: str) -> list[float]:
    return [value for each in group if (value := getattr(each, measure)) is not None]


def low(values: Sequence[float]) -> float:
    """Return the 5th percentile: the value that 5 % of all are below or equal to."""
    return sorted(values)[int(_LOW * len(values))]


def worst(compared: Sequence[Compared], measure: str, n: int) -> Iterator[str]:
    """Yield the lines of the worst files by a measure, with the words that are at fault."""
    ranked = sorted(
        (e for e in compared if _values([e], measure)), key=lambda e: getattr(e, measure)
    )
    yield f"worst by {measure}:"
    for each in ranked[:n]:
        words = {"recall": each.missing, "precision": each.extra, "confirmed": each.missing}.get(
            measure, ()
        )
        shown = " ".join(words[:12])
        yield f"  {getattr(each, measure):.4f} {each.path} ({each.n_words} words) {shown}".rstrip()


def main() -> None:
    """Parse the command line, compare, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path, metavar="FOLDER_OR_FILE")
    parser.add_argument("--formats", nargs="+", default=[], help="only these, as told by content")
    parser.add_argument("--worst", type=int, default=10, help="files to name per format")
    parser.add_argument("--json", type=Path, help="where to write all figures")
    options = parser.parse_args()
    tally = run(list(files(options.paths)), frozenset(options.formats))
    print("\n".join(table(tally.compared)))
    for name in sorted({each.format for each in tally.compared}):
        print(f"\n{name}")
        group = [each for each in tally.compared if each.format == name]
        for measure in MEASURES:
            if _values(group, measure):
                print("\n".join(worst(group, measure, options.worst)))
    print(f"\nno (meaningful) words to compare: {len(tally.unread)}")
    print("\n".join(f"  {path}" for path in tally.unread))
    print(f"not parsed: {len(tally.unparsed)}")
    print("\n".join(f"  {path}: {why}" for path, why in tally.unparsed))
    print(f"{tally.seconds:.0f} s")
    if options.json:
        options.json.write_text(
            json.dumps(asdict(tally), ensure_ascii=False, indent=1), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
