"""Compare two datasets row by row: ``python scripts/compare_datasets.py DST_A DST_B``.

What a second run may change is left out: run ids, attempts, seconds and the names of
sentence files. Vectors must agree within a cosine distance of 1e-6. With ``--renamed``
the sources had other names: documents are paired by their bytes, and keys, URIs and ids
are left out too. Prints each difference as a line; exits 1 if there is one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset as pads

VOLATILE = {
    "documents": {"run_id", "attempts", "parse_seconds", "embed_seconds", "sentences_ref"},
    "chunks": set(),
    "boundaries": set(),
}
NAMES = {"doc_id", "chunk_id", "source_key", "source_uri", "parent_doc_id", "etag"}
COSINE_TOLERANCE = 1e-6
MOST_SHOWN = 50

Row = dict[str, Any]


def read(dataset: Path, table: str, dropped: set[str]) -> list[Row]:
    """Return the table's rows in a canonical order, without the ``dropped`` columns."""
    found = pads.dataset(dataset / table, format="parquet", partitioning=None).to_table()
    keys = [
        name for name in ("doc_version", "chunk_index", "position") if name in found.column_names
    ]
    rows: list[Row] = found.to_pylist()
    rows.sort(key=lambda row: [str(row.get("doc_id")), *(_rank(row[key]) for key in keys)])
    return [{name: value for name, value in row.items() if name not in dropped} for row in rows]


def _rank(value: object) -> tuple[str, int]:
    return (value, 0) if isinstance(value, str) else ("", -1 if value is None else int(str(value)))


def pair_by_bytes(rows: list[Row]) -> list[Row]:
    """Order rows by what does not hang on a name, so that renamed twins meet."""
    order = ("doc_version", "size_bytes", "chunk_index", "position", "error_message")
    return sorted(rows, key=lambda row: [_rank(row.get(name)) for name in order if name in row])


def differences(table: str, left: list[Row], right: list[Row]) -> Iterator[str]:
    """Yield a line for each difference between two lists of rows."""
    if len(left) != len(right):
        yield f"{table}: {len(left)} rows against {len(right)}"
    for number, (a, b) in enumerate(zip(left, right, strict=False)):
        for name in a:
            if not _same(name, a[name], b.get(name)):
                where = a.get("source_key") or a.get("doc_id") or a.get("doc_version")
                both = f"{_short(a[name])} | {_short(b.get(name))}"
                yield f"{table} row {number} ({where}) {name}: {both}"


def _same(name: str, a: object, b: object) -> bool:
    if name == "embedding" and a is not None and b is not None:
        u, v = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        lengths = float(np.linalg.norm(u) * np.linalg.norm(v))
        return lengths == 0 or 1 - float(u @ v) / lengths <= COSINE_TOLERANCE
    if name == "metadata":
        return sorted(a or []) == sorted(b or [])  # type: ignore[call-overload]
    return a == b


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."  # noqa: PLR2004


def main() -> int:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("left", type=Path)
    parser.add_argument("right", type=Path)
    parser.add_argument("--renamed", action="store_true", help="the sources had other names")
    options = parser.parse_args()
    found = 0
    for table, volatile in VOLATILE.items():
        dropped = volatile | (NAMES if options.renamed else set())
        left, right = (read(side, table, dropped) for side in (options.left, options.right))
        if options.renamed:
            left, right = pair_by_bytes(left), pair_by_bytes(right)
        for line in differences(table, left, right):
            found += 1
            if found <= MOST_SHOWN:
                print(line)
        print(f"{table}: {len(left)} rows compared", file=sys.stderr)
    print(f"{found} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
