"""Every key below DST, from one place; stages never build one themselves."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

__all__ = [
    "ATTEMPT_DIGITS",
    "BUCKETS_PREFIX",
    "DATASET",
    "LEASE_PREFIX",
    "PRIVATE_PREFIX",
    "PURGED_PREFIX",
    "RUNS_PREFIX",
    "VIEW",
    "Named",
    "bucket_data",
    "bucket_name",
    "bucket_prefix",
    "bucket_version",
    "deaths",
    "is_structure",
    "lease_epoch",
    "lease_heartbeat",
    "own_vectors_of",
    "plain",
    "plain_changes",
    "plain_run",
    "plan",
    "probe",
    "purged",
    "recognise",
    "report",
    "sentences",
    "sentences_of",
    "structure",
    "tokenizer",
    "unit_data",
    "unit_marker",
    "unit_markers",
]

PRIVATE_PREFIX = "_chunkmill/"
DATASET = "_chunkmill/dataset.json"
LEASE_PREFIX = "_chunkmill/lease/"
RUNS_PREFIX = "_chunkmill/runs/"
BUCKETS_PREFIX = "_chunkmill/buckets/"
PURGED_PREFIX = "_chunkmill/purged/"
VIEW = "_chunkmill/view.json"
"""What the last run knew of the plain files; only ever saves work."""
_STRUCTURE = ".structure.parquet"
ATTEMPT_DIGITS = 16
"""Hexadecimal digits of a random attempt name; it keeps attempts' files apart, nothing else."""


def bucket_name(bucket: int) -> str:
    """Return a bucket's five-digit name."""
    return f"{bucket:05d}"


def plain(table: str, bucket: int, partition: tuple[str, str] | None = None) -> str:
    """Return the plain key of a bucket's ``boundaries``, ``chunks`` or ``documents`` file."""
    folder = f"{table}/"
    if partition is not None:
        column, value = partition
        folder += f"by_{column}={quote(value, safe='')}/"
    return f"{folder}bucket-{bucket_name(bucket)}.parquet"


def plain_changes(run_id: str, bucket: int) -> str:
    """Return the plain key of a bucket's change rows in one run."""
    return f"{plain_run(run_id)}bucket-{bucket_name(bucket)}.parquet"


def plain_run(run_id: str) -> str:
    """Return the prefix of the plain keys of a run's change rows."""
    return f"changes/run={run_id}/"


def bucket_prefix(bucket: int) -> str:
    """Return the prefix under which a bucket's versions lie."""
    return f"{BUCKETS_PREFIX}{bucket_name(bucket)}/"


def bucket_version(bucket: int, version: int) -> str:
    """Return the key whose creation commits a bucket version."""
    return f"{bucket_prefix(bucket)}{version:08d}.json"


def bucket_data(bucket: int, version: int, attempt: str, name: str) -> str:
    """Return the key of one data file of one attempt at a bucket version."""
    return f"{bucket_prefix(bucket)}{version:08d}-{attempt}/{name}.parquet"


def plan(run_id: str) -> str:
    """Return the key of a run's plan."""
    return f"{RUNS_PREFIX}{run_id}/plan.parquet"


def report(run_id: str, suffix: str = "json") -> str:
    """Return the key of a run's report."""
    return f"{RUNS_PREFIX}{run_id}/report.{suffix}"


def deaths(run_id: str) -> str:
    """Return the key of what a run knew of documents that killed their worker, if any did."""
    return f"{RUNS_PREFIX}{run_id}/deaths.json"


def unit_markers(run_id: str) -> str:
    """Return the prefix of a run's unit markers and unit data."""
    return f"{RUNS_PREFIX}{run_id}/units/"


def unit_marker(run_id: str, unit: int) -> str:
    """Return the key whose creation commits a unit."""
    return f"{unit_markers(run_id)}{unit:06d}.json"


def unit_data(run_id: str, unit: int, attempt: str, table: str) -> str:
    """Return the key of one table of one attempt at a unit."""
    return f"{unit_markers(run_id)}{unit:06d}-{attempt}/{table}.parquet"


def sentences(run_id: str, unit: int, attempt: str) -> str:
    """Return the key of a unit attempt's sentence store."""
    return f"_chunkmill/sentences/{run_id}/{unit:06d}-{attempt}.parquet"


def structure(run_id: str, unit: int, attempt: str) -> str:
    """Return the key of what else a later choice of chunks needs of a unit attempt."""
    return f"_chunkmill/sentences/{run_id}/{unit:06d}-{attempt}{_STRUCTURE}"


def sentences_of(structure_key: str) -> str:
    """Return the key of the sentence store that belongs to a structure file."""
    return structure_key.removesuffix(_STRUCTURE) + ".parquet"


def is_structure(key: str) -> bool:
    """Tell whether a key of the sentence store is that of a structure."""
    return key.endswith(_STRUCTURE)


def own_vectors_of(structure_key: str) -> str:
    """Return the key of the chunks' own vectors that belong to a structure file."""
    return structure_key.removesuffix(_STRUCTURE) + ".chunks.parquet"


def tokenizer(digest: str) -> str:
    """Return the key of a tokenizer, named by a hash of its description."""
    return f"_chunkmill/tokenizers/{digest}.json"


def lease_epoch(epoch: int) -> str:
    """Return the key whose creation takes the lease for one epoch."""
    return f"{LEASE_PREFIX}{epoch:08d}.json"


def lease_heartbeat(epoch: int) -> str:
    """Return the key that the holder of an epoch rewrites while it lives."""
    return f"{LEASE_PREFIX}{epoch:08d}.heartbeat"


def probe(attempt: str) -> str:
    """Return the key written and removed at start to prove what DST can do."""
    return f"_chunkmill/probe-{attempt}"


def purged(run_id: str) -> str:
    """Return the key of the list of documents whose removal for good a run began."""
    return f"{PURGED_PREFIX}{run_id}.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What a key says of itself; ``kind`` is the name of its pattern below.

    ``number``: of a unit or a bucket. ``version``: of a bucket.
    """

    kind: str
    run_id: str = ""
    number: int = -1
    version: int = -1
    attempt: str = ""
    table: str = ""


_RUN = r"(?P<run_id>\d{8}-\d{8}T\d{6}Z)"
_UNIT = rf"{re.escape(RUNS_PREFIX)}{_RUN}/units/(?P<number>\d{{6,}})"
_BUCKET = rf"{re.escape(BUCKETS_PREFIX)}(?P<number>\d{{5}})/(?P<version>\d{{8}})"
_ATTEMPT = rf"-(?P<attempt>[0-9a-f]{{{ATTEMPT_DIGITS}}})"
_NAMES = {
    "plan": rf"{re.escape(RUNS_PREFIX)}{_RUN}/plan\.parquet",
    "deaths": rf"{re.escape(RUNS_PREFIX)}{_RUN}/deaths\.json",
    "report": rf"{re.escape(RUNS_PREFIX)}{_RUN}/report\.\w+",
    "unit marker": rf"{_UNIT}\.json",
    "unit data": rf"{_UNIT}{_ATTEMPT}/(?P<table>\w+)\.parquet",
    "sentences": (
        rf"_chunkmill/sentences/{_RUN}/(?P<number>\d{{6,}}){_ATTEMPT}"
        r"(?P<table>|\.structure|\.chunks)\.parquet"
    ),
    "bucket version": rf"{_BUCKET}\.json",
    "bucket data": rf"{_BUCKET}{_ATTEMPT}/(?P<table>[a-z]+)(?:-\d+)?\.parquet",
    "probe": rf"_chunkmill/probe{_ATTEMPT}",
    "plain": (
        r"(?:(?:boundaries|chunks|documents)/(?:by_[^/]+/)?|changes/run=[^/]+/)"
        r"bucket-\d{5}\.parquet"
    ),
    "state": (
        rf"{re.escape(DATASET)}|{re.escape(VIEW)}|{re.escape(PURGED_PREFIX)}{_RUN}\.json|"
        rf"{re.escape(LEASE_PREFIX)}\d{{8}}\.(?:json|heartbeat)|_chunkmill/tokenizers/\w+\.json"
    ),
}
_PATTERNS = {kind: re.compile(pattern) for kind, pattern in _NAMES.items()}


def recognise(key: str) -> Named | None:
    """Return what a key below DST names; None for one that nothing here makes."""
    for kind, pattern in _PATTERNS.items():
        if match := pattern.fullmatch(key):
            facts = match.groupdict()
            return Named(
                kind=kind,
                run_id=facts.get("run_id") or "",
                number=int(facts.get("number") or -1),
                version=int(facts.get("version") or -1),
                attempt=facts.get("attempt") or "",
                table=facts.get("table") or "",
            )
    return None
