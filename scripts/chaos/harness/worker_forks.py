"""The fork server as the harness sees it: started, asked whose a worker is, and ended."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from scripts.chaos.harness import worker_shim

__all__ = ["IMPORTS", "WorkerForks", "began"]

ROOT = Path(__file__).resolve().parents[3]
IMPORTS = (
    "ray.data",
    "ray.data._internal.execution.streaming_executor",
    "boto3",
    "s3transfer",
    "pyarrow.parquet",
    "jobs.pipeline",
    "scripts.chaos.harness.text_parser",
)
"""What drivers and workers need alike, and what is slow to import."""
_MODELS = ("torch", "sentence_transformers")


class WorkerForks:
    """Where the workers of raylets that are started from now on come from."""

    def __init__(self, folder: Path, log: Path, *, real: bool) -> None:
        import ray  # noqa: PLC0415 - Ray is slow to import

        self.shim = Path(worker_shim.__file__)
        self._workers = folder / "workers"
        self._workers.mkdir()
        path = folder / "forks"
        server = Path(__file__).with_name("fork_server.py")
        more = _MODELS if real else ()
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, str(server), str(path), str(self._workers), *more],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=ROOT,
                start_new_session=True,
            )
        if self._process.stdout is None or self._process.stdout.readline() != b"ready\n":
            msg = f"the fork server did not start; see {log}"
            raise RuntimeError(msg)
        own = Path(ray.__file__).parent / "_private/workers/setup_worker.py"
        os.environ[worker_shim.SOCKET] = str(path)
        os.environ[worker_shim.SETUP] = str(own)

    def workers(self, raylet: int) -> list[int]:
        """Return the process ids of a raylet's workers that live."""
        folder = self._workers / str(raylet)
        if not folder.is_dir():
            return []
        noted = [(int(path.name), path.read_text()) for path in folder.iterdir()]
        return [pid for pid, start in noted if start and began(pid) == start]

    def close(self) -> None:
        """End the server; its workers end with their raylets."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()


def began(pid: int) -> str:
    """Return when a process began, in ticks since the machine did; nothing if it has gone."""
    try:
        facts = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    # The second field is the name in brackets, which may hold anything.
    return facts.rpartition(")")[2].split()[19]
