"""Manifests of URIs: CSV and Parquet, local and in S3."""

from __future__ import annotations

import datetime as dt
import decimal
import pickle
import socket
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chunking.errors import DocumentError, SourceError
from jobs.adapters.stores.base import UnreachableError
from jobs.config import Config
from jobs.config_load import load_config
from jobs.sources import open_source
from tests.jobs.sources.conftest import Put, fetched, keys
from tests.servers import S3Server

DEFAULT = Config()


def test_csv(folder: Path, tmp_path: Path) -> None:
    """Keys are the URIs as they stand; other columns are metadata, empty fields are none."""
    (folder / "a b%.md").write_bytes(b"A")
    (folder / "b.md").write_bytes(b"B")
    (folder / "list.csv").write_text(
        f'uri,dept,"note, quoted"\na b%.md,legal,"two\nlines"\n{folder}/b.md,,\n'
        f"{(folder / 'b.md').as_uri()},x,y\n",
    )
    source = pickle.loads(  # noqa: S301 - our own bytes
        pickle.dumps(open_source(str(folder / "list.csv"), DEFAULT, None))
    )
    items = list(source.list())
    uri = (folder / "b.md").as_uri()
    assert [item.source_key for item in items] == ["a b%.md", f"{folder}/b.md", uri]
    assert [item.size for item in items] == [1, 1, 1]
    assert items[1].source_uri == items[2].source_uri == uri
    assert items[0].metadata == {"dept": "legal", "note, quoted": "two\nlines"}
    assert items[1].metadata == {}
    assert list(fetched(source, tmp_path / "x").values()) == [b"A", b"B", b"B"]
    got = source.fetch(items[1].location, None, tmp_path / "x")
    assert got.etag == items[1].etag


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_csv_dialects(folder: Path, delimiter: str, start: str) -> None:
    """The delimiter and a byte order mark are recognised; the file's name does not matter."""
    (folder / "a.md").write_bytes(b"A")
    text = f"{start}dept{delimiter}uri\r\nlegal{delimiter}a.md\r\n\r\n"
    (folder / "list").write_text(text, encoding="utf-8", newline="")
    (item,) = open_source(str(folder / "list"), DEFAULT, None).list()
    assert (item.source_key, item.metadata) == ("a.md", {"dept": "legal"})


def test_parquet(folder: Path) -> None:
    """Values of every scalar type become text; nested and binary columns are left out."""
    (folder / "a.md").write_bytes(b"A")
    table = pa.table(
        {
            "uri": ["a.md"],
            "flag": [True],
            "count": [3],
            "share": [0.5],
            "price": [decimal.Decimal("1.50")],
            "day": [dt.date(2026, 1, 2)],
            "null": pa.array([None], pa.string()),
            "tag": pa.array(["x"]).dictionary_encode(),
            "list": [["x"]],
            "bytes": [b"x"],
        }
    )
    pq.write_table(table, folder / "list.parquet")
    (item,) = open_source(str(folder / "list.parquet"), DEFAULT, None).list()
    assert item.metadata == {
        "flag": "true",
        "count": "3",
        "share": "0.5",
        "price": "1.50",
        "day": "2026-01-02",
        "tag": "x",
    }


def test_missing_document(folder: Path, tmp_path: Path) -> None:
    """A document that is not there is listed, and fails alone."""
    (folder / "list.csv").write_text("uri\nnot there.md\n/proc\n")
    source = open_source(str(folder / "list.csv"), DEFAULT, None)
    items = list(source.list())
    assert [(item.size, item.etag) for item in items] == [(0, ""), (0, "")]
    for item in items:
        with pytest.raises(DocumentError) as caught:
            source.fetch(item.location, None, tmp_path / "x")
        assert (caught.value.kind, caught.value.retryable) == ("network", True)


def test_order_over_many_rows(folder: Path) -> None:
    """Rows keep their order, though their objects are looked up side by side."""
    names = [f"{i}.md" for i in range(700)]
    for name in names[::50]:
        (folder / name).write_bytes(b"x")
    (folder / "list.csv").write_text("uri\n" + "\n".join(names))
    assert keys(open_source(str(folder / "list.csv"), DEFAULT, None)) == names


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "x.csv",
            b"url,dept\na,b\n",
            "no column 'uri' \\(nearest: 'url'\\); set source.uri_column",
        ),
        ("x.tsv", b"link\tdept\n", "no column 'uri'"),
        ("x.csv", b"uri,dept\na,b,c\n", "line 2: 3 fields under 2 names"),
        ("x.csv", b"dept,uri\nx,\n", "row 0 has no uri"),
        ("x.csv", b"uri\nhttps://host/x\n", "row 0: unknown scheme https"),
        ("x.csv", b"uri\ngs://b/x\n", "gs:// is not supported yet"),
        ("x.csv", b'uri\n"a\n', "unexpected end of data"),
        ("x.csv", b"uri\n\xff\xfe\n", "near line"),
        ("x.csv", b"uri\n", "no documents in"),
        ("x", b"PAR1 and then nothing", "not a readable Parquet file"),
    ],
)
def test_malformed(folder: Path, name: str, content: bytes, message: str) -> None:
    """A manifest that is none is refused in one line that says where."""
    (folder / name).write_bytes(content)
    with pytest.raises(SourceError, match=message) as caught:
        open_source(str(folder / name), DEFAULT, None)
    assert "\n" not in str(caught.value)


def test_parquet_without_a_column(folder: Path) -> None:
    """Neither text nor URI: the nearest names are told."""
    pq.write_table(pa.table({"texts": ["x"], "urls": ["y"]}), folder / "x")
    with pytest.raises(SourceError, match="no column 'text' \\(nearest: 'texts'\\)"):
        open_source(str(folder / "x"), DEFAULT, None)
    other = load_config(None, ["source.uri_column=urls"])
    assert keys(open_source(str(folder / "x"), other, None)) == ["y"]


def test_dead_endpoint(folder: Path) -> None:
    """A store that does not answer is told once and soon, not once per row."""
    (folder / "list.csv").write_text("uri\n" + "s3://bucket/x.md\n" * 500)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{unused.getsockname()[1]}"
    dead = load_config(None, [f"source.endpoint_url={endpoint}", "source.anonymous=true"])
    with pytest.raises(UnreachableError, match=f"no answer from {endpoint}"):
        open_source(str(folder / "list.csv"), dead, None)


@pytest.mark.s3
def test_s3_uris(
    put: Put, s3_config: Config, swift: S3Server, source_bucket: str, tmp_path: Path
) -> None:
    """URIs are read percent-encoded, and literally where no such object exists."""
    url = put({"a b.md": b"blank", "c%20d.md": b"percent", "e+f#?.md": b"signs", "g.md": b"g"})
    encoded = url.replace(" ", "%20")
    rows = [
        f"{url}/a b.md",
        f"{encoded}/a%20b.md",
        f"{url}/c%20d.md",
        f"{encoded}/c%2520d.md",
        f"{url}/e+f#?.md",
        "g.md",
        f"{url}/gone.md",
        "s3://there-is-no-such-bucket/x.md",
    ]
    body = "uri,dept\n" + "".join(f"{row},d\n" for row in rows)
    swift.client().put_object(
        Bucket=source_bucket, Key=url.split("/", 3)[3] + "/list.csv", Body=body.encode()
    )
    source = open_source(f"{url}/list.csv", s3_config, None)
    items = list(source.list())
    assert [item.source_key for item in items] == rows
    contents = []
    for item in items[:6]:
        assert source.fetch(item.location, None, tmp_path / "x").etag == item.etag
        contents.append((tmp_path / "x").read_bytes())
    assert contents == [b"blank", b"blank", b"percent", b"percent", b"signs", b"g"]
    for item in items[6:]:
        assert item.etag == ""
        with pytest.raises(DocumentError, match="does not exist"):
            source.fetch(item.location, None, tmp_path / "x")
