"""Identities: deterministic, so that running again writes the same names.

H is BLAKE2b with a 128-bit digest, in hex, over the UTF-8 fields joined by U+001F.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "MEMBER_MARK",
    "bucket_of",
    "chunk_ids",
    "content_version",
    "doc_id",
    "hash_fields",
    "window_hash",
]

MEMBER_MARK = "!/"
"""Between the key of a mail or archive and the name of a document inside it."""

_SEPARATOR = "\x1f"


def hash_fields(*fields: str) -> str:
    """Return H of the fields: 32 hexadecimal digits."""
    data = _SEPARATOR.join(fields).encode("utf-8")
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def doc_id(source_key: str) -> str:
    """Return the id of the document with this key."""
    return hash_fields(source_key)


def content_version(data: bytes) -> str:
    """Return ``doc_version``: the SHA-256 of the source bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def bucket_of(document_id: str, n_buckets: int) -> int:
    """Return the bucket of a document, in ``range(n_buckets)``."""
    return int(document_id[:8], 16) % n_buckets


def chunk_ids(document_id: str, texts: Iterable[str]) -> list[str]:
    """Return one id per chunk text, in order; equal texts get ordinals 0, 1, ..."""
    seen: Counter[str] = Counter()
    ids = []
    for text in texts:
        ids.append(hash_fields(document_id, text, str(seen[text])))
        seen[text] += 1
    return ids


def window_hash(token_ids: Sequence[int] | NDArray[np.integer]) -> str:
    """Return H of a window's token ids as the model sees them, little-endian uint32."""
    data = np.asarray(token_ids).astype("<u4").tobytes()
    return hashlib.blake2b(data, digest_size=16).hexdigest()
