"""Memory of the embedding stage over many documents: ``python scripts/bench/memory.py``.

Generated documents of widely differing sizes go through the stage in units, as in the
actor of a job; none is kept. Printed is the resident memory of the process after every
250 documents, which should not rise once all sizes have been seen: math libraries keep a
kernel for each length of input, so that documents of every size up to ``--warm`` words go
first. Then comes the peak over single documents of the sizes given by ``--big``. All hold
for the model and the settings that are given as for a job: ``model.name=hash:64`` is a
test double that needs no time, so that large numbers can be tried.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import math
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from chunking import ids  # noqa: E402 - run by path, not installed
from chunking.model import Document  # noqa: E402
from jobs.adapters.embedders import make_embedder  # noqa: E402
from jobs.config_load import load_config  # noqa: E402
from jobs.parsing.builder import DocumentBuilder  # noqa: E402
from jobs.ports import ParseOutcome  # noqa: E402
from jobs.records import ParsedDocument, PlanRow  # noqa: E402
from jobs.stages.embed import EmbedStage  # noqa: E402

MIB = 2**20
SYLLABLES = ("ka", "ro", "mi", "ten", "sol", "ba", "ver", "lin", "do", "gra", "pe", "sun")
SPREAD = 1.0
"""Standard deviation of the logarithm of sizes: one in twenty is five times the median."""

_SENTENCE_WORDS = (4, 30)
_PARAGRAPH_SENTENCES = (1, 6)
_HEADING_EVERY = 8
_VOCABULARY = 20_000
_KIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Resident bytes of this process: now, and at most since the last :func:`forget_peak`."""

    now: int
    peak: int

    @staticmethod
    def read() -> Memory:
        """Return the kernel's figures."""
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        sizes = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith("Vm")}
        return Memory(now=int(sizes["VmRSS"]) * _KIB, peak=int(sizes["VmHWM"]) * _KIB)


def hand_back() -> None:
    """Let the C library give its free memory back, where it is glibc: what remains is in use."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def forget_peak() -> None:
    """Let the peak begin anew at what is resident now."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


class Writer:
    """Writes documents of made-up words, the same ones from the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - texts, not secrets
        # Long documents must not be long repetitions: words are as frequent as in a language.
        self._words = ["".join(self._random.choices(SYLLABLES, k=2)) for _ in range(_VOCABULARY)]
        weights = (1 / rank for rank in range(1, _VOCABULARY + 1))
        self._weights = list(_cumulated(weights))

    def size(self, median: int) -> int:
        """Return the words of the next document."""
        return max(int(self._random.lognormvariate(math.log(median), SPREAD)), 1)

    def document(self, n_words: int) -> Document:
        """Return a document of about so many words, under headings."""
        builder = DocumentBuilder()
        number = 0
        while n_words > 0:
            if number % _HEADING_EVERY == 0:
                builder.heading(self._sentence(4), 1 + number // _HEADING_EVERY % 3)
            sentences = []
            for _ in range(self._random.randint(*_PARAGRAPH_SENTENCES)):
                length = self._random.randint(*_SENTENCE_WORDS)
                sentences.append(self._sentence(min(length, max(n_words, 1))) + ".")
                n_words -= length
            builder.add("paragraph", " ".join(sentences))
            number += 1
        return builder.build(language="en")

    def _sentence(self, n_words: int) -> str:
        words = self._random.choices(self._words, cum_weights=self._weights, k=n_words)
        return " ".join(words).capitalize()


def _cumulated(weights: Iterator[float]) -> Iterator[float]:
    total = 0.0
    for weight in weights:
        total += weight
        yield total


def parsed(number: int, document: Document) -> ParsedDocument:
    """Return a document as the parsing stage hands it on."""
    name = f"document-{number}"
    plan = PlanRow(
        unit=0,
        bucket=0,
        doc_id=ids.doc_id(name),
        source_key=name,
        source_uri=name,
        size_bytes=len(document.text),
        location=name,
    )
    outcome = ParseOutcome(status="ok", format="txt", parser="text", document=document)
    return ParsedDocument(plan=plan, outcome=outcome, doc_version="", etag=None, size_bytes=0)


def embedded(stage: EmbedStage, documents: Sequence[ParsedDocument]) -> tuple[int, int]:
    """Put a unit through the stage; return the numbers of tokens and chunks."""
    tables = stage(documents)
    statuses = set(tables.documents["status"].to_pylist())
    if statuses != {"ok"}:
        msg = f"documents failed: {tables.documents['error_message'].to_pylist()}"
        raise SystemExit(msg)
    return int(pc.sum(tables.documents["n_tokens"]).as_py() or 0), tables.chunks.num_rows


def warmed(stage: EmbedStage, args: argparse.Namespace) -> None:
    """Put documents of every size through, so that every length of input has been seen."""
    writer = Writer(seed=3)
    sizes = range(1, args.warm + 1)
    for first in range(0, len(sizes), args.unit):
        unit = [parsed(n, writer.document(n)) for n in sizes[first : first + args.unit]]
        embedded(stage, unit)
    gc.collect()
    hand_back()
    print(f"after documents of up to {args.warm} words: {Memory.read().now / MIB:.1f} MiB\n")


def over_many(stage: EmbedStage, args: argparse.Namespace) -> None:
    """Print the curve over many documents, and how far it rises in its second half."""
    writer = Writer(seed=1)
    print("| documents | tokens | chunks | resident MiB | peak MiB | seconds |")
    print(f"{'|---:' * 6}|")
    began, curve, tokens, chunks = time.monotonic(), [], 0, 0
    for first in range(0, args.documents, args.unit):
        numbers = range(first, min(first + args.unit, args.documents))
        unit = [parsed(n, writer.document(writer.size(args.words))) for n in numbers]
        found = embedded(stage, unit)
        tokens, chunks = tokens + found[0], chunks + found[1]
        if numbers.stop // args.every > first // args.every or numbers.stop == args.documents:
            gc.collect()
            memory = Memory.read()
            curve.append(memory.now)
            cells = (f"{numbers.stop}", f"{tokens}", f"{chunks}", f"{memory.now / MIB:.1f}")
            seconds = time.monotonic() - began
            print(f"| {' | '.join(cells)} | {memory.peak / MIB:.1f} | {seconds:.0f} |", flush=True)
    half = curve[len(curve) // 2 :]
    rise = half[-1] - half[0]
    print(
        f"\nfrom the middle to the end: {rise / MIB:+.1f} MiB ({rise / half[0]:+.2%}); "
        f"highest above lowest in that half: {(max(half) - min(half)) / MIB:.1f} MiB"
    )
    hand_back()
    print(f"without what the allocator keeps: {Memory.read().now / MIB:.1f} MiB\n")


def over_big(stage: EmbedStage, sizes: Sequence[int]) -> None:
    """Print the peak over single documents, above what was resident before."""
    print("| tokens | chunks | text MiB | before MiB | peak MiB | bytes per token | seconds |")
    print(f"{'|---:' * 7}|")
    for n_words in sizes:
        document = Writer(seed=2).document(n_words)
        gc.collect()
        forget_peak()
        before, began = Memory.read().now, time.monotonic()
        tokens, chunks = embedded(stage, [parsed(0, document)])
        peak = Memory.read().peak
        cells = (f"{tokens}", f"{chunks}", f"{len(document.text) / MIB:.1f}")
        figures = (f"{before / MIB:.1f}", f"{peak / MIB:.1f}", f"{(peak - before) / tokens:.0f}")
        seconds = time.monotonic() - began
        print(f"| {' | '.join((*cells, *figures))} | {seconds:.0f} |", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("settings", nargs="*", metavar="KEY=VALUE", help="as --set of a run")
    parser.add_argument("--documents", type=int, default=3_000)
    parser.add_argument("--words", type=int, default=200, help="median words of a document")
    parser.add_argument("--warm", type=int, default=120, help="words of the largest warm-up text")
    parser.add_argument("--unit", type=int, default=32, help="documents of a unit")
    parser.add_argument("--every", type=int, default=250)
    parser.add_argument("--big", type=int, nargs="*", default=[], metavar="WORDS")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    config = load_config(None, args.settings)
    embedder = make_embedder(config, threads=args.threads)
    stage = EmbedStage(embedder, config, fingerprint="", run_id="")
    model = f"{config.model.name} {embedder.facts.dtype}"
    print(f"{model}; loaded: {Memory.read().now / MIB:.1f} MiB\n")
    if args.warm:
        warmed(stage, args)
    if args.documents:
        over_many(stage, args)
    if args.big:
        over_big(stage, args.big)


if __name__ == "__main__":
    main()
