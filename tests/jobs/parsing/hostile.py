"""Converters that do what a hostile document makes a reader do; run in a parsing child."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from chunking.errors import DocumentError
from chunking.model import Block, Document
from jobs.config import ParserConfig
from jobs.parsing.converted import Converted

MIB = 1 << 20


def document(text: str) -> Document:
    """Return a document of one paragraph, or an empty one."""
    blocks = (Block(index=0, kind="paragraph", start=0, end=len(text)),) if text else ()
    return Document(text=text, blocks=blocks)


def convert(path: Path, *, format: str, name: str, settings: ParserConfig) -> Converted:  # noqa: A002
    """Do what the file's first word says; without one, return its text."""
    del format, name, settings
    text = path.read_text(encoding="utf-8").strip()
    word = text.split()[0] if text else ""
    return Converted(document=document(_DEEDS.get(word, lambda: text)()), parser="hostile")


def _hang() -> str:
    while True:
        time.sleep(60)


def _ignore_sigterm() -> str:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return _hang()


def _spin() -> str:
    while True:
        pass


def _segfault() -> str:
    ctypes.string_at(0)
    return ""


def _kill_itself() -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return _hang()


def _leave() -> str:
    os._exit(0)


def _leave_by_exception() -> str:
    raise SystemExit(3)


def _eat_python_memory() -> str:
    blocks = []
    while True:
        blocks.append(bytearray(16 * MIB))


def _eat_shared_memory() -> str:
    import mmap  # noqa: PLC0415 - in the child only

    blocks = []
    while True:
        blocks.append(mmap.mmap(-1, 16 * MIB))  # shared: RLIMIT_DATA does not count it
        blocks[-1].write(b"x" * 16 * MIB)


def _recurse() -> str:
    return _recurse()


def _raise_value_error() -> str:
    msg = "a defect of the reader"
    raise ValueError(msg)


def _raise_unicode_error() -> str:
    return b"\xff".decode("utf-8")


def _raise_document_error() -> str:
    msg = "locked"
    raise DocumentError(msg, kind="encrypted", stage="parse")


def _write_much() -> str:
    return "x" * 3000


def _connect() -> str:
    import socket  # noqa: PLC0415 - in the child only

    socket.create_connection(("127.0.0.1", 9))
    return "connected"


def _start_a_program() -> str:
    subprocess.run([sys.executable, "-c", ""], check=True)
    return "started"


def _pid() -> str:
    return f"pid {os.getpid()} of {os.getppid()}"


def _fill_disk() -> str:
    Path("/dev/full").write_bytes(b"x")
    return ""


def _talk_nonsense() -> str:
    import socket  # noqa: PLC0415 - in the child only

    for fd in range(3, 32):
        try:
            os.fstat(fd)
            socket.socket(fileno=os.dup(fd)).sendall(b"R" + (1 << 62).to_bytes(8, "big"))
        except OSError:
            continue
    return _hang()


_DEEDS: dict[str, Callable[[], str]] = {
    "hang": _hang,
    "ignore-sigterm": _ignore_sigterm,
    "spin": _spin,
    "segfault": _segfault,
    "kill-itself": _kill_itself,
    "leave": _leave,
    "leave-by-exception": _leave_by_exception,
    "eat-python-memory": _eat_python_memory,
    "eat-shared-memory": _eat_shared_memory,
    "recurse": _recurse,
    "value-error": _raise_value_error,
    "unicode-error": _raise_unicode_error,
    "document-error": _raise_document_error,
    "write-much": _write_much,
    "connect": _connect,
    "start-a-program": _start_a_program,
    "pid": _pid,
    "fill-disk": _fill_disk,
    "talk-nonsense": _talk_nonsense,
}
