"""Real S3 servers that a test run starts and stops itself.

``swift`` is OpenStack Swift's S3 API: signatures are checked, conditional uploads and
ranges honoured. ``moto`` is moto's server: it checks no signature but knows more of S3's
newer requests. Both listen on a private port and end when the test run does.

By hand, for a look or a benchmark::

    python -m tests.servers swift --port 8080

prints the endpoint and credentials and serves until its standard input is closed.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

SWIFT = Path(__file__).with_name("swift_process.py")
MOTO = """
import logging, os, sys, threading, warnings
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication, MotoRequestHandler, create_backend_app,
)
from werkzeug.serving import make_server
application = DomainDispatcherApplication(create_backend_app)
# One request at a time: between its threads moto does not keep the promise of If-None-Match.
server = make_server(
    "127.0.0.1", int(sys.argv[1]), application, threaded=False, request_handler=MotoRequestHandler
)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("ready", server.server_port, flush=True)
sys.stdin.read()
os._exit(0)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Server:
    """A running server and who may use it."""

    endpoint: str
    access_key: str
    secret_key: str
    region: str = "us-east-1"
    pid: int = 0

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables of the default credential chain."""
        return {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_DEFAULT_REGION": self.region,
        }

    def client(self, **settings: Any) -> Any:
        """Return a plain boto3 client, the tests' own view of the server."""
        import boto3  # noqa: PLC0415 - most test modules that load this plugin need no S3
        from botocore.config import Config  # noqa: PLC0415

        config = Config(
            s3={"addressing_style": "path"},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        given = {
            "endpoint_url": self.endpoint,
            "aws_access_key_id": self.access_key,
            "aws_secret_access_key": self.secret_key,
            "region_name": self.region,
            "config": config,
        }
        return boto3.Session().client("s3", **{**given, **settings})

    def make_bucket(self, prefix: str = "bucket") -> str:
        """Create a bucket of a new name and return it."""
        name = f"{prefix}-{secrets.token_hex(6)}"
        self.client().create_bucket(Bucket=name)
        return name


@contextmanager
def swift_server(port: int = 0) -> Iterator[S3Server]:
    """Run Swift's S3 API on a port; 0 takes a free one."""
    folder = _folder_with_attributes()
    try:
        command = [sys.executable, str(SWIFT), str(folder), str(port)]
        with _running(command) as (process, own_port):
            yield S3Server(
                endpoint=f"http://127.0.0.1:{own_port}",
                access_key="test:tester",
                secret_key="testing",
                pid=process.pid,
            )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def moto_server(port: int = 0) -> Iterator[S3Server]:
    """Run moto's server on a port; 0 takes a free one."""
    with _running([sys.executable, "-c", MOTO, str(port)]) as (process, own_port):
        yield S3Server(
            endpoint=f"http://127.0.0.1:{own_port}",
            access_key="moto",
            secret_key="moto",
            pid=process.pid,
        )


def why_no_swift() -> str | None:
    """Return why Swift cannot run here, or None."""
    if find_spec("swift") is None:
        return "swift is not installed"
    if shutil.which("memcached") is None:
        return "memcached is not installed"
    try:
        shutil.rmtree(_folder_with_attributes())
    except OSError as error:
        return str(error)
    return None


@contextmanager
def _running(command: list[str]) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start a server that prints ``ready PORT`` and ends with its standard input."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "PYTHONWARN"))}
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        word, _, port = process.stdout.readline().partition(" ")
        if word != "ready":
            msg = f"the server did not start: {' '.join(command[:2])}"
            raise RuntimeError(msg)
        yield process, int(port)
    finally:
        with suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def _folder_with_attributes() -> Path:
    """Make a folder on a file system that has the extended attributes Swift needs."""
    for parent in ("/dev/shm", tempfile.gettempdir(), "/var/tmp"):  # noqa: S108 - mkdtemp is private
        if not os.path.isdir(parent):  # noqa: PTH112
            continue
        folder = Path(tempfile.mkdtemp(prefix="swift-", dir=parent))
        try:
            os.setxattr(folder, b"user.test", b"x" * 2000)
        except OSError:
            folder.rmdir()
            continue
        return folder
    msg = "no folder for temporary files has extended attributes"
    raise OSError(msg)


@pytest.fixture(scope="session")
def swift() -> Iterator[S3Server]:
    """Run Swift for the whole test run."""
    reason = why_no_swift()
    if reason is not None:
        pytest.skip(reason)
    with swift_server() as server:
        yield server


@pytest.fixture(scope="session")
def moto() -> Iterator[S3Server]:
    """Run moto for the whole test run."""
    with moto_server() as server:
        yield server


def main() -> None:
    """Serve by hand until standard input is closed."""
    parser = argparse.ArgumentParser(prog="python -m tests.servers")
    parser.add_argument("server", choices=("swift", "moto"))
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--bucket", help="create this bucket")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    run = {"swift": swift_server, "moto": moto_server}[arguments.server]
    with run(arguments.port) as server:
        if arguments.bucket:
            server.client().create_bucket(Bucket=arguments.bucket)
        print(f"export AWS_ENDPOINT_URL_S3={server.endpoint}")
        for name, value in server.environment.items():
            print(f"export {name}={value}")
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            sys.stdin.read()


if __name__ == "__main__":
    main()
