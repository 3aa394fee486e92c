"""Identities are the ones that the contract defines, computed here by hand."""

from __future__ import annotations

import hashlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from chunking import ids


def _h(*fields: str) -> str:
    return hashlib.blake2b("\x1f".join(fields).encode(), digest_size=16).hexdigest()


def test_doc_id_is_h_of_the_key() -> None:
    """The id is BLAKE2b-128 over the key's UTF-8, 32 hexadecimal digits."""
    key = "håndbog/afgifter 2024.md"
    assert ids.doc_id(key) == _h(key)
    assert len(ids.doc_id(key)) == 32


def test_ids_never_drift() -> None:
    """Values written today are the values of tomorrow: literals, not recomputed."""
    doc = "ed47565a67f8fba8b3fb29557785d878"
    assert ids.doc_id("a/b.md") == doc
    assert ids.chunk_ids(doc, ["text"]) == ["e7dc1f837c7ad34565b4a9a227fa6b93"]
    assert ids.window_hash([101, 7592, 102]) == "702448e2493059d5c9de4092f08fb9b3"
    assert ids.bucket_of(doc, 1000) == 354


def test_fields_are_separated() -> None:
    """Moving a character from one field to the next changes the hash."""
    assert ids.hash_fields("ab", "c") == hashlib.blake2b(b"ab\x1fc", digest_size=16).hexdigest()
    assert ids.hash_fields("ab", "c") != ids.hash_fields("a", "bc")


def test_equal_texts_get_ordinals_from_zero() -> None:
    """The second of two equal chunk texts of a document is told apart by its ordinal."""
    doc = ids.doc_id("k")
    assert ids.chunk_ids(doc, ["x", "y", "x"]) == [
        _h(doc, "x", "0"),
        _h(doc, "y", "0"),
        _h(doc, "x", "1"),
    ]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=3), max_size=12))
def test_chunk_ids_are_unique_and_stable_when_other_parts_move(texts: list[str]) -> None:
    """No two chunks of a document share an id, and the set does not hang on the order."""
    doc = ids.doc_id("k")
    made = ids.chunk_ids(doc, texts)
    assert len(set(made)) == len(texts)
    assert set(ids.chunk_ids(doc, reversed(texts))) == set(made)


def test_window_hash_is_little_endian_uint32() -> None:
    """The hash covers four bytes a token, low byte first, whatever array type is given."""
    data = bytes([101, 0, 0, 0, 0, 1, 0, 0])
    expected = hashlib.blake2b(data, digest_size=16).hexdigest()
    assert ids.window_hash([101, 256]) == expected
    for kind in (np.uint32, np.int64, np.dtype(">i4")):
        assert ids.window_hash(np.array([101, 256], dtype=kind)) == expected


def test_content_version_is_sha256() -> None:
    """The version of a document is the SHA-256 of its bytes."""
    assert ids.content_version(b"abc").startswith("ba7816bf8f01cfea414140de5dae2223")


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(1, 10_000))
def test_bucket_takes_the_first_eight_digits(key: str, n_buckets: int) -> None:
    """The bucket is the first eight hexadecimal digits as an integer, mod the count."""
    doc = ids.doc_id(key)
    assert ids.bucket_of(doc, n_buckets) == int(doc[:8], 16) % n_buckets
