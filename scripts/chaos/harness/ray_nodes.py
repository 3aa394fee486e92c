"""A real local Ray of several nodes that is kept over schedules, and mended in between."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from scripts.chaos.harness.worker_forks import WorkerForks

__all__ = ["RayNodes", "Worker", "owner_of", "send"]

_STARTS = 5
_TITLE = re.compile(r"ray::(?P<title>.+)")
_ROLES = {
    "parse": re.compile(r"FetchParse"),
    "embed": re.compile(r"EmbedUnit"),
    "commit": re.compile(r"^commit"),
    "publish": re.compile(r"^publish"),
    "meter": re.compile(r"_MeterActor"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A worker process and what it is for, as its title says."""

    pid: int
    role: str
    title: str


class RayNodes:
    """One head that stays, and nodes that may die; ``RAY_TMPDIR`` says where its files are."""

    def __init__(self, *, n_nodes: int, head_cpus: int, node_cpus: int, forks: WorkerForks) -> None:
        from ray.cluster_utils import Cluster  # noqa: PLC0415 - Ray is slow to import

        self._forks = forks
        every = {"setup_worker_path": str(forks.shim)}
        self._node = {"num_cpus": node_cpus, "object_store_memory": 100 * 2**20, **every}
        self._n_nodes = n_nodes
        self._lock = threading.Lock()
        head = {
            "num_cpus": head_cpus,
            "object_store_memory": 150 * 2**20,
            "include_dashboard": False,
            **every,
        }
        self._cluster: Any = _patiently(lambda: Cluster(initialize_head=True, head_node_args=head))
        self.mend()

    @property
    def address(self) -> str:
        """Address to join by."""
        return str(self._cluster.address)

    def mend(self) -> int:
        """Start the nodes that are missing; return how many."""
        with self._lock:
            missing = self._n_nodes - len(self._cluster.worker_nodes)
            for _ in range(missing):
                _patiently(lambda: self._cluster.add_node(wait=True, **self._node))
        return missing

    def kill_node(self) -> int | None:
        """Kill one node that is not the head with all its workers; return its raylet's pid."""
        with self._lock:
            nodes = sorted(self._cluster.worker_nodes, key=_raylet)
            if not nodes:
                return None
            pid = _raylet(nodes[0])
            for process in (pid, *self._family(pid)):
                _kill(process, signal.SIGKILL)
            with contextlib.suppress(AssertionError):  # what it says of zombies is our own reaping
                self._cluster.remove_node(nodes[0], allow_graceful=False)
            return pid

    def workers(self, role: str | None = None) -> list[Worker]:
        """Return the workers of our own nodes, by process id."""
        found: list[Worker] = []
        for node in self._cluster.list_all_nodes():
            for pid in self._family(_raylet(node)):
                worker = _worker(pid)
                if worker is not None and role in (None, worker.role):
                    found.append(worker)
        return sorted(found, key=lambda worker: worker.pid)

    def logs(self, *, since: float) -> list[Path]:
        """Return what workers wrote to stderr since a time of the wall clock."""
        folder = Path(os.environ["RAY_TMPDIR"]) / "ray/session_latest/logs"
        return [path for path in folder.glob("worker-*.err") if path.stat().st_mtime >= since]

    def close(self) -> None:
        """End all nodes."""
        self._cluster.shutdown()

    def _family(self, raylet: int) -> list[int]:
        """Return the processes below a raylet, and its workers, which were forked elsewhere."""
        workers = self._forks.workers(raylet)
        return [*_below(raylet), *(pid for worker in workers for pid in (worker, *_below(worker)))]


def send(pid: int, number: int) -> bool:
    """Send a signal to one of our workers; False if it has gone."""
    return _kill(pid, number)


def owner_of(port: int, candidates: list[Worker]) -> Worker | None:
    """Return the worker whose connection has this local port."""
    for worker in candidates:
        with contextlib.suppress(psutil.Error):
            for connection in psutil.Process(worker.pid).net_connections(kind="tcp4"):
                if connection.laddr and connection.laddr.port == port:
                    return worker
    return None


def _patiently(start: Callable[[], Any]) -> Any:  # noqa: ANN401 - what is started
    """Start what may be too slow on a busy machine: Ray's patience is half a minute."""
    for attempt in range(_STARTS):
        try:
            return start()
        except Exception:  # Ray raises bare exceptions when a node starts too slowly
            if attempt == _STARTS - 1:
                raise
    return None


def _raylet(node: Any) -> int:  # noqa: ANN401 - Ray's own
    for name, processes in node.all_processes.items():
        if name == "raylet":
            return int(processes[0].process.pid)
    return 0


def _below(pid: int) -> list[int]:
    with contextlib.suppress(psutil.Error):
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    return []


def _worker(pid: int) -> Worker | None:
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
        match = _TITLE.match(words)
        if match is None:
            return None
        title = match["title"]
        role = next((name for name, pattern in _ROLES.items() if pattern.search(title)), "other")
        return Worker(pid=pid, role=role, title=title)
    return None


def _kill(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
