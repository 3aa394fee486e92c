"""Text to boundaries and chunk vectors, beside other chunkers: ``whole_path.py EVAL_DIR``.

Every contender takes the texts of an evaluation set (see ``boundaries.py``) as strings and
gives chunks and one vector per chunk, with the same model on the same number of threads:
chunkmill by its embedding stage, LangChain, LlamaIndex and chonkie by their semantic
chunkers and an embedding of the chunks after it, chonkie's late chunker by itself. Each is
run in float32 and in bfloat16. Peers get the batch size that is fastest on a part of the
texts; chunkmill runs as it is configured by default.

Contenders take turns, so that whatever else the machine does burdens all alike; seconds
are medians of the rounds, and the first pass, by which tokens are counted, is not timed.
Recall is that of ``retrieval.py``, with questions embedded in float32 by the same model.

``--peers-python`` names an interpreter that has the peers, their integrations of
sentence-transformers and the same torch (see ``contenders.py``).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from contenders import CONTENDERS, Choice
from encoder import Encoder
from numpy.typing import NDArray
from retrieval import BUDGETS, Piece, Questions, bootstrap, facts, measure
from tokenizers import Tokenizer

from jobs.adapters.model_files import locate
from jobs.config import ModelConfig

OURS = "chunkmill"
DTYPES = ("float32", "bfloat16")
MEASURES = ("R@5", *(f"R@{budget}t" for budget in BUDGETS))
SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    "default": {},
    "small": {
        "LangChain SemanticChunker": {"breakpoint_threshold_amount": 80},
        "LlamaIndex SemanticSplitter": {"breakpoint_percentile_threshold": 80},
        "chonkie SemanticChunker": {"threshold": 0.4, "chunk_size": 200},
        "chonkie LateChunker": {"chunk_size": 160},
    },
}
"""Arguments of the peers: as documented, or those whose chunks have a mean size of 110-130."""
PACKAGES = (
    *("torch", "transformers", "sentence-transformers", "tokenizers", "langchain-experimental"),
    *("langchain-huggingface", "llama-index-core", "llama-index-embeddings-huggingface", "chonkie"),
)
GOALS = {
    "LangChain SemanticChunker": (2.2, 4.0),
    "LlamaIndex SemanticSplitter": (2.2, 4.0),
    "chonkie SemanticChunker": (2.5, 4.0),
    "chonkie LateChunker": (1.2, None),
}
"""How many times as long a peer is to take: in the same type, and in float32 to our bfloat16."""
_TUNING_RUNS = 2
_WINDOW = 256
_FLAGS = ("avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_bf16", "amx_int8")
"""What decides how fast each number type is."""


class Worker:
    """An interpreter that runs contenders; one request at a time."""

    def __init__(self, python: Path, threads: int) -> None:
        environment = os.environ | {
            "OMP_NUM_THREADS": str(threads),
            "RAYON_NUM_THREADS": str(threads),
            "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false",
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_VERBOSITY": "error",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        }
        script = Path(__file__).with_name("contenders.py")
        self._python = python
        self._process = subprocess.Popen(
            [python, script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def ask(self, **request: object) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        if self._process.stdin is None or self._process.stdout is None:
            raise BrokenPipeError
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            msg = f"{self._python} ended with {self._process.wait()}"
            raise SystemExit(msg)
        found: dict[str, Any] = json.loads(line)
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()


@dataclass(kw_only=True)
class Entry:
    """A contender in one number type, and what its runs gave."""

    choice: Choice
    worker: Worker
    first: dict[str, Any] = field(default_factory=dict)
    vectors: NDArray[np.float32] | None = None
    walls: list[float] = field(default_factory=list)
    cpus: list[float] = field(default_factory=list)

    @property
    def label(self) -> str:
        """Name and number type."""
        return f"{self.choice.name} {self.choice.dtype}"

    @property
    def wall(self) -> float:
        """Median seconds."""
        return statistics.median(self.walls)

    @property
    def cpu(self) -> float:
        """Median CPU seconds."""
        return statistics.median(self.cpus)

    def run(self, texts: Path, *, count: bool = False, last: bool = False) -> dict[str, Any]:
        """Run once on the texts in a JSON file; leaves the vectors beside it."""
        return self.worker.ask(
            choice=asdict(self.choice),
            texts=str(texts),
            out=str(texts.with_suffix(".npy")),
            count=count,
            last=last,
        )


def limited(data: Questions, limit: int | None) -> Questions:
    """Return the first ``limit`` characters of each text, and the questions they answer."""
    if limit is None:
        return data
    kept = [q for q, (_, spans) in enumerate(data.answers) if spans[-1][1] <= limit]
    return replace(
        data,
        texts={name: text[:limit] for name, text in data.texts.items()},
        questions=[data.questions[q] for q in kept],
        answers=[data.answers[q] for q in kept],
    )


def entries(args: argparse.Namespace, model: Path, ours: Worker, peers: Worker) -> list[Entry]:
    """Return all contenders in all number types."""
    found = []
    for dtype in DTYPES:
        for name in (name for name in CONTENDERS if any(part in name for part in args.only)):
            setting = SETTINGS[args.settings].get(name, {})
            choice = Choice(
                name=name,
                model=str(model),
                dtype=dtype,
                batch=0,
                threads=args.threads,
                window=None if name == OURS else args.peer_window,
                setting={"set": args.set_ours} if name == OURS else setting,
            )
            found.append(Entry(choice=choice, worker=ours if name == OURS else peers))
    return found


def tuned(entry: Entry, texts: Path, batches: Sequence[int]) -> Entry:
    """Return a peer with the batch size that is fastest on these texts."""
    seconds = {}
    for batch in batches:
        tried = replace(entry, choice=replace(entry.choice, batch=batch))
        runs = [tried.run(texts, last=i == _TUNING_RUNS - 1) for i in range(_TUNING_RUNS)]
        seconds[batch] = min(run.get("wall", float("inf")) for run in runs)
    times = ", ".join(f"{batch}: {taken:.2f}" for batch, taken in seconds.items())
    print(f"{entry.label}: seconds by batch size {times}", file=sys.stderr)
    return replace(entry, choice=replace(entry.choice, batch=min(seconds, key=seconds.__getitem__)))


def measured(found: Sequence[Entry], texts: Path, rounds: int) -> list[Entry]:
    """Run all contenders in turns; one that fails says so and is left out."""
    running = []
    for entry in found:
        entry.first = entry.run(texts, count=True)
        if "error" in entry.first:
            print(f"{entry.label}: {entry.first['error']}", file=sys.stderr)
            continue
        entry.vectors = np.load(texts.with_suffix(".npy"))
        running.append(entry)
    for number in range(rounds):
        # Each round begins with another one: none always follows the same.
        for entry in running[number % len(running) :] + running[: number % len(running)]:
            run = entry.run(texts)
            entry.walls.append(run["wall"])
            entry.cpus.append(run["cpu"])
    return running


def scores(entry: Entry, data: Questions, questions_QD: NDArray[np.float32]) -> dict[str, Any]:
    """Return the measures of every question, and the mean size of chunks."""
    pieces: list[Piece] = [(name, a, b) for name, ps in entry.first["spans"].items() for a, b in ps]
    if entry.vectors is None:
        raise LookupError(entry.label)
    found = measure(data, pieces, entry.vectors, questions_QD)
    return {**found, **facts(data, pieces)}


def show(found: Sequence[Entry], data: Questions, scored: Mapping[str, dict[str, Any]]) -> None:
    """Print what each contender took and gave."""
    n_tokens = sum(map(len, data.token_starts.values()))
    head = ["contender", "batch", "wall s", "range", "CPU s", "tokens/s", "in model", "padded"]
    head += ["chunks", "mean", "max", *MEASURES]
    print(f"| {' | '.join(head)} |\n|---{'|---:' * (len(head) - 1)}|")
    for entry in found:
        score = scored[entry.label]
        padded, real = entry.first["padded"], entry.first["real"]
        cells = [entry.label, str(entry.choice.batch or "default"), f"{entry.wall:.2f}"]
        cells += [f"{min(entry.walls):.2f}-{max(entry.walls):.2f}", f"{entry.cpu:.2f}"]
        cells += [f"{n_tokens / entry.wall:.0f}"]
        cells += [f"{n / n_tokens:.2f}" if n else "?" for n in (real, padded)]
        cells += [f"{score[name]:.0f}" for name in ("chunks", "mean", "max")]
        cells += [f"{score[name].mean():.3f}" for name in MEASURES]
        print(f"| {' | '.join(cells)} |")
    print("\n`in model` and `padded`: tokens per token of the texts, without and with padding.")


def compare(found: Sequence[Entry], scored: Mapping[str, dict[str, Any]]) -> None:
    """Print how many times as long each peer takes, and how far its recall lies below ours."""
    by_label = {entry.label: entry for entry in found}
    head = [
        "peer",
        "ours",
        "wall ratio",
        "CPU ratio",
        "goal",
        *(f"ours - its {m}" for m in MEASURES),
    ]
    print(f"\n| {' | '.join(head)} |\n|---|---{'|---:' * (len(head) - 2)}|")
    pairs = [(dtype, dtype) for dtype in DTYPES] + [("float32", "bfloat16")]
    for theirs, own in pairs:
        for name, goals in GOALS.items():
            peer, ours = by_label.get(f"{name} {theirs}"), by_label.get(f"{OURS} {own}")
            if peer is None or ours is None:
                continue
            goal = goals[theirs != own]
            cells = [peer.label, own, f"{peer.wall / ours.wall:.2f}", f"{peer.cpu / ours.cpu:.2f}"]
            cells.append(f">= {goal}" if goal else "")
            cells += [_difference(scored[ours.label][m], scored[peer.label][m]) for m in MEASURES]
            print(f"| {' | '.join(cells)} |")


def _difference(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> str:
    low, high = bootstrap(ours - theirs)
    return f"{(ours - theirs).mean():+.3f} [{low:+.3f}, {high:+.3f}]"


def machine() -> str:
    """Return the processor, and what it has for small number types."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = {line.split(":")[1].strip() for line in lines if line.startswith("model name")}
    flags = next((line for line in lines if line.startswith("flags")), "").split()
    kinds = [
        flag for flag in ("avx512_bf16", "avx512_vnni", "amx_bf16", "amx_int8") if flag in flags
    ]
    return f"{', '.join(sorted(names))}, {os.cpu_count()} CPUs, {' '.join(kinds)}"


def main() -> None:
    """Measure and print."""
    args = _arguments()
    model = args.model or locate(ModelConfig().name, None)
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    data = limited(Questions.read(args.eval_dir / args.set, tokenizer), args.limit)
    with (
        tempfile.TemporaryDirectory() as scratch,
        Worker(Path(sys.executable), args.threads) as ours,
        Worker(args.peers_python, args.threads) as peers,
    ):
        print(f"{machine()}; {args.threads} threads; load {os.getloadavg()[0]:.1f} at the start")
        print("ours:", ours.ask(versions=PACKAGES))
        print("peers:", peers.ask(versions=PACKAGES), "\n")
        whole, part = Path(scratch) / "texts.json", Path(scratch) / "part.json"
        whole.write_text(json.dumps(dict(data.texts)), encoding="utf-8")
        parts = {name: text[: args.tune_characters] for name, text in data.texts.items()}
        part.write_text(json.dumps(parts), encoding="utf-8")
        found = [
            entry if entry.choice.name == OURS else tuned(entry, part, args.batches)
            for entry in entries(args, model, ours, peers)
        ]
        found = measured(found, whole, args.rounds)
    questions_QD = Encoder(model, None)(data.questions, _WINDOW)
    scored = {entry.label: scores(entry, data, questions_QD) for entry in found}
    print(
        f"{args.set}: {len(data.texts)} texts, {sum(map(len, data.token_starts.values()))} tokens, "
        f"{len(data.questions)} questions; median of {args.rounds} rounds\n"
    )
    show(found, data, scored)
    compare(found, scored)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("eval_dir", type=Path)
    parser.add_argument("--peers-python", type=Path, required=True)
    parser.add_argument("--set", default="chroma_dev")
    parser.add_argument("--model", type=Path, help="a folder; the default model if not given")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=int, help="characters of each text; all if not given")
    parser.add_argument("--settings", choices=sorted(SETTINGS), default="small")
    parser.add_argument(
        "--only", nargs="+", default=[""], metavar="NAME", help="contenders by a part of the name"
    )
    parser.add_argument("--peer-window", type=int, help="as the model was trained if not given")
    parser.add_argument("--batches", type=int, nargs="+", default=[8, 16, 32, 64, 128])
    parser.add_argument("--tune-characters", type=int, default=8_000, help="of each text")
    parser.add_argument(
        "--set-ours", action="append", default=[], metavar="KEY=VALUE", help="as --set of a run"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
