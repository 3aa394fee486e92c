"""From botocore's errors to ours, by error code and HTTP status, never by message text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from botocore import exceptions as boto
from botocore.parsers import ResponseParserError

from chunking.errors import AccessDeniedError, ConfigError, ObjectNotFoundError, StoreError
from jobs.adapters.stores.base import (
    BrokenAnswerError,
    CredentialsError,
    NoSuchRootError,
    UnreachableError,
)
from jobs.adapters.stores.s3_retry import Failure, failure_of
from jobs.traffic import TRAFFIC, Role

__all__ = [
    "EXISTS",
    "EXPIRED",
    "FORGOTTEN",
    "TOO_LARGE",
    "TRANSIENT",
    "UNSUPPORTED",
    "InvalidRangeError",
    "code_of",
    "is_mute",
    "is_unknown_outcome",
    "status_of",
    "translated",
]

EXISTS = frozenset({"PreconditionFailed"})
"""Codes of a conditional create that lost."""
EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"})
"""Codes of credentials that were right once."""
UNSUPPORTED = frozenset({"NotImplemented", "501"})
"""Codes of a conditional create where a store knows no conditions."""
TOO_LARGE = frozenset({"EntityTooLarge", "InvalidRequest"})
"""Codes of a copy that must be made in parts."""
FORGOTTEN = frozenset({"InvalidArgument", "InvalidToken", "NoSuchKey", "RequestExpired"})
"""Codes of a page of a listing whose continuation token the store does not take (any more)."""
TRANSIENT = (
    boto.ConnectionError,
    boto.HTTPClientError,
    boto.IncompleteReadError,
    boto.ResponseStreamingError,
)
"""Errors of the connection: the request may or may not have had its effect."""


class InvalidRangeError(StoreError):
    """The range lies beyond the object's end; an empty object has none at all."""


_MISSING_OBJECT = frozenset({"NoSuchKey", "404", "NotFound", "NoSuchVersion"})
_DENIED = frozenset({"AccessDenied", "403", "Forbidden", "AllAccessDisabled", "AccountProblem"})
_CREDENTIALS = {
    "InvalidAccessKeyId": "the access key is not known there",
    "SignatureDoesNotMatch": "the secret key does not fit the access key",
    "ExpiredToken": "the session token has expired; get new credentials",
    "ExpiredTokenException": "the session token has expired; get new credentials",
    "TokenRefreshRequired": "the session token has expired; get new credentials",
    "InvalidToken": "the session token is not valid",
    "RequestTimeTooSkewed": "this machine's clock differs too much from the store's",
    "AuthFailure": "the credentials are not accepted",
    "InvalidClientTokenId": "the access key is not known there",
    "UnrecognizedClientException": "the access key is not known there",
}
_REGION = frozenset(
    {
        "PermanentRedirect",
        "301",
        "AuthorizationHeaderMalformed",
        "IllegalLocationConstraintException",
        "IncorrectEndpoint",
        "InvalidRegionName",
    }
)
_NO_CREDENTIALS = (
    boto.NoCredentialsError,
    boto.PartialCredentialsError,
    boto.CredentialRetrievalError,
    boto.TokenRetrievalError,
    boto.UnauthorizedSSOTokenError,
    boto.SSOTokenLoadError,
)
_SERVER_ERROR = 500
_KINDS = {
    Failure.THROTTLED: UnreachableError,
    Failure.AWAY: UnreachableError,
    Failure.BROKEN: BrokenAnswerError,
}


def code_of(error: boto.ClientError) -> str:
    """Return S3's error code; of an answer without a body, the HTTP status as text."""
    return str(error.response.get("Error", {}).get("Code", ""))


def status_of(error: boto.ClientError) -> int:
    """Return the HTTP status, 0 if there is none."""
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def is_unknown_outcome(error: boto.ClientError) -> bool:
    """Tell whether a write that got this answer may have had its effect all the same."""
    return status_of(error) >= _SERVER_ERROR


def is_mute(error: BaseException | None) -> bool:
    """Tell whether a refusal does not say why, as those of requests for no body."""
    return isinstance(error, boto.ClientError) and code_of(error) in ("400", "403")


@contextmanager
def translated(what: str, endpoint: str, role: Role | None = None) -> Iterator[None]:
    """Raise botocore's errors as ours; ``what`` is the URI, ``endpoint`` the server asked.

    ``role``: of the store, whose failures are counted.

    Raises:
        StoreError: or one of its subclasses, with one line that says what to do.
        ConfigError: the profile does not exist, or the endpoint is not a URL.
    """
    try:
        yield
    except (boto.ClientError, boto.BotoCoreError, ResponseParserError) as error:
        ours = _ours(error, what, endpoint)
        if role is not None and not isinstance(ours, ObjectNotFoundError | InvalidRangeError):
            TRAFFIC.add(role, "failures", 1)
        raise ours from error


def _ours(
    error: boto.ClientError | boto.BotoCoreError | ResponseParserError, what: str, endpoint: str
) -> StoreError | ConfigError:
    if isinstance(error, boto.ClientError):
        return _from_code(error, what, endpoint)
    if isinstance(error, _NO_CREDENTIALS):
        return CredentialsError(
            f"no usable credentials for {what}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
            "source.profile, or source.anonymous for a public bucket"
        )
    if isinstance(error, boto.ProfileNotFound | boto.InvalidConfigError | boto.ConfigParseError):
        return ConfigError(_one_line(error))
    if isinstance(error, ResponseParserError):
        return StoreError(f"{endpoint} does not answer as S3 does when asked for {what}")
    if isinstance(error, TRANSIENT):
        away = failure_of(None, error) is Failure.AWAY
        kind = UnreachableError if away else BrokenAnswerError
        return kind(f"no answer from {endpoint} for {what}: {_one_line(error)}")
    return StoreError(f"{what}: {_one_line(error)}")


def _from_code(error: boto.ClientError, what: str, endpoint: str) -> StoreError:
    code = code_of(error)
    if code == "NoSuchBucket":
        return NoSuchRootError(f"the bucket of {what} does not exist at {endpoint}")
    if code in _MISSING_OBJECT:
        return ObjectNotFoundError(f"{what} does not exist")
    if code in _CREDENTIALS:
        return CredentialsError(f"{endpoint} refused {what}: {_CREDENTIALS[code]} ({code})")
    if code in _DENIED:
        return AccessDeniedError(f"{endpoint} does not permit {error.operation_name} on {what}")
    if code in _REGION:
        return NoSuchRootError(
            f"the bucket of {what} is in another region; set source.region ({code})"
        )
    if code == "InvalidRange":
        return InvalidRangeError(f"{what} is shorter than the range asked for")
    detail = _one_line(error.response.get("Error", {}).get("Message", "")) or "no reason given"
    kind = _KINDS.get(failure_of(error.response, None), StoreError)  # type: ignore[arg-type]
    return kind(f"{error.operation_name} of {what} failed: {detail} ({code})")


def _one_line(value: object) -> str:
    return " ".join(str(value).split())
