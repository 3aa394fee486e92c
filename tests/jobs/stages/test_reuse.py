"""What an earlier version of a document left is not sent through the model again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from chunking.errors import StoreError
from chunking.model import Document
from jobs.adapters.hash_embedder import HashEmbedder
from jobs.adapters.stores import open_store
from jobs.config import Config, SourceConfig
from jobs.ports import ModelFacts
from jobs.sentence_store import SentenceStore, model_id
from tests.chunking.strategies import DocumentBuilder
from tests.local_jobs import compare, config_of, forget_structure, make_dataset, report_text

N_SECTIONS = 20
NEW = "A new paragraph says what was not known before, and ends here."


def tokens_of(document: Document) -> int:
    """Return how many tokens a document has."""
    return len(HashEmbedder(config_of().model).tokenize(document.text).ids)


def update(folder: Path, after: Document, config: Config | None = None) -> dict[str, int]:
    """Publish a report, then another version of it; return what the second run counted."""
    config = config or config_of()
    make_dataset(folder / "out", config, {"a.pdf": report_text(5, N_SECTIONS)})
    counts = make_dataset(folder / "out", config, {"a.pdf": after})
    make_dataset(folder / "fresh", config, {"a.pdf": after})
    return counts


def without(document: Document, index: int) -> Document:
    """Return the document without a paragraph."""
    builder = DocumentBuilder()
    for block in document.blocks:
        text = document.text[block.start : block.end]
        if block.kind == "heading":
            builder.heading(text, level=block.level or 1)
        elif block.index != index:
            rows = [start - block.start for start in block.row_starts]
            builder.add(block.kind, text, rows=rows, page=block.page_start)
    return builder.build()


@pytest.mark.parametrize("section", [0, N_SECTIONS // 2, N_SECTIONS - 1])
def test_a_changed_paragraph_costs_little(tmp_path: Path, section: int) -> None:
    """At the start, in the middle or at the end: a tenth of the tokens at most, same rows."""
    after = report_text(5, N_SECTIONS, {section: NEW})
    counts = update(tmp_path, after)
    total = tokens_of(after)
    assert 0 < counts["model_tokens"] <= total / 10
    assert counts["reused_tokens"] >= total * 0.9
    compare(tmp_path / "out", tmp_path / "fresh", 1 - 1e-6)


def test_a_deleted_paragraph_costs_little(tmp_path: Path) -> None:
    """What follows has moved, and is known all the same."""
    before = without(report_text(5, N_SECTIONS), -1)
    paragraphs = [block.index for block in before.blocks if block.kind == "paragraph"]
    after = without(before, paragraphs[len(paragraphs) // 2])
    config = config_of()
    make_dataset(tmp_path / "out", config, {"a.pdf": before})
    counts = make_dataset(tmp_path / "out", config, {"a.pdf": after})
    make_dataset(tmp_path / "fresh", config, {"a.pdf": after})
    assert 0 < counts["model_tokens"] <= tokens_of(after) / 10
    compare(tmp_path / "out", tmp_path / "fresh", 1 - 1e-6)


def test_other_chunking_needs_no_model_pass(tmp_path: Path) -> None:
    """A run over the same documents with another cap reads every unit vector from the store."""
    documents = {"a.pdf": report_text(5, 10), "b.pdf": report_text(6, 2)}
    make_dataset(tmp_path / "out", config_of(), documents)
    config = config_of(max_tokens=160)
    counts = make_dataset(tmp_path / "out", config, documents)
    assert counts["documents"] == 2
    assert counts["model_tokens"] == 0
    make_dataset(tmp_path / "fresh", config, documents)
    compare(tmp_path / "out", tmp_path / "fresh", 1 - 1e-6)


@pytest.mark.parametrize(
    "model",
    [{"passage_prompt": "passage"}, {"max_seq_length": 160}, {"window_overlap": 4}],
    ids=str,
)
def test_another_input_is_another_vector(tmp_path: Path, model: dict[str, Any]) -> None:
    """A prompt, a window length or an overlap that changes leaves only equal inputs known."""
    documents = {"a.pdf": report_text(5, 10)}
    make_dataset(tmp_path / "out", config_of(), documents)
    tree = config_of().model_dump(exclude_none=True)
    config = Config.model_validate({**tree, "model": {**tree["model"], **model}})
    counts = make_dataset(tmp_path / "out", config, documents)
    if "window_overlap" not in model:
        assert counts["reused_tokens"] == 0
    assert counts["model_tokens"] > 0
    make_dataset(tmp_path / "fresh", config, documents)
    compare(tmp_path / "out", tmp_path / "fresh", 1 - 1e-6)


class Retrained(HashEmbedder):
    """The test double under another revision."""

    def __init__(self, config: Config) -> None:
        super().__init__(config.model)
        self.facts = replace(self.facts, revision="2")

    def _hashed(self, ids: Any) -> Any:
        return -super()._hashed(ids)


def test_another_revision_is_another_vector(tmp_path: Path) -> None:
    """What another model made is of no use."""
    documents = {"a.pdf": report_text(5, 4)}
    make_dataset(tmp_path / "out", config_of(), documents)
    other = Retrained(config_of())
    counts = make_dataset(tmp_path / "out", config_of(), documents, embedder=other)
    assert counts["reused_tokens"] == 0
    make_dataset(tmp_path / "fresh", config_of(), documents, embedder=other)
    compare(tmp_path / "out", tmp_path / "fresh", 1 - 1e-6)


def test_rounded_vectors_do_not_stand_for_exact_ones(tmp_path: Path) -> None:
    """From float16 to float32 the model is asked; the other way the store will do."""
    documents = {"a.pdf": report_text(5, 4)}
    make_dataset(tmp_path / "out", config_of("float16"), documents)
    assert make_dataset(tmp_path / "out", config_of("float32"), documents)["reused_tokens"] == 0
    assert make_dataset(tmp_path / "out", config_of("float16"), documents)["model_tokens"] == 0
    make_dataset(tmp_path / "fresh", config_of("float16"), documents)
    compare(tmp_path / "out", tmp_path / "fresh", 1 - 1e-4)


@pytest.mark.parametrize("vectors", ["chunk", "blend"])
def test_chunks_that_are_known_are_not_embedded_again(tmp_path: Path, vectors: str) -> None:
    """A chunk with the same input has the same own vector, before neighbours are mixed in."""
    config = config_of(vectors=vectors)
    make_dataset(tmp_path / "out", config, {"a.pdf": report_text(5, 12)})
    after = report_text(5, 12, {6: NEW})
    first = make_dataset(tmp_path / "fresh", config, {"a.pdf": after})
    counts = make_dataset(tmp_path / "out", config, {"a.pdf": after})
    assert 0 < counts["model_tokens"] < first["model_tokens"] / 3
    compare(tmp_path / "out", tmp_path / "fresh", 1 - 1e-6)
    weighted = config_of(vectors="blend", neighbour_weight=0.4)
    counts = make_dataset(tmp_path / "out", weighted, {"a.pdf": after})
    assert (counts["documents"], counts["model_tokens"]) == (1, 0)
    make_dataset(tmp_path / "weighted", weighted, {"a.pdf": after})
    compare(tmp_path / "out", tmp_path / "weighted", 1 - 1e-6)


@pytest.mark.parametrize("what", ["sentences", "structure", "both"])
def test_a_lost_store_costs_a_model_pass(tmp_path: Path, what: str) -> None:
    """Without its files a changed document is embedded whole."""
    make_dataset(tmp_path / "out", config_of(), {"a.pdf": report_text(5, 10)})
    for path in (tmp_path / "out" / "_chunkmill" / "sentences").rglob("*.parquet"):
        if what == "both" or (what == "structure") == path.name.endswith(".structure.parquet"):
            path.unlink()
    after = {"a.pdf": report_text(5, 10, {3: NEW})}
    counts = make_dataset(tmp_path / "out", config_of(), after)
    assert counts["reused_tokens"] == 0
    make_dataset(tmp_path / "fresh", config_of(), after)
    compare(tmp_path / "out", tmp_path / "fresh", 1 - 1e-6)


def test_an_index_of_an_earlier_release_is_read(tmp_path: Path) -> None:
    """Without the column that names the structure, a run goes on and reuses nothing."""
    make_dataset(tmp_path / "out", config_of(), {"a.pdf": report_text(5, 4)})
    forget_structure(tmp_path / "out")
    after = {"a.pdf": report_text(5, 4, {1: NEW}), "b.pdf": report_text(6, 1)}
    assert make_dataset(tmp_path / "out", config_of(), after)["reused_tokens"] == 0
    make_dataset(tmp_path / "fresh", config_of(), after)
    compare(tmp_path / "out", tmp_path / "fresh", 1 - 1e-6)


def test_the_store_gives_blocks_and_vectors_back(tmp_path: Path) -> None:
    """Blocks come back with boxes and languages, vectors by window; what is missing is said."""
    document = report_text(5, 4)
    make_dataset(tmp_path / "out", config_of(), {"a.pdf": document})
    refs = sorted((tmp_path / "out").rglob("*.structure.parquet"))
    assert len(refs) == 1
    ref = refs[0].relative_to(tmp_path / "out").as_posix()
    doc_id = pq.read_table(refs[0])["doc_id"][0].as_py()
    reader = SentenceStore(open_store(str(tmp_path / "out"), SourceConfig()))
    assert reader.blocks(ref, doc_id) == document.blocks
    facts: ModelFacts = HashEmbedder(config_of().model).facts
    exact = np.dtype("float32")
    assert reader.vectors(ref, doc_id, model_id(facts), exact) is not None
    assert reader.vectors(ref, doc_id, "another", exact) is None
    assert reader.tokens(ref, doc_id, "another") is None
    kept = reader.tokens(ref, doc_id, model_id(facts))
    assert kept is not None
    fresh = HashEmbedder(config_of().model).tokenize(document.text)
    for name in ("ids", "starts", "ends"):
        assert np.array_equal(getattr(kept, name), getattr(fresh, name))
    assert kept.separators == fresh.separators
    with pytest.raises(StoreError):
        reader.blocks(ref, "0" * 32)
