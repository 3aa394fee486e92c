"""Ways to run a model on a CPU, by speed and by score: ``python scripts/bench/backends.py``.

torch in float32, bfloat16 and dynamic int8, ONNX Runtime in float32 and dynamic int8,
OpenVINO in float32, bfloat16 and int8 (nncf, calibrated on another text). All give token
vectors, so that late vectors can be pooled. What is not installed is left out and said.

Speed is tokens per second over batches of full windows, the median of the rounds, in
which backends take turns. Recall is that of ``retrieval.py`` on an evaluation set (see
``boundaries.py``), for the chunks that chunkmill makes by default: with vectors pooled
from windows (``late``), and with each chunk embedded alone (``chunk``). Questions are
embedded by torch in float32. ``start``: seconds from import to the first vectors, any
conversion included; ``MiB``: what is resident more after it than before. ``mates``: how
far a window's token vectors move when it shares its batch with others of the same length.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from contenders import Choice, Span, chunkmill
from cpu_backends import BACKENDS, PACKAGES, Forward, Ids, Model, example
from encoder import Encoder
from numpy.typing import NDArray
from retrieval import BUDGETS, Piece, Questions, measure
from tokenizers import Tokenizer
from whole_path import limited, machine

from jobs.adapters.model_files import locate
from jobs.config import ModelConfig

BATCH = 8
OVERLAP = 24
"""Tokens that a window reads on each side of what it owns, as by default in a job."""
MEASURES = ("R@5", *(f"R@{budget}t" for budget in BUDGETS))
_SPEED_BATCHES = 3
_CALIBRATION_WINDOWS = 32


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is embedded: the texts' tokens, the chunks (N), and the inputs made of both.

    ``windows``: name, first token owned, end of what is owned, first token read, ids.
    """

    data: Questions
    pieces: Sequence[Piece] = field(repr=False)
    windows: Sequence[tuple[str, int, int, int, Ids]] = field(repr=False)
    chunk_inputs: Sequence[Ids] = field(repr=False)
    pad: int

    @staticmethod
    def make(data: Questions, spans: dict[str, list[Span]], window: int) -> Task:
        """Cut the texts into windows, and tokenize the chunks."""
        encode = data.tokenizer.encode
        head, tail = _specials(data.tokenizer)
        room = window - len(head) - len(tail)
        windows = []
        for name, text in data.texts.items():
            tokens = encode(text, add_special_tokens=False).ids
            step = room - 2 * OVERLAP
            for first in range(0, len(tokens), step):
                read = max(first - OVERLAP, 0)
                ids = [*head, *tokens[read : read + room], *tail]
                windows.append((name, first, min(first + step, len(tokens)), read, np.array(ids)))
        pieces = [(name, a, b) for name, parts in spans.items() for a, b in parts]
        chunks = [
            encode(data.texts[name][a:b], add_special_tokens=False).ids[:room]
            for name, a, b in pieces
        ]
        return Task(
            data=data,
            pieces=pieces,
            windows=windows,
            chunk_inputs=[np.array([*head, *ids, *tail]) for ids in chunks],
            pad=data.tokenizer.token_to_id("[PAD]") or data.tokenizer.token_to_id("<pad>") or 0,
        )

    def full(self, window: int) -> Ids:
        """Return batches of full windows, B x window each, for the measure of speed."""
        whole = [ids for *_, ids in self.windows if len(ids) == window]
        n = BATCH * _SPEED_BATCHES
        return np.stack([whole[i % len(whole)] for i in range(n)]).reshape(-1, BATCH, window)


def _specials(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    whole = tokenizer.encode("a")
    at = whole.special_tokens_mask.index(0)
    n_text = whole.special_tokens_mask.count(0)
    return whole.ids[:at], whole.ids[at + n_text :]


def late_vectors(task: Task, forward: Forward) -> NDArray[np.float64]:
    """Return each chunk's mean over its tokens, as they are in their windows (N x D)."""
    lead = len(_specials(task.data.tokenizer)[0])
    tokens: dict[str, list[NDArray[np.float32]]] = {name: [] for name in task.data.texts}
    inputs = [ids for *_, ids in task.windows]
    for number, vectors in _in_batches(inputs, forward, task.pad):
        name, first, end, read, _ = task.windows[number]
        tokens[name].append(vectors[lead + first - read : lead + end - read])
    whole = {name: np.concatenate(parts) for name, parts in tokens.items()}
    means = []
    for name, start, end in task.pieces:
        first, last = np.searchsorted(task.data.token_starts[name], (start, end))
        means.append(whole[name][first : max(last, first + 1)].mean(axis=0, dtype=np.float64))
    return np.stack(means)


def chunk_vectors(task: Task, forward: Forward) -> NDArray[np.float64]:
    """Return each chunk's mean over all tokens of its own input (N x D)."""
    found = _in_batches(task.chunk_inputs, forward, task.pad)
    means = {number: vectors.mean(axis=0, dtype=np.float64) for number, vectors in found}
    return np.stack([means[number] for number in range(len(means))])


def _in_batches(
    inputs: Sequence[Ids], forward: Forward, pad: int
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Yield the token vectors of each input; within a length, in the order given."""
    order = sorted(range(len(inputs)), key=lambda i: len(inputs[i]), reverse=True)
    for first in range(0, len(order), BATCH):
        numbers = order[first : first + BATCH]
        longest = len(inputs[numbers[0]])
        ids = np.full((len(numbers), longest), pad, np.int64)
        mask = np.zeros_like(ids)
        for row, number in enumerate(numbers):
            ids[row, : len(inputs[number])] = inputs[number]
            mask[row, : len(inputs[number])] = 1
        for number, vectors in zip(numbers, forward(ids, mask), strict=True):
            yield number, vectors[: len(inputs[number])]


@dataclass(kw_only=True)
class Result:
    """A backend with what it took to make and to run."""

    name: str
    forward: Forward
    load: float
    added_mib: float
    cpus: list[float] = field(default_factory=list)
    walls: list[float] = field(default_factory=list)


def loaded(name: str, model: Model) -> Result | None:
    """Make a backend, its import and conversions included; None if something is not installed."""
    wanted = PACKAGES.get(name, PACKAGES.get(name.split(maxsplit=1)[0], ()))
    missing = [package for package in wanted if not _version(package)]
    if missing:
        print(f"{name}: needs {', '.join(missing)}", file=sys.stderr)
        return None
    before, began = _resident(), time.perf_counter()
    forward = BACKENDS[name](model)
    forward(*(part.numpy() for part in example()))
    seconds = time.perf_counter() - began
    return Result(name=name, forward=forward, load=seconds, added_mib=_resident() - before)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def timed(results: Sequence[Result], batches: Ids, rounds: int) -> None:
    """Take the time of all batches, the backends in turns; the first round only warms."""
    for number in range(rounds + 1):
        for result in results:
            cpu, wall = time.process_time(), time.perf_counter()
            for ids in batches:
                result.forward(ids, np.ones_like(ids))
            if number:
                result.cpus.append(time.process_time() - cpu)
                result.walls.append(time.perf_counter() - wall)


def rows(results: Sequence[Result], task: Task, args: argparse.Namespace) -> Iterator[str]:
    """Yield the table's lines: one for each backend."""
    batches = task.full(args.window)
    questions = Encoder(args.model, None)(task.data.questions, args.window)
    bfloat16 = [statistics.median(r.cpus) for r in results if r.name == "torch bfloat16"]
    expected = None
    for result in results:
        late, alone = late_vectors(task, result.forward), chunk_vectors(task, result.forward)
        expected = late if expected is None else expected
        cpu, wall = statistics.median(result.cpus), statistics.median(result.walls)
        mates = result.forward(batches[0], np.ones_like(batches[0]))[:1]
        single = result.forward(batches[0][:1], np.ones_like(batches[0][:1]))
        cells = [f"{batches.size / cpu:.0f}", f"{batches.size / wall:.0f}"]
        cells += [f"{bfloat16[0] / cpu:.2f}" if bfloat16 else "?", f"{result.load:.1f}"]
        cells += [f"{result.added_mib:.0f}", f"{np.abs(mates - single).max():.0e}"]
        cells += [f"{_cosine(late, expected).mean():.5f}"]
        for vectors in (late, alone):
            scores = measure(task.data, task.pieces, vectors, questions)
            cells.append(" / ".join(f"{scores[name].mean():.3f}" for name in MEASURES))
        yield f"| {result.name} | {' | '.join(cells)} |"


def _cosine(a_ND: NDArray[np.float64], b_ND: NDArray[np.float64]) -> NDArray[np.float64]:
    norms = np.linalg.norm(a_ND, axis=1) * np.linalg.norm(b_ND, axis=1)
    cosines: NDArray[np.float64] = (a_ND * b_ND).sum(axis=1) / norms
    return cosines


def main() -> None:
    """Measure and print."""
    args = _arguments()
    torch.set_num_threads(args.threads)
    warnings.filterwarnings("ignore")  # exporters warn of what they will drop one day
    args.model = args.model or locate(ModelConfig().name, None)
    tokenizer = Tokenizer.from_file(str(args.model / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    data = limited(Questions.read(args.eval_dir / args.set, tokenizer), args.limit)
    other = Questions.read(args.eval_dir / args.calibrate_on, tokenizer)
    choice = Choice(
        name="chunkmill", model=str(args.model), dtype="float32", batch=0, threads=args.threads
    )
    spans: Any = chunkmill(choice)(data.texts)[0]
    task = Task.make(data, spans, args.window)
    with tempfile.TemporaryDirectory() as scratch:
        model = Model(
            path=args.model,
            threads=args.threads,
            calibration=[ids[None] for *_, ids in Task.make(other, {}, args.window).windows][
                :_CALIBRATION_WINDOWS
            ],
            scratch=Path(scratch),
        )
        names = [name for name in BACKENDS if any(part in name for part in args.only)]
        results = [found for name in names if (found := loaded(name, model))]
        timed(results, task.full(args.window), args.rounds)
        packages = ("torch", "transformers", *sorted({p for ps in PACKAGES.values() for p in ps}))
        versions = ", ".join(f"{name} {_version(name)}" for name in packages)
        print(f"{machine()}; {args.threads} threads; {versions}")
        print(
            f"{args.model.name}; {args.set}: {len(task.pieces)} chunks, windows of {args.window}\n"
        )
        head = ["backend", "tokens per CPU s", "tokens/s", "to torch bfloat16", "start s"]
        head += [
            "MiB",
            "mates",
            "cosine",
            *(f"{k}: {' / '.join(MEASURES)}" for k in ("late", "chunk")),
        ]
        print(f"| {' | '.join(head)} |\n|---{'|---:' * (len(head) - 1)}|")
        for line in rows(results, task, args):
            print(line, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("eval_dir", type=Path)
    parser.add_argument("--set", default="chroma_dev")
    parser.add_argument("--calibrate-on", default="xquad_en", help="another set of EVAL_DIR")
    parser.add_argument("--model", type=Path, help="a folder; the default model if not given")
    parser.add_argument("--window", type=int, default=256)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=int, help="characters of each text; all if not given")
    parser.add_argument(
        "--only", nargs="+", default=[""], metavar="NAME", help="backends by a part of the name"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
