"""What a plan costs: ``python scripts/bench/planning.py [--documents 100000 1000000]``.

Makes up a listing, as a folder gives it, and the index of a dataset that holds just that;
then measures, each in a process of its own, the plan of a first run and that of a run with
nothing to do: seconds, and the peak of memory above what the program has when it begins.
Both must grow in step with the documents.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from chunking import ids, schemas  # noqa: E402 - run by path, not installed
from jobs.adapters.stores.local import LocalStore  # noqa: E402
from jobs.protocol.files import to_parquet, write_table  # noqa: E402
from jobs.protocol.planning import estimate_buckets, plan_run  # noqa: E402
from jobs.protocol.run import RunSettings  # noqa: E402
from jobs.protocol.state import read_known  # noqa: E402
from jobs.protocol.versions import BucketVersion  # noqa: E402
from jobs.records import SourceItem  # noqa: E402

MIB = 2**20
SIZE = 300
PER_UNIT = 32
FINGERPRINT = ids.hash_fields("fingerprint")
SETTINGS = RunSettings(
    source="file:///source", fingerprint=FINGERPRINT, model={"dimension": 384}, chunking={}
)


def listing(count: int) -> Iterator[SourceItem]:
    """Yield tiny documents, as a folder's listing does."""
    for number in range(count):
        key = f"{number // 1000:05d}/note-{number:07d}.txt"
        uri = f"file:///data/a-folder-of-the-source/{key}"
        etag = f"{SIZE}-{1_700_000_000_000_000_000 + number}"
        yield SourceItem(source_key=key, source_uri=uri, size=SIZE, etag=etag, location=uri)


def make_index(folder: Path, count: int) -> None:
    """Write the index files of a dataset in which the listing is published."""
    store, n_buckets = LocalStore(folder), buckets_of(count)
    rows: dict[int, list[dict[str, object]]] = {bucket: [] for bucket in range(n_buckets)}
    for number, item in enumerate(listing(count)):
        doc_id = ids.doc_id(item.source_key)
        rows[ids.bucket_of(doc_id, n_buckets)].append(
            {
                "doc_id": doc_id,
                "source_key": item.source_key,
                "etag": item.etag,
                "fingerprint": FINGERPRINT,
                "status": "ok",
                "retryable": False,
                "attempts": 1,
                "model": FINGERPRINT,
                "structure_ref": "_chunkmill/sentences/00000001-20260101T000000Z/"
                f"{number // PER_UNIT:06d}-0123456789abcdef.structure.parquet",
            }
        )
    for bucket, found in rows.items():
        table = pa.Table.from_pylist(found, schemas.INDEX)
        file = write_table(store, f"{bucket}/index.parquet", table, name="index", facts={})
        version = BucketVersion(bucket=bucket, version=1, run_id="", kind="publish", index=file)
        store.put(f"{bucket}/version.json", version.to_bytes())


def peak_bytes() -> int:
    """Return the most memory that this program has held; ``getrusage`` counts its parent's too."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def buckets_of(count: int) -> int:
    """Return the buckets of a dataset of that many documents."""
    return estimate_buckets((SIZE for _ in range(count)), SETTINGS)


def measure(folder: Path, count: int, *, known: bool) -> dict[str, object]:
    """Make one plan in this process and return its figures."""
    before, at_start = resource.getrusage(resource.RUSAGE_SELF), peak_bytes()
    began = time.monotonic()
    store = LocalStore(folder)
    n_buckets = buckets_of(count)
    versions = [
        BucketVersion.from_bytes(store.get(f"{bucket}/version.json"))
        for bucket in range(n_buckets)
        if known
    ]
    plan = plan_run(listing(count), read_known(store, versions, 1), SETTINGS, n_buckets=n_buckets)
    size = len(to_parquet(plan.table, {}))
    after = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "plan": "nothing to do" if known else "first run",
        "documents": count,
        "buckets": n_buckets,
        "planned": plan.n_documents,
        "seconds": round(time.monotonic() - began, 1),
        "cpu_seconds": round(
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1
        ),
        "peak_mib_above_start": round((peak_bytes() - at_start) / MIB),
        "plan_mib": round(size / MIB, 1),
    }


def main() -> None:
    """Measure and print one line each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--documents", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--child", choices=["known", "first"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        figures = measure(options.folder, options.documents[0], known=options.child == "known")
        print(json.dumps(figures), flush=True)
        return
    for count in options.documents:
        with tempfile.TemporaryDirectory(prefix="chunkmill-bench-") as folder:
            make_index(Path(folder), count)
            for kind in ("first", "known"):
                again = [sys.executable, __file__, "--child", kind, "--folder", folder]
                subprocess.run([*again, "--documents", str(count)], check=True)


if __name__ == "__main__":
    main()
