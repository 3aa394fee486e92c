"""The one exception tree of chunkmill.

The command line turns the class into an exit code and prints ``str(error)`` as
one line, so every message says what is wrong, where, and what to do::

    ChunkmillError
    |-- UsageError             exit 2: nothing was written
    |   |-- ConfigError            a key, value or combination is not allowed
    |   |-- SourceError            SRC is missing, empty, unreadable or malformed
    |   |-- DestinationError       DST is not writable, not ours, or of a newer format
    |   |-- ModelError             the embedding model cannot be loaded or used
    |   `-- LeaseHeldError         another run is writing the same dataset
    |-- JobError               exit 1: the job could not be finished
    |   |-- LeaseLostError         another run has taken the dataset over
    |   `-- StoreError             an object store operation failed for good
    |       |-- ObjectNotFoundError
    |       `-- AccessDeniedError
    |-- DocumentError          one document's failure: becomes a row, never ends a job
    `-- AlignmentError         tokens, spans or vectors do not match: a defect, never smeared
"""

from __future__ import annotations

from typing import Literal, get_args

__all__ = [
    "ERROR_KINDS",
    "AccessDeniedError",
    "AlignmentError",
    "ChunkmillError",
    "ConfigError",
    "DestinationError",
    "DocumentError",
    "ErrorKind",
    "JobError",
    "LeaseHeldError",
    "LeaseLostError",
    "ModelError",
    "ObjectNotFoundError",
    "SourceError",
    "StoreError",
    "UsageError",
]

ErrorKind = Literal[
    "encrypted",
    "corrupt",
    "unsafe",
    "empty",
    "no_text",
    "unsupported_format",
    "too_large",
    "limit",
    "timeout",
    "out_of_memory",
    "crashed",
    "network",
    "internal",
    "duplicate",
]
ERROR_KINDS: frozenset[str] = frozenset(get_args(ErrorKind))
"""The closed list of ``documents.error_kind``."""


class ChunkmillError(Exception):
    """Base of every error that chunkmill raises on purpose."""


class UsageError(ChunkmillError):
    """The command cannot be carried out as given; nothing was written."""


class ConfigError(UsageError):
    """A configuration key, value or combination is not allowed."""


class SourceError(UsageError):
    """The source is missing, empty, unreadable or malformed."""


class DestinationError(UsageError):
    """The destination is not writable, holds something else, or is of a newer format."""


class ModelError(UsageError):
    """The embedding model cannot be loaded, or cannot do what the configuration asks."""


class LeaseHeldError(UsageError):
    """Another run holds the dataset's lease."""


class JobError(ChunkmillError):
    """The job could not be finished; running it again goes on where it stopped."""


class LeaseLostError(JobError):
    """Another run has taken the dataset over while this one was working."""


class StoreError(JobError):
    """An object store operation failed after its retries."""


class ObjectNotFoundError(StoreError):
    """The object does not exist."""


class AccessDeniedError(StoreError):
    """The store refused the operation for want of permission."""


class DocumentError(ChunkmillError):
    """One document's failure, as it stands in its ``documents`` row.

    ``stage`` is ``fetch``, ``parse``, ``embed`` or ``chunk``; ``kind`` one of
    :data:`ERROR_KINDS`; ``retryable`` says whether a later run should try again.
    """

    def __init__(
        self, message: str, *, kind: ErrorKind, stage: str, retryable: bool = False
    ) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.stage = stage
        self.retryable = retryable

    def __reduce__(self) -> tuple[object, ...]:
        """Survive pickling: the keyword-only arguments are not in ``args``."""
        return (_rebuild_document_error, (str(self), self.kind, self.stage, self.retryable))


def _rebuild_document_error(
    message: str,
    kind: ErrorKind,
    stage: str,
    retryable: bool,  # noqa: FBT001 - pickle calls by position
) -> DocumentError:
    return DocumentError(message, kind=kind, stage=stage, retryable=retryable)


class AlignmentError(ChunkmillError):
    """Tokens, spans or vectors that belong together do not match."""
