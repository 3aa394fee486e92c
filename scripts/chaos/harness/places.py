"""Everything that schedules share: the store and its proxy, Ray, the server of drivers."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.chaos.harness import judge
from scripts.chaos.harness.drivers import Driver, DriverServer
from scripts.chaos.harness.listing import etags
from scripts.chaos.harness.own_process import NoNodes
from scripts.chaos.harness.ray_nodes import RayNodes
from scripts.chaos.harness.real_sources import real_world
from scripts.chaos.harness.s3_proxy import S3Proxy
from scripts.chaos.harness.sources import World, put_state
from scripts.chaos.harness.store_server import StoreServer
from scripts.chaos.harness.worker_forks import WorkerForks

__all__ = ["DATASETS", "DONE", "Disk", "Places", "open_places"]

DONE = (0, 3)
SOURCE, DATASETS = "source", "datasets"
_SIZE = 24
_BASE = (
    "limits.max_failed=100%",
    "limits.max_deleted=100%",
    "limits.attempts=50",
    "limits.document_seconds=600",
    "output.n_buckets=3",
)
_TEXT = ("model.name=hash:32", "limits.lease_seconds=4.0")
_REAL = ("parser.ocr=none", "limits.lease_seconds=10.0")


class Disk:
    """A small disk in memory, which can be filled to the last byte; needs the right to mount."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        command = [
            shutil.which("mount") or "mount",
            "-t",
            "tmpfs",
            "-o",
            f"size={megabytes}m",
            "chaos",
            str(folder),
        ]
        self.mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
        self._filler = folder / "filler"

    def fill(self, seconds: float) -> bool:
        """Fill it for some seconds; False if it is no disk of its own."""
        if not self.mounted:
            return False
        with contextlib.suppress(OSError), self._filler.open("wb", buffering=0) as file:
            while True:
                file.write(b"\0" * 4096)
        timer = threading.Timer(seconds, self.free)
        timer.daemon = True
        timer.start()
        return True

    def free(self) -> None:
        """Take the filling out."""
        self._filler.unlink(missing_ok=True)

    def close(self) -> None:
        """Unmount it."""
        if self.mounted:
            subprocess.run(
                [shutil.which("umount") or "umount", "-l", str(self.folder)], check=False
            )


@dataclass(kw_only=True)
class Places:
    """What is kept over schedules; ``references`` makes undisturbed datasets when first asked."""

    work: Path
    store: StoreServer
    proxy: S3Proxy
    nodes: RayNodes | NoNodes
    drivers: DriverServer
    scratch: Disk
    small: Disk
    client: Any

    def source_url(self, world: int, *, real: bool) -> str:
        """Return the source's URL, the same for all states of a world."""
        return f"s3://{SOURCE}/{_place(world, real=real)}"

    def put(self, world: int, state: str, *, real: bool) -> None:
        """Bring a world's source to a state."""
        states = self.world(world, real=real).states
        put_state(self.client, SOURCE, f"{_place(world, real=real)}/", states[state])

    def world(self, number: int, *, real: bool) -> World:
        """Return the documents of a world."""
        return real_world(number) if real else World(number, _SIZE)

    def command(self, world: int, target: str, settings: Sequence[str], *, real: bool) -> list[str]:
        """Return the arguments of ``chunkmill run`` for a target, an URL or a folder."""
        every = [*_BASE, *(_REAL if real else _TEXT), *settings]
        if self.scratch.mounted:
            every.append(f"resources.tmp_dir={self.scratch.folder}")
        partition = self.world(world, real=real).partition_by
        every += [f"output.partition_by={partition}"] if partition else []
        return [
            *("run", self.source_url(world, real=real), target),
            *(("--address", self.nodes.address) if self.nodes.address else ()),
            *("--endpoint-url", self.proxy.endpoint, "-v"),
            *(word for setting in every for word in ("--set", setting)),
        ]

    def reference(self, world: int, state: str, *, real: bool) -> Path:
        """Return an undisturbed dataset's plain directories: of ``second`` with its history."""
        name = f"reference-{_place(world, real=real)}-{state}"
        folder = self.work / name
        if not folder.exists():
            if state == "second":
                self.reference(world, "first", real=real)
                self.copy(f"reference-{_place(world, real=real)}-first", name)
            self.put(world, state, real=real)
            self._undisturbed(world, name, real=real)
            judge.download(self.client, DATASETS, f"{name}/", folder)
        return folder

    def copy(self, source: str, target: str) -> None:
        """Copy a whole dataset to another prefix."""
        for key in etags(self.client, DATASETS, f"{source}/"):
            origin = {"Bucket": DATASETS, "Key": key}
            copied = target + key[len(source) :]
            self.client.copy_object(Bucket=DATASETS, Key=copied, CopySource=origin)

    def remove(self, name: str) -> None:
        """Remove a whole dataset."""
        for key in etags(self.client, DATASETS, f"{name}/"):
            self.client.delete_object(Bucket=DATASETS, Key=key)

    def watch(self, world: int, name: str, *, real: bool) -> None:
        """Let the proxy tell the requests of a world and a dataset."""
        self.proxy.source = f"/{SOURCE}/{_place(world, real=real)}/"
        self.proxy.dataset = f"/{DATASETS}/{name}/"

    def start(
        self, argv: Sequence[str], log: Path, env: dict[str, str], clock: float, *, real: bool
    ) -> Driver:
        """Start a driver."""
        alone = not self.nodes.address
        return self.drivers.start(argv, log=log, env=env, clock=clock, text=not real, alone=alone)

    def mend(self) -> None:
        """Make everything whole again: nodes, store, disks, weather."""
        self.proxy.arm([])
        self.store.start()
        self.scratch.free()
        self.small.free()
        self.nodes.mend()

    def _undisturbed(self, world: int, name: str, *, real: bool) -> None:
        self.mend()
        self.watch(world, name, real=real)
        argv = self.command(world, f"s3://{DATASETS}/{name}", (), real=real)
        log = self.work / f"{name}.log"
        began = time.monotonic()
        status = self.start(argv, log, {}, 0.0, real=real).wait(3600)
        if status not in DONE:
            msg = f"the undisturbed run {name} ended with {status}; see {log}"
            raise RuntimeError(msg)
        print(f"{name}: undisturbed in {time.monotonic() - began:.0f} s", flush=True)


def _place(world: int, *, real: bool) -> str:
    return f"real-{world}" if real else f"world-{world}"


@contextlib.contextmanager
def open_places(work: Path, *, alone: bool, real: bool) -> Iterator[Places]:
    """Start everything, without a Ray if the driver works ``alone``; end it in the end.

    ``real``: workers will load models.
    """
    with contextlib.ExitStack() as stack:
        ray_folder = Path(tempfile.mkdtemp(prefix="cr", dir="/tmp"))
        stack.callback(shutil.rmtree, ray_folder, ignore_errors=True)
        store = StoreServer()
        stack.callback(store.close)
        _set_environment(store, ray_folder)
        proxy = S3Proxy(store.port)
        stack.callback(proxy.close)
        drivers = DriverServer(dict(os.environ), work / "drivers.log")
        stack.callback(drivers.close)
        nodes: RayNodes | NoNodes = NoNodes()
        if not alone:
            forks = WorkerForks(ray_folder, work / "workers.log", real=real)
            stack.callback(forks.close)
            nodes = RayNodes(n_nodes=2, head_cpus=2, node_cpus=2, forks=forks)
        stack.callback(nodes.close)
        scratch, small = Disk(work / "scratch", 256), Disk(work / "small", 64)
        stack.callback(scratch.close)
        stack.callback(small.close)
        client = store.client()
        for bucket in (SOURCE, DATASETS):
            client.create_bucket(Bucket=bucket)
        yield Places(
            work=work,
            store=store,
            proxy=proxy,
            nodes=nodes,
            drivers=drivers,
            scratch=scratch,
            small=small,
            client=client,
        )


def _set_environment(store: StoreServer, ray_folder: Path) -> None:
    """Set what drivers and workers inherit; Ray reads it when it is imported, which is later."""
    os.environ.update(store.facts.environment)
    os.environ.update(
        {
            "AWS_EC2_METADATA_DISABLED": "true",
            "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": str(Path(__file__).resolve().parents[3]),
            "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
            "RAY_TMPDIR": str(ray_folder),
            # Workers that nobody has asked for would take the processors of those that work.
            "RAY_enable_worker_prestart": "0",
            "RAY_prestart_worker_first_driver": "0",
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_worker_niceness": "0",
            "TOKENIZERS_PARALLELISM": "false",
        }
    )
