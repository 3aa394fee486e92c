"""The main job from and to a real S3 server, signatures checked."""

from __future__ import annotations

import json
import os

import pytest

from tests.job_runs import FAST, chunkmill
from tests.sample_files import SAMPLES, samples
from tests.servers import S3Server

pytestmark = [pytest.mark.ray, pytest.mark.s3]


def _upload(server: S3Server, bucket: str) -> None:
    client = server.client()
    for sample in samples():
        client.upload_file(str(SAMPLES / sample.key), bucket, f"docs/{sample.key}")


def test_samples_through_swift(swift: S3Server) -> None:
    """Every sample has its row, the verifier is content, and a second run does nothing.

    The damaged sample is over a budget of none: exit code 3, all documents being written.
    """
    bucket = swift.make_bucket()
    _upload(swift, bucket)
    source, out = f"s3://{bucket}/docs", f"s3://{bucket}/out"
    environment = {**os.environ, **swift.environment}
    endpoint = ("--endpoint-url", swift.endpoint)
    run = ("run", source, out, *FAST, "--max-failed", "0", "--json", *endpoint)
    done = chunkmill(*run, environment=environment)
    assert done.returncode == 3, done.stderr
    asked = json.loads(done.stdout)["report"]["store"]
    assert asked["source"]["requests"]["get"] >= len(samples())
    assert {"copy", "create", "get", "list", "put"} <= asked["dataset"]["requests"].keys()
    assert asked["dataset"]["failures"] == 0
    verified = chunkmill("verify", out, source, *endpoint, environment=environment)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    keys = swift.client().list_objects_v2(Bucket=bucket, Prefix="out/documents/")["Contents"]
    assert [entry["Key"].rpartition("/")[2] for entry in keys] == ["bucket-00000.parquet"]
    again = chunkmill(*run, environment=environment)
    assert '"planned": 0' in again.stdout
    wrong = {**environment, "AWS_SECRET_ACCESS_KEY": "wrong"}
    refused = chunkmill(*run, environment=wrong)
    assert refused.returncode == 2
    assert len(refused.stderr.strip().splitlines()) == 1
