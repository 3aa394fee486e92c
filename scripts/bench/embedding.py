"""The embedding stage against the hardware's limit: ``python scripts/bench/embedding.py TEXTS``.

TEXTS is a folder of text files (.txt, .md). The limit is a bare forward pass of the same
model, in the same type, on the same threads, over pre-tokenised inputs that all have
the length of the window, in batches of the size that is fastest. The stage does all its
work: tokens, sentences, windows, passes, distances, boundaries, pooled vectors, rows.

Stage and limit take turns, so that whatever else the machine does burdens both alike.
Printed are tokens through the model per second of CPU time and of wall time, the ratio of
the medians, model tokens per document token, the share of filling, and where the stage's
time goes. ``--only-gpu`` adds the share of the card's matrix peak, given by ``--peak``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
BATCHES = (4, 8, 16, 32)
GPU_BATCHES = (32, 64, 128, 256)
UNIT_DOCUMENTS = 32
SUFFIXES = (".txt", ".md")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """Seconds of one round."""

    wall: float
    cpu: float


def timed(action: Callable[[], None]) -> Timed:
    """Return what one call takes."""
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    return Timed(wall=time.perf_counter() - wall, cpu=time.process_time() - cpu)


def read_units(folder: Path, most_chars: int) -> list[list[Any]]:
    """Return the folder's texts as parsed documents, in units."""
    from chunking import ids  # noqa: PLC0415
    from chunking.text import read_text  # noqa: PLC0415
    from jobs.ports import ParseOutcome  # noqa: PLC0415
    from jobs.records import ParsedDocument, PlanRow  # noqa: PLC0415

    documents: list[ParsedDocument] = []
    left = most_chars
    for path in sorted(p for p in folder.rglob("*") if p.suffix in SUFFIXES):
        text = path.read_text(encoding="utf-8", errors="replace")[:left]
        left -= len(text)
        key = path.relative_to(folder).as_posix()
        row = PlanRow(
            unit=0,
            bucket=0,
            doc_id=ids.doc_id(key),
            source_key=key,
            source_uri=path.resolve().as_uri(),
            size_bytes=len(text),
            location=key,
        )
        document = read_text(text, language="en").document
        outcome = ParseOutcome(status="ok", format="txt", parser="text", document=document)
        documents.append(
            ParsedDocument(
                plan=row, outcome=outcome, doc_version=key, etag=key, size_bytes=len(text)
            )
        )
        if left <= 0:
            break
    return [documents[i : i + UNIT_DOCUMENTS] for i in range(0, len(documents), UNIT_DOCUMENTS)]


class Limit:
    """A bare forward pass over full windows."""

    def __init__(self, name: str, dtype: str, device: str, ids: Sequence[int], window: int) -> None:
        import torch  # noqa: PLC0415
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415

        from jobs.adapters.model_files import locate  # noqa: PLC0415

        model = SentenceTransformer(
            str(locate(name, None)),
            device=device,
            model_kwargs={"dtype": getattr(torch, dtype)},
        ).eval()
        self._torch = torch
        self._device = device
        self._model: Any = next(iter(model.children()))
        self.n_parameters = sum(p.numel() for p in self._model.parameters())
        rows = max(len(ids) // window, 1)
        self._ids = torch.tensor(ids[: rows * window], dtype=torch.long).reshape(rows, -1)
        self.window = self._ids.shape[1]

    def run(self, batch: int, most_tokens: int) -> int:
        """Put full batches through the model; return the number of tokens."""
        torch = self._torch
        rows = min(len(self._ids), max(most_tokens // self.window, batch))
        rows -= rows % batch if rows > batch else 0
        with torch.inference_mode():
            for first in range(0, rows, batch):
                part = self._ids[first : first + batch].to(self._device)
                self._model({"input_ids": part, "attention_mask": torch.ones_like(part)})
        if self._device == "cuda":
            torch.cuda.synchronize()
        return rows * self.window


def phases(stage: Any, unit: Sequence[Any]) -> Iterator[tuple[str, float]]:  # noqa: ANN401
    """Yield what each step of the stage takes for one unit, in CPU seconds."""
    spent: dict[str, float] = {}

    def watched(name: str, step: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:  # noqa: ANN401
            began = time.process_time()
            try:
                return step(*args)
            finally:
                spent[name] = spent.get(name, 0.0) + time.process_time() - began

        return call

    names = ("_prepare", "_embed_units", "_measure", "_chunk", "_embed_chunks")
    for name in names:
        setattr(stage, name, watched(name, getattr(stage, name)))
    began = time.process_time()
    stage(unit)
    total = time.process_time() - began
    for name in names:
        delattr(stage, name)
    yield from spent.items()
    yield "rows", total - sum(spent.values())


def measure(options: argparse.Namespace, dtype: str) -> None:
    """Print the figures for one number type."""
    import torch  # noqa: PLC0415

    from jobs.adapters.sentence_transformer import SentenceTransformerEmbedder  # noqa: PLC0415
    from jobs.config import Config  # noqa: PLC0415
    from jobs.stages.embed import EmbedStage  # noqa: PLC0415

    model = {"name": options.model, "dtype": dtype, "device": options.device}
    if options.overlap is not None:
        model["window_overlap"] = options.overlap
    config = Config.model_validate({"model": model, "chunking": {"vectors": options.vectors}})
    embedder = SentenceTransformerEmbedder.load(config.model, threads=options.threads)
    stage = EmbedStage(embedder, config, fingerprint="f", run_id="r")
    units = read_units(options.texts, options.chars)
    texts = [d.outcome.document.text for unit in units for d in unit]
    ids = [int(i) for text in texts for i in embedder.tokenize(text).ids]
    limit = Limit(options.model, dtype, options.device, ids, embedder.facts.max_seq_length)
    sizes = GPU_BATCHES if options.device == "cuda" else BATCHES
    for unit in units:
        stage(unit)
    model_tokens, filled = embedder.passes.tokens, embedder.passes.rows
    share = min(model_tokens, options.limit_tokens)
    speeds = {}
    for size in sizes:
        n = limit.run(size, share)
        speeds[size] = n / timed(lambda size=size: limit.run(size, share)).cpu  # type: ignore[misc]
    best = max(speeds, key=lambda size: speeds[size])
    stage_s: list[Timed] = []
    limit_s: list[Timed] = []
    n = 0
    for _ in range(options.rounds):
        limit_s.append(timed(lambda: limit.run(best, share)))
        stage_s.append(timed(lambda: [stage(unit) for unit in units] and None))
        limit_s.append(timed(lambda: limit.run(best, share)))
    n = limit.run(best, share)
    print(
        f"\n{dtype}, {options.threads} threads, torch {torch.__version__}, packed passes: "
        f"{embedder.passes.packed}"
    )
    print(
        f"{len(texts)} texts, {len(ids):,} tokens, {model_tokens:,} through the model: "
        f"{model_tokens / len(ids):.3f} per document token; filling {1 - model_tokens / filled:.1%}"
    )
    for name in ("cpu", "wall"):
        ours = model_tokens / statistics.median(getattr(t, name) for t in stage_s)
        bare = n / statistics.median(getattr(t, name) for t in limit_s)
        print(
            f"per {name} second: stage {ours:,.0f} tokens, bare pass (batches of {best}) "
            f"{bare:,.0f}; ratio {ours / bare:.3f}"
        )
    if options.peak:
        wall = statistics.median(t.wall for t in stage_s)
        flops = 2 * limit.n_parameters * model_tokens / wall
        print(f"{flops / options.peak / 1e12:.1%} of the peak of {options.peak} TFLOP/s")
    spent: dict[str, float] = {}
    for unit in units:
        for name, seconds in phases(stage, unit):
            spent[name] = spent.get(name, 0.0) + seconds
    total = sum(spent.values())
    print("; ".join(f"{name.strip('_')} {seconds / total:.1%}" for name, seconds in spent.items()))


def main() -> None:
    """Read the options and measure each number type."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", type=Path, help="folder of text files")
    parser.add_argument("--model", default="bundled:all-MiniLM-L6-v2")
    parser.add_argument("--dtypes", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--vectors", default="late", choices=["late", "chunk", "blend"])
    parser.add_argument("--overlap", type=int)
    parser.add_argument("--chars", type=int, default=150_000, help="characters taken")
    parser.add_argument("--limit-tokens", type=int, default=32_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peak", type=float, help="matrix peak of the card, in TFLOP/s")
    options = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = str(options.threads)
    os.environ["HF_HUB_OFFLINE"] = "1"
    for dtype in options.dtypes:
        measure(options, dtype)


if __name__ == "__main__":
    main()
