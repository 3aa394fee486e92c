"""S3 and every store that speaks its protocol, through boto3.

botocore's standard retry mode is the only retry of a request. What it cannot know is
handled here: a conditional create whose answer was lost (a retry then meets its own
object), a conflict that S3 asks to be tried again, and a body cut off half-way, which
is taken up at the byte where it broke if the object is still the same.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

from chunking.errors import AccessDeniedError, ObjectNotFoundError, StoreError
from jobs.adapters.stores.base import CHUNK_BYTES, CredentialsError, NoSuchRootError
from jobs.adapters.stores.keys import check_key, encode_path
from jobs.adapters.stores.s3_client import FIRST_ATTEMPTS, Connection
from jobs.adapters.stores.s3_errors import (
    CONFLICT,
    EXISTS,
    TRANSIENT,
    InvalidRangeError,
    code_of,
    is_unknown_outcome,
    status_of,
    translated,
)
from jobs.ports import ObjectInfo

__all__ = ["S3Object", "S3Store"]

PART_BYTES = 64 * 1024 * 1024
"""Files above this size are sent in parts of this size."""
PAGE_KEYS = 1000
"""Keys of one page of a listing, or of one deletion: the most that S3 gives and takes."""
_COPY_BYTES = 5 * 1024**3
"""Largest object that S3 copies in one request."""
_RESUMPTIONS = 5
_CONFLICTS = 6
_DELETES = 8
_NO_SUCH_REQUEST = frozenset({400, 405, 501})
"""How stores answer a request that they do not know, or not in this form."""


@dataclass(slots=True, kw_only=True)
class S3Object:
    """An object opened for reading; the answer's headers have come, its body has not."""

    store: S3Store
    info: ObjectInfo
    body: Any

    def chunks(self) -> Iterator[bytes]:
        """Yield the content in order; a broken connection is taken up where it broke."""
        done = 0
        for attempt in range(_RESUMPTIONS + 1):
            try:
                for data in self.body.iter_chunks(CHUNK_BYTES):
                    done += len(data)
                    yield data
            except TRANSIENT as error:
                with self.store.translated(self.info.key):
                    if attempt == _RESUMPTIONS:
                        raise
                    self._reopen(done, error)
            else:
                return

    def _reopen(self, done: int, cause: Exception) -> None:
        self.body.close()
        answer = self.store.request("get_object", self.info.key, Range=f"bytes={done}-")
        self.body = answer["Body"]
        if _etag(answer) != self.info.etag:
            msg = f"{self.store.uri(self.info.key)} was replaced while it was read"
            raise StoreError(msg) from cause


class S3Store:
    """The objects of one bucket below one prefix."""

    def __init__(
        self,
        bucket: str,
        prefix: str,
        connection: Connection,
        *,
        part_bytes: int = PART_BYTES,
        page_keys: int = PAGE_KEYS,
    ) -> None:
        self.bucket = bucket
        self.prefix = prefix
        self.connection = connection
        self.part_bytes = part_bytes
        self.page_keys = page_keys

    @property
    def url(self) -> str:
        """URL of the root, as it is typed: nothing in it is percent-encoded."""
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")

    def uri(self, key: str) -> str:
        """Return the ``s3://`` URI of a key."""
        return f"s3://{self.bucket}/{encode_path(self.prefix + key)}"

    def check(self) -> None:
        """Prove, with few attempts and short time limits, that the bucket may be listed."""
        with self.translated(""):
            self.connection.client(attempts=FIRST_ATTEMPTS).list_objects_v2(
                Bucket=self.bucket, Prefix=self.prefix, MaxKeys=1
            )

    def reach(self) -> None:
        """Prove, with few attempts, that the endpoint answers and the credentials are known."""
        try:
            with self.translated(""):
                self.connection.client(attempts=FIRST_ATTEMPTS).head_bucket(Bucket=self.bucket)
        except CredentialsError:
            raise
        except (AccessDeniedError, NoSuchRootError, ObjectNotFoundError):
            return

    def get(self, key: str) -> bytes:
        """Return the whole object."""
        with self.open(key) as found:
            return b"".join(found.chunks())

    def get_tail(self, key: str, n_bytes: int) -> bytes:
        """Return the last ``n_bytes`` (or all, if it is shorter)."""
        return self._ranged(key, f"bytes=-{n_bytes}") if n_bytes > 0 else b""

    def read_range(self, key: str, start: int, length: int) -> bytes:
        """Return ``length`` bytes from ``start``, or fewer at the object's end."""
        return self._ranged(key, f"bytes={start}-{start + length - 1}") if length > 0 else b""

    @contextmanager
    def open(self, key: str) -> Iterator[S3Object]:
        """Open an object for streaming."""
        with self.translated(key):
            answer = self.request("get_object", key)
        info = ObjectInfo(key=key, size=int(answer["ContentLength"]), etag=_etag(answer))
        found = S3Object(store=self, info=info, body=answer["Body"])
        try:
            yield found
        finally:
            found.body.close()

    def download(self, key: str, path: Path) -> None:
        """Stream the object into a local file."""
        with self.open(key) as found, path.open("wb") as target:
            target.writelines(found.chunks())

    def put(self, key: str, data: bytes) -> None:
        """Create or replace an object."""
        check_key(key)
        with self.translated(key):
            self.request("put_object", key, Body=data)

    def upload(self, key: str, path: Path) -> None:
        """Create or replace an object from a local file, in parts if it is large."""
        check_key(key)
        with path.open("rb") as source, self.translated(key):
            self.connection.client().upload_fileobj(
                source, self.bucket, self.prefix + key, Config=self._transfer(self.part_bytes)
            )

    def create(self, key: str, data: bytes) -> bool:
        """Create the object if it does not exist; False if another content is there."""
        check_key(key)
        with self.translated(key):
            for attempt in range(_CONFLICTS):
                created = self._try_create(key, data)
                if created is not None:
                    return created
                time.sleep(min(0.1 * 2**attempt, 2.0))
        msg = f"{self.uri(key)} cannot be created: the store keeps reporting a conflict"
        raise StoreError(msg)

    def _try_create(self, key: str, data: bytes) -> bool | None:
        """Create once; None if the store asks to try again or the object has just gone."""
        try:
            self.request("put_object", key, Body=data, IfNoneMatch="*")
        except ClientError as error:
            code = code_of(error)
            if code in CONFLICT:
                return None
            if code in EXISTS:
                return self._holds(key, data)
            held = self._holds(key, data) if is_unknown_outcome(error) else None
            if held is None:
                raise
            return held
        except TRANSIENT:
            held = self._holds(key, data)
            if held is None:
                raise
            return held
        return True

    def _holds(self, key: str, data: bytes) -> bool | None:
        """Tell whether the object is ours, byte for byte; None if there is none."""
        try:
            return self.get(key) == data
        except ObjectNotFoundError:
            return None

    def copy(self, source: str, target: str) -> None:
        """Copy an object inside the store; above 5 GB in parts, which appear as one write."""
        check_key(target)
        with self.translated(source):
            self.connection.client().copy(
                {"Bucket": self.bucket, "Key": self.prefix + source},
                self.bucket,
                self.prefix + target,
                Config=self._transfer(min(_COPY_BYTES, self.part_bytes * 80)),
            )

    def delete(self, key: str) -> None:
        """Remove the object; no error if it does not exist."""
        with self.translated(key):
            try:
                self.request("delete_object", key)
            except ClientError as error:
                if code_of(error) != "NoSuchKey":
                    raise

    def delete_many(self, keys: Sequence[str]) -> None:
        """Remove the objects, a thousand with one request where the store knows how."""
        left = [
            key
            for start in range(0, len(keys), self.page_keys)
            for key in self._delete_page(keys[start : start + self.page_keys])
        ]
        with ThreadPoolExecutor(_DELETES) as pool:
            list(pool.map(self.delete, left))

    def _delete_page(self, keys: Sequence[str]) -> Sequence[str]:
        """Remove a page of objects; return those that must be tried one by one.

        They are the ones that the store could not remove this time, which it says in an
        answer that is otherwise a success, or all, where it does not know the request.
        """
        objects = [{"Key": self.prefix + key} for key in keys]
        try:
            with self.translated(keys[0]):
                answer = self.connection.client().delete_objects(
                    Bucket=self.bucket, Delete={"Objects": objects, "Quiet": True}
                )
        except StoreError as error:
            cause = error.__cause__
            if isinstance(cause, ClientError) and status_of(cause) in _NO_SUCH_REQUEST:
                return keys
            raise
        return [error["Key"][len(self.prefix) :] for error in answer.get("Errors", ())]

    def unfinished(self) -> Iterator[ObjectInfo]:
        """Yield nothing: an object appears whole or not at all.

        The parts of an upload that broke off are no objects; a lifecycle rule of the
        bucket ends them.
        """
        return iter(())

    def head(self, key: str) -> ObjectInfo | None:
        """Return the object's facts, or None."""
        try:
            with self.translated(key):
                answer = self.request("head_object", key)
        except ObjectNotFoundError:
            return None
        except AccessDeniedError:
            # An answer to HEAD has no body to say whether the key or the permission is wrong.
            self._ranged(key, "bytes=0-0")
            raise
        return ObjectInfo(key=key, size=int(answer["ContentLength"]), etag=_etag(answer))

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Yield all objects whose key starts with ``prefix``, in key order."""
        with self.translated(prefix):
            pages = self.connection.client().get_paginator("list_objects_v2")
            for page in pages.paginate(
                Bucket=self.bucket,
                Prefix=self.prefix + prefix,
                PaginationConfig={"PageSize": self.page_keys},
            ):
                for entry in page.get("Contents", ()):
                    key = entry["Key"][len(self.prefix) :]
                    if key:
                        yield ObjectInfo(key=key, size=int(entry["Size"]), etag=_etag(entry))

    def request(self, operation: str, key: str, **arguments: object) -> Any:  # noqa: ANN401
        """Send one request about one key; botocore's errors pass."""
        method = getattr(self.connection.client(), operation)
        return method(Bucket=self.bucket, Key=self.prefix + key, **arguments)

    @contextmanager
    def translated(self, key: str) -> Iterator[None]:
        """Raise botocore's errors as ours, naming the key's URI."""
        with translated(self.uri(key), self.connection.endpoint):
            yield

    def _ranged(self, key: str, byte_range: str) -> bytes:
        try:
            with self.translated(key):
                return bytes(self.request("get_object", key, Range=byte_range)["Body"].read())
        except InvalidRangeError:
            return b""

    def _transfer(self, part_bytes: int) -> TransferConfig:
        return TransferConfig(
            multipart_threshold=part_bytes, multipart_chunksize=part_bytes, max_concurrency=4
        )


def _etag(answer: dict[str, Any]) -> str:
    return str(answer.get("ETag", "")).strip('"')
