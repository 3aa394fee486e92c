"""The processes of a job, told by a mark in their environment, and the memory they hold."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Self

__all__ = ["MARK", "Memory", "command_of"]

MARK = "CHUNKMILL_HOSTILE_RUN"
"""The variable that all processes of a run inherit."""
SAMPLE_S = 1.0


class Memory:
    """Samples the memory of all processes that carry a mark, shared pages counted once."""

    def __init__(self, mark: str) -> None:
        self._mark = f"{MARK}={mark}".encode()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.peak = 0
        self.most_processes = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def processes(self) -> list[Path]:
        """Return the processes that live now, by their folder in ``/proc``."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                try:
                    if self._mark in (entry / "environ").read_bytes().split(b"\0"):
                        found.append(entry)
                except OSError:
                    continue
        return found

    def _run(self) -> None:
        while not self._stop.wait(SAMPLE_S):
            processes = self.processes()
            self.most_processes = max(self.most_processes, len(processes))
            self.peak = max(self.peak, sum(map(_proportional_bytes, processes)))


def _proportional_bytes(process: Path) -> int:
    try:
        rollup = (process / "smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0
    found = re.search(r"^Pss:\s+(\d+) kB", rollup, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def command_of(process: Path) -> str:
    """Return the start of a process's command line."""
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:80]
    except OSError:
        return "ended"
