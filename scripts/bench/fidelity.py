"""Text fidelity against independent readers: ``python scripts/bench/fidelity.py FOLDER...``.

Every file below the folders is parsed as in a job, in a killable child and without OCR,
and its words are compared with those of an independent reader (``independent_readers.py``)
after normalising both alike (``word_measures.py``). Printed is, per format, the number of
files, the median and the 5th percentile of

- recall: of the other reader's words, those in our text, furniture, title or metadata,
- precision: of the words of our text and furniture, those that the other reader has,
- order (PDF only): words of our text that follow each other as they do in the other's,

and the worst files by each. Poppler reads a PDF in three ways (reading order, as drawn, as
laid out): for recall, precision and order the one counts that is nearest to ours, since
where it disagrees with itself either is right. The goals are a median recall of 0.995 and
a 5th percentile of 0.95. ``--json`` also writes all figures, with the missing and the
extra words of each file. Needs poppler's ``pdftotext`` and the package ``marko``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from zipfile import BadZipFile

import lxml.etree

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from independent_readers import READERS, read_pdf  # noqa: E402 - run by path, not installed
from word_measures import Words, coverage, order, read_words  # noqa: E402 - as above

from jobs.config import LimitsConfig, ParserConfig  # noqa: E402 - as above
from jobs.parsing.pool import ChildParser  # noqa: E402 - as above
from jobs.ports import ParseOutcome  # noqa: E402 - as above

MEASURES = ("recall", "precision", "order")
_LOW = 0.05
_UNREADABLE = (
    *(BadZipFile, KeyError, StopIteration, ValueError, LookupError, TypeError, OSError),
    lxml.etree.LxmlError,
)
"""What independent readers raise on damaged files: those files are counted, not compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One file that both read; ``order`` is None but for PDF."""

    path: str
    format: str
    n_words: int
    recall: float
    precision: float
    order: float | None
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
    nearest = max((coverage(words, ours, beside) for words in theirs), key=lambda c: c.recall)
    return Compared(
        path=str(path),
        format=outcome.format,
        n_words=nearest.n_words,
        recall=nearest.recall,
        precision=max(coverage(words, ours, beside).precision for words in theirs),
        order=_order(theirs, body) if outcome.format == "pdf" else None,
        missing=nearest.missing,
        extra=nearest.extra,
    )


def _order(theirs: Sequence[Words], ours: Words) -> float:
    return max(order(words, ours) for words in theirs)


def _other_texts(path: Path, file_format: str) -> list[str]:
    if file_format == "pdf":
        return read_pdf(path)
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
        words = {"recall": each.missing, "precision": each.extra}.get(measure, ())
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
    print(f"\nnot parsed: {len(tally.unparsed)}, no words to compare: {len(tally.unread)}")
    print("\n".join(f"  {path}: {why}" for path, why in tally.unparsed))
    print(f"{tally.seconds:.0f} s")
    if options.json:
        options.json.write_text(
            json.dumps(asdict(tally), ensure_ascii=False, indent=1), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
