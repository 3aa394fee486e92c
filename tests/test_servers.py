"""The servers of the tests, started by hand as people and benchmarks do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import S3Server, why_no_swift


@pytest.mark.s3
@pytest.mark.parametrize("name", ["swift", "moto"])
def test_by_hand(name: str) -> None:
    """The command prints how to reach its server, and ends with its standard input."""
    if name == "swift" and (reason := why_no_swift()):
        pytest.skip(reason)
    command = [sys.executable, "-m", "tests.servers", name, "--bucket", "made-by-hand"]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
    )
    with process:
        assert process.stdout is not None
        lines = [process.stdout.readline().removeprefix("export ") for _ in range(4)]
        said = dict(line.strip().split("=", 1) for line in lines)
        server = S3Server(
            endpoint=said["AWS_ENDPOINT_URL_S3"],
            access_key=said["AWS_ACCESS_KEY_ID"],
            secret_key=said["AWS_SECRET_ACCESS_KEY"],
            region=said["AWS_DEFAULT_REGION"],
        )
        buckets = [bucket["Name"] for bucket in server.client().list_buckets()["Buckets"]]
        assert buckets == ["made-by-hand"]
    assert process.returncode == 0
