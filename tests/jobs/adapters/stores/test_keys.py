"""Keys, URIs and what is printed of them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chunking.errors import ConfigError
from jobs.adapters.stores.keys import decode_path, encode_path, printable
from jobs.adapters.stores.local import LocalStore
from jobs.adapters.stores.opening import Location, parse_location
from jobs.adapters.stores.s3 import S3Store
from jobs.adapters.stores.s3_client import Connection

RFC_3986_PATH = re.compile(r"(?:[A-Za-z0-9\-._~/]|%[0-9A-F]{2})*")

quick = settings(deadline=None, max_examples=60)
names = st.binary(min_size=1, max_size=40).map(os.fsdecode)
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@quick
@given(names)
def test_any_bytes_go_to_a_uri_and_back(key: str) -> None:
    """The URI of a key is plain RFC 3986, and leads back to that key alone."""
    path = encode_path(key)
    assert RFC_3986_PATH.fullmatch(path)
    assert decode_path(path) == key


@quick
@given(texts)
def test_unicode_is_printed_as_it_is(key: str) -> None:
    """What is UTF-8 is never changed, percent signs neither."""
    assert printable(key) == key


@quick
@given(names)
def test_printed_keys_are_always_unicode(key: str) -> None:
    """What is published can be written as UTF-8, and has one percent code per foreign byte."""
    shown = printable(key)
    shown.encode("utf-8")
    foreign = sum("\udc80" <= char <= "\udcff" for char in key)
    assert len(shown) == len(key) + 2 * foreign


@quick
@given(texts)
def test_uri_of_an_object(key: str) -> None:
    """The parts of an object's URI, read as RFC 3986 has it, are the bucket and the key."""
    parts = urlsplit(S3Store("bucket", "pre fix/", Connection()).uri(key))
    assert (parts.scheme, parts.netloc, parts.query, parts.fragment) == ("s3", "bucket", "", "")
    assert decode_path(parts.path) == "/pre fix/" + key


@quick
@given(names.filter(lambda name: "\0" not in name and "/" not in name))
def test_uri_of_a_file(name: str) -> None:
    """A file's URI leads back to its path."""
    uri = LocalStore(Path("/ro ot")).uri(name)
    assert parse_location(uri) == Location(bucket=None, path="/ro ot/" + name)


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("s3://b", Location(bucket="b", path="")),
        ("s3://b/", Location(bucket="b", path="")),
        ("s3://b/a b/%20#x?y", Location(bucket="b", path="a b/%20#x?y")),
        ("S3://b/k", Location(bucket="b", path="k")),
        ("s3a://b/k", Location(bucket="b", path="k")),
        ("/a/b:c", Location(bucket=None, path="/a/b:c")),
        ("file:///a%20b", Location(bucket=None, path="/a b")),
        ("file://localhost/a", Location(bucket=None, path="/a")),
    ],
)
def test_places(url: str, place: Location) -> None:
    """URLs are read as the tools that people know read them."""
    assert parse_location(url) == place


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("s3://", "names no bucket"),
        ("s3:///key", "names no bucket"),
        ("s3://key:secret@bucket/x", "do not belong into a URL"),
        ("gs://bucket/x", "not supported yet"),
        ("az://container", "not supported yet"),
        ("https://host/x", "unknown scheme https"),
        ("file://host/x", "must look like file:///path"),
    ],
)
def test_places_that_are_refused(url: str, message: str) -> None:
    """A scheme that is not supported is named."""
    with pytest.raises(ConfigError, match=message):
        parse_location(url)
