"""Folders, prefixes, globs and single files."""

from __future__ import annotations

import hashlib
import os
import pickle
import socket
from pathlib import Path

import pytest

from chunking.errors import ConfigError, DocumentError, SourceError
from jobs.adapters.stores.base import UnreachableError
from jobs.adapters.stores.keys import decode_path
from jobs.config import Config
from jobs.config_load import load_config
from jobs.sources import open_source
from tests.jobs.sources.conftest import Put, fetched, keys
from tests.servers import S3Server

DEFAULT = Config()
NOT_DOCUMENTS = [".DS_Store", "deep/.DS_Store", "Thumbs.db", "~$report.docx"]
DOCUMENTS = [
    ".hidden",
    "100%.md",
    "a b.md",
    "deep/er/x.md",
    "deep/plus+&#;.md",
    "empty.md",
    "no extension",
    "Ærø 日本.md",
]


def fill(folder: Path, names: list[str]) -> None:
    """Write files whose content is their name; ``empty`` ones are empty."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"" if "empty" in name else name.encode())


def config(*assignments: str) -> Config:
    """Return the defaults with some keys set."""
    return load_config(None, assignments)


def test_folder(folder: Path, tmp_path: Path) -> None:
    """Every regular file is listed once, in order, with its path, URI, size and version."""
    fill(folder, DOCUMENTS + NOT_DOCUMENTS)
    source = pickle.loads(pickle.dumps(open_source(str(folder), DEFAULT, None)))  # noqa: S301
    items = list(source.list())
    assert [item.source_key for item in items] == DOCUMENTS
    assert list(source.list()) == items
    for item in items:
        path = folder / item.source_key
        assert decode_path(item.source_uri) == f"file://{path}"
        assert item.size == path.stat().st_size
        got = source.fetch(item.location, item.table_row, tmp_path / "fetched")
        assert (tmp_path / "fetched").read_bytes() == path.read_bytes()
        assert got.doc_version == hashlib.sha256(path.read_bytes()).hexdigest()
        assert (got.size, got.etag) == (item.size, item.etag)


def test_etag_follows_changes(folder: Path) -> None:
    """A rewritten file has another etag, also at the same size."""
    fill(folder, ["a.md"])
    source = open_source(str(folder), DEFAULT, None)
    before = next(source.list()).etag
    os.utime(folder / "a.md", ns=(0, 1))
    assert next(source.list()).etag != before


def test_names_that_are_not_utf8(folder: Path, tmp_path: Path) -> None:
    """Such a name is percent-encoded, and stays apart from a name with that very text."""
    root = os.fsencode(folder)
    for name in (b"caf\xe9", b"caf%E9", b"d\xff/e"):
        path = os.path.join(root, name)  # noqa: PTH118 - the name is bytes
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
        with open(path, "wb") as file:  # noqa: PTH123
            file.write(name)
    found = fetched(open_source(str(folder), DEFAULT, None), tmp_path / "fetched")
    assert found == {"caf%E9": b"caf%E9", "caf%e9": b"caf\xe9", "d%FF/e": b"d\xff/e"}


def test_links_and_other_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links are followed without end to none; pipes and sockets are no documents."""
    fill(folder, ["real/a.md"])
    (folder / "link").symlink_to(folder / "real")
    (folder / "real" / "loop").symlink_to(folder)
    (folder / "gone").symlink_to("nowhere")
    os.mkfifo(folder / "pipe")
    monkeypatch.chdir(folder)  # a socket's path may have 107 bytes at most
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind("socket")
        assert keys(open_source(str(folder), DEFAULT, None)) == ["link/a.md", "real/a.md"]


def test_destination_inside_the_source(folder: Path) -> None:
    """What a run writes below SRC is not read by the next, also behind a link."""
    fill(folder, ["a.md", "out/chunks/x.parquet", "out.md", "outer/b.md"])
    (folder / "link").symlink_to(folder / "out")
    for dst in (str(folder / "out"), f"{folder}/out/", (folder / "out").as_uri()):
        assert keys(open_source(str(folder), DEFAULT, dst)) == ["a.md", "out.md", "outer/b.md"]
    assert len(keys(open_source(str(folder), DEFAULT, "s3://bucket/out"))) == 5
    with pytest.raises(SourceError, match="same place"):
        open_source(str(folder), DEFAULT, str(folder / "outer" / ".."))


def test_include_and_exclude(folder: Path) -> None:
    """Globs on keys choose what is listed; one without a slash is tried on the name."""
    fill(folder, ["a.md", "b.txt", "draft/a.md", "draft/deep/c.md", "x/draft/d.md"])
    include = config("source.include=['*.md']", "source.exclude=['draft/**']")
    assert keys(open_source(str(folder), include, None)) == ["a.md", "x/draft/d.md"]
    folders = config("source.exclude=['**/draft/']")
    assert keys(open_source(str(folder), folders, None)) == ["a.md", "b.txt"]
    with pytest.raises(SourceError, match=r"no documents that source\.include"):
        open_source(str(folder), config("source.include=['*.pdf']"), None)
    with pytest.raises(ConfigError, match="glob"):
        open_source(str(folder), config("source.include=['[z-a]']"), None)


def test_glob(folder: Path) -> None:
    """A pattern lists from the last folder that is no pattern."""
    fill(folder, ["sub/a.md", "sub/deep/b.md", "sub/c.txt", "sub/[1].md", "other/a.md"])
    assert keys(open_source(f"{folder}/sub/*.md", DEFAULT, None)) == ["[1].md", "a.md"]
    assert keys(open_source(f"{folder}/*/a.md", DEFAULT, None)) == ["other/a.md", "sub/a.md"]
    assert len(keys(open_source(f"{folder}/**/*.md", DEFAULT, None))) == 4
    assert keys(open_source(f"{folder}/sub/[1].md", DEFAULT, None)) == ["[1].md"]
    for nothing in (f"{folder}/*.pdf", f"{folder}/nowhere/*.md"):
        with pytest.raises(SourceError, match=r"no documents|does not exist"):
            open_source(nothing, DEFAULT, None)


def test_single_file(folder: Path, tmp_path: Path) -> None:
    """One file is one document, keyed by its name."""
    fill(folder, ["a b.md"])
    source = open_source(str(folder / "a b.md"), DEFAULT, None)
    assert fetched(source, tmp_path / "fetched") == {"a b.md": b"a b.md"}


def test_document_that_vanishes(folder: Path, tmp_path: Path) -> None:
    """A file that has gone since the listing is the document's failure, to be tried again."""
    fill(folder, ["a.md"])
    source = open_source(str(folder), DEFAULT, None)
    item = next(source.list())
    (folder / "a.md").unlink()
    with pytest.raises(DocumentError, match="does not exist") as caught:
        source.fetch(item.location, None, tmp_path / "fetched")
    assert (caught.value.kind, caught.value.retryable) == ("network", True)


def test_document_that_is_too_large(folder: Path, tmp_path: Path) -> None:
    """A file above the limit is not fetched."""
    fill(folder, ["a.md"])
    source = open_source(str(folder), config("limits.document_bytes=3"), None)
    with pytest.raises(DocumentError) as caught:
        source.fetch(next(source.list()).location, None, tmp_path / "fetched")
    assert (caught.value.kind, caught.value.retryable) == ("too_large", False)
    assert not (tmp_path / "fetched").exists()


def test_missing_and_empty(folder: Path) -> None:
    """A source that is not there, or has nothing in it, is refused in one line."""
    fill(folder, NOT_DOCUMENTS)
    for src in (folder, folder / "deep"):
        with pytest.raises(SourceError, match="no documents in"):
            open_source(str(src), DEFAULT, None)
    with pytest.raises(SourceError, match="nowhere does not exist"):
        open_source(str(folder / "nowhere"), DEFAULT, None)


@pytest.mark.s3
def test_prefix(put: Put, s3_config: Config, tmp_path: Path) -> None:
    """A prefix lists as a folder does; directory markers are none, other slashes are keys."""
    names = [*DOCUMENTS, "deep//double", "up/../x.md", "slash/"]
    url = put({name: name.encode() for name in names + NOT_DOCUMENTS} | {"marker/": b""})
    for src in (url, url + "/"):
        source = pickle.loads(pickle.dumps(open_source(src, s3_config, None)))  # noqa: S301
        assert fetched(source, tmp_path / "fetched") == {n: n.encode() for n in sorted(names)}
    item = next(source.list())
    assert source.fetch(item.location, None, tmp_path / "fetched").etag == item.etag


@pytest.mark.s3
def test_prefix_is_a_folder(put: Put, s3_config: Config) -> None:
    """``docs`` takes what is in ``docs/``, not ``docs-old``; an object of its own is a document."""
    url = put({"docs/a.md": b"a", "docs-old/b.md": b"b", "one.md": b"1", "glob/[x]/c.md": b"c"})
    assert keys(open_source(f"{url}/docs", s3_config, None)) == ["a.md"]
    assert keys(open_source(f"{url}/one.md", s3_config, None)) == ["one.md"]
    assert keys(open_source(f"{url}/d*/*.md", s3_config, None)) == ["docs-old/b.md", "docs/a.md"]
    assert keys(open_source(f"{url}/glob/[x]", s3_config, None)) == ["c.md"]
    assert keys(open_source(url, s3_config, f"{url}/docs")) == [
        "docs-old/b.md",
        "glob/[x]/c.md",
        "one.md",
    ]
    with pytest.raises(SourceError, match="same place"):
        open_source(url, s3_config, url + "/")


@pytest.mark.s3
def test_s3_sources_that_cannot_be_read(
    put: Put, s3_config: Config, swift: S3Server, source_bucket: str
) -> None:
    """A missing prefix or bucket and a dead endpoint are told apart."""
    url = put({"a.md": b"a"})
    with pytest.raises(SourceError, match="nothing in"):
        open_source(url + "/nowhere", s3_config, None)
    with pytest.raises(SourceError, match="does not exist"):
        open_source("s3://there-is-no-such-bucket/x", s3_config, None)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{unused.getsockname()[1]}"
    with pytest.raises(UnreachableError, match=f"no answer from {endpoint}"):
        open_source(url, config(f"source.endpoint_url={endpoint}"), None)
    del swift, source_bucket


@pytest.mark.s3
def test_fetch_from_a_dead_store(put: Put, s3_config: Config, tmp_path: Path) -> None:
    """An object that was deleted since the listing fails alone, and may be tried again."""
    source = open_source(put({"a.md": b"a"}), s3_config, None)
    location = next(source.list()).location.replace("a.md", "b.md")
    with pytest.raises(DocumentError) as caught:
        source.fetch(location, None, tmp_path / "fetched")
    assert (caught.value.kind, caught.value.retryable) == ("network", True)
