"""S3 and every store that speaks its protocol, through boto3.

What is sent again, and when, is decided in one place (:mod:`s3_retry`) for all requests.
What no retry of a request can know is handled here: a conditional create whose answer was
lost (a retry then meets its own object), a body cut off half-way, which is taken up at
the byte where it broke if the object is still the same, and a listing whose token was
forgotten, which is taken up at the last key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

from chunking.errors import AccessDeniedError, ObjectNotFoundError, StoreError
from jobs.adapters.stores.base import CredentialsError, NoSuchRootError
from jobs.adapters.stores.keys import check_key, encode_path
from jobs.adapters.stores.s3_body import ReplacedError, S3Object, etag_of, pieces
from jobs.adapters.stores.s3_client import Connection
from jobs.adapters.stores.s3_errors import (
    EXISTS,
    EXPIRED,
    FORGOTTEN,
    TOO_LARGE,
    TRANSIENT,
    UNSUPPORTED,
    InvalidRangeError,
    code_of,
    is_mute,
    is_unknown_outcome,
    status_of,
    translated,
)
from jobs.adapters.stores.s3_retry import Failure
from jobs.patience import at_most
from jobs.ports import ObjectInfo
from jobs.traffic import TRAFFIC

__all__ = ["S3Store"]

PART_BYTES = 64 * 1024 * 1024
"""Files above this size are sent in parts of this size."""
PAGE_KEYS = 1000
"""Keys of one page of a listing, or of one deletion: the most that S3 gives and takes."""
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/")
_COPY_BYTES = 5 * 1024**3
"""Largest object that S3 copies in one request."""
_RESTARTS = 5
"""Times that an object is read anew because it was replaced meanwhile."""
_FIRST_LOOK_SECONDS = 2.0
"""Patience of the first look, which must tell a wrong setting soon."""
_DELETES = 8
_NO_SUCH_REQUEST = frozenset({400, 405, 501})
"""How stores answer a request that they do not know, or not in this form."""
_LAST_LOOK_SECONDS = 10.0
"""How long a create that was given up looks whether it had its effect all the same."""


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
        """Prove, within seconds, that the bucket may be listed."""
        with at_most(_FIRST_LOOK_SECONDS), self.translated(""):
            self.connection.client().list_objects_v2(
                Bucket=self.bucket, Prefix=self.prefix, MaxKeys=1
            )

    def reach(self) -> None:
        """Prove, within seconds, that the endpoint answers and the credentials are known."""
        try:
            with at_most(_FIRST_LOOK_SECONDS), self.translated(""):
                self.connection.client().head_bucket(Bucket=self.bucket)
        except CredentialsError:
            raise
        except (AccessDeniedError, NoSuchRootError, ObjectNotFoundError):
            return

    def get(self, key: str) -> bytes:
        """Return the whole object."""
        for _ in range(_RESTARTS):
            with suppress(ReplacedError):
                return self._read(key)
        return self._read(key)

    def _read(self, key: str) -> bytes:
        with self.open(key) as found:
            return b"".join(found.chunks())

    def get_tail(self, key: str, n_bytes: int) -> bytes:
        """Return the last ``n_bytes`` (or all, if it is shorter)."""
        return self._ranged(key, f"bytes=-{n_bytes}")[-n_bytes:] if n_bytes > 0 else b""

    def read_range(self, key: str, start: int, length: int) -> bytes:
        """Return ``length`` bytes from ``start``, or fewer at the object's end."""
        if length <= 0:
            return b""
        return self._ranged(key, f"bytes={start}-{start + length - 1}")

    @contextmanager
    def open(self, key: str) -> Iterator[S3Object]:
        """Open an object for streaming."""
        with self.translated(key):
            answer = self.request("get_object", key)
        info = ObjectInfo(key=key, size=self._size(key, answer), etag=etag_of(answer))
        found = S3Object(store=self, info=info, body=answer["Body"])
        try:
            yield found
        finally:
            found.body.close()

    def _size(self, key: str, answer: dict[str, Any]) -> int:
        """Return the size of an object that is being answered, if need be by another request."""
        if "ContentLength" in answer:
            return int(answer["ContentLength"])
        info = self.head(key)
        if info is None or info.etag != etag_of(answer):
            msg = f"{self.uri(key)} was replaced while it was read"
            raise ReplacedError(msg)
        return info.size

    def download(self, key: str, path: Path) -> None:
        """Stream the object into a local file."""
        with self.open(key) as found, path.open("wb") as target:
            target.writelines(found.chunks())

    def put(self, key: str, data: bytes) -> None:
        """Create or replace an object."""
        check_key(key)
        with self.translated(key):
            self.request("put_object", key, Body=data)
        self._wrote(len(data))

    def upload(self, key: str, path: Path) -> None:
        """Create or replace an object from a local file, in parts if it is large."""
        check_key(key)
        with path.open("rb") as source, self.translated(key):
            self.connection.client().upload_fileobj(
                source, self.bucket, self.prefix + key, Config=self._transfer(self.part_bytes)
            )
        self._wrote(path.stat().st_size)

    def create(self, key: str, data: bytes) -> bool:
        """Create the object if it does not exist; False if another content is there."""
        check_key(key)
        policy = self.connection.policy
        backoff = policy.backoff()
        with self.translated(key):
            while (created := self._try_create(key, data)) is None:
                if policy.wait_before_retry(backoff, Failure.CONFLICT) is None:
                    msg = (
                        f"{self.uri(key)} cannot be created: it is said to exist, and is not there"
                    )
                    raise StoreError(msg)
        self._wrote(len(data) if created else 0)
        return created

    def _try_create(self, key: str, data: bytes) -> bool | None:
        """Create once; None if the object that is in the way has just gone."""
        try:
            self.request("put_object", key, Body=data, IfNoneMatch="*")
        except ClientError as error:
            if code_of(error) in EXISTS:
                return self._holds(key, data)
            if code_of(error) in UNSUPPORTED:
                msg = f"{self.url} does not support create-if-absent (If-None-Match: *)"
                raise StoreError(msg) from error
            if not is_unknown_outcome(error):
                raise
            return self._known_outcome(key, data, error)
        except TRANSIENT as error:
            return self._known_outcome(key, data, error)
        return True

    def _known_outcome(self, key: str, data: bytes, error: Exception) -> bool:
        """Look whether a create that was given up had its effect; raise its error if not."""
        held = None
        with suppress(StoreError), at_most(_LAST_LOOK_SECONDS):
            held = self._holds(key, data)
        if held is None:
            raise error
        return held

    def _holds(self, key: str, data: bytes) -> bool | None:
        """Tell whether the object is ours, byte for byte; None if there is none."""
        try:
            return self.get(key) == data
        except ObjectNotFoundError:
            return None

    def copy(self, source: str, target: str) -> None:
        """Copy an object inside the store; above 5 GB in parts, which appear as one write."""
        check_key(target)
        place = {"Bucket": self.bucket, "Key": self.prefix + source}
        with self.translated(source):
            try:
                self.request("copy_object", target, CopySource=place)
            except ClientError as error:
                if code_of(error) not in TOO_LARGE:
                    raise
                config = self._transfer(min(_COPY_BYTES, self.part_bytes * 80))
                key = self.prefix + target
                self.connection.client().copy(place, self.bucket, key, Config=config)

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
                answer = self._send("delete_objects", Delete={"Objects": objects, "Quiet": True})
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
            return self._head(key)
        except StoreError as error:
            if not is_mute(error.__cause__):
                raise
        # An answer to HEAD has no body to say what is wrong with the key, our clock or our
        # credentials; that to GET has one.
        try:
            self._ranged(key, "bytes=0-0")
        except ObjectNotFoundError:
            return None
        return self._head(key)

    def _head(self, key: str) -> ObjectInfo | None:
        try:
            with self.translated(key):
                answer = self.request("head_object", key)
        except ObjectNotFoundError:
            return None
        return ObjectInfo(key=key, size=int(answer["ContentLength"]), etag=etag_of(answer))

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Yield all objects whose key starts with ``prefix``, in key order."""
        token, last = None, ""
        while True:
            page = self._page(self.prefix + prefix, token, last)
            entries = page.get("Contents", ())
            for entry in entries:
                last = max(last, entry["Key"])
                key = entry["Key"][len(self.prefix) :]
                if key:
                    yield ObjectInfo(key=key, size=int(entry["Size"]), etag=etag_of(entry))
            token, before = page.get("NextContinuationToken"), token
            if not page.get("IsTruncated"):
                return
            if not entries and token == before:
                msg = f"the listing of {self.uri(prefix)} does not come on"
                raise StoreError(msg)

    def _page(self, prefix: str, token: str | None, last: str) -> dict[str, Any]:
        """Return a page of a listing; a token that the store no longer knows is done without."""
        more = {"ContinuationToken": token} if token else {"StartAfter": last} if last else {}
        with self.translated(prefix.removeprefix(self.prefix)):
            ask = partial(self._send, "list_objects_v2", Prefix=prefix, MaxKeys=self.page_keys)
            try:
                page: dict[str, Any] = ask(**more)
            except ClientError as error:
                if not token or code_of(error) not in FORGOTTEN:
                    raise
                page = ask(StartAfter=last)
        return page

    def request(self, operation: str, key: str, **arguments: object) -> Any:  # noqa: ANN401
        """Send one request about one key; botocore's errors pass."""
        return self._send(operation, Key=self.prefix + key, **arguments)

    def _send(self, operation: str, **arguments: object) -> Any:  # noqa: ANN401 - as botocore's
        """Send one request, and again where our credentials have run out and there are new ones."""
        try:
            return getattr(self.connection.client(), operation)(Bucket=self.bucket, **arguments)
        except ClientError as error:
            if code_of(error) not in EXPIRED or not self.connection.renew():
                raise
        return getattr(self.connection.client(), operation)(Bucket=self.bucket, **arguments)

    @contextmanager
    def translated(self, key: str) -> Iterator[None]:
        """Raise botocore's errors as ours, naming the key's URI."""
        with translated(self.uri(key), self.connection.endpoint, self.connection.role):
            yield

    def _ranged(self, key: str, byte_range: str) -> bytes:
        try:
            with self.translated(key):
                data = self._whole_range(key, byte_range)
        except InvalidRangeError:
            return b""
        TRAFFIC.add(self.connection.role, "bytes_read", len(data))
        return data

    def _whole_range(self, key: str, byte_range: str) -> bytes:
        policy = self.connection.policy
        backoff = policy.backoff()
        while True:
            answer = self.request("get_object", key, Range=byte_range)
            try:
                return b"".join(pieces(answer["Body"], _range_bytes(answer)))
            except TRANSIENT:
                if policy.wait_before_retry(backoff, Failure.BROKEN) is None:
                    raise

    def _wrote(self, n_bytes: int) -> None:
        TRAFFIC.add(self.connection.role, "bytes_written", n_bytes)

    def _transfer(self, part_bytes: int) -> TransferConfig:
        return TransferConfig(
            multipart_threshold=part_bytes, multipart_chunksize=part_bytes, max_concurrency=4
        )


def _range_bytes(answer: dict[str, Any]) -> int | None:
    """Return how many bytes an answer to a range has; None if it does not say."""
    if "ContentLength" in answer:
        return int(answer["ContentLength"])
    match = _CONTENT_RANGE.match(str(answer.get("ContentRange", "")))
    return int(match[2]) - int(match[1]) + 1 if match else None
