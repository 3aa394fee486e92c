"""The tests' S3 server as something that dies: killed at any moment, started on its data."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.servers import S3Server

__all__ = ["StoreServer"]

ROOT = Path(__file__).resolve().parents[3]
_PROGRAM = ROOT / "tests" / "swift_process.py"


class StoreServer:
    """Swift on a folder that outlives its process; requests fail while it is down."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="chaos-swift-", dir=_memory_folder()))
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        self.port = 0
        self.start()

    @property
    def facts(self) -> S3Server:
        """Endpoint and credentials, those of a direct connection."""
        return S3Server(
            endpoint=f"http://127.0.0.1:{self.port}",
            access_key="test:tester",
            secret_key="testing",  # noqa: S106 - of a server that lives for this run only
        )

    def client(self) -> Any:  # noqa: ANN401 - boto3 makes its classes at run time
        """Return a client with a direct connection."""
        return self.facts.client()

    def start(self) -> None:
        """Start on what is in the folder; nothing, if it runs."""
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                return
            self._process = subprocess.Popen(
                [sys.executable, str(_PROGRAM), str(self._folder), str(self.port)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={k: v for k, v in os.environ.items() if not k.startswith("AWS_")},
                start_new_session=True,
            )
            if self._process.stdout is None:
                return
            word, _, port = self._process.stdout.readline().partition(" ")
            if word != "ready":
                msg = "the S3 server did not start"
                raise RuntimeError(msg)
            self.port = int(port)

    def kill(self) -> None:
        """Kill all its processes at once; the data stay as they lie."""
        with self._lock:
            if self._process is None:
                return
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def close(self) -> None:
        """End it and remove the data."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


def _memory_folder() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - mkdtemp is private
