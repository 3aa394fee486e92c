"""One document by itself, whatever it looks like."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from chunking.errors import DocumentError, SourceError
from jobs.config import Config, LimitsConfig
from jobs.sources.opening import open_file
from jobs.sources.texts import TextSource
from tests.jobs.sources.conftest import Put, fetched, keys


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plain.md", "# A\n"),
        ("table.csv", "a,b\n1,2\n"),
        ("manifest.csv", "uri\nfile:///etc/passwd\n"),
        ("rows.jsonl", '{"text": "one"}\n{"text": "two"}\n'),
        ("a b%2F*[x].md", "odd"),
        ("empty", ""),
    ],
)
def test_a_file_is_one_document(tmp_path: Path, name: str, content: str) -> None:
    """Also what a job would take as a table, a manifest or a pattern."""
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    source = open_file(str(path), Config())
    (item,) = source.list()
    assert (item.source_key, item.size) == (name, len(content))
    fetched = source.fetch(item.location, item.table_row, tmp_path / "copy")
    assert (tmp_path / "copy").read_text(encoding="utf-8") == content
    assert fetched.doc_version == hashlib.sha256(content.encode()).hexdigest()


@pytest.mark.parametrize(
    ("name", "words"),
    [("missing", "does not exist"), ("", "is a folder"), ("folder", "is a folder")],
)
def test_what_is_no_file_is_refused(tmp_path: Path, name: str, words: str) -> None:
    """A folder, or nothing at all, is said so in one line."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(SourceError, match=words):
        open_file(str(tmp_path / name), Config())


def test_a_relative_path_and_a_link_are_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key is the name that was given."""
    (tmp_path / "real.md").write_text("text", encoding="utf-8")
    (tmp_path / "link.md").symlink_to("real.md")
    monkeypatch.chdir(tmp_path)
    (item,) = open_file("link.md", Config()).list()
    assert item.source_key == "link.md"


@pytest.mark.s3
def test_an_object_is_one_document(s3_config: Config, put: Put, tmp_path: Path) -> None:
    """By its URL as it stands; a prefix, a missing key and a missing bucket are none."""
    prefix = put({"a b.csv": b"uri\nx\n", "deeper/c.md": b"c"})
    source = open_file(f"{prefix}/a b.csv", s3_config)
    assert keys(source) == ["a b.csv"]
    assert fetched(source, tmp_path / "copy") == {"a b.csv": b"uri\nx\n"}
    for url in (prefix, f"{prefix}/", f"{prefix}/missing.md", "s3://no-such-bucket-here/x.md"):
        with pytest.raises(SourceError):
            open_file(url, s3_config)


def test_a_text_has_the_bytes_of_its_file(tmp_path: Path) -> None:
    """A text and a file of the same content are the same version; surrogates are mended."""
    source = TextSource(name="x", text="\u00f8 \ud800", max_bytes=100)
    (item,) = source.list()
    fetched = source.fetch(item.location, item.table_row, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == "\u00f8 \ufffd".encode()
    assert fetched.doc_version == item.etag == hashlib.sha256("\u00f8 \ufffd".encode()).hexdigest()
    assert fetched.size == item.size


def test_a_text_above_the_limit_is_refused(tmp_path: Path) -> None:
    """As a file would be."""
    limit = LimitsConfig(document_bytes=3).document_bytes
    source = TextSource(name="x", text="abcd", max_bytes=limit)
    with pytest.raises(DocumentError) as raised:
        source.fetch("", None, tmp_path / "copy")
    assert raised.value.kind == "too_large"
