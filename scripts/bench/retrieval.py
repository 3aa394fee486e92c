"""Retrieval questions with character-exact answers, and what chunks are worth on them.

All chunks of all documents are ranked for each question by cosine similarity. Recall
and intersection over union are those of Smith and Troynikov, 2024, "Evaluating
Chunking Strategies for Retrieval" (section 3); recall at a budget reads chunks in rank
order until so many tokens are read, the last one in part, so that the size of chunks
does not decide by itself.

Shapes: N chunks, Q questions, D dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from tokenizers import Tokenizer

__all__ = ["BUDGETS", "Piece", "Questions", "bootstrap", "facts", "measure"]

BUDGETS = (500, 1500)
"""Tokens that a reader of the retrieved chunks takes in."""
TOP = 5
_RESAMPLES = 10_000
_SEED = 7

Piece = tuple[str, int, int]
"""A chunk: its document's name, its start and its end in code points."""
Scores = dict[str, NDArray[np.float64]]
"""Q values for each measure."""


@dataclass(frozen=True, kw_only=True)
class Questions:
    """One evaluation set: ``corpora/<document>.txt`` and ``questions.parquet`` of a folder.

    ``answers``: for each question its document and the disjoint spans of its answer.
    """

    texts: Mapping[str, str] = field(repr=False)
    questions: Sequence[str] = field(repr=False)
    answers: Sequence[tuple[str, Sequence[tuple[int, int]]]] = field(repr=False)
    tokenizer: Tokenizer = field(repr=False)

    @staticmethod
    def read(folder: Path, tokenizer: Tokenizer) -> Questions:
        """Read a set; offsets count the code points of exactly the texts that are there."""
        texts = {}
        for path in sorted((folder / "corpora").glob("*.txt")):
            with path.open(encoding="utf-8", newline="") as file:
                texts[path.stem] = file.read()
        rows = pq.read_table(folder / "questions.parquet").to_pylist()
        return Questions(
            texts=texts,
            questions=[row["question"] for row in rows],
            answers=[(row["doc"], _disjoint(row["references"])) for row in rows],
            tokenizer=tokenizer,
        )

    @cached_property
    def token_starts(self) -> dict[str, NDArray[np.int64]]:
        """Offsets of the tokens of each text, special ones left out."""
        return {
            name: np.asarray(
                [at for at, _ in self.tokenizer.encode(text, add_special_tokens=False).offsets],
                dtype=np.int64,
            )
            for name, text in self.texts.items()
        }


def _disjoint(spans: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted((int(a), int(b)) for a, b in spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def measure(
    data: Questions,
    pieces: Sequence[Piece],
    vectors_ND: NDArray[np.floating],
    questions_QD: NDArray[np.floating],
) -> Scores:
    """Return ``R@5``, ``IoU@5`` and ``R@<budget>t`` of every question.

    Similarities are compared at 1e-5; ties go to the document's name, then position.
    """
    order = sorted(range(len(pieces)), key=lambda i: pieces[i])
    pieces = [pieces[i] for i in order]
    bounds = [np.searchsorted(data.token_starts[name], (a, b)) for name, a, b in pieces]
    norms = np.linalg.norm(vectors_ND, axis=1, keepdims=True)
    unit_ND = (vectors_ND / np.maximum(norms, 1e-12))[order].astype(np.float32)
    similar_QN = np.round(questions_QD.astype(np.float32) @ unit_ND.T, 5)
    ranked_QN = np.argsort(-similar_QN, axis=1, kind="stable")
    names = ["R@5", "IoU@5", *(f"R@{budget}t" for budget in BUDGETS)]
    scores = {name: np.zeros(len(data.questions)) for name in names}
    for q, ranked in enumerate(ranked_QN.tolist()):
        answer = data.answers[q]
        first = [pieces[i] for i in ranked[:TOP]]
        found, total = _overlap(answer, first)
        read = sum(end - start for _, start, end in first)
        scores["R@5"][q] = found / total
        scores["IoU@5"][q] = found / (read + total - found)
        for budget in BUDGETS:
            parts = _within(data, pieces, bounds, ranked, budget)
            scores[f"R@{budget}t"][q] = _overlap(answer, parts)[0] / total
    return scores


def _within(
    data: Questions,
    pieces: Sequence[Piece],
    bounds: Sequence[NDArray[np.int64]],
    ranked: Sequence[int],
    budget: int,
) -> list[Piece]:
    """Return the pieces that a reader of ``budget`` tokens sees, the last one cut."""
    parts = []
    for i in ranked:
        name, start, end = pieces[i]
        first, last = bounds[i]
        if last - first > budget:
            starts = data.token_starts[name]
            if budget > 0:
                parts.append((name, start, max(start, int(starts[first + budget]))))
            break
        parts.append((name, start, end))
        budget -= int(last - first)
    return parts


def _overlap(
    answer: tuple[str, Sequence[tuple[int, int]]], parts: Sequence[Piece]
) -> tuple[int, int]:
    """Return how many of the answer's code points the parts hold, and how many it has."""
    name, spans = answer
    found = 0
    for start, end in spans:
        seen = np.zeros(end - start, dtype=bool)
        for part, a, b in parts:
            if part == name and a < end and b > start:
                seen[max(a - start, 0) : b - start] = True
        found += int(seen.sum())
    return found, sum(end - start for start, end in spans)


def facts(data: Questions, pieces: Sequence[Piece]) -> dict[str, float]:
    """Return the number and sizes of the chunks, and what of the texts they hold how often.

    ``coverage`` is the least share of a text's visible code points that lie in a chunk;
    ``duplication`` the chunks' tokens per token of the texts.
    """
    sizes = []
    seen = {name: np.zeros(len(text), dtype=bool) for name, text in data.texts.items()}
    for name, start, end in pieces:
        first, last = np.searchsorted(data.token_starts[name], (start, end))
        sizes.append(int(last - first))
        seen[name][start:end] = True
    visible = {
        name: np.asarray([not character.isspace() for character in text], dtype=bool)
        for name, text in data.texts.items()
    }
    return {
        "chunks": len(pieces),
        "mean": float(np.mean(sizes)),
        "p95": float(np.percentile(sizes, 95)),
        "max": max(sizes),
        "coverage": min(float(seen[name][visible[name]].mean()) for name in seen),
        "duplication": sum(sizes) / sum(map(len, data.token_starts.values())),
    }


def bootstrap(differences: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % interval of a mean over questions: percentile bootstrap, fixed seed."""
    rng = np.random.default_rng(_SEED)
    n = len(differences)
    means = [differences[rng.integers(0, n, n)].mean() for _ in range(_RESAMPLES)]
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)
