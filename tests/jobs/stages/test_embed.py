from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from numpy.typing import NDArray

from chunking import ids, schemas
from chunking.errors import DocumentError, ModelError
from chunking.model import Document, Tokens
from chunking.pooling import TokenRange
from jobs.adapters.hash_embedder import HashEmbedder
from jobs.adapters.sentence_transformer import SentenceTransformerEmbedder
from jobs.config import Config, ModelConfig
from jobs.journal import Orders, Watch
from jobs.ports import Embedder, ParseOutcome
from jobs.records import ParsedDocument, PlanRow, UnitTables
from jobs.stages.embed import EmbedStage
from tests.chunking.strategies import DocumentBuilder

WORDS = [
    "harbour",
    "ledger",
    "willow",
    "stone",
    "copper",
    "river",
    "signal",
    "candle",
    "market",
    "of",
    "the",
    "and",
]
TABLES = ("documents", "chunks", "boundaries", "sentences")


def settings(**chunking: object) -> Config:
    """Return a configuration with the test double and float32 all along."""
    return Config.model_validate(
        {
            "chunking": chunking,
            "model": {"name": "hash:16", "max_seq_length": 128},
            "output": {"sentence_dtype": "float32"},
        }
    )


def stage(config: Config, embedder: Embedder | None = None) -> EmbedStage:
    """Return the stage over the test double, or another model; its clock stands still."""
    return EmbedStage(
        embedder or HashEmbedder(config.model),
        config,
        fingerprint="f" * 32,
        run_id="00000001-20250101T000000Z",
        clock=lambda: 0.0,
    )


def text(seed: int, n_sections: int) -> Document:
    """Return a document of sections with prose, a table and code."""
    rng = random.Random(seed)
    builder = DocumentBuilder()
    for i in range(n_sections):
        builder.heading(f"Part {i} of {seed}")
        for _ in range(rng.randint(1, 4)):
            sentences = [" ".join(rng.choices(WORDS, k=rng.randint(4, 20))) for _ in range(3)]
            builder.add("paragraph", " ".join(s.capitalize() + "." for s in sentences))
        if i % 3 == 1:
            rows = [f"| {rng.choice(WORDS)} | {n} |" for n in range(12)]
            builder.table(["| word | n |\n| --- | --- |", *rows])
            builder.add("code", "def f(x):\n\treturn x + 1")
    return builder.build()


def parsed(name: str, document: Document | None, **changes: object) -> ParsedDocument:
    """Return a document as it comes from parsing; None has failed there."""
    failed = document is None
    outcome = {
        "status": "failed" if failed else "ok",
        "format": "md",
        "parser": "test",
        "document": document,
        "error_kind": "timeout" if failed else None,
        "error_message": "too slow: \ud800" if failed else None,
        "retryable": failed,
        "seconds": 0.25,
    }
    return ParsedDocument(
        plan=PlanRow(
            unit=0,
            bucket=0,
            doc_id=ids.doc_id(name),
            source_key=name,
            source_uri=f"file:///{name}",
            size_bytes=5,
            location=name,
            metadata={"acl": "staff"},
        ),
        outcome=ParseOutcome(**{**outcome, **changes}),  # type: ignore[arg-type]
        doc_version=None if failed else ids.content_version(name.encode()),
        etag="e",
        size_bytes=5,
        error_stage="parse" if failed else None,
    )


def corpus() -> list[ParsedDocument]:
    """Return documents of all lengths, and some that come to nothing."""
    return [
        parsed("short", text(1, 1)),
        parsed("long", text(2, 30)),
        parsed("middle", text(3, 5)),
        parsed("failed", None),
        parsed("empty", Document(text="", blocks=())),
    ]


def rows_of(tables: UnitTables, name: str, doc: str) -> list[dict[str, object]]:
    """Return a document's rows of one table."""
    table = getattr(tables, name)
    return [row for row in table.to_pylist() if row["doc_id"] == ids.doc_id(doc)]


def assert_equal(one: UnitTables, other: UnitTables) -> None:
    """Check that all four tables hold the same rows, bit for bit."""
    for name in TABLES:
        assert getattr(one, name).equals(getattr(other, name)), name


def vectors(table: pa.Table, column: str) -> NDArray[np.float32]:
    """Return a column of vectors as one array."""
    return np.array(table[column].to_pylist(), np.float32)


class Faulty(HashEmbedder):
    """The test double, which fails on documents that hold certain words."""

    def tokenize(self, text: str) -> Tokens:
        """Fail before the model sees a document."""
        if "tokenfault" in text:
            msg = "two\nlines"
            raise ValueError(msg)
        return super().tokenize(text)

    def embed_windows(
        self, windows: Sequence[NDArray[np.uint32]]
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Fail in the middle of the common pass."""
        fault = int(super().tokenize("modelfault").ids[0])
        for index, vectors in super().embed_windows(windows):
            if fault in windows[index]:
                msg = "no room"
                raise MemoryError(msg)
            yield index, vectors

    def count(self, texts: Sequence[str]) -> list[int]:
        """Fail while chunks are made."""
        if any("chunkfault" in text for text in texts):
            msg = "too odd"
            raise DocumentError(msg, kind="limit", stage="chunk")
        return super().count(texts)


class NoLate(HashEmbedder):
    """The test double as a model that pools by its first token."""

    @property
    def supports_late(self) -> bool:
        """Token vectors mean nothing."""
        return False

    def window_means(
        self, windows: Sequence[NDArray[np.uint32]], ranges: Sequence[Sequence[TokenRange]]
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Refuse, as the port says."""
        del windows, ranges
        msg = "no late vectors"
        raise ModelError(msg)


@pytest.mark.parametrize("vectors_by", ["late", "chunk", "blend", "none"])
@pytest.mark.parametrize("boundaries", ["semantic", "fixed"])
def test_rows_follow_the_published_schemas(vectors_by: str, boundaries: str) -> None:
    """Whatever is configured: exact schemas, sorted rows, slices, one row per document."""
    config = settings(vectors=vectors_by, boundaries=boundaries)
    tables = stage(config)(corpus())
    assert tables.documents.schema.equals(schemas.DOCUMENTS)
    assert tables.chunks.schema.equals(schemas.chunks_schema(16))
    assert tables.boundaries.schema.equals(schemas.BOUNDARIES)
    made = [table for table in map(tables.__getattribute__, TABLES) if table is not None]
    for table in made:
        table.validate(full=True)
        assert table["doc_id"].to_pylist() == sorted(table["doc_id"].to_pylist())
    assert tables.documents.num_rows == len(corpus())
    texts = {row["doc_id"]: row["text"] for row in tables.documents.to_pylist()}
    chunks = tables.chunks.to_pylist()
    assert len(chunks) > 20
    for row in chunks:
        assert texts[row["doc_id"]][row["start_char"] : row["end_char"]] == row["text"]
    ends = [(row["chunk_id"], row["end_char"], row["split_reason"]) for row in chunks]
    reasons = tables.boundaries.to_pylist()
    assert ends == [(row["chunk_id"], row["position"], row["reason"]) for row in reasons]
    assert (tables.sentences is None) == (vectors_by == "none" and boundaries == "fixed") or (
        vectors_by == "chunk" and boundaries == "fixed"
    )


def test_documents_say_what_happened_to_them() -> None:
    """Parsed, blank, failed and skipped documents each have their facts, and no others."""
    skipped = parsed(
        "skipped", None, status="skipped", error_kind="empty", error_message=None, retryable=False
    )
    partial = parsed(
        "partial", text(4, 1), status="partial", error_kind="limit", warnings=("page 3 is lost",)
    )
    tables = stage(settings())([*corpus(), skipped, partial])
    row = {name: rows_of(tables, "documents", name)[0] for name in
           ("short", "empty", "failed", "skipped", "partial")}  # fmt: skip
    assert row["short"]["status"] == "ok"
    assert row["short"]["warnings"] == []
    assert row["short"]["n_chunks"] == len(rows_of(tables, "chunks", "short")) > 0
    assert row["short"]["attempts"] == 1
    assert row["short"]["run_id"] == "00000001-20250101T000000Z"
    assert (row["empty"]["status"], row["empty"]["text"]) == ("ok", None)
    assert (row["empty"]["warnings"], row["empty"]["n_chunks"]) == (["no_text"], 0)
    assert (row["failed"]["error_stage"], row["failed"]["error_kind"]) == ("parse", "timeout")
    assert row["failed"]["error_message"] == "too slow: ?"
    assert row["failed"]["doc_version"] is row["failed"]["text"] is row["failed"]["blocks"] is None
    assert (row["skipped"]["status"], row["skipped"]["error_kind"]) == ("skipped", "empty")
    assert (row["partial"]["status"], row["partial"]["error_kind"]) == ("partial", "limit")
    assert row["partial"]["n_chunks"] > 0  # type: ignore[operator]
    assert row["partial"]["warnings"] == ["page 3 is lost"]


@pytest.mark.parametrize(
    ("word", "stage_name", "kind", "message"),
    [
        ("tokenfault", "embed", "internal", "ValueError: two lines"),
        ("modelfault", "embed", "out_of_memory", "MemoryError: no room"),
        ("chunkfault", "chunk", "limit", "too odd"),
    ],
)
def test_a_document_that_fails_costs_only_itself(
    word: str, stage_name: str, kind: str, message: str
) -> None:
    """Its row tells the error; every other row is as if it had not been there."""
    builder = DocumentBuilder()
    builder.add("paragraph", f"Some text with a {word} in it.")
    config = settings()
    bad = parsed("bad", builder.build())
    tables = stage(config, Faulty(config.model))([*corpus(), bad])
    (row,) = rows_of(tables, "documents", "bad")
    assert (row["status"], row["error_stage"], row["error_kind"]) == ("failed", stage_name, kind)
    assert row["error_message"] == message
    assert row["doc_version"] is row["text"] is row["blocks"] is None
    undisturbed = stage(config)(corpus())
    for name in TABLES:
        table = getattr(tables, name)
        kept = table.filter(pc.not_equal(table["doc_id"], ids.doc_id("bad")))
        assert kept.equals(getattr(undisturbed, name)), name


def test_errors_of_the_job_are_no_documents_failure() -> None:
    """A model that cannot do what is asked ends the job instead of failing every document."""
    config = settings(vectors="late")

    class Broken(HashEmbedder):
        def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
            del texts
            msg = "cannot"
            raise ModelError(msg)

    with pytest.raises(ModelError):
        stage(settings(vectors="chunk"), Broken(config.model))(corpus())


def test_rows_do_not_depend_on_order_or_company() -> None:
    """Any order, each document alone, or all together: the same rows, bit for bit."""
    documents = corpus()
    together = stage(settings())(documents)
    assert_equal(stage(settings())(documents[::-1]), together)
    alone = [stage(settings())([document]) for document in documents]
    for name in TABLES:
        joined = pa.concat_tables([getattr(tables, name) for tables in alone])
        order = pc.sort_indices(joined["doc_id"])
        assert joined.take(order).equals(getattr(together, name).combine_chunks()), name


@pytest.mark.parametrize("vectors_by", ["late", "blend"])
def test_done_with_care_a_unit_has_the_same_rows(vectors_by: str) -> None:
    """Document by document, each told before, all rows are those of the unit as a whole."""
    told: list[str | None] = []
    config = settings(vectors=vectors_by)
    together = stage(config)(corpus())
    apart = stage(config)(corpus(), Watch(careful=True, tell=told.append))
    assert_equal(together, apart)
    assert told[-1] is None
    with_text = [d for d in corpus() if d.outcome.document is not None]
    assert sorted(filter(None, told)) == sorted(d.plan.doc_id for d in with_text)


def test_a_document_that_kills_workers_is_given_up() -> None:
    """Its row has failed at this stage and may be tried again; the others' rows are the same."""
    doc_id = ids.doc_id("long")
    watch = Watch(Orders(suspects={doc_id: 2}, limit=2), careful=True)
    whole, rest = stage(settings())(corpus()), stage(settings())(corpus(), watch)
    (row,) = rows_of(rest, "documents", "long")
    found = [row[name] for name in ("status", "error_stage", "error_kind", "retryable", "n_chunks")]
    assert found == ["failed", "embed", "crashed", True, 0]
    others = pc.field("doc_id") != doc_id
    assert rest.chunks.equals(whole.chunks.filter(others))
    assert rest.boundaries.equals(whole.boundaries.filter(others))


def test_late_vectors_are_pooled_from_the_stored_units() -> None:
    """A chunk's vector is the token-weighted mean of its sentences' rows, normalised."""
    tables = stage(settings())(corpus())
    assert tables.sentences is not None
    for doc in ("short", "middle", "long"):
        sentences = rows_of(tables, "sentences", doc)
        for chunk in rows_of(tables, "chunks", doc):
            inside = [
                s for s in sentences
                if chunk["start_char"] <= s["start_char"] and s["end_char"] <= chunk["end_char"]  # type: ignore[operator]
            ]  # fmt: skip
            if chunk["prefix"] and chunk["kind"] == "table":
                continue
            weights = np.array([s["n_tokens"] for s in inside], float)
            mean = weights @ np.array([s["vector"] for s in inside]) / weights.sum()
            found = np.array(chunk["embedding"])
            np.testing.assert_allclose(found, mean / np.linalg.norm(mean), atol=1e-6)


def test_the_mode_of_each_vector_is_recorded() -> None:
    """One window is `late`, several `late_windowed`; the others are what was asked for."""
    late = stage(settings())(corpus())
    assert {row["vectors"] for row in rows_of(late, "chunks", "short")} == {"late"}
    assert {row["vectors"] for row in rows_of(late, "chunks", "long")} == {"late_windowed"}
    for name in ("chunk", "blend", "none"):
        tables = stage(settings(vectors=name))(corpus())
        assert set(tables.chunks["vectors"].to_pylist()) == {name}
    assert tables.chunks["embedding"].null_count == tables.chunks.num_rows


def test_blend_is_the_sum_of_late_and_chunk() -> None:
    """Same chunks, and normalise(late + chunk) for each."""
    late, chunk, blend = (
        stage(settings(vectors=name))(corpus()).chunks for name in ("late", "chunk", "blend")
    )
    assert late["chunk_id"].equals(chunk["chunk_id"])
    assert late["chunk_id"].equals(blend["chunk_id"])
    both = vectors(late, "embedding") + vectors(chunk, "embedding")
    expected = both / np.linalg.norm(both, axis=1, keepdims=True)
    np.testing.assert_allclose(vectors(blend, "embedding"), expected, atol=1e-6)


def test_neighbours_are_mixed_into_a_blend_within_each_document() -> None:
    """A share of the chunks beside it; a document's vectors are the same without the others."""
    plain = stage(settings(vectors="blend"))(corpus())
    mixed = stage(settings(vectors="blend", neighbour_weight=0.2))(corpus())
    assert set(mixed.chunks["vectors"].to_pylist()) == {"blend"}
    for name in ("short", "middle", "long"):
        before = np.array([row["embedding"] for row in rows_of(plain, "chunks", name)], np.float64)
        after = np.array([row["embedding"] for row in rows_of(mixed, "chunks", name)], np.float64)
        expected = before.copy()
        expected[1:] += 0.2 * before[:-1]
        expected[:-1] += 0.2 * before[1:]
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
        np.testing.assert_allclose(after, expected, atol=1e-6)
        own = next(document for document in corpus() if document.plan.source_key == name)
        alone = stage(settings(vectors="blend", neighbour_weight=0.2))([own])
        assert rows_of(alone, "chunks", name) == rows_of(mixed, "chunks", name)


@pytest.mark.parametrize("vectors_by", ["chunk", "blend"])
def test_the_models_own_vectors_are_kept_before_neighbours_are_mixed_in(vectors_by: str) -> None:
    """They depend on a chunk's input alone, so that they can be reused by its hash."""
    weight = {"neighbour_weight": 0.2} if vectors_by == "blend" else {}
    config = settings(vectors=vectors_by, **weight)
    engine = stage(config)
    result = engine.begin(parsed("middle", text(3, 5)))
    engine.process([result])
    document = result.document
    assert document is not None
    inputs = [chunk.prefix + document.text[chunk.start : chunk.end] for chunk in result.chunks]
    assert result.own_CD is not None
    np.testing.assert_array_equal(result.own_CD, HashEmbedder(config.model).embed_texts(inputs))


def test_chunk_vectors_are_the_models_own_of_prefix_and_text() -> None:
    """What is embedded is exactly what was counted."""
    config = settings(vectors="chunk")
    embedder = HashEmbedder(config.model)
    chunks = stage(config)(corpus()).chunks
    inputs = [row["prefix"] + row["text"] for row in chunks.to_pylist()]
    assert any(row["prefix"] for row in chunks.to_pylist())
    np.testing.assert_array_equal(vectors(chunks, "embedding"), embedder.embed_texts(inputs))
    assert chunks["n_tokens"].to_pylist() == embedder.count(inputs)


def test_chunks_that_cut_units_are_pooled_from_their_own_tokens() -> None:
    """With a cap below a sentence, windows of cut units are run again, for those parts only."""
    config = settings(max_tokens=16, boundaries="fixed")
    embedder = HashEmbedder(config.model)
    builder = DocumentBuilder()
    builder.add("paragraph", " ".join(WORDS * 4) + ".")
    document = builder.build()
    tables = stage(config)([parsed("cut", document)])
    assert tables.chunks.num_rows > 3
    tokens = embedder.tokenize(document.text)
    ((_, states),) = embedder.embed_windows([tokens.ids])
    for row in tables.chunks.to_pylist():
        assert row["vectors"] == "late"
        inside = (tokens.starts >= row["start_char"]) & (tokens.ends <= row["end_char"])
        mean = states[inside].astype(np.float64).mean(axis=0)
        np.testing.assert_allclose(row["embedding"], mean / np.linalg.norm(mean), atol=1e-6)


@pytest.fixture(scope="module")
def minilm() -> SentenceTransformerEmbedder:
    """Return the default model in float32."""
    return SentenceTransformerEmbedder.load(ModelConfig(dtype="float32"), threads=1)


def test_text_without_tokens_gets_the_models_own_vector(
    minilm: SentenceTransformerEmbedder,
) -> None:
    """A document of control characters has a chunk, and that a vector of unit length."""
    builder = DocumentBuilder()
    builder.add("paragraph", "\x01\x02")
    tables = stage(Config(), minilm)([parsed("control", builder.build())])
    (row,) = tables.chunks.to_pylist()
    assert row["vectors"] == "chunk"
    assert np.linalg.norm(row["embedding"]) == pytest.approx(1.0)


def test_the_sentence_store_holds_what_a_later_choice_needs() -> None:
    """One row per unit: span, size, distance to the next, the hash of its window, its vector."""
    config = settings()
    embedder = HashEmbedder(config.model)
    tables = stage(config)(corpus())
    assert tables.sentences is not None
    assert tables.sentences.schema.equals(schemas.sentences_schema(16, "float32"))
    rows = rows_of(tables, "sentences", "short")
    (document,) = [d.outcome.document for d in corpus() if d.plan.source_key == "short"]
    assert document is not None
    tokens = embedder.tokenize(document.text)
    assert [row["sentence_index"] for row in rows] == list(range(len(rows)))
    assert sum(row["n_tokens"] for row in rows) == len(tokens.ids)  # type: ignore[misc]
    expected = ids.window_hash(embedder.window_input(tokens.ids))
    assert {row["window_hash"] for row in rows} == {expected}
    assert rows[-1]["distance_next"] is None
    one, other = (np.array(row["vector"], float) for row in rows[:2])
    cosine = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    assert rows[0]["distance_next"] == pytest.approx(1 - cosine, abs=1e-6)
    assert len({row["window_hash"] for row in rows_of(tables, "sentences", "long")}) > 2


def test_distances_and_pooling_see_the_rounded_vectors() -> None:
    """With a float16 store, cuts and chunk vectors come from what is stored."""
    config = Config.model_validate(
        {"model": {"name": "hash:16"}, "output": {"sentence_dtype": "float16", "dtype": "float16"}}
    )
    tables = stage(config)([parsed("short", text(1, 1))])
    assert tables.sentences is not None
    assert tables.sentences.schema.equals(schemas.sentences_schema(16, "float16"))
    assert tables.chunks.schema.equals(schemas.chunks_schema(16, "float16"))
    stored = np.array(tables.sentences["vector"].to_pylist(), np.float64)
    cosines = (stored[:-1] * stored[1:]).sum(1)
    cosines /= np.linalg.norm(stored[:-1], axis=1) * np.linalg.norm(stored[1:], axis=1)
    found = tables.sentences["distance_next"].to_pylist()[:-1]
    np.testing.assert_allclose(found, 1 - cosines, atol=1e-6)


def test_the_sentence_store_can_be_left_out() -> None:
    """Without `output.keep_sentences` nothing is kept, and the chunks are the same."""
    kept = stage(settings())(corpus())
    config = Config.model_validate(
        {
            **settings().model_dump(),
            "output": {"keep_sentences": False, "sentence_dtype": "float32"},
        }
    )
    bare = stage(config)(corpus())
    assert bare.sentences is None
    assert bare.chunks.equals(kept.chunks)


def test_vectors_beyond_the_stores_type_end_the_job() -> None:
    """A model whose means overflow float16 is a usage error that names the way out."""

    class Loud(HashEmbedder):
        def embed_windows(
            self, windows: Sequence[NDArray[np.uint32]]
        ) -> Iterator[tuple[int, NDArray[np.float32]]]:
            for index, vectors in super().embed_windows(windows):
                yield index, vectors * np.float32(1e6)

    config = Config(model=ModelConfig(name="hash:16"))
    with pytest.raises(ModelError, match=r"output\.sentence_dtype"):
        stage(config, Loud(config.model))(corpus())


def test_models_without_late_vectors_place_semantic_boundaries() -> None:
    """Each unit is embedded alone; chunks get their own vectors, and no store is kept."""
    config = settings(vectors="chunk", boundaries="semantic")
    tables = stage(config, NoLate(config.model))(corpus())
    assert tables.sentences is None
    assert "semantic" in tables.chunks["boundaries"].to_pylist()
    assert set(tables.chunks["vectors"].to_pylist()) == {"chunk"}
    assert set(tables.documents["status"].to_pylist()) == {"ok", "failed"}


def test_the_sources_metadata_wins() -> None:
    """A document cannot change the permissions that its source gives it."""
    builder = DocumentBuilder()
    builder.add("paragraph", "Some text.")
    plain = builder.build()
    document = Document(
        text=plain.text, blocks=plain.blocks, metadata={"acl": "everyone", "author": "x"}
    )
    tables = stage(settings())([parsed("own", document)])
    assert dict(tables.documents["metadata"][0].as_py()) == {"acl": "staff", "author": "x"}
    assert dict(tables.chunks["metadata"][0].as_py())["acl"] == "staff"


def test_each_document_is_chunked_by_its_own_settings() -> None:
    """Overrides by glob and by format hold for their documents and no others."""
    config = settings(
        boundaries="recursive",
        max_tokens=64,
        overrides=[
            {"glob": "long", "boundaries": "optimal", "max_tokens": 100},
            {"glob": "mid*", "boundaries": "fixed", "vectors": "none"},
        ],
    )
    run = stage(config)(corpus())
    by_name = {name: rows_of(run, "chunks", name) for name in ("short", "long", "middle")}
    assert {row["boundaries"] for row in by_name["long"]} == {"optimal"}
    assert {row["boundaries"] for row in by_name["middle"]} == {"fixed"}
    assert {row["boundaries"] for row in by_name["short"]} <= {"recursive", "whole"}
    assert 64 < max(row["n_tokens"] for row in by_name["long"]) <= 100  # type: ignore[type-var]
    assert all(row["embedding"] is None for row in by_name["middle"])
    assert all(row["embedding"] is not None for row in by_name["long"] + by_name["short"])
    assert {row["vectors"] for row in by_name["middle"]} == {"none"}
    assert rows_of(run, "sentences", "middle") == []
    assert rows_of(run, "sentences", "long")
