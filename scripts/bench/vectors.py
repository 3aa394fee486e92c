"""What late, plain and blended vectors are worth on equal spans: ``vectors.py EVAL_DIR``.

The texts of an evaluation set are cut once by each way of :data:`SPANS`, then the same
chunks get vectors of every kind: each chunk alone (*plain*), late by the engine, late by
the reference method (``late_reference.py``), and both blends. All is measured on the
questions of the set with the default model; intervals are paired over questions.

A second table tells what the overlap of windows is worth: the same spans, the engine's
windows with more or less context, averaged over a few lengths of the window, since where
windows happen to end moves recall by more than the overlap does. A third chooses the
share of neighbouring chunks on all texts but one and reports that one.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from boundaries import places
from encoder import Encoder
from late_reference import TokenPasses, reference_vectors
from numpy.typing import NDArray
from retrieval import BUDGETS, Piece, Questions, bootstrap, facts, measure
from tokenizers import Tokenizer

from chunking import pooling
from chunking.blending import blended, with_neighbours
from chunking.model import Chunk, Sentence
from chunking.windows import plan_windows
from jobs.adapters.model_files import locate
from jobs.config import ModelConfig
from jobs.notebook import Chunkmill, ParsedText

SPANS: dict[str, dict[str, object]] = {
    "optimal small": {"preset": "small"},
    "optimal large": {"preset": "large"},
    "fixed 122": {"preset": "small", "boundaries": "fixed", "target_tokens": 122},
    "recursive": {"preset": "small", "boundaries": "recursive"},
}
"""How chunks are cut; the last two as other chunkers do."""
WINDOW = 256
REFERENCE_OVERLAPS = (16, 64)
"""A sixteenth of the window, as its authors have it, and a quarter."""
OVERLAPS = (0, 8, 16, 24, 32, 64)
SHORTER = (0, 10, 20)
"""Tokens that windows are made shorter by: other lengths end elsewhere."""
WEIGHTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)
MEASURES = ("R@5", *(f"R@{budget}t" for budget in BUDGETS))
Scores = dict[str, NDArray[np.float64]]


@dataclass(frozen=True, kw_only=True)
class Cut:
    """One document's chunks, with the late and the plain vectors of the engine (C x D)."""

    document: ParsedText
    chunks: Sequence[Chunk] = field(repr=False)
    units: Sequence[Sentence] = field(repr=False)
    plain_CD: NDArray[np.float32] = field(repr=False)  # noqa: N815
    late_CD: NDArray[np.float32] = field(repr=False)  # noqa: N815

    def blend(self, weight: float = 0.0) -> NDArray[np.float32]:
        """Return the blended vectors, with this share of the neighbours."""
        return blended(self.late_CD, self.plain_CD, weight)


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A set's questions, their vectors, the texts' tokens, and the means to embed."""

    data: Questions
    questions_QD: NDArray[np.float32] = field(repr=False)  # noqa: N815
    passes: TokenPasses
    weight: float

    def scores(self, pieces: Sequence[Piece], vectors: Sequence[NDArray[np.floating]]) -> Scores:
        """Return each measure of every question, given the vectors of all texts."""
        return measure(self.data, pieces, np.concatenate(vectors), self.questions_QD)

    def ids(self, text: str) -> NDArray[np.int64]:
        """Return a text's token ids, special ones left out."""
        return np.asarray(self.data.tokenizer.encode(text, add_special_tokens=False).ids)


def cut_of(mill: Chunkmill, document: ParsedText, choice: dict[str, object]) -> Cut:
    """Return a document's chunks, with the engine's late vectors and the model's own."""
    late = mill.chunk(document, **choice, vectors="late")
    plain = mill.chunk(document, **choice, vectors="chunk")
    if [view.span for view in plain] != [view.span for view in late]:
        msg = f"{document.key}: the kind of vectors moved a boundary"
        raise ValueError(msg)
    return Cut(
        document=document,
        chunks=[view.chunk for view in late],
        units=late.units,
        plain_CD=_given(plain.vectors),
        late_CD=_given(late.vectors),
    )


def _given(vectors: NDArray[np.float32] | None) -> NDArray[np.float32]:
    if vectors is None:
        msg = "the engine gave no vectors"
        raise LookupError(msg)
    return vectors


def pieces_of(data: Questions, cuts: dict[str, Cut]) -> list[Piece]:
    """Return where the chunks lie in the files of the texts."""
    pieces = []
    for name, cut in cuts.items():
        where = places(data.texts[name], cut.document)
        pieces += [(name, where[c.start], where[c.end - 1] + 1) for c in cut.chunks]
    return pieces


def kinds(bench: Bench, cuts: dict[str, Cut]) -> Iterator[tuple[str, list[NDArray[np.floating]]]]:
    """Yield the name of each kind of vectors, and those of all texts; *plain* first."""
    yield "plain", [cut.plain_CD for cut in cuts.values()]
    for overlap in REFERENCE_OVERLAPS:
        yield (
            f"late, reference, overlap {overlap}",
            [
                reference_vectors(
                    bench.passes,
                    bench.ids(cut.document.text),
                    [(chunk.token_start, chunk.token_end) for chunk in cut.chunks],
                    length=WINDOW,
                    overlap=overlap,
                )
                for cut in cuts.values()
            ],
        )
    yield "late, engine", [cut.late_CD for cut in cuts.values()]
    yield "blend", [cut.blend() for cut in cuts.values()]
    yield f"blend + {bench.weight} neighbours", [cut.blend(bench.weight) for cut in cuts.values()]


def kinds_table(bench: Bench, spans: dict[str, dict[str, Cut]]) -> str:
    """Return what each kind of vectors is worth on each way of cutting."""
    against = [f"{m} - {other}" for other in ("plain", "reference") for m in MEASURES[1:]]
    head = ["spans", "mean", "vectors", *MEASURES, *against, *bench.data.texts]
    lines = [_row(head), "|---|---:|---" + "|---:" * (len(head) - 3) + "|"]
    of = np.asarray([name for name, _ in bench.data.answers])
    for way, cuts in spans.items():
        pieces = pieces_of(bench.data, cuts)
        mean = facts(bench.data, pieces)["mean"]
        scored = {name: bench.scores(pieces, found) for name, found in kinds(bench, cuts)}
        plain, *references = list(scored.values())[: 1 + len(REFERENCE_OVERLAPS)]
        reference = max(references, key=lambda scores: sum(scores[m].mean() for m in MEASURES[1:]))
        for name, scores in scored.items():
            cells = [way, f"{mean:.0f}", name, *(f"{scores[m].mean():.3f}" for m in MEASURES)]
            cells += [
                _interval(scores[m] - other[m])
                for other in (plain, reference)
                for m in MEASURES[1:]
            ]
            cells += [
                " / ".join(f"{scores[m][of == text].mean():.3f}" for m in MEASURES[1:])
                for text in bench.data.texts
            ]
            lines.append(_row(cells))
    return "\n".join(lines)


def _interval(differences: NDArray[np.float64]) -> str:
    if not differences.any():
        return "="
    low, high = bootstrap(differences)
    return f"{differences.mean():+.3f} [{low:+.3f}, {high:+.3f}]"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def token_vectors(bench: Bench, cut: Cut, length: int, overlap: int) -> NDArray[np.float32]:
    """Return a document's token vectors (T x D), each from the engine's window that owns it."""
    units = cut.units
    ids = bench.ids(cut.document.text)
    windows = plan_windows(cut.document.document, units, window_tokens=length - 2, overlap=overlap)
    head, tail = [bench.passes.head], [bench.passes.tail]
    found = bench.passes([np.concatenate([head, ids[w.start : w.end], tail]) for w in windows])
    owned = [
        vectors[1 + units[w.first_unit].token_start - w.start :][
            : units[w.last_unit - 1].token_end - units[w.first_unit].token_start
        ]
        for vectors, w in zip(found, windows, strict=True)
    ]
    return np.concatenate(owned)


def pooled(cut: Cut, vectors_TD: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the late vectors of a document's chunks as the engine pools them (C x D)."""
    cut_parts = list(pooling.cut_ranges(cut.chunks, cut.units))
    parts_RD = pooling.range_means(vectors_TD, cut_parts)
    means_UD = pooling.range_means(vectors_TD, [(u.token_start, u.token_end) for u in cut.units])
    parts = dict(zip(cut_parts, parts_RD, strict=True))
    return pooling.chunk_vectors(cut.chunks, cut.units, means_UD, parts)


def overlap_table(bench: Bench, spans: dict[str, dict[str, Cut]]) -> str:
    """Return recall and model tokens by the overlap of windows."""
    head = ["overlap", "model tokens per document token"]
    head += [f"{way}: {kind}" for way in spans for kind in ("late", "blend + neighbours")]
    lines = [_row(head), "|---:" * len(head) + "|"]
    texts = next(iter(spans.values()))
    n_tokens = sum(len(bench.ids(cut.document.text)) for cut in texts.values())
    for overlap in OVERLAPS:
        bench.passes.spent = 0
        passes = [
            {name: token_vectors(bench, cut, WINDOW - less, overlap) for name, cut in texts.items()}
            for less in SHORTER
        ]
        cells = [f"{bench.passes.spent / len(SHORTER) / n_tokens:.2f}"]
        for cuts in spans.values():
            scored = [_by_pass(bench, cuts, tokens) for tokens in passes]
            cells += [
                " / ".join(f"{np.mean([kind[m] for kind in found]):.3f}" for m in MEASURES)
                for found in zip(*scored, strict=True)
            ]
        lines.append(_row([str(overlap), *cells]))
    return "\n".join(lines)


def _by_pass(
    bench: Bench, cuts: dict[str, Cut], tokens: dict[str, NDArray[np.float32]]
) -> list[Scores]:
    """Return the scores of late vectors and of their blends, from given token vectors."""
    pieces = pieces_of(bench.data, cuts)
    late = {name: pooled(cut, tokens[name]) for name, cut in cuts.items()}
    mixed = [blended(late[name], cut.plain_CD, bench.weight) for name, cut in cuts.items()]
    return [bench.scores(pieces, list(late.values())), bench.scores(pieces, mixed)]


def weights_table(bench: Bench, spans: dict[str, dict[str, Cut]]) -> str:
    """Return the recalls by the neighbours' share; the best on other texts is starred."""
    of = np.asarray([name for name, _ in bench.data.answers])
    head = ["spans", "vectors", "text", *(f"{weight:.2f}" for weight in WEIGHTS)]
    lines = [_row(head), "|---" * 3 + "|---:" * len(WEIGHTS) + "|"]
    for way, cuts in spans.items():
        pieces = pieces_of(bench.data, cuts)
        given = {
            "plain": [cut.plain_CD for cut in cuts.values()],
            "late": [cut.late_CD for cut in cuts.values()],
            "blend": [cut.blend() for cut in cuts.values()],
        }
        for kind, vectors in given.items():
            scored = [
                bench.scores(pieces, [with_neighbours(part, weight) for part in vectors])
                for weight in WEIGHTS
            ]
            for text in bench.data.texts:
                worth = [
                    sum(
                        s[m][of == other].mean() for m in MEASURES[1:] for other in set(of) - {text}
                    )
                    for s in scored
                ]
                cells = [
                    "/".join(f"{s[m][of == text].mean():.3f}" for m in MEASURES[1:])
                    + ("*" if i == int(np.argmax(worth)) else "")
                    for i, s in enumerate(scored)
                ]
                lines.append(_row([way, kind, text, *cells]))
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("eval_dir", type=Path)
    parser.add_argument("--set", default="chroma_dev")
    parser.add_argument("--weight", type=float, default=0.2, help="share of the neighbours")
    parser.add_argument("--tables", nargs="+", default=["kinds", "overlap", "weights"])
    parser.add_argument("--cache", type=Path, help="a folder that keeps vectors between runs")
    args = parser.parse_args()
    folder = args.eval_dir / args.set
    model = locate(ModelConfig().name, None)
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    data = Questions.read(folder, tokenizer)
    passes = TokenPasses(model=model, cache=args.cache)
    encode = Encoder(model, args.cache / "texts.sqlite" if args.cache else None)
    bench = Bench(
        data=data,
        questions_QD=encode(data.questions, WINDOW),
        passes=passes,
        weight=args.weight,
    )
    with Chunkmill() as mill:
        texts = {name: mill.parse(folder / "corpora" / f"{name}.txt") for name in data.texts}
        spans = {
            way: {name: cut_of(mill, text, choice) for name, text in texts.items()}
            for way, choice in SPANS.items()
        }
    tables = {"kinds": kinds_table, "overlap": overlap_table, "weights": weights_table}
    for name in args.tables:
        print(f"{tables[name](bench, spans)}\n", flush=True)


if __name__ == "__main__":
    main()
