"""What lies below a prefix of a bucket, as the harness asks for it everywhere."""

from __future__ import annotations

from typing import Any

__all__ = ["etags"]


def etags(client: Any, bucket: str, prefix: str) -> dict[str, str]:  # noqa: ANN401
    """Return the etags of all objects below a prefix, by key."""
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    entries = (entry for page in pages for entry in page.get("Contents", ()))
    return {entry["Key"]: entry["ETag"] for entry in entries}
