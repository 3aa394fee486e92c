"""What a raylet starts in place of Ray's ``setup_worker.py``: asks a worker of the fork server.

Imports nothing but the smallest of the standard library, for it is started often. Variables
of a runtime environment are set as Ray's own program does; anything else in one is left to it.
"""

from __future__ import annotations

import json
import os
import socket
import sys

_OWN = ("--serialized-runtime-env-context", "--language")  # what is for the set-up alone
SOCKET = "CHUNKMILL_CHAOS_FORK_SERVER"
"""Variable that names the fork server's socket."""
SETUP = "CHUNKMILL_CHAOS_SETUP_WORKER"
"""Variable that names Ray's own program."""


def main() -> None:
    """Have the worker forked that the arguments ask for, and end."""
    own = [word for word in sys.argv[1:] if word.startswith(_OWN)]
    rest = [word for word in sys.argv[1:] if not word.startswith(_OWN)]
    context = json.loads(next((w.partition("=")[2] for w in own if w.startswith(_OWN[0])), "{}"))
    if context.get("command_prefix") or not rest[0].endswith("default_worker.py"):
        real = os.environ[SETUP]
        os.execv(sys.executable, [sys.executable, real, *sys.argv[1:]])  # noqa: S606 - as Ray would
    env = {**os.environ, **(context.get("env_vars") or {})}
    request = json.dumps({"argv": rest, "env": env, "cwd": os.getcwd()})  # noqa: PTH109 - pathlib is slow to import
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.connect(os.environ[SOCKET])
        socket.send_fds(server, [b"w"], [1, 2])
        server.sendall(request.encode() + b"\n")
        server.recv(1)


if __name__ == "__main__":
    main()
