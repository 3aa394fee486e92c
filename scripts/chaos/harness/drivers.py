"""Drivers as the harness sees them: processes that it starts, signals and waits for."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Driver", "DriverServer"]

ROOT = Path(__file__).resolve().parents[3]
_START_S = 1200.0


@dataclass(slots=True, kw_only=True)
class Driver:
    """A driver process; ``status`` is negative for a signal, None while it runs."""

    number: int
    argv: tuple[str, ...]
    began: float
    pid: int = 0
    status: int | None = None
    ended: threading.Event = field(default_factory=threading.Event)
    started: threading.Event = field(default_factory=threading.Event)

    def send(self, number: int) -> bool:
        """Send a signal; False if the process has ended."""
        if self.status is not None:
            return False
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            return False
        return True

    def wait(self, seconds: float) -> int | None:
        """Wait for the end; None if it has not come."""
        self.ended.wait(seconds)
        return self.status


class DriverServer:
    """The process that forks drivers, and what it says of them."""

    def __init__(self, environment: dict[str, str], log: Path) -> None:
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "scripts.chaos.harness.driver_server"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=ROOT,
                env=environment,
                text=True,
                start_new_session=True,
            )
        self._drivers: dict[int, Driver] = {}
        self._lock = threading.Lock()
        self._ready = threading.Event()
        threading.Thread(target=self._listen, daemon=True).start()
        if not self._ready.wait(_START_S):
            msg = f"the server of drivers did not start; see {log}"
            raise RuntimeError(msg)

    def start(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        env: dict[str, str] | None = None,
        clock: float = 0.0,
        text: bool = True,
        alone: bool = False,
    ) -> Driver:
        """Start ``chunkmill`` with these arguments."""
        with self._lock:
            number = len(self._drivers)
            driver = Driver(number=number, argv=tuple(argv), began=time.monotonic())
            self._drivers[number] = driver
        request = {"id": number, "argv": list(argv), "env": env or {}, "log": str(log)}
        self._send({**request, "clock": clock, "text": text, "alone": alone})
        if not driver.started.wait(_START_S):
            msg = "a driver did not start"
            raise RuntimeError(msg)
        return driver

    def close(self) -> None:
        """End all drivers and the server."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _send(self, request: dict[str, object]) -> None:
        if self._process.stdin is not None:
            with self._lock:
                self._process.stdin.write(json.dumps(request) + "\n")
                self._process.stdin.flush()

    def _listen(self) -> None:
        for line in self._process.stdout or ():
            message = json.loads(line)
            if "ready" in message:
                self._ready.set()
                continue
            driver = self._drivers[message["id"]]
            if "pid" in message:
                driver.pid = message["pid"]
                driver.started.set()
            else:
                driver.status = message["status"]
                driver.ended.set()
