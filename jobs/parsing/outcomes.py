"""How a document's failure is written down; light enough for the process that watches."""

from __future__ import annotations

from chunking.errors import ErrorKind
from jobs.ports import ParseOutcome

__all__ = ["UNKNOWN_FORMAT", "failed"]

UNKNOWN_FORMAT = "unknown"
"""The format of a file that was not looked at, or not to the end."""
_MAX_MESSAGE = 500
_SKIPPING_KINDS: frozenset[ErrorKind] = frozenset({"unsupported_format", "empty", "too_large"})
"""Kinds by which a document was not attempted, by rule: their status is ``skipped``."""


def failed(
    kind: ErrorKind, message: str, file_format: str, *, retryable: bool = False
) -> ParseOutcome:
    """Return a failure, or what is not attempted by rule, as one line of message."""
    return ParseOutcome(
        status="skipped" if kind in _SKIPPING_KINDS else "failed",
        format=file_format,
        parser="",
        error_kind=kind,
        error_message=" ".join(message.split())[:_MAX_MESSAGE],
        retryable=retryable,
    )
