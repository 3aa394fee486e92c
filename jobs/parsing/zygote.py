"""The process that children are forked from: it has imported docling, and does nothing else.

Started once per parser as ``python -m jobs.parsing.zygote FD`` with a clean
environment, so that nothing of a Ray worker (its main module, threads, signals, open
files) reaches a child; importing takes seconds, forking milliseconds. It stays
single-threaded, waits on its control socket, and ends with its parent, whose end of that
socket closes however it dies. A child dies with it (``PR_SET_PDEATHSIG``).

Control messages are JSON packets: first ``setup``; then ``fork`` with the child's end of
a socket attached, answered by ``pid``; ``wait`` with a ``pid`` that was killed or has
closed its end, answered by ``status``.

It adopts what its children leave behind (``PR_SET_CHILD_SUBREAPER``) and ends it.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

from jobs.config import LimitsConfig, ParserConfig
from jobs.parsing import child
from jobs.parsing.hook import load_hook
from jobs.parsing.orphans import adopt_orphans, end_orphans
from jobs.parsing.wire import MAX_PACKET

__all__ = ["main"]

_END_TIMEOUT_S = 5.0
"""A killed process ends at once, unless it hangs in the kernel."""


def main(control: socket.socket) -> None:
    """Serve one parent until it closes its end."""
    setup = json.loads(control.recv(MAX_PACKET) or b"null")
    if setup is None:
        return
    work = _prepare(setup)
    _answer(control, {"ready": True})
    while True:
        data, fds, _, _ = socket.recv_fds(control, MAX_PACKET, 1)
        if not data:
            return
        message = json.loads(data)
        if message["op"] == "fork":
            _answer(control, {"pid": _fork(control, fds[0], work)})
        else:
            _answer(control, {"status": _status(message["pid"])})
            end_orphans()


def _load(name: str) -> Callable[..., Any]:
    """Return the function that ``module:function`` names, importing its module."""
    module, _, function = name.partition(":")
    loaded: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return loaded


def _prepare(setup: dict[str, Any]) -> child.Work:
    if setup["preload"] is not None:
        _load(setup["preload"])()
    config = ParserConfig.model_validate(setup["config"])
    work = child.Work(
        convert=_load(setup["convert"]),
        config=config,
        limits=LimitsConfig.model_validate(setup["limits"]),
        hook=load_hook(config.hook) if config.hook else None,
    )
    # Frozen objects are not touched by a child's collector, so their pages stay shared.
    gc.collect()
    gc.freeze()
    return work


def _fork(control: socket.socket, fd: int, work: child.Work) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        os.close(fd)
        return pid
    try:
        control.close()
        child.main(socket.socket(fileno=fd), parent, work)
    finally:
        # Whatever happened, a child never returns into its parent's loop.
        os._exit(0 if sys.exc_info()[0] is None else 1)


def _status(pid: int) -> int:
    """Return how a child ended; as killed where the kernel cannot end it yet."""
    descriptor = os.pidfd_open(pid)
    try:
        ended = select.poll()
        ended.register(descriptor, select.POLLIN)
        if not ended.poll(_END_TIMEOUT_S * 1000):
            return -signal.SIGKILL
    finally:
        os.close(descriptor)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def _answer(control: socket.socket, message: dict[str, object]) -> None:
    control.send(json.dumps(message).encode("ascii"))


def _start(fd: int) -> None:
    adopt_orphans()
    # Ignored and blocked signals are inherited through exec.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    with socket.socket(fileno=fd) as control:
        main(control)


if __name__ == "__main__":
    _start(int(sys.argv[1]))
