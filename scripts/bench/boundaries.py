"""What boundaries are worth in retrieval: ``python scripts/bench/boundaries.py EVAL_DIR``.

Every strategy, and other chunkers beside them, cut the texts of an evaluation set
(``EVAL_DIR/<set>/corpora/*.txt`` and ``questions.parquet``); the chunks are embedded
each by itself with the default model, and all questions are asked. Printed is a table
of one band of sizes: measures are comparable within a band only. A chunker with several
settings is shown at its best one within the band; one that never falls into the band, at
the nearest. Where texts are longer than the model was trained for, each is tried at both
of its windows. Intervals are paired over questions, against the best other chunker in
the band. ``--vectors late`` measures the strategies with the vectors of the one pass.

``--peers-python`` names an interpreter that has other chunkers, the model's package and
sentence-transformers (see ``peer_chunkers.py``).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from encoder import Encoder
from numpy.typing import NDArray
from retrieval import BUDGETS, Piece, Questions, bootstrap, facts, measure
from tokenizers import Tokenizer

from jobs.adapters.model_files import locate
from jobs.config import ModelConfig
from jobs.notebook import Chunkmill, ParsedText

BANDS = {"small": (100, 130), "large": (230, 300)}
"""Least and greatest mean size of chunks, in tokens."""
WINDOWS = {"small": (256,), "large": (256, 512)}
FIXED_TARGET = {"small": 122, "large": 275}
"""``fixed`` fills chunks up to its target, so their mean lies below it."""
THRESHOLDS = ("percentile", "absolute", "stddev", "interquartile", "gradient")
MEASURES = ("R@5", *(f"R@{budget}t" for budget in BUDGETS), "IoU@5")
_BUDGETED = MEASURES[1:-1]
_FEW = 6
_COLUMNS = ("mean", "p95", "max", "coverage", "duplication")


@dataclass(frozen=True, kw_only=True)
class Cut:
    """The chunks of all texts by one chunker: N pieces, their model inputs, maybe vectors."""

    name: str
    setting: str
    ours: bool
    pieces: Sequence[Piece] = field(repr=False)
    inputs: Sequence[str] = field(repr=False)
    facts: dict[str, float]
    vectors: NDArray[np.float32] | None = field(repr=False, default=None)

    @property
    def row(self) -> str:
        """The row of the table that the cut competes for: ours have one for each setting."""
        return f"{self.name} {self.setting}" if self.ours else self.name

    def outside(self, band: str) -> float:
        """Return how far the mean size lies outside the band."""
        low, high = BANDS[band]
        mean = self.facts["mean"]
        return max(low - mean, mean - high, 0.0)


@dataclass(frozen=True, kw_only=True)
class Result:
    """What one cut was worth; ``window``: what the model read of a chunk at most."""

    cut: Cut
    window: int | None
    scores: dict[str, NDArray[np.float64]] = field(repr=False)

    def mean(self, name: str) -> float:
        """Return a measure's mean over questions."""
        return float(self.scores[name].mean())

    @property
    def worth(self) -> float:
        """What the best of several settings is chosen by."""
        return sum(self.mean(name) for name in _BUDGETED)


def our_cuts(
    mill: Chunkmill, folder: Path, data: Questions, args: argparse.Namespace
) -> Iterator[Cut]:
    """Yield the chunks of every strategy."""
    documents = {name: mill.parse(folder / "corpora" / f"{name}.txt") for name in data.texts}
    spots = {name: places(data.texts[name], documents[name]) for name in documents}
    choices: list[tuple[str, dict[str, object]]] = [
        ("optimal", {}), ("structural", {}), ("recursive", {}),
        ("fixed", {"target_tokens": FIXED_TARGET[args.band]}),
    ]  # fmt: skip
    choices += [("semantic", {"threshold_type": kind}) for kind in THRESHOLDS]
    for strategy, more in choices:
        pieces: list[Piece] = []
        inputs: list[str] = []
        vectors = []
        for name, document in documents.items():
            chunks = mill.chunk(document, preset=args.band, boundaries=strategy, **more)
            where = spots[name]
            pieces += [(name, where[c.span.start], where[c.span.end - 1] + 1) for c in chunks]
            inputs += [chunk.prefix + chunk.text for chunk in chunks]
            vectors.append(chunks.vectors)
        yield Cut(
            name=f"chunkmill {strategy}",
            setting=" ".join(str(value) for value in more.values()) or f"preset {args.band}",
            ours=True,
            pieces=pieces,
            inputs=inputs,
            facts=facts(data, pieces),
            vectors=np.concatenate(vectors) if args.vectors == "late" else None,
        )


def places(text: str, document: ParsedText) -> dict[int, int]:
    """Return where each visible code point of a parsed text stands in its file.

    Parsing changes blanks only, and drops a byte-order mark.
    """
    first = 1 if text.startswith("\ufeff") else 0
    visible = [i for i in range(first, len(text)) if not text[i].isspace()]
    parsed = [i for i, character in enumerate(document.text) if not character.isspace()]
    return dict(zip(parsed, visible, strict=True))


def peer_cuts(args: argparse.Namespace, data: Questions) -> Iterator[Cut]:
    """Yield the chunks of other chunkers, in a process of their interpreter if need be."""
    script = Path(__file__).with_name("peer_chunkers.py")
    with tempfile.TemporaryDirectory() as scratch:
        out = args.peers_chunks or Path(scratch) / "peers.jsonl"
        if args.peers_python:
            folder = args.eval_dir / args.set
            subprocess.run([args.peers_python, script, folder, args.band, out], check=True)
        with out.open(encoding="utf-8") as file:
            for line in file:
                yield _peer_cut(json.loads(line), data)


def _peer_cut(found: dict[str, Any], data: Questions) -> Cut:
    pieces = [(name, a, b) for name, spans in found["spans"].items() for a, b in spans]
    vectors = found.get("vectors")
    return Cut(
        name=f"{found['name']} {found['version']}",
        setting=found["setting"],
        ours=False,
        pieces=pieces,
        inputs=[data.texts[name][a:b] for name, a, b in pieces],
        facts=facts(data, pieces),
        vectors=np.concatenate([np.asarray(vectors[name]) for name in found["spans"]])
        if vectors
        else None,
    )


def measured(cuts: Sequence[Cut], data: Questions, encode: Encoder, band: str) -> list[Result]:
    """Return the best result of each row, of the cuts within the band or nearest to it."""
    chosen = []
    for row in dict.fromkeys(cut.row for cut in cuts):
        own = [cut for cut in cuts if cut.row == row]
        least = min(cut.outside(band) for cut in own)
        results = [
            result
            for cut in own
            if cut.outside(band) == least
            for result in results_of(cut, data, encode, band)
        ]
        chosen.append(max(results, key=lambda result: result.worth))
    return chosen


def results_of(cut: Cut, data: Questions, encode: Encoder, band: str) -> Iterator[Result]:
    """Yield a cut's results: one for each window, or one with its own vectors."""
    questions = encode(data.questions, WINDOWS[band][0])
    if cut.vectors is not None:
        scores = measure(data, cut.pieces, cut.vectors, questions)
        yield Result(cut=cut, window=None, scores=scores)
        return
    for window in WINDOWS[band]:
        scores = measure(data, cut.pieces, encode(cut.inputs, window), questions)
        yield Result(cut=cut, window=window, scores=scores)


def table(results: Sequence[Result], band: str) -> str:
    """Return the results as a Markdown table, the best first, ours before others."""
    rivals = [r for r in results if not r.cut.ours and not r.cut.outside(band)]
    rival = max(rivals, key=lambda r: r.worth, default=None)
    head = ["chunker", "setting", "window", "chunks", *_COLUMNS, *MEASURES]
    if rival is not None:
        head += [f"{name} - best peer's" for name in _BUDGETED]
    lines = [f"| {' | '.join(head)} |", "|---" * 3 + "|---:" * (len(head) - 3) + "|"]
    ordered = sorted(results, key=lambda r: (not r.cut.ours, r.cut.outside(band) > 0, -r.worth))
    lines += [f"| {' | '.join(_cells(result, band, rival))} |" for result in ordered]
    return "\n".join(lines)


def _cells(result: Result, band: str, rival: Result | None) -> list[str]:
    setting = result.cut.setting + (" (outside the band)" if result.cut.outside(band) else "")
    window = "own" if result.window is None else str(result.window)
    cells = [result.cut.name, setting, window, f"{result.cut.facts['chunks']:.0f}"]
    cells += [f"{result.cut.facts[name]:.0f}" for name in _COLUMNS[:3]]
    cells += [f"{result.cut.facts[name]:.3f}" for name in _COLUMNS[3:]]
    cells += [f"{result.mean(name):.3f}" for name in MEASURES]
    for name in _BUDGETED if rival is not None else ():
        if result is rival or rival is None:
            cells.append("best peer")
            continue
        difference = result.scores[name] - rival.scores[name]
        low, high = bootstrap(difference)
        cells.append(f"{difference.mean():+.3f} [{low:+.3f}, {high:+.3f}]")
    return cells


def by_text(results: Sequence[Result], data: Questions) -> str:
    """Return the budgeted recalls of our results on each text, for sets of few texts."""
    names = list(data.texts)
    of = np.asarray([name for name, _ in data.answers])
    lines = [f"| chunker | setting | {' | '.join(names)} |", "|---" * (len(names) + 2) + "|"]
    for result in results:
        cells = [
            " / ".join(f"{result.scores[m][of == name].mean():.3f}" for m in _BUDGETED)
            for name in names
        ]
        lines.append(f"| {result.cut.name} | {result.cut.setting} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("eval_dir", type=Path)
    parser.add_argument("--set", default="chroma_dev")
    parser.add_argument("--band", choices=sorted(BANDS), default="small")
    parser.add_argument("--vectors", choices=("plain", "late"), default="plain")
    parser.add_argument("--peers-python", type=Path)
    parser.add_argument(
        "--peers-chunks",
        type=Path,
        help="a file for the other chunkers' chunks: written by --peers-python, else read",
    )
    parser.add_argument("--cache", type=Path, help="a file that keeps vectors between runs")
    args = parser.parse_args()
    folder = args.eval_dir / args.set
    model = locate(ModelConfig().name, None)
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    data = Questions.read(folder, tokenizer)
    encode = Encoder(model, args.cache)
    with Chunkmill() as mill:
        cuts = list(our_cuts(mill, folder, data, args))
    if args.peers_python or args.peers_chunks:
        cuts += peer_cuts(args, data)
    chosen = measured(cuts, data, encode, args.band)
    print(table(chosen, args.band))
    if len(data.texts) <= _FEW:
        ours = [result for result in chosen if result.cut.ours]
        print(f"\nEach text by itself ({' / '.join(_BUDGETED)}):\n\n{by_text(ours, data)}")


if __name__ == "__main__":
    main()
