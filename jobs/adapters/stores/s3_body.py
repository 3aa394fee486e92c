"""The body of an answer from S3: whole, or an error of the connection, and never for ever.

What a broken connection does is told by the number of bytes alone, and not every answer
says how many there should be; so the caller says it. A server that sends a few bytes now
and then keeps every time limit of a single read, so the rate is looked at as well.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore import exceptions as boto
from urllib3.exceptions import HTTPError

from chunking.errors import StoreError
from jobs.adapters.stores.base import CHUNK_BYTES
from jobs.adapters.stores.s3_errors import TRANSIENT
from jobs.adapters.stores.s3_retry import Failure
from jobs.ports import ObjectInfo
from jobs.traffic import TRAFFIC

if TYPE_CHECKING:
    from jobs.adapters.stores.s3 import S3Store

__all__ = ["ReplacedError", "S3Object", "etag_of", "pieces"]

_STALL_SECONDS = 60.0
_STALL_BYTES = 64 * 1024
"""Bytes that must come within these seconds, or the answer is taken for dead."""


def pieces(body: Any, expected: int | None) -> Iterator[bytes]:  # noqa: ANN401 - botocore's stream
    """Yield the bytes of a body as they come.

    ``expected``: how many there are; None where the answer does not say.

    Raises:
        HTTPClientError: the connection broke, was silent or slow, or ended too early.
    """
    done, mark, waited = 0, 0, 0.0
    try:
        with body as raw:
            began = time.monotonic()
            while data := raw.read1(CHUNK_BYTES):
                waited += time.monotonic() - began  # not the time that the reader takes
                done += len(data)
                yield data
                if waited >= _STALL_SECONDS:
                    if done - mark < _STALL_BYTES:
                        reason = f"{done - mark} bytes in {waited:.0f} s"
                        raise boto.ResponseStreamingError(error=reason)
                    waited, mark = 0.0, done
                began = time.monotonic()
    except HTTPError as error:
        raise boto.ResponseStreamingError(error=error) from error
    if expected is not None and done != expected:
        raise boto.ResponseStreamingError(error=f"{done} of {expected} bytes came")


class ReplacedError(StoreError):
    """The object was replaced while it was read."""


@dataclass(slots=True, kw_only=True)
class S3Object:
    """An object opened for reading; the answer's headers have come, its body has not."""

    store: S3Store
    info: ObjectInfo
    body: Any

    def chunks(self) -> Iterator[bytes]:
        """Yield the content in order; a broken connection is taken up where it broke."""
        connection = self.store.connection
        policy, done, last = connection.policy, 0, 0
        backoff = policy.backoff()
        while True:
            try:
                for data in pieces(self.body, self.info.size - done):
                    done += len(data)
                    TRAFFIC.add(connection.role, "bytes_read", len(data))
                    yield data
            except TRANSIENT as error:
                if done >= self.info.size:
                    return
                if done - last >= CHUNK_BYTES:
                    backoff.progress()
                    last = done
                with self.store.translated(self.info.key):
                    if policy.wait_before_retry(backoff, Failure.BROKEN) is None:
                        raise
                    self._reopen(done, error)
            if done >= self.info.size:
                return

    def _reopen(self, done: int, cause: Exception) -> None:
        self.body.close()
        answer = self.store.request("get_object", self.info.key, Range=f"bytes={done}-")
        self.body = answer["Body"]
        uri = self.store.uri(self.info.key)
        if etag_of(answer) != self.info.etag:
            msg = f"{uri} was replaced while it was read"
            raise ReplacedError(msg) from cause
        if not str(answer.get("ContentRange", "")).startswith(f"bytes {done}-"):
            msg = f"{uri} broke off, and its store does not give the rest alone"
            raise StoreError(msg) from cause


def etag_of(answer: dict[str, Any]) -> str:
    """Return the etag in an answer, without its quotes."""
    return str(answer.get("ETag", "")).strip('"')
