"""S3's error codes and what becomes of them."""

from __future__ import annotations

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ParamValidationError,
    ProfileNotFound,
    ReadTimeoutError,
)

from chunking.errors import AccessDeniedError, ConfigError, ObjectNotFoundError, StoreError
from jobs.adapters.stores.base import (
    BrokenAnswerError,
    CredentialsError,
    NoSuchRootError,
    UnreachableError,
)
from jobs.adapters.stores.s3_errors import InvalidRangeError, translated


def raised(error: Exception) -> Exception:
    """Return what an error of botocore's becomes."""
    with pytest.raises((StoreError, ConfigError)) as caught, translated("s3://b/k", "https://host"):
        raise error
    assert caught.value.__cause__ is error
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("code", "status", "kind", "words"),
    [
        ("NoSuchBucket", 404, NoSuchRootError, "bucket of s3://b/k does not exist at https://host"),
        ("NoSuchKey", 404, ObjectNotFoundError, "s3://b/k does not exist"),
        ("404", 404, ObjectNotFoundError, "s3://b/k does not exist"),
        ("AccessDenied", 403, AccessDeniedError, "does not permit GetObject on s3://b/k"),
        ("403", 403, AccessDeniedError, "does not permit"),
        ("InvalidAccessKeyId", 403, CredentialsError, "access key is not known"),
        ("SignatureDoesNotMatch", 403, CredentialsError, "secret key does not fit"),
        ("ExpiredToken", 400, CredentialsError, "token has expired; get new credentials"),
        ("RequestTimeTooSkewed", 403, CredentialsError, "clock differs"),
        ("PermanentRedirect", 301, NoSuchRootError, "set source.region"),
        ("AuthorizationHeaderMalformed", 400, NoSuchRootError, "set source.region"),
        ("InvalidRange", 416, InvalidRangeError, "shorter than the range"),
        ("SlowDown", 503, UnreachableError, "GetObject of s3://b/k failed: AccessDenied NoSuchKey"),
        ("InternalError", 500, BrokenAnswerError, "InternalError"),
        ("EntityTooSmall", 400, StoreError, "EntityTooSmall"),
    ],
)
def test_codes(code: str, status: int, kind: type[Exception], words: str) -> None:
    """The code decides, whatever words the message holds."""
    answer = {
        "Error": {"Code": code, "Message": "AccessDenied\n NoSuchKey"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    error = raised(ClientError(answer, "GetObject"))  # type: ignore[arg-type, unused-ignore]
    assert type(error) is kind
    assert words in str(error)


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (
            EndpointConnectionError(endpoint_url="x"),
            UnreachableError,
            "no answer from https://host",
        ),
        (ConnectTimeoutError(endpoint_url="x"), UnreachableError, "no answer from https://host"),
        (ReadTimeoutError(endpoint_url="x"), BrokenAnswerError, "no answer from https://host"),
        (NoCredentialsError(), CredentialsError, "set AWS_ACCESS_KEY_ID"),
        (ProfileNotFound(profile="p"), ConfigError, "(p)"),
        (ParamValidationError(report="Invalid\nbucket"), StoreError, "Invalid bucket"),
    ],
)
def test_errors_without_an_answer(error: Exception, kind: type[Exception], words: str) -> None:
    """What goes wrong before an answer comes says what to look at."""
    found = raised(error)
    assert type(found) is kind
    assert words in str(found)
