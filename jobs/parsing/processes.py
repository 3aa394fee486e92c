"""The parent's handles on the zygote and on a child: they start, ask and kill, and do not judge."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

from chunking.errors import JobError
from jobs.config import LimitsConfig, ParserConfig
from jobs.parsing import wire
from jobs.parsing.limits import rss_bytes

__all__ = ["ChildProcess", "ServerLostError", "Zygote"]

_START_TIMEOUT_S = 300.0
_ANSWER_TIMEOUT_S = 60.0
_CLOSE_TIMEOUT_S = 5.0
_ENVIRONMENT = {
    **dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
    ),
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "HF_HUB_OFFLINE": "1",
    "MALLOC_ARENA_MAX": "2",
    "PYTHONHASHSEED": "0",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_OFFLINE": "1",
}
"""One thread (the default pool of Arrow keeps one of its own), no hub, one order of sets."""


class ServerLostError(Exception):
    """The zygote has ended, and with it its children."""


class ChildProcess:
    """One forked child: its process id, the socket to it, and how it ended."""

    def __init__(self, pid: int, connection: socket.socket, zygote: Zygote) -> None:
        self.pid = pid
        self.connection = connection
        self.documents = 0
        self._base_rss = rss_bytes(pid)
        self._zygote = zygote
        self._killed = False
        self._status: int | None = None

    def growth(self) -> int:
        """Return the resident bytes gained since the fork."""
        return rss_bytes(self.pid) - self._base_rss

    def ended(self) -> bool:
        """Tell whether the idle child has closed its end or said something unasked."""
        return wire.readable(self.connection, 0)

    def kill(self) -> int | None:
        """Kill the child and all it started; return its exit status, negative for a signal.

        None: the zygote is gone, and the status with it.
        """
        if not self._killed:
            self._killed = True
            self._end()
        return self._status

    def _end(self) -> None:
        # Without the zygote nobody holds the process id: it may name a stranger by now.
        if self._zygote.alive():
            for send in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError):
                    send(self.pid, signal.SIGKILL)
        self.connection.close()
        with contextlib.suppress(ServerLostError):
            self._status = self._zygote.ask({"op": "wait", "pid": self.pid})["status"]


class Zygote:
    """The process that children are forked from, started when first needed."""

    def __init__(
        self,
        config: ParserConfig,
        limits: LimitsConfig,
        *,
        convert: str,
        preload: str | None,
    ) -> None:
        self._setup: dict[str, object] = {
            "config": config.model_dump(mode="json"),
            "limits": limits.model_dump(mode="json"),
            "convert": convert,
            "preload": preload,
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._errors: IO[bytes] | None = None
        self._last_words = ""
        self._ready = False

    @property
    def pid(self) -> int | None:
        """Process id of the running zygote."""
        return None if self._process is None else self._process.pid

    def alive(self) -> bool:
        """Tell whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the process, without waiting until it has imported everything."""
        if self._process is not None:
            return
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - a fixed program with fixed arguments
                [sys.executable, "-P", "-m", "jobs.parsing.zygote", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                env=_environment(),
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._control = ours
        self._send(self._setup)

    def fork(self) -> ChildProcess:
        """Return a new child.

        Raises:
            ServerLostError: the zygote has ended.
            JobError: the zygote does not start.
        """
        self._await_ready()
        ours, theirs = socket.socketpair()
        with theirs:
            pid = self.ask({"op": "fork"}, fds=[theirs.fileno()])["pid"]
        return ChildProcess(pid, ours, self)

    def ask(self, message: dict[str, object], fds: list[int] | None = None) -> dict[str, Any]:
        """Send a control message and return the answer.

        Raises:
            ServerLostError: the zygote has ended; it is forgotten, so that the next
                ``fork`` starts another.
        """
        self._send(message, fds)
        return self._receive(_ANSWER_TIMEOUT_S)

    def close(self) -> None:
        """End the process; its children die with it."""
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            try:
                self._process.wait(_CLOSE_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        self._keep_last_words()
        self._ready = False

    def _await_ready(self) -> None:
        self.start()
        if self._ready:
            return
        try:
            self._receive(_START_TIMEOUT_S)
        except ServerLostError as error:
            msg = f"the parsing process does not start: {self._last_words}"
            raise JobError(msg) from error
        self._ready = True

    def _keep_last_words(self) -> None:
        """Note the last line that the process wrote to its error stream."""
        if self._errors is None:
            return
        with self._errors as errors:
            errors.seek(0)
            lines = errors.read().decode("utf-8", errors="replace").splitlines()
        self._last_words = next((line for line in reversed(lines) if line.strip()), "no reason")
        self._errors = None

    def _send(self, message: dict[str, object], fds: list[int] | None = None) -> None:
        if self._control is None:
            raise ServerLostError
        try:
            socket.send_fds(self._control, [json.dumps(message).encode("ascii")], fds or [])
        except OSError as error:
            self.close()
            raise ServerLostError from error

    def _receive(self, timeout: float) -> dict[str, Any]:
        if self._control is None:
            raise ServerLostError
        data = b""
        with contextlib.suppress(OSError):
            if wire.readable(self._control, timeout):
                data = self._control.recv(wire.MAX_PACKET)
        if not data:
            self.close()
            raise ServerLostError
        answer: dict[str, Any] = json.loads(data)
        return answer


def _environment() -> dict[str, str]:
    path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    return {**os.environ, **_ENVIRONMENT, "PYTHONPATH": path}
