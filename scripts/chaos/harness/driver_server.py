"""A process that has imported the job and forks drivers: each starts in milliseconds.

Reads requests as JSON lines: ``{"id", "argv", "env", "log", "clock", "text"}``; answers
``{"id", "pid"}`` and, when the driver has ended, ``{"id", "status"}``. A driver is the real
command line on ``argv``. ``clock``: seconds by which the wall clock of the protocol is
wrong. ``text``: documents are read without docling. ``alone``: there is no cluster. All ends
with standard input.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import sys
import time
from typing import Any

from scripts.chaos.harness.worker_forks import IMPORTS

_IMPORTS = (*IMPORTS, "jobs.cli", "jobs.verifier", "scripts.chaos.harness.own_process")


def main() -> None:
    """Serve until standard input ends."""
    _import_all()
    _say({"ready": True})
    running: dict[int, tuple[int, int]] = {}
    buffered = b""
    while True:
        for descriptor in select.select([0, *running], [], [])[0]:
            if descriptor in running:
                number, pid = running.pop(descriptor)
                os.close(descriptor)
                _say({"id": number, "status": os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])})
                continue
            data = os.read(0, 65536)
            if not data:
                for _, pid in running.values():
                    os.kill(pid, signal.SIGKILL)
                return
            *lines, buffered = (buffered + data).split(b"\n")
            for line in lines:
                request = json.loads(line)
                pid = _fork(request)
                running[os.pidfd_open(pid)] = (request["id"], pid)
                _say({"id": request["id"], "pid": pid})


def _import_all() -> None:
    from jobs.adapters import ray_connect  # noqa: PLC0415 - Ray reads this when imported

    for name, value in ray_connect._QUIET.items():  # noqa: SLF001 - as the driver would
        os.environ.setdefault(name, value)
    for name in _IMPORTS:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _say(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _fork(request: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        _become(request)
    finally:
        os._exit(70)


def _become(request: dict[str, Any]) -> None:
    """Be a driver: the command line's own main, in a session of its own."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.environ.update(request["env"])
    sys.argv = ["chunkmill", *request["argv"]]
    _adapt(request)
    from jobs.cli import main as command_line  # noqa: PLC0415 - imported long since

    status = 0
    try:
        command_line()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _adapt(request: dict[str, Any]) -> None:
    from jobs import pipeline  # noqa: PLC0415 - as above
    from jobs.protocol import lease  # noqa: PLC0415
    from scripts.chaos.harness import own_process  # noqa: PLC0415
    from scripts.chaos.harness.text_parser import TextFetchParse  # noqa: PLC0415

    if request["text"]:
        pipeline.FetchParse = TextFetchParse  # type: ignore[misc] - another class of this kind
    if request["alone"]:
        pipeline.connect = own_process.connect
    wrong = float(request["clock"])
    if wrong:
        lease.SystemClock.now = lambda _self: time.time() + wrong  # type: ignore[method-assign]


if __name__ == "__main__":
    main()
