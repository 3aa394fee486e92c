"""A process of ``pdf_engines.py`` in the interpreter that has the engine, asked line by line."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

PACKAGES = ("docling", "docling-core", "docling-parse", "pypdfium2", "rapid-layout", "onnxruntime")
"""What the engines are made of; their versions are told beside what was measured."""


class Worker:
    """A process with one thread for numerical libraries, on ``cpu`` only if one is given."""

    def __init__(self, python: str, cpu: int | None = None) -> None:
        self._command = [python, str(Path(__file__).with_name("pdf_engines.py"))]
        self._cpu = cpu
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        if self._cpu is not None:
            os.sched_setaffinity(self._process.pid, {self._cpu})
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.communicate()

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a request; one with ``error`` where the process has ended."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            msg = "the worker is not running"
            raise RuntimeError(msg)
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        return dict(json.loads(line)) if line else {"error": "the engine's process ended"}
