"""Whole paths from text to boundaries and chunk vectors, run when asked by ``whole_path.py``.

Run by the interpreter that has what a contender needs: ``PYTHON contenders.py``. Reads
one JSON request per line from standard input and answers with one JSON line: how long
the path took, where its chunks stand, and the token count of the model's inputs where
that was asked for. Vectors go into the ``.npy`` file that the request names. Every
contender is kept once made, with its model, so that a later request finds it warm, until
a request says that it is the last.

Peers are used by their documented interfaces; the little that is not says why.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from answers import keep_answers_apart, serve
from numpy.typing import NDArray
from peer_chunkers import located

Span = tuple[int, int]
Chunks = Mapping[str, Sequence[str | Span]]
"""Each text's chunks: their text, or where they stand."""
Outcome = tuple[Chunks, Callable[[], NDArray[np.floating]]]
"""Chunks, and their vectors in order: taken from a peer's lists after the time was taken."""
Path_ = Callable[[Mapping[str, str]], Outcome]
ROOT = Path(__file__).resolve().parents[2]
_VOCABULARY = 1_000


@dataclass(frozen=True, kw_only=True)
class Choice:
    """How a contender is set up; ``setting`` holds arguments of its own.

    ``window`` None: as long as the model was trained at.
    """

    name: str
    model: str
    dtype: str
    batch: int
    threads: int
    window: int | None = None
    setting: Mapping[str, Any] = field(default_factory=dict)


def chunkmill(choice: Choice) -> Path_:
    """Chunkmill's embedding stage on plain text, from the string to the unit's tables."""
    sys.path.insert(0, str(ROOT))
    from chunking.text import read_text  # noqa: PLC0415 - the peers' interpreter has no chunkmill
    from jobs.adapters.embedders import make_embedder  # noqa: PLC0415
    from jobs.config_load import load_config  # noqa: PLC0415
    from jobs.stages.embed import EmbedStage  # noqa: PLC0415

    given = [f"model.name={choice.model}", f"model.dtype={choice.dtype}"]
    given += [f"model.max_seq_length={choice.window}"] if choice.window else []
    config = load_config(None, [*given, *choice.setting.get("set", ())])
    embedder = make_embedder(config, threads=choice.threads)
    stage = EmbedStage(embedder, config, fingerprint="", run_id="")

    def run(texts: Mapping[str, str]) -> Outcome:
        read = {name: read_text(text) for name, text in texts.items()}
        tables = stage([_parsed(name, plain.document) for name, plain in read.items()])
        columns: Any = (tables.chunks[name] for name in ("source_key", "start_char", "end_char"))
        names, starts, ends = (column.to_pylist() for column in columns)
        chunks: dict[str, list[Span]] = {name: [] for name in texts}
        for name, start, end in zip(names, starts, ends, strict=True):
            chunks[name].append(read[name].source_span(start, end))
        embedding: Any = tables.chunks["embedding"].combine_chunks()
        vectors = np.asarray(embedding.flatten()).reshape(len(names), -1)
        # Rows are sorted by document id; the caller wants them in the order of the texts.
        order = sorted(range(len(names)), key=lambda i: list(texts).index(names[i]))
        return chunks, lambda: vectors[order]

    return run


def _parsed(name: str, document: Any) -> Any:  # noqa: ANN401 - of a package that peers lack
    """Return a document as the parsing stage hands it on, its languages told as there."""
    from dataclasses import replace  # noqa: PLC0415

    from chunking import ids  # noqa: PLC0415 - as above
    from jobs.parsing.language import detect_block_languages, detect_language  # noqa: PLC0415
    from jobs.ports import ParseOutcome  # noqa: PLC0415
    from jobs.records import ParsedDocument, PlanRow  # noqa: PLC0415

    text = document.text
    language = detect_language(text[block.start : block.end] for block in document.blocks)
    plan = PlanRow(
        unit=0,
        bucket=0,
        doc_id=ids.doc_id(name),
        source_key=name,
        source_uri=name,
        size_bytes=len(text),
        location=name,
    )
    outcome = ParseOutcome(
        status="ok",
        format="txt",
        parser="text",
        document=detect_block_languages(replace(document, language=language)),
    )
    return ParsedDocument(plan=plan, outcome=outcome, doc_version="", etag=None, size_bytes=0)


def langchain(choice: Choice) -> Path_:
    """LangChain: SemanticChunker, then the chunks by the same embeddings."""
    experimental = importlib.import_module("langchain_experimental.text_splitter")
    embeddings = importlib.import_module("langchain_huggingface").HuggingFaceEmbeddings(
        model_name=choice.model,
        model_kwargs={"device": "cpu", "model_kwargs": {"dtype": choice.dtype}},
        encode_kwargs={"batch_size": choice.batch},
    )
    # There is no public way to the window.
    _set_window(embeddings._client, choice.window)  # noqa: SLF001
    splitter = experimental.SemanticChunker(embeddings, **choice.setting)

    def run(texts: Mapping[str, str]) -> Outcome:
        chunks = {name: splitter.split_text(text) for name, text in texts.items()}
        vectors = embeddings.embed_documents([c for parts in chunks.values() for c in parts])
        return chunks, lambda: np.asarray(vectors)

    return run


def llama_index(choice: Choice) -> Path_:
    """LlamaIndex: SemanticSplitterNodeParser, then the nodes by the same embedding model."""
    parsers = importlib.import_module("llama_index.core.node_parser")
    schema = importlib.import_module("llama_index.core.schema")
    embedding = importlib.import_module("llama_index.embeddings.huggingface").HuggingFaceEmbedding(
        model_name=choice.model,
        max_length=choice.window,
        embed_batch_size=choice.batch,
        device="cpu",
        model_kwargs={"dtype": choice.dtype},
    )
    parser = parsers.SemanticSplitterNodeParser(
        embed_model=embedding, buffer_size=1, **choice.setting
    )

    def run(texts: Mapping[str, str]) -> Outcome:
        documents = [schema.Document(text=text, id_=name) for name, text in texts.items()]
        nodes = embedding(parser.get_nodes_from_documents(documents))
        chunks: dict[str, list[str]] = {name: [] for name in texts}
        for node in nodes:
            chunks[node.ref_doc_id].append(node.get_content())
        return chunks, lambda: np.asarray([node.embedding for node in nodes])

    return run


def chonkie_semantic(choice: Choice) -> Path_:
    """Chonkie: SemanticChunker, then the chunks by the same embeddings."""
    embeddings = _chonkie_embeddings(choice)
    chunker = importlib.import_module("chonkie").SemanticChunker(
        embedding_model=embeddings, **choice.setting
    )

    def run(texts: Mapping[str, str]) -> Outcome:
        found = {name: chunker.chunk(text) for name, text in texts.items()}
        vectors = embeddings.embed_batch([c.text for parts in found.values() for c in parts])
        return _spans(found), lambda: np.asarray(vectors)

    return run


def chonkie_late(choice: Choice) -> Path_:
    """Chonkie: LateChunker, which gives the vectors, too."""
    embeddings = _chonkie_embeddings(choice)
    # It asks numpy for the token vectors as they are, and numpy has no bfloat16.
    embeddings.model[0].register_forward_hook(_as_float32)
    chunker = importlib.import_module("chonkie").LateChunker(
        embedding_model=embeddings, **choice.setting
    )

    def run(texts: Mapping[str, str]) -> Outcome:
        found = {name: chunker.chunk(text) for name, text in texts.items()}
        vectors = [c.embedding for parts in found.values() for c in parts]
        return _spans(found), lambda: np.asarray(vectors)

    return run


def _chonkie_embeddings(choice: Choice) -> Any:  # noqa: ANN401 - a peer's class
    peer = importlib.import_module("chonkie")
    embeddings = peer.SentenceTransformerEmbeddings(
        choice.model, device="cpu", model_kwargs={"dtype": choice.dtype}
    )
    _set_window(embeddings.model, choice.window)
    # It has no argument for the size of a batch, which is 32.
    embeddings.model.encode = partial(embeddings.model.encode, batch_size=choice.batch)
    return embeddings


def _set_window(model: Any, window: int | None) -> None:  # noqa: ANN401 - of another interpreter
    if window is not None:
        model.max_seq_length = window


def _as_float32(_: object, __: object, features: dict[str, Any]) -> dict[str, Any]:
    return {**features, "token_embeddings": features["token_embeddings"].float()}


def _spans(found: Mapping[str, Sequence[Any]]) -> dict[str, list[Span]]:
    return {name: [(c.start_index, c.end_index) for c in parts] for name, parts in found.items()}


CONTENDERS: dict[str, Callable[[Choice], Path_]] = {
    "chunkmill": chunkmill,
    "LangChain SemanticChunker": langchain,
    "LlamaIndex SemanticSplitter": llama_index,
    "chonkie SemanticChunker": chonkie_semantic,
    "chonkie LateChunker": chonkie_late,
}


@contextlib.contextmanager
def counted() -> Iterator[dict[str, int]]:
    """Count the tokens that are looked up in a vocabulary: ``padded`` ones and ``real`` ones.

    Whatever the way into the model is, its tokens become vectors by such a look-up. Both
    stay 0 where a model does it otherwise.
    """
    import torch  # noqa: PLC0415 - after the number of threads is set

    count = {"padded": 0, "real": 0}

    def look(module: torch.nn.Module, inputs: tuple[Any, ...]) -> None:
        if isinstance(module, torch.nn.Embedding) and module.num_embeddings > _VOCABULARY:
            ids = inputs[0]
            count["padded"] += ids.numel()
            blank = module.padding_idx
            count["real"] += ids.numel() if blank is None else int((ids != blank).sum())

    handle = torch.nn.modules.module.register_module_forward_pre_hook(look)
    try:
        yield count
    finally:
        handle.remove()


def answer(request: dict[str, Any], made: dict[str, Path_]) -> dict[str, Any]:
    """Run one path on the texts, and say what it cost and gave."""
    choice = Choice(**request["choice"])
    key = json.dumps(request["choice"], sort_keys=True)
    if key not in made:
        made[key] = CONTENDERS[choice.name](choice)
    texts = json.loads(Path(request["texts"]).read_text(encoding="utf-8"))
    count: dict[str, int] = {}
    with counted() if request["count"] else contextlib.nullcontext(count) as count:
        began, cpu = time.perf_counter(), time.process_time()
        chunks, vectors = made[key](texts)
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    if request["last"]:
        del made[key]
    spans, kept = _placed(texts, chunks)
    np.save(request["out"], vectors()[kept].astype(np.float32))
    return {"wall": wall, "cpu": cpu, "spans": spans, **count}


def _placed(
    texts: Mapping[str, str], chunks: Chunks
) -> tuple[dict[str, list[Span]], NDArray[np.bool_]]:
    """Return where chunks stand, their outer blanks left out, and which are not blank."""
    placed: dict[str, list[Span]] = {}
    kept: list[bool] = []
    for name, parts in chunks.items():
        text = texts[name]
        pieces = [part if isinstance(part, str) else text[slice(*part)] for part in parts]
        kept += [bool(piece.strip()) for piece in pieces]
        starts = [part[0] for part in parts if not isinstance(part, str)]
        if not starts:
            placed[name] = located(text, pieces)
            continue
        placed[name] = [
            (start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip()))
            for start, piece in zip(starts, pieces, strict=True)
            if piece.strip()
        ]
    return placed, np.asarray(kept, dtype=bool)


def main() -> None:
    """Answer requests until there are no more."""
    answers = keep_answers_apart()
    import torch  # noqa: PLC0415 - its threads are those of the environment

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    made: dict[str, Path_] = {}
    serve(answers, lambda request: answer(request, made))


if __name__ == "__main__":
    main()
