"""Late chunking by the stage against the plainest way to reckon it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import AutoModel, AutoTokenizer

from chunking import ids
from chunking.model import Document
from chunking.text import read_text
from chunking.units import split_units
from chunking.windows import plan_windows
from jobs.adapters.model_files import locate
from jobs.adapters.sentence_transformer import SentenceTransformerEmbedder
from jobs.config import Config
from jobs.ports import ParseOutcome
from jobs.records import ParsedDocument, PlanRow, UnitTables
from jobs.stages.embed import EmbedStage
from tests.models import MINILM

PROMPT = "passage: "
WORDS = (
    *("harbour", "ledger", "willow", "copper", "river", "signal", "candle", "market", "of", "and"),
    *(
        "unbelievably",
        "quartz",
        "na\u00efve",
        "\u6771\u4eac",
        "R\u00f8dgr\u00f8d",
        "3.5%",
        "C++",
        "\U0001f6a2",
    ),
)
CONFIG = Config.model_validate(
    {
        "chunking": {"max_tokens": 80, "boundaries": "semantic", "threshold": 60},
        "model": {"passage_prompt": PROMPT, "dtype": "float32"},
        "output": {"sentence_dtype": "float32"},
    }
)


class Reference:
    """The model as its library gives it, one input at a time, and nothing of ours."""

    def __init__(self) -> None:
        path = locate(MINILM, None)
        self.tokenizer = AutoTokenizer.from_pretrained(path)
        self.model = AutoModel.from_pretrained(path, dtype=torch.float32).eval()
        prompt = self.tokenizer(PROMPT, add_special_tokens=False)["input_ids"]
        self.before = [self.tokenizer.cls_token_id, *prompt]
        self.after = [self.tokenizer.sep_token_id]

    def offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return a text's token ids and their offsets."""
        plain = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        return plain["input_ids"], plain["offset_mapping"]

    def states(self, inner: Sequence[int], *, left: int = 0, right: int = 0) -> NDArray[np.float64]:
        """Return the token vectors of a window, padded on either side."""
        row = [*self.before, *inner, *self.after]
        ids_1L = torch.tensor([[0] * left + row + [0] * right])
        mask = torch.tensor([[0] * left + [1] * len(row) + [0] * right])
        positions = torch.tensor([[0] * left + list(range(len(row))) + [0] * right])
        with torch.inference_mode():
            output = self.model(input_ids=ids_1L, attention_mask=mask, position_ids=positions)
        first = left + len(self.before)
        states: NDArray[np.float64] = (
            output.last_hidden_state[0, first : first + len(inner)].double().numpy()
        )
        return states


@pytest.fixture(scope="module")
def reference() -> Reference:
    """Return the reference."""
    return Reference()


@pytest.fixture(scope="module")
def embedder() -> SentenceTransformerEmbedder:
    """Return the default model in float32."""
    return SentenceTransformerEmbedder.load(CONFIG.model, threads=1)


def prose(seed: int, n_paragraphs: int) -> Document:
    """Return a document of paragraphs with awkward words."""
    draw = random.Random(seed)
    paragraphs = [
        " ".join(
            " ".join(draw.choices(WORDS, k=draw.randint(4, 14))).capitalize() + "."
            for _ in range(draw.randint(1, 5))
        )
        for _ in range(n_paragraphs)
    ]
    return read_text("\n\n".join(paragraphs), language="en").document


def parsed(name: str, document: Document) -> ParsedDocument:
    """Return a document as it comes from parsing."""
    row = PlanRow(
        unit=0,
        bucket=0,
        doc_id=ids.doc_id(name),
        source_key=name,
        source_uri=f"file:///{name}",
        size_bytes=1,
        location=name,
    )
    outcome = ParseOutcome(status="ok", format="txt", parser="text", document=document)
    return ParsedDocument(plan=row, outcome=outcome, doc_version="v", etag="e", size_bytes=1)


def rows(tables: UnitTables, table: str, name: str) -> list[dict[str, object]]:
    """Return a document's rows of a table."""
    found = getattr(tables, table).to_pylist()
    return [row for row in found if row["doc_id"] == ids.doc_id(name)]


def run(
    embedder: SentenceTransformerEmbedder, documents: dict[str, Document], config: Config = CONFIG
) -> UnitTables:
    """Return the rows of one unit."""
    stage = EmbedStage(embedder, config, fingerprint="f", run_id="r", clock=lambda: 0.0)
    return stage([parsed(name, document) for name, document in documents.items()])


def spans_to_tokens(
    offsets: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int]]
) -> list[list[int]]:
    """Return the tokens of each span of characters; each belongs to where it ends."""
    return [
        [i for i, (start, end) in enumerate(offsets) if start < high and low < end]
        for low, high in spans
    ]


def assert_alike(found: Sequence[object], expected: NDArray[np.float64]) -> None:
    """Check that two sets of vectors point the same way."""
    ours = np.array(found, np.float64)
    norms = np.linalg.norm(ours, axis=1) * np.linalg.norm(expected, axis=1)
    assert ((ours * expected).sum(axis=1) / norms).min() >= 0.99999


@pytest.mark.parametrize(("left", "right"), [(0, 0), (0, 13), (13, 0), (5, 7)])
def test_a_document_in_one_window(
    embedder: SentenceTransformerEmbedder, reference: Reference, left: int, right: int
) -> None:
    """Unit means, un-normalised, and chunk vectors; padding on either side changes nothing."""
    document = prose(1, 4)
    tables = run(embedder, {"doc": document, "mate": prose(2, 3)})
    inner, offsets = reference.offsets(document.text)
    assert len(inner) + len(reference.before) + 1 <= 256
    states = reference.states(inner, left=left, right=right)
    for table, column in (("sentences", "vector"), ("chunks", "embedding")):
        found = rows(tables, table, "doc")
        assert len(found) > 2
        owned = spans_to_tokens(offsets, [(r["start_char"], r["end_char"]) for r in found])  # type: ignore[misc]
        expected = np.array([states[tokens].mean(axis=0) for tokens in owned])
        assert_alike([row[column] for row in found], expected)
        if table == "sentences":
            assert [row["n_tokens"] for row in found] == [len(tokens) for tokens in owned]
            lengths = np.linalg.norm(np.array([row["vector"] for row in found]), axis=1)
            np.testing.assert_allclose(lengths, np.linalg.norm(expected, axis=1), rtol=1e-4)
        else:
            assert {row["vectors"] for row in found} == {"late"}


def test_a_document_of_many_windows(
    embedder: SentenceTransformerEmbedder, reference: Reference
) -> None:
    """Every token takes its vector from the one window that owns its unit."""
    document = prose(3, 60)
    tables = run(embedder, {"doc": document})
    inner, offsets = reference.offsets(document.text)
    tokens = embedder.tokenize(document.text)
    np.testing.assert_array_equal(tokens.ids, inner)
    units = split_units(document, tokens)
    windows = plan_windows(
        document,
        units,
        window_tokens=embedder.window_tokens,
        overlap=CONFIG.model.window_overlap,
    )
    assert len(windows) > 5
    owned = [(units[w.first_unit].token_start, units[w.last_unit - 1].token_end) for w in windows]
    assert owned[0][0] == 0
    assert owned[-1][1] == len(inner)
    assert all(before[1] == after[0] for before, after in pairwise(owned))
    parts = [
        reference.states(inner[w.start : w.end])[first - w.start : last - w.start]
        for w, (first, last) in zip(windows, owned, strict=True)
    ]
    states = np.concatenate(parts)
    for table, column in (("sentences", "vector"), ("chunks", "embedding")):
        found = rows(tables, table, "doc")
        spans = spans_to_tokens(offsets, [(r["start_char"], r["end_char"]) for r in found])  # type: ignore[misc]
        expected = np.array([states[tokens].mean(axis=0) for tokens in spans])
        assert_alike([row[column] for row in found], expected)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("vectors", ["late", "blend"])
def test_neither_batch_mates_nor_order_change_a_bit(dtype: str, vectors: str) -> None:
    """A document's rows are the same alone, among others, and in any order of them."""
    config = Config.model_validate(
        {
            "chunking": {"max_tokens": 80, "vectors": vectors},
            "model": {"dtype": dtype},
            "output": {"sentence_dtype": "float32"},
        }
    )
    model = SentenceTransformerEmbedder.load(config.model, threads=1)
    documents = {f"d{n}": prose(n, size) for n, size in enumerate((6, 1, 14, 3))}
    together = run(model, documents, config)
    backwards = run(model, dict(reversed(documents.items())), config)
    for table in ("chunks", "sentences"):
        assert getattr(together, table).equals(getattr(backwards, table))
        for name in ("d0", "d1"):
            alone = run(model, {name: documents[name]}, config)
            assert rows(alone, table, name) == rows(together, table, name)
