"""Chunking without the model, beside two other chunkers: ``python scripts/bench/packing.py``.

Every contender takes the same texts with the same tokenizer under the same cap, and its
time counts from the string to the chunks, tokenisation included: chunkmill reads the
string as a document, tokenizes it, splits it into units and packs them; ``semantic`` and
``optimal`` are given sentence vectors. What is measured is the CPU time of a process with
one thread; a contender's number is the median of the rounds, and in each round contenders
run one after another, so that a busy machine burdens all alike.

``--peers-python`` names the interpreter of an environment with ``semchunk``,
``semantic-text-splitter`` and ``transformers``; by default the running one. ``--share``
measures what packing takes beside the model's pass over the same text.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

if __package__ is None or not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent))
from packing_inputs import INPUTS

ROOT = Path(__file__).resolve().parents[2]
MODEL = "bundled:all-MiniLM-L6-v2"
STRATEGIES = ("fixed", "recursive", "structural", "semantic", "optimal")
PEERS = ("semchunk", "semantic-text-splitter")
CAPS = (200, 400)
ONE_THREAD = {
    "TOKENIZERS_PARALLELISM": "false",
    "RAYON_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
}
_WIDTH = 384

Chunker = Callable[[str, int], Callable[[], int]]
"""``chunker(text, cap)`` prepares what is not measured; its result does the work."""


def chunkmill(strategy: str, tokenizer_folder: str) -> Chunker:
    """Return chunkmill with one strategy."""
    import numpy as np  # noqa: PLC0415 - the peers' environment need not have all this
    from transformers import AutoTokenizer  # noqa: PLC0415

    sys.path.insert(0, str(ROOT))
    from chunking.chunker import chunk_document  # noqa: PLC0415
    from chunking.settings import PRESETS, ChunkingSettings  # noqa: PLC0415
    from chunking.text import read_text  # noqa: PLC0415
    from chunking.units import split_units  # noqa: PLC0415
    from jobs.adapters.tokenizer import FastTokenizer  # noqa: PLC0415

    tokenizer = FastTokenizer(AutoTokenizer.from_pretrained(tokenizer_folder), "")

    def prepare(text: str, cap: int) -> Callable[[], int]:
        preset = {200: PRESETS["small"], 400: PRESETS["large"]}[cap]
        settings = ChunkingSettings(**{**preset, "boundaries": strategy})  # type: ignore[arg-type]
        vectors = None
        if strategy in ("semantic", "optimal"):
            document = read_text(text, language="en").document
            n = len(split_units(document, tokenizer.tokenize(document.text)))
            steps = np.random.default_rng(0).normal(size=(n, _WIDTH)).astype(np.float32)
            steps[1:] += steps[:-1]
            vectors = steps

        def run() -> int:
            document = read_text(text, language="en").document
            tokens = tokenizer.tokenize(document.text)
            units = split_units(document, tokens)
            return len(chunk_document(document, units, tokens, vectors, settings, tokenizer.count))

        return run

    return prepare


def semchunk_chunker(tokenizer_folder: str) -> Chunker:
    """Return semchunk, which makes a token counter of the tokenizer and remembers counts."""
    import semchunk  # noqa: PLC0415
    from tokenizers import Tokenizer  # noqa: PLC0415

    tokenizer = Tokenizer.from_file(f"{tokenizer_folder}/tokenizer.json")
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def prepare(text: str, cap: int) -> Callable[[], int]:
        # A new chunker each time: what it remembers of the last run is not to help it.
        chunker = semchunk.chunkerify(tokenizer, cap)
        return lambda: len(chunker(text))

    return prepare


def splitter_chunker(tokenizer_folder: str) -> Chunker:
    """Return semantic-text-splitter over the same tokenizer."""
    from semantic_text_splitter import TextSplitter  # noqa: PLC0415
    from tokenizers import Tokenizer  # noqa: PLC0415

    tokenizer = Tokenizer.from_file(f"{tokenizer_folder}/tokenizer.json")
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def prepare(text: str, cap: int) -> Callable[[], int]:
        splitter = TextSplitter.from_huggingface_tokenizer(tokenizer, cap)
        return lambda: len(splitter.chunks(text))

    return prepare


def chunker_of(name: str, tokenizer_folder: str) -> Chunker:
    """Return the contender of a name; others than peers are strategies."""
    if name == "semchunk":
        return semchunk_chunker(tokenizer_folder)
    if name == "semantic-text-splitter":
        return splitter_chunker(tokenizer_folder)
    return chunkmill(name, tokenizer_folder)


def child(names: Sequence[str], folder: str, tokenizer_folder: str) -> None:
    """Run some contenders over every text and cap, and print one line of JSON for each."""
    for name in names:
        chunker = chunker_of(name, tokenizer_folder)
        chunker("A sentence to load what is loaded late. " * 50, CAPS[0])()
        for path in sorted(Path(folder).glob("*.txt")):
            text = path.read_text(encoding="utf-8")
            for cap in CAPS:
                run = chunker(text, cap)
                began = time.process_time()
                n_chunks = run()
                seconds = time.process_time() - began
                row = {"name": name, "input": path.stem, "cap": cap, "seconds": seconds}
                print(json.dumps({**row, "chunks": n_chunks}), flush=True)


def versions(names: Sequence[str]) -> None:
    """Print the versions of some distributions as JSON."""
    print(json.dumps({name: version(name) for name in names}))


def _ask(python: str, *arguments: str) -> list[dict[str, Any]]:
    command = [python, str(Path(__file__).resolve()), *arguments]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, check=True, text=True, env={**os.environ, **ONE_THREAD}
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _tokenizer_folder() -> str:
    sys.path.insert(0, str(ROOT))
    from jobs.adapters.model_files import locate  # noqa: PLC0415 - not in the peers' environment

    return str(locate(MODEL, None))


def compare(options: argparse.Namespace) -> None:
    """Run all rounds and print the table."""
    tokenizer_folder = _tokenizer_folder()
    found: dict[tuple[str, int, str], list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory(prefix="chunkmill-bench-") as folder:
        _write_inputs(folder, options)
        sizes = {path.stem: path.stat().st_size for path in Path(folder).glob("*.txt")}
        contenders = [(options.peers_python, [peer]) for peer in PEERS]
        contenders += [(sys.executable, [strategy]) for strategy in STRATEGIES]
        for _ in range(options.rounds):
            for python, names in contenders:
                print(f"running {' '.join(names)}", file=sys.stderr)
                asked = ["--child", ",".join(names), folder, tokenizer_folder]
                for row in _ask(python, *asked):
                    found.setdefault((row["input"], row["cap"], row["name"]), []).append(row)
    (peers,) = _ask(options.peers_python, "--versions", ",".join([*PEERS, "tokenizers"]))
    (own,) = _ask(sys.executable, "--versions", "tokenizers")
    print(
        f"peers: {', '.join(f'{k} {v}' for k, v in peers.items())}; "
        f"here: tokenizers {own['tokenizers']}, Python {sys.version.split()[0]}; "
        f"median CPU seconds of {options.rounds} round(s), one thread"
    )
    print(
        f"{'text':12} {'cap':>4} {'contender':24} {'seconds':>8} {'MB/s':>6} {'chunks':>7}  ratio"
    )
    for name in options.only:
        for cap in CAPS:
            _print_group(name, cap, found, sizes[name])


def _print_group(
    text: str, cap: int, found: dict[tuple[str, int, str], list[dict[str, Any]]], size: int
) -> None:
    """Print one text and cap; the ratio is the time to that of the faster peer."""
    rows = {name: found[text, cap, name] for name in (*PEERS, *STRATEGIES)}
    medians = {name: statistics.median(r["seconds"] for r in got) for name, got in rows.items()}
    fastest = min(medians[peer] for peer in PEERS)
    for name, seconds in medians.items():
        print(
            f"{text:12} {cap:4} {name:24} {seconds:8.3f} {size / 1e6 / seconds:6.1f} "
            f"{rows[name][0]['chunks']:7}  {seconds / fastest:.2f}"
        )


def _write_inputs(folder: str, options: argparse.Namespace) -> None:
    for name in options.only:
        text = INPUTS[name](random.Random(7), options.scale)  # noqa: S311 - seeded sample text
        if options.text is not None and name in ("prose", "line"):
            text = options.text.read_text(encoding="utf-8")
            text = " ".join(text.split()) if name == "line" else text
        Path(folder, f"{name}.txt").write_text(text, encoding="utf-8")


def share(options: argparse.Namespace) -> None:
    """Print what each strategy takes of the model's pass over the same text."""
    os.environ.update(ONE_THREAD)
    sys.path.insert(0, str(ROOT))
    import numpy as np  # noqa: PLC0415

    from chunking.chunker import chunk_document  # noqa: PLC0415
    from chunking.pooling import unit_ranges  # noqa: PLC0415
    from chunking.settings import ChunkingSettings  # noqa: PLC0415
    from chunking.text import read_text  # noqa: PLC0415
    from chunking.units import split_units  # noqa: PLC0415
    from chunking.windows import plan_windows  # noqa: PLC0415
    from jobs.adapters.sentence_transformer import SentenceTransformerEmbedder  # noqa: PLC0415
    from jobs.config import ModelConfig  # noqa: PLC0415

    embedder = SentenceTransformerEmbedder.load(ModelConfig(name=MODEL), threads=1)
    text = INPUTS["prose"](random.Random(7), options.share_chars / 10_000_000)  # noqa: S311
    if options.text is not None:
        text = options.text.read_text(encoding="utf-8")[: options.share_chars]
    document = read_text(text, language="en").document
    tokens = embedder.tokenize(document.text)
    units = split_units(document, tokens)
    windows = plan_windows(
        document, units, window_tokens=embedder.window_tokens, overlap=embedder.window_tokens // 8
    )
    vectors = np.empty((len(units), embedder.dimension), np.float32)
    began = time.process_time()
    inputs = [tokens.ids[window.start : window.end] for window in windows]
    ranges = [unit_ranges(window, units) for window in windows]
    for index, means in embedder.window_means(inputs, ranges):
        window = windows[index]
        vectors[window.first_unit : window.last_unit] = means
    model = time.process_time() - began
    print(f"model pass: {len(text):,} characters, {len(tokens.ids):,} tokens, {model:.2f} s")
    for strategy in STRATEGIES:
        settings = ChunkingSettings(boundaries=strategy)  # type: ignore[arg-type]
        times = []
        for _ in range(options.rounds):
            began = time.process_time()
            chunk_document(document, units, tokens, vectors, settings, embedder.count)
            times.append(time.process_time() - began)
        seconds = statistics.median(times)
        print(f"{strategy:12} {seconds:7.3f} s  {seconds / model:7.2%} of the model pass")


def main() -> None:
    """Read the options and do what they ask."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers-python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="of the sizes of the texts")
    parser.add_argument("--only", nargs="+", choices=INPUTS, default=[*INPUTS], help="these texts")
    parser.add_argument("--text", type=Path, help="a UTF-8 file in place of the generated prose")
    parser.add_argument("--share", action="store_true", help="measure beside the model instead")
    parser.add_argument("--share-chars", type=int, default=300_000)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--versions", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        names, folder, tokenizer_folder = options.child
        child(names.split(","), folder, tokenizer_folder)
    elif options.versions:
        versions(options.versions.split(","))
    elif options.share:
        share(options)
    else:
        compare(options)


if __name__ == "__main__":
    main()
