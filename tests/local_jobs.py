"""Datasets made in this process: parsed documents in, published rows out, without an engine.

Everything is the job's own (stage, protocol, store) but the parser, which is given.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from chunking import ids
from chunking.model import Box, Document
from jobs.adapters.embedders import make_embedder
from jobs.adapters.stores import open_store
from jobs.config import Config
from jobs.ports import Embedder, ParseOutcome
from jobs.protocol.publish import publish_bucket
from jobs.protocol.session import RunSession
from jobs.protocol.units import commit_unit
from jobs.recorded import run_settings, settings_record
from jobs.records import ParsedDocument, PlanRow, SourceItem
from jobs.stages.embed import EmbedStage
from jobs.stages.unit import plan_table
from tests.chunking.strategies import DocumentBuilder

__all__ = [
    "SOURCE",
    "compare",
    "config_of",
    "failed",
    "forget_structure",
    "make_dataset",
    "read_rows",
    "report_text",
]

SOURCE = "file:///source"
VARIES = ["run_id", "attempts", "parse_seconds", "embed_seconds", "sentences_ref"]
WORDS = [
    "harbour",
    "ledger",
    "willow",
    "stone",
    "copper",
    "river",
    "signal",
    "of",
    "the",
    "and",
    "quay",
    "vessel",
]


def config_of(sentence_dtype: str = "float32", **chunking: object) -> Config:
    """Return a configuration with the test double in small windows."""
    return Config.model_validate(
        {
            "chunking": chunking,
            "model": {"name": "hash:16", "max_seq_length": 128},
            "output": {"sentence_dtype": sentence_dtype},
            "limits": {"lease_seconds": 5},
        }
    )


def report_text(seed: int, n_sections: int, changed: Mapping[int, str] | None = None) -> Document:
    """Return a document of sections with prose, tables, code, boxes, pages and two languages.

    ``changed``: another first paragraph for some sections.
    """
    builder = DocumentBuilder()
    for section in range(n_sections):
        rng = random.Random(seed * 1000 + section)
        builder.heading(f"Part {section} of {seed}", level=1 + section % 2)
        for number in range(rng.randint(2, 4)):
            sentences = [" ".join(rng.choices(WORDS, k=rng.randint(4, 90))) for _ in range(3)]
            own = " ".join(sentence.capitalize() + "." for sentence in sentences)
            text = own if number else (changed or {}).get(section, own)
            builder.add("paragraph", text, page=section + 1)
        if section % 3 == 1:
            rows = [f"| {rng.choice(WORDS)} | {n} |" for n in range(30)]
            builder.table(["| word | n |\n| --- | --- |", *rows], page=section + 1)
            builder.add("code", "def f(x):\n\treturn x + 1", code_language="python")
    document = builder.build()
    blocks = tuple(
        replace(
            block,
            language="da" if block.index % 5 == 3 else None,
            boxes=(Box(page=1, left=1.5, top=float(block.index), right=9.25, bottom=11.0),),
        )
        for block in document.blocks
    )
    return replace(document, blocks=blocks, title="A report", n_pages=n_sections)


def failed() -> ParseOutcome:
    """Return the outcome of a document that is damaged."""
    return ParseOutcome(
        status="failed",
        format="pdf",
        parser="test",
        error_kind="corrupt",
        error_message="no page tree",
        warnings=("odd",),
    )


def make_dataset(
    folder: Path | str,
    config: Config,
    documents: Mapping[str, Document | ParseOutcome],
    *,
    embedder: Embedder | None = None,
    source_name: str | None = None,
    **plan: Any,
) -> dict[str, int]:
    """Do one whole run over documents that are parsed already; return what the stages counted.

    ``folder``: of the dataset, or its URL.
    A document's etag is a hash of it, so that a changed one is planned again.
    """
    store = open_store(str(folder), config.source)
    embedder = embedder or make_embedder(config)
    settings = run_settings(
        config,
        embedder.facts,
        settings_record(config, embedder),
        source=SOURCE if source_name is None else f"{SOURCE}-{source_name}",
        source_name=source_name,
    )
    counts = {"documents": 0, "model_tokens": 0, "reused_tokens": 0}
    with RunSession.open(store, settings, heartbeat=False, workers=1) as session:
        items = [_item(key, documents[key]) for key in documents]
        session.make_plan(items, tokenizer=embedder.tokenizer_description, **plan)
        stage = EmbedStage(
            embedder,
            config,
            fingerprint=settings.fingerprint,
            run_id=session.run_id,
            store=store,
        )
        for number in session.units_to_do():
            unit = session.unit(number)
            rows = PlanRow.from_table(plan_table(unit))
            tables = stage([_parsed(row, documents[row.source_key]) for row in rows])
            counts["documents"] += len(rows)
            counts["model_tokens"] += tables.model_tokens
            counts["reused_tokens"] += tables.reused_tokens
            session.unit_done(commit_unit(store, session.run, unit, tables))
        for job in session.ready():
            session.published(publish_bucket(store, session.run, job))
        session.finish()
    return counts


def _item(key: str, document: Document | ParseOutcome) -> SourceItem:
    return SourceItem(
        source_key=key,
        source_uri=f"file:///source/{key}",
        size=1000,
        etag=ids.hash_fields(repr(document)),
        location=key,
        metadata={"acl": "staff"} if key.startswith("secret") else {},
    )


def _parsed(row: PlanRow, document: Document | ParseOutcome) -> ParsedDocument:
    lost = isinstance(document, ParseOutcome)
    outcome = (
        document
        if isinstance(document, ParseOutcome)
        else ParseOutcome(status="ok", format="pdf", parser="test", document=document)
    )
    return ParsedDocument(
        plan=row,
        outcome=outcome,
        doc_version=None if lost else ids.content_version(repr(document).encode()),
        etag=row.etag,
        size_bytes=row.size_bytes,
        error_stage="parse" if lost else None,
    )


def forget_structure(folder: Path) -> None:
    """Make a dataset's index that of a release that kept no structure."""
    for path in folder.glob("_chunkmill/buckets/*/*.json"):
        version = json.loads(path.read_text())
        file = folder / version["index"]["key"]
        pq.write_table(pq.read_table(file).drop_columns(["structure_ref"]), file)
        data = file.read_bytes()
        version["index"] |= {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
        path.write_text(json.dumps(version))


def read_rows(folder: Path, table: str) -> pa.Table:
    """Return a table's rows as a reader of the plain directory sees them, in order."""
    keys = {"documents": ["doc_id"], "chunks": ["doc_id", "chunk_index"]}
    order = keys.get(table, ["doc_id", "position"])
    rows = pads.dataset(folder / table, format="parquet", partitioning=None).to_table()
    return rows.sort_by([(name, "ascending") for name in order])


def compare(one: Path, other: Path, least: float, *, drop: Sequence[str] = ()) -> None:
    """Check that two datasets hold the same rows, and vectors of at least this cosine."""
    for table in ("chunks", "boundaries", "documents"):
        left, right = read_rows(one, table), read_rows(other, table)
        for name in left.column_names:
            if name not in {*VARIES, *drop, "embedding"}:
                assert left[name].to_pylist() == right[name].to_pylist(), (table, name)
        if "embedding" in left.column_names:
            assert left["embedding"].is_null().equals(right["embedding"].is_null())
            a, b = (_vectors(rows) for rows in (left, right))
            norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
            assert ((a * b).sum(axis=1) >= least * norms).all()


def _vectors(rows: pa.Table) -> np.ndarray[Any, np.dtype[np.float64]]:
    found = [vector for vector in rows["embedding"].to_pylist() if vector is not None]
    return np.array(found, np.float64).reshape(len(found), -1 if found else 0)
