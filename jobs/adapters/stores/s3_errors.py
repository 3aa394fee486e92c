"""From botocore's errors to ours, by error code and HTTP status, never by message text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from botocore import exceptions as boto

from chunking.errors import AccessDeniedError, ConfigError, ObjectNotFoundError, StoreError
from jobs.adapters.stores.base import CredentialsError, NoSuchRootError, UnreachableError

__all__ = [
    "CONFLICT",
    "EXISTS",
    "TRANSIENT",
    "InvalidRangeError",
    "code_of",
    "is_unknown_outcome",
    "status_of",
    "translated",
]

EXISTS = frozenset({"PreconditionFailed"})
"""Codes of a conditional create that lost."""
CONFLICT = frozenset({"ConditionalRequestConflict", "OperationAborted"})
"""Codes of a conditional create that must be tried again."""
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


def code_of(error: boto.ClientError) -> str:
    """Return S3's error code; of an answer without a body, the HTTP status as text."""
    return str(error.response.get("Error", {}).get("Code", ""))


def status_of(error: boto.ClientError) -> int:
    """Return the HTTP status, 0 if there is none."""
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def is_unknown_outcome(error: boto.ClientError) -> bool:
    """Tell whether a write that got this answer may have had its effect all the same."""
    return status_of(error) >= _SERVER_ERROR


@contextmanager
def translated(what: str, endpoint: str) -> Iterator[None]:
    """Raise botocore's errors as ours; ``what`` is the URI, ``endpoint`` the server asked.

    Raises:
        StoreError: or one of its subclasses, with one line that says what to do.
        ConfigError: the profile does not exist, or the endpoint is not a URL.
    """
    try:
        yield
    except boto.ClientError as error:
        raise _from_code(error, what, endpoint) from error
    except _NO_CREDENTIALS as error:
        msg = (
            f"no usable credentials for {what}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
            "source.profile, or source.anonymous for a public bucket"
        )
        raise CredentialsError(msg) from error
    except (boto.ProfileNotFound, boto.InvalidConfigError, boto.ConfigParseError) as error:
        raise ConfigError(_one_line(error)) from error
    except (boto.ParamValidationError, boto.InvalidRegionError) as error:
        msg = f"{what}: {_one_line(error)}"
        raise StoreError(msg) from error
    except TRANSIENT as error:
        msg = f"no answer from {endpoint} for {what}: {_one_line(error)}"
        raise UnreachableError(msg) from error
    except boto.BotoCoreError as error:
        msg = f"{what}: {_one_line(error)}"
        raise StoreError(msg) from error


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
    return StoreError(f"{error.operation_name} of {what} failed: {detail} ({code})")


def _one_line(value: object) -> str:
    return " ".join(str(value).split())
