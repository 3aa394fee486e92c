"""Processes that lose their parents, in a process that adopts them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil

CHECKOUT = Path(__file__).parents[3]
_LEAVE_BEHIND = """
import os, subprocess, sys, time
from jobs.parsing.orphans import adopt_orphans, descendants, end_orphans
adopt_orphans()
code = (
    "import os, subprocess, sys;"
    "n = subprocess.DEVNULL;"
    "p = [subprocess.Popen(['sleep', '60'], start_new_session=s, stdout=n, stderr=n)"
    " for s in (True, False)];"
    "print(*(q.pid for q in p), flush=True); os._exit(0)"
)
left = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True).stdout
assert sorted(map(int, left.split())) == sorted(descendants(os.getpid()))
end_orphans()
assert not list(descendants(os.getpid()))
end_orphans()
print(left)
"""


def test_what_descendants_leave_is_ended() -> None:
    """Also what has taken a session of its own; without any, nothing happens."""
    ended = subprocess.run(
        [sys.executable, "-c", _LEAVE_BEHIND],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    pids = [int(word) for word in ended.stdout.split()]
    assert len(pids) == 2
    assert not any(psutil.pid_exists(pid) for pid in pids)
