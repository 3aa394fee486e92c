"""Runs in processes that can be killed: imports once, forks for each run."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pyarrow as pa

from chunking import ids
from jobs.adapters.stores.local import LocalStore
from jobs.protocol.fail_points import VARIABLE
from jobs.protocol.purged import readmit
from tests.jobs.protocol import simulation as sim


def serve() -> None:
    """Do the runs that are asked for on standard input; answer each with its exit code.

    A run is a JSON line: folder, configuration, documents by key, fail point or null, and
    what to do (``run``, ``gc``, ``purge``, ``readmit``) with which documents.
    """
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _work(*json.loads(line))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _work(  # noqa: PLR0917 - as they come
    folder: str,
    config: str,
    documents: dict[str, str],
    fail_point: str | None,
    task: str,
    names: list[str],
) -> None:
    if fail_point is not None:
        os.environ[VARIABLE] = fail_point
    store = LocalStore(Path(folder))
    if task == "gc":
        sim.gc_job(store)
    elif task == "purge":
        sim.purge_job(store, *names)
    elif task == "readmit":
        readmit(store, map(ids.doc_id, names))
    else:
        settings = sim.settings(config, partition_by="format", n_buckets=1)
        deaths = {"Stage": {"d0": 1}}
        sim.run_job(store, sim.FakeSource(documents), settings, deaths=deaths)
