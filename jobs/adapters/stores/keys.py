"""Object keys: what a store may be asked to write, and how keys and URIs correspond.

A key is Unicode text with ``/`` between its components. Local names that are not
UTF-8 are carried as Python does (``surrogateescape``), so that every name on disk
has exactly one key; in what is published those bytes are percent-encoded.
"""

from __future__ import annotations

import re
from urllib.parse import quote_from_bytes, unquote_to_bytes

from chunking.errors import StoreError

__all__ = ["MAX_KEY_BYTES", "check_key", "decode_path", "encode_path", "printable"]

MAX_KEY_BYTES = 1000
"""Longest key that is written; S3 allows 1,024 bytes with the root's prefix."""

_UNDECODABLE = re.compile("[\udc80-\udcff]")


def check_key(key: str) -> None:
    """Refuse a key that cannot be written everywhere, or that would leave the root.

    Raises:
        StoreError: the key is empty, too long, absolute, holds NUL, or has an empty,
            ``.`` or ``..`` component.
    """
    parts = key.split("/")
    if "" in parts or "." in parts or ".." in parts or "\0" in key:
        msg = f"not a key that can be written: {key!r} has an empty, '.' or '..' component or NUL"
        raise StoreError(msg)
    if len(key.encode("utf-8", "surrogateescape")) > MAX_KEY_BYTES:
        msg = f"not a key that can be written: {key[:80]!r}... is longer than {MAX_KEY_BYTES} bytes"
        raise StoreError(msg)


def encode_path(key: str) -> str:
    """Return the key as the path of an RFC 3986 URI: all but unreserved bytes and ``/`` encoded."""
    return quote_from_bytes(key.encode("utf-8", "surrogateescape"), safe="/")


def decode_path(path: str) -> str:
    """Return the key of a URI's path; the inverse of :func:`encode_path`."""
    data = unquote_to_bytes(path.encode("utf-8", "surrogateescape"))
    return data.decode("utf-8", "surrogateescape")


def printable(key: str, *, digits: str = "02X") -> str:
    """Return the key with bytes that are not UTF-8 percent-encoded, all else as it is."""
    return _UNDECODABLE.sub(lambda match: f"%{format(ord(match[0]) - 0xDC00, digits)}", key)
