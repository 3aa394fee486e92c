"""A process that has imported what Ray and the job need, and forks Ray's workers.

Starting a worker costs seconds of processor time, nearly all of it for imports, and a
schedule starts dozens. A worker forked from here is Ray's own program from its first line;
only what it imports is there already. Ray itself is not: its native part reads the
environment when it is imported, which is another one for each worker. Which raylet a
worker belongs to is kept as a file ``<folder>/<raylet's pid>/<worker's pid>``, for it is no
child of the raylet; in it is when the worker began, for process ids are used again. Ends
with standard input.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from scripts.chaos.harness.worker_forks import IMPORTS, began


def main() -> None:
    """Serve on the socket ``argv[1]`` with the folder ``argv[2]`` until standard input ends."""
    path, folder = sys.argv[1], Path(sys.argv[2])
    for name in _needed(("ray._private.workers.default_worker", *IMPORTS, *sys.argv[3:])):
        with suppress(ImportError):  # names that only Ray's own import path has
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel buries the workers
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(path)
        server.listen(64)
        if os.fork() == 0:
            _end_with_input(os.getppid())
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            connection, _ = server.accept()
            with connection, suppress(OSError, ValueError):
                _serve(connection, server, folder)


def _needed(names: Sequence[str]) -> list[str]:
    """Return all modules but Ray's own that importing these brings, found in a child."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        for name in names:
            importlib.import_module(name)
        found = [name for name in sys.modules if name.partition(".")[0] not in ("ray", "__main__")]
        with os.fdopen(writing, "w") as pipe:
            pipe.write("\n".join(found))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        return pipe.read().split("\n")


def _end_with_input(server: int) -> None:
    while os.read(0, 4096):
        pass
    os.kill(server, signal.SIGKILL)
    os._exit(0)


def _serve(connection: socket.socket, server: socket.socket, folder: Path) -> None:
    _, descriptors, _, _ = socket.recv_fds(connection, 1, 2)
    try:
        with connection.makefile("rb") as lines:
            request = json.loads(lines.readline())
        raylet = folder / request["env"]["RAY_RAYLET_PID"]
        raylet.mkdir(exist_ok=True)
        pid = os.fork()
        if pid == 0:
            server.close()
            connection.close()
            _become(request, descriptors)
        (raylet / str(pid)).write_text(began(pid))
        connection.sendall(b"k")
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _become(request: dict[str, Any], descriptors: list[int]) -> None:
    """Be one of Ray's workers, from its program's first line."""
    status = 70
    try:
        os.setsid()  # a raylet ends the whole process group of a worker
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in zip((nothing, *descriptors), (0, 1, 2), strict=True):
            os.dup2(source, target)
        os.environ.clear()
        os.environ.update(request["env"])
        os.chdir(request["cwd"])
        sys.argv = request["argv"]
        runpy.run_path(request["argv"][0], run_name="__main__")
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - told where Ray keeps what its workers say
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    main()
