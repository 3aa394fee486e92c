"""OpenStack Swift with its S3 API, all servers in one process: run by ``tests/servers.py``.

Usage: ``python tests/swift_process.py FOLDER PORT``. Prints ``ready PORT`` and serves until
its standard input is closed. It runs under its own interpreter because eventlet replaces
parts of the standard library.

Swift checks ``If-None-Match: *`` when an upload begins, so of two at the same moment both
may succeed; S3 promises that one fails. The filter ``one_creator`` gives the same promise by
letting conditional uploads of one object pass one after the other.

Started on the folder of a killed one, it goes on with what lies there. An object that was
written, but whose container had not been told yet, is put into the listing first: S3 knows no
state in which an object can be read but is not listed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")

import eventlet  # noqa: E402 - its import warns of its own deprecation
import eventlet.hubs  # noqa: E402
import eventlet.wsgi  # noqa: E402
from swift.common import utils  # noqa: E402

utils.monkey_patch()
eventlet.hubs.use_hub(utils.get_hub())

from eventlet.semaphore import Semaphore  # noqa: E402
from swift.common import wsgi  # noqa: E402
from swift.common.http_protocol import SwiftHttpProtocol  # noqa: E402
from swift.common.ring import Ring, RingBuilder  # noqa: E402
from swift.container.backend import ContainerBroker  # noqa: E402
from swift.obj.diskfile import read_metadata  # noqa: E402

HOST = "127.0.0.1"
STORAGE = ("account", "container", "object")
PIPELINE = (
    "catch_errors gatekeeper cache listing_formats bulk one_creator s3api tempauth "
    "copy slo versioned_writes symlink proxy-server"
)

PROXY = """
[DEFAULT]
swift_dir = {folder}
log_level = ERROR

[pipeline:main]
pipeline = {pipeline}

[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true
conn_timeout = 20
node_timeout = 60
recoverable_node_timeout = 60

[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
user_test_reader = reading

[filter:s3api]
use = egg:swift#s3api
location = us-east-1

[filter:cache]
use = egg:swift#memcache
memcache_servers = {host}:{memcached}

[filter:one_creator]
paste.filter_factory = __main__:one_creator

[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:bulk]
use = egg:swift#bulk
[filter:copy]
use = egg:swift#copy
[filter:slo]
use = egg:swift#slo
[filter:versioned_writes]
use = egg:swift#versioned_writes
allow_object_versioning = true
[filter:symlink]
use = egg:swift#symlink
"""

# A listing shows an object once its container was told; the server gives up telling it
# after the time set here, and no updater runs that would make up for it.
BACKEND = """
[DEFAULT]
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
disable_fallocate = true
fallocate_reserve = 0
log_level = ERROR

[pipeline:main]
pipeline = {name}-server

[app:{name}-server]
use = egg:swift#{name}
container_update_timeout = 60
conn_timeout = 20
node_timeout = 60
"""

Application = Callable[[dict[str, Any], Any], Any]


def one_creator(_settings: dict[str, str], **_local: str) -> Callable[[Application], Application]:
    """Return the filter that lets conditional uploads of one object pass one by one."""
    locks: dict[str, Semaphore] = {}

    def wrap(application: Application) -> Application:
        def serve_one_by_one(environ: dict[str, Any], start_response: Any) -> Any:
            if environ["REQUEST_METHOD"] != "PUT" or "HTTP_IF_NONE_MATCH" not in environ:
                return application(environ, start_response)
            with locks.setdefault(environ["PATH_INFO"], Semaphore()):
                return application(environ, start_response)

        return serve_one_by_one

    return wrap


def make_ring(folder: Path, name: str, port: int) -> None:
    """Write a ring of one device."""
    builder = RingBuilder(part_power=4, replicas=1, min_part_hours=0)
    device = {"zone": 0, "region": 1, "ip": HOST, "port": port, "device": "disk", "weight": 1.0}
    builder.add_dev({**device, "replication_ip": HOST, "replication_port": port})
    builder.rebalance()
    builder.get_ring().save(str(folder / f"{name}.ring.gz"))


def start_memcached(folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    """Start memcached on a free port; return it and the port."""
    ports = folder / "memcached-ports"
    ports.unlink(missing_ok=True)
    process = subprocess.Popen(
        ["memcached", "-u", "root", "-m", "16", "-l", HOST, "-p", "-1", "-U", "0"],
        env={**os.environ, "MEMCACHED_PORT_FILENAME": str(ports)},
        stdin=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 30
    while not (ports.exists() and "TCP INET: " in ports.read_text()):
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            msg = "memcached did not start"
            raise RuntimeError(msg)
        time.sleep(0.01)
    return process, int(ports.read_text().rpartition(":")[2])


def serve(name: str, folder: Path, text: str, socket: Any) -> None:
    """Serve one configuration on a socket until the process ends."""
    path = folder / f"{name}.conf"
    path.write_text(text)
    application = wsgi.loadapp(str(path), global_conf={"log_name": name})
    # boto3 looks for the header "ETag", spelled like this.
    eventlet.wsgi.server(
        socket,
        application,
        utils.NullLogger(),
        protocol=SwiftHttpProtocol,
        capitalize_response_headers=False,
    )


def list_objects_on_disk(folder: Path) -> None:
    """Tell every container what lies on the disk: a killed server may not have come to it."""
    disk = folder / "devices" / "disk"
    ring = Ring(str(folder), ring_name="container")
    for place in sorted(disk.glob("objects/*/*/*/")):
        newest = max(place.glob("*.data"), default=None), max(place.glob("*.ts"), default=None)
        path = max((file for file in newest if file), key=lambda file: file.stem, default=None)
        if path is not None:
            _list_object(disk, ring, path)


def _list_object(disk: Path, ring: Any, path: Path) -> None:
    facts = read_metadata(str(path))
    _, account, container, name = facts["name"].split("/", 3)
    digest = utils.hash_path(account, container)
    part = ring.get_part(account, container)
    database = disk / utils.storage_directory("containers", part, digest) / f"{digest}.db"
    broker = ContainerBroker(str(database), account=account, container=container)
    if not database.exists():
        return
    if path.suffix == ".ts":
        broker.delete_object(name, facts["X-Timestamp"])
        return
    etag = facts.get("X-Object-Sysmeta-Container-Update-Override-Etag", facts["ETag"])
    broker.put_object(
        name, facts["X-Timestamp"], int(facts["Content-Length"]), facts["Content-Type"], etag
    )


def start_servers(folder: Path, port: int, memcached_port: int) -> int:
    """Start the four servers; return the port of the proxy."""
    (folder / "devices" / "disk").mkdir(parents=True, exist_ok=True)
    (folder / "swift.conf").write_text("[swift-hash]\nswift_hash_path_suffix = tests\n")
    utils.set_swift_dir(str(folder))
    utils.validate_configuration()
    utils.disable_fallocate()
    sockets = {name: eventlet.listen((HOST, 0), backlog=512) for name in STORAGE}
    sockets["proxy"] = eventlet.listen((HOST, port), backlog=512)
    for name in STORAGE:
        make_ring(folder, name, sockets[name].getsockname()[1])
    list_objects_on_disk(folder)
    for name, socket in sockets.items():
        text = PROXY if name == "proxy" else BACKEND
        values = {"folder": folder, "name": name, "host": HOST, "pipeline": PIPELINE}
        eventlet.spawn(serve, name, folder, text.format(**values, memcached=memcached_port), socket)
    return int(sockets["proxy"].getsockname()[1])


def main(folder: Path, port: int) -> None:
    """Start everything, say so, and wait for the end of standard input."""
    memcached, memcached_port = start_memcached(folder)
    try:
        print("ready", start_servers(folder, port, memcached_port), flush=True)
        at_end = False
        while not at_end:
            eventlet.hubs.trampoline(sys.stdin, read=True)
            at_end = not os.read(sys.stdin.fileno(), 1024)
    finally:  # whoever started this may have been killed: nothing is left for it to do
        memcached.terminate()
        memcached.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
