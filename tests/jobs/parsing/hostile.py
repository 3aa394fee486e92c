"""Converters that do what a hostile document makes a reader do; run in a parsing child."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from chunking.errors import DocumentError
from chunking.model import Block, Document
from jobs.config import ParserConfig
from jobs.parsing.converted import Converted
from jobs.parsing.hook import Draft

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
    made = _DEEDS.get(word, lambda: text)()
    return Converted(document=document(made) if isinstance(made, str) else made, parser="hostile")


def act(draft: Draft) -> None:
    """Do, as a hook, the deed that a document names in its first line."""
    first = draft.parts[0].text.split()[:2] if draft.parts else []
    if len(first) == 2 and first[0] == "deed:":
        _DEEDS[first[1]]()


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


def _abort_when_full() -> str:
    # As native code does that is refused memory; 256 MiB are allowed.
    block = bytearray(b"x") * (180 * MIB)
    time.sleep(0.3)
    del block
    os.abort()


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


def _fork() -> str:
    os.fork()
    return "forked"


def _native(result: int) -> str:
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return "done"


def _fork_natively() -> str:
    """Fork as a library would; a child of the child would live on for ever."""
    pid = ctypes.CDLL(None, use_errno=True).fork()
    return _hang() if pid == 0 else _native(pid)


def _fork_bomb() -> str:
    fork = ctypes.CDLL(None).fork
    while True:
        fork()


def _start_a_program_natively() -> str:
    return _native(ctypes.CDLL(None, use_errno=True).execl(b"/bin/sleep", b"sleep", b"60", None))


def _greedy_program() -> str:
    """Have programs eat memory that is not the child's own, each within its limit."""
    code = "import time; x = bytearray(b'x') * (120 << 20); time.sleep(60)"
    programs = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]
    return str([program.wait() for program in programs])


def _many_programs() -> str:
    programs = [subprocess.Popen(["/bin/sleep", "60"]) for _ in range(40)]
    return str([program.wait() for program in programs])


def _connect_natively() -> str:
    return _native(ctypes.CDLL(None, use_errno=True).socket(2, 1, 0))


def _many_threads() -> str:
    threading.stack_size(1 << 18)
    threads = [threading.Thread(target=_hang, daemon=True) for _ in range(200)]
    for thread in threads:
        thread.start()
    return _hang()


def _a_few_threads() -> str:
    threads = [threading.Thread(target=time.sleep, args=(0.2,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return "threads"


def _many_open_files() -> str:
    return str(len([os.open("/dev/null", os.O_RDONLY) for _ in range(5000)]))


def _fill_folder() -> str:
    """Write files without end, each within the limit of one."""
    folder = Path(tempfile.mkdtemp())
    number = 0
    while True:
        number += 1
        (folder / str(number)).write_bytes(bytes(MIB))


def _fill_deleted() -> str:
    """Write files that have no name: no listing shows them."""
    files = []
    while True:
        files.append(tempfile.TemporaryFile())  # noqa: SIM115 - held open
        files[-1].write(bytes(MIB))
        files[-1].flush()


def _one_huge_file() -> str:
    with tempfile.TemporaryFile() as file:
        while True:
            file.write(bytes(MIB))


def _stop_itself() -> str:
    os.kill(os.getpid(), signal.SIGSTOP)
    return _hang()


def _spin_in_c() -> str:
    """Loop in C code that never gives way to Python."""
    return str(sum(range(1 << 62)))


def _eat_at_once() -> str:
    return str(len(bytearray(1 << 40)))


def _map_at_once() -> str:
    import mmap  # noqa: PLC0415 - in the child only

    return str(len(mmap.mmap(-1, 1 << 46)))


_kept: list[bytearray] = []


def _keep_memory() -> str:
    """Leave memory behind, as a reader that leaks."""
    _kept.append(bytearray(b"x" * 48 * MIB))
    return _pid()


def _many_blocks() -> Document:
    """Say little in so many blocks that the result is far larger than the text."""
    n_blocks = 16_000
    blocks = tuple(
        Block(index=i, kind="paragraph", start=3 * i, end=3 * i + 1, heading_path=(f"{i:05000}",))
        for i in range(n_blocks)
    )
    return Document(text="\n\n".join("x" * n_blocks), blocks=blocks)


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


_DEEDS: dict[str, Callable[[], str | Document]] = {
    "fork": _fork,
    "fork-natively": _fork_natively,
    "fork-bomb": _fork_bomb,
    "start-a-program-natively": _start_a_program_natively,
    "greedy-program": _greedy_program,
    "many-programs": _many_programs,
    "connect-natively": _connect_natively,
    "many-threads": _many_threads,
    "a-few-threads": _a_few_threads,
    "many-open-files": _many_open_files,
    "fill-folder": _fill_folder,
    "fill-deleted": _fill_deleted,
    "one-huge-file": _one_huge_file,
    "stop-itself": _stop_itself,
    "spin-in-c": _spin_in_c,
    "eat-at-once": _eat_at_once,
    "map-at-once": _map_at_once,
    "many-blocks": _many_blocks,
    "keep-memory": _keep_memory,
    "hang": _hang,
    "ignore-sigterm": _ignore_sigterm,
    "spin": _spin,
    "segfault": _segfault,
    "kill-itself": _kill_itself,
    "leave": _leave,
    "leave-by-exception": _leave_by_exception,
    "eat-python-memory": _eat_python_memory,
    "eat-shared-memory": _eat_shared_memory,
    "abort-when-full": _abort_when_full,
    "abort": os.abort,
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
