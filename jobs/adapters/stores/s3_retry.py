"""Which failed requests are sent again: the policy in place of botocore's own.

botocore's retries share a budget per client that an outage uses up within seconds when
many threads ask at once, and they end after a fixed number. So botocore is told to make one
attempt, and :class:`RetryPolicy` answers its question whether there should be another;
every attempt is seen, and counted, there. A failure belongs to one :class:`Failure`:

- ``throttled`` (503, 429) and ``away`` (nobody answers, 502, 504) say nothing about the
  object, so they are waited out for as long as patience lasts;
- ``broken`` (500, a connection cut or silent) may be the fault of the one object: when
  documents are read, it is given up earlier;
- ``conflict`` and ``stale`` (a signature that became too old on the way, a token that has
  expired and may have been renewed) are cured by one more request, or not at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Any

from botocore import exceptions as boto

from jobs import patience
from jobs.patience import Backoff
from jobs.traffic import TRAFFIC, Operation, Role

__all__ = ["Failure", "RetryPolicy", "failure_of", "refuse_cut_answer"]


class Failure(Enum):
    """Why a request that failed may succeed when it is sent again."""

    THROTTLED = "throttled"
    AWAY = "away"
    BROKEN = "broken"
    CONFLICT = "conflict"
    STALE = "stale"


_THROTTLED_STATUS = frozenset({429, 503})
_AWAY_STATUS = frozenset({502, 504})
_BROKEN_STATUS = frozenset({408, 500})
_CODES = {
    **dict.fromkeys(
        (
            "BandwidthLimitExceeded",
            "RequestLimitExceeded",
            "RequestThrottled",
            "SlowDown",
            "Throttling",
            "ThrottlingException",
            "TooManyRequests",
            "TooManyRequestsException",
        ),
        Failure.THROTTLED,
    ),
    **dict.fromkeys(
        ("BadDigest", "IncompleteBody", "RequestTimeout", "XAmzContentSHA256Mismatch"),
        Failure.BROKEN,
    ),
    **dict.fromkeys(("ConditionalRequestConflict", "OperationAborted"), Failure.CONFLICT),
    **dict.fromkeys(
        ("ExpiredToken", "ExpiredTokenException", "RequestTimeTooSkewed", "TokenRefreshRequired"),
        Failure.STALE,
    ),
}
_AWAY_ERRORS = (boto.EndpointConnectionError, boto.ConnectTimeoutError, boto.ProxyConnectionError)
_BROKEN_ERRORS = (boto.ConnectionError, boto.HTTPClientError)

_ROOT = re.compile(rb"<([A-Za-z][\w.:-]*)")
_HEAD_BYTES = 1000
_ERROR = 300

_BOUNDS: dict[Failure, tuple[int, float]] = {
    Failure.CONFLICT: (8, 30.0),
    Failure.STALE: (1, 30.0),
}
_TOLD = {
    Failure.THROTTLED: "asks for fewer requests",
    Failure.AWAY: "does not answer",
    Failure.BROKEN: "fails or breaks off",
}
"""What a store does that fails as a whole."""
_BROKEN_DOCUMENT = (5, 120.0)
"""Retries and seconds after which a document is believed to be broken itself."""

_OPERATIONS: dict[str, Operation] = {
    "GetObject": "get",
    "HeadBucket": "head",
    "HeadObject": "head",
    "ListObjectsV2": "list",
    "CopyObject": "copy",
    "UploadPartCopy": "copy",
    "DeleteObject": "delete",
    "DeleteObjects": "delete",
}


def failure_of(answer: dict[str, Any] | None, error: Exception | None) -> Failure | None:
    """Return what kind of failure an answer or an error is; None if it is none to be tried again.

    ``answer``: as botocore parsed it, with ``ResponseMetadata`` and ``Error``.
    """
    if error is not None:
        if isinstance(error, _AWAY_ERRORS):
            return Failure.AWAY
        return Failure.BROKEN if isinstance(error, _BROKEN_ERRORS) else None
    found = answer or {}
    code = str(found.get("Error", {}).get("Code", ""))
    status = int(found.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if code in _CODES:
        return _CODES[code]
    if status in _THROTTLED_STATUS:
        return Failure.THROTTLED
    if status in _AWAY_STATUS:
        return Failure.AWAY
    return Failure.BROKEN if status in _BROKEN_STATUS else None


def refuse_cut_answer(*, response_dict: dict[str, Any], **_others: object) -> None:
    """Make an internal error of an answer of success whose XML was cut off on the way."""
    body = response_dict.get("body")
    if response_dict["status_code"] >= _ERROR or not isinstance(body, bytes):
        return
    root = _ROOT.search(body[:_HEAD_BYTES])
    if root and not body.rstrip().endswith((b"</" + root[1] + b">", b"/>")):
        response_dict["status_code"] = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Decides for the requests of one client, and counts them.

    ``seconds``: patience.
    """

    role: Role
    seconds: float

    def register(self, client: Any) -> None:  # noqa: ANN401 - boto3 makes its classes at run time
        """Take over from botocore, whose own policy must be set to one attempt."""
        client.meta.events.register("before-parse.s3", refuse_cut_answer)
        client.meta.events.register("needs-retry.s3", self.needs_retry)

    def needs_retry(
        self,
        *,
        response: tuple[Any, dict[str, Any]] | None,
        operation: Any,  # noqa: ANN401 - botocore's model of it
        caught_exception: Exception | None,
        request_dict: dict[str, Any],
        **_others: object,
    ) -> float | None:
        """Return the seconds to wait before another attempt, or None."""
        TRAFFIC.request(self.role, _operation(operation.name, request_dict))
        failure = failure_of(response[1] if response else None, caught_exception)
        if failure is None:
            patience.answered(self._store)
            return None
        if failure is Failure.THROTTLED:
            TRAFFIC.add(self.role, "throttles", 1)
        backoff = request_dict["context"].setdefault("chunkmill", self.backoff())
        return self.wait_before_retry(backoff, failure)

    @property
    def _store(self) -> str:
        return f"the store of the {self.role}"

    def backoff(self) -> Backoff:
        """Return the waits of a new operation."""
        return Backoff(patience=self.seconds)

    def wait_before_retry(self, backoff: Backoff, failure: Failure) -> float | None:
        """Wait as long as this failure asks for and return 0; None if it is given up."""
        if failure in _TOLD:
            patience.failing(self._store, _TOLD[failure], self.seconds)
        retries, seconds = _BOUNDS.get(failure, (patience.MAX_RETRIES, float("inf")))
        if failure is Failure.BROKEN and self.role == "source":
            retries, seconds = _BROKEN_DOCUMENT
        wait = backoff.next_wait(most_retries=retries, most_seconds=seconds)
        if wait is None:
            return None
        TRAFFIC.add(self.role, "retries", 1)
        TRAFFIC.add(self.role, "wait_seconds", wait)
        patience.sleep(wait)
        return 0.0


def _operation(name: str, request: dict[str, Any]) -> Operation:
    if name == "PutObject" and "If-None-Match" in request["headers"]:
        return "create"
    return _OPERATIONS.get(name, "put")
