"""Tables of texts: Parquet and JSON lines."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chunking.errors import DocumentError, SourceError
from jobs.config import Config
from jobs.config_load import load_config
from jobs.sources import Source, open_source
from jobs.sources.json_lines import json_lines
from jobs.sources.row_groups import RowGroups
from tests.jobs.sources.conftest import Put, fetched, keys

DEFAULT = Config()
ROWS = [
    {"id": "a", "text": "First text.", "dept": "legal", "n": 1},
    {"id": "b", "text": "Zweiter Text: ü 😀", "dept": None, "n": 2},
    {"id": None, "text": "", "dept": "x", "n": 3},
    {"id": "d", "text": None, "dept": "y", "n": None},
]


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    """Write a table in the format that its name says."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=2)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(params=["t.parquet", "t.jsonl"])
def table(request: pytest.FixtureRequest, folder: Path) -> Path:
    """Give a table in each format."""
    return write(folder / request.param, ROWS)


def open_table(path: Path | str, *assignments: str) -> Source:
    """Open a table and send it to a worker."""
    source = open_source(str(path), load_config(None, assignments), None)
    return pickle.loads(pickle.dumps(source))  # type: ignore[no-any-return]  # noqa: S301


def test_rows_are_documents(table: Path, tmp_path: Path) -> None:
    """Every row is listed with its id, and fetched as the UTF-8 of its text."""
    source = open_table(table)
    items = list(source.list())
    assert [item.source_key for item in items] == ["a", "b", f"{table.name}#2", "d"]
    assert [item.table_row for item in items] == [0, 1, 2, 3]
    assert [item.source_uri for item in items] == [f"{table.as_uri()}#row={i}" for i in range(4)]
    assert items[0].metadata == {"dept": "legal", "n": "1"}
    assert items[3].metadata == {"dept": "y"}
    for item, row in zip(reversed(items), reversed(ROWS), strict=True):
        data = str(row["text"] or "").encode()
        got = source.fetch(item.location, item.table_row, tmp_path / "x")
        assert (tmp_path / "x").read_bytes() == data
        assert got.doc_version == item.etag == got.etag == hashlib.sha256(data).hexdigest()
        assert got.size == item.size == len(data)


def test_changed_row_changes_its_own_version_only(table: Path) -> None:
    """Adding a row leaves the versions of the others as they are."""
    before = {item.source_key: item.etag for item in open_table(table).list()}
    write(table, [*ROWS[:1], {**ROWS[1], "text": "changed"}, *ROWS[2:], {"id": "e", "text": "new"}])
    after = {item.source_key: item.etag for item in open_table(table).list()}
    assert {key for key in after if after[key] != before.get(key)} == {"b", "e"}


def test_table_replaced_after_the_listing(table: Path, tmp_path: Path) -> None:
    """A worker never reads another row than was listed."""
    source = open_table(table)
    item = next(source.list())
    write(table, list(reversed(ROWS)))
    os.utime(table, ns=(1, 1))
    with pytest.raises(DocumentError, match="replaced after it had been listed") as caught:
        source.fetch(item.location, item.table_row, tmp_path / "x")
    assert caught.value.retryable


def test_columns_can_be_chosen(folder: Path, tmp_path: Path) -> None:
    """Text and id come from the columns that the configuration names."""
    for name in ("t.parquet", "t.jsonl"):
        path = write(folder / name, [{"body": "x", "key": 7, "id": "i"}, {"body": "y", "key": 8}])
        source = open_table(path, "source.text_column=body", "source.id_column=key")
        assert fetched(source, tmp_path / "x") == {"7": b"x", "8": b"y"}


def test_missing_columns(folder: Path) -> None:
    """A column that is not there is named, with the nearest ones."""
    for name in ("t.parquet", "t.jsonl"):
        path = write(folder / name, [{"texts": "x", "n": 1}])
        with pytest.raises(SourceError, match="no column 'text' \\(nearest: 'texts'\\)"):
            open_table(path)
    path = write(folder / "t.parquet", [{"text": "x", "key": 1}])
    with pytest.raises(SourceError, match="no column 'keys' \\(nearest: 'key'\\)"):
        open_table(path, "source.id_column=keys")
    with pytest.raises(SourceError, match="column 'key' holds int64, not text"):
        open_table(path, "source.text_column=key")


def test_lines_that_are_no_rows(folder: Path, tmp_path: Path) -> None:
    """A damaged line costs itself; a lone surrogate becomes U+FFFD, blank lines are nothing."""
    path = folder / "t.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"text": "one"}\r\n\n  \n{"text": \n[1]\n{"text": 5}\n{"text": "\\ud800x"}\n'
        b'\xff\xfe\n{"text": "last"}'
    )
    source = open_table(path)
    items = list(source.list())
    assert [item.source_key for item in items] == [f"t.jsonl#{i}" for i in range(7)]
    outcomes: list[object] = []
    for item in items:
        try:
            got = source.fetch(item.location, item.table_row, tmp_path / "x")
            assert got.etag == item.etag
            outcomes.append((tmp_path / "x").read_text())
        except DocumentError as error:
            outcomes.append(error.kind)
    assert outcomes == ["one", "corrupt", "corrupt", "corrupt", "\ufffdx", "corrupt", "last"]


def test_text_that_is_too_large(table: Path, tmp_path: Path) -> None:
    """A row above the limit is listed and refused."""
    source = open_table(table, "limits.document_bytes=10")
    items = list(source.list())
    assert len(items) == 4
    for item in items[:2]:
        with pytest.raises(DocumentError) as caught:
            source.fetch(item.location, item.table_row, tmp_path / "x")
        assert caught.value.kind == "too_large"


def test_content_decides(folder: Path, tmp_path: Path) -> None:
    """Without an extension tables are known by content, and other JSON is one document."""
    (folder / "rows").write_text('{"text": "x"}\n{"text": "y"}\n')
    assert len(keys(open_table(folder / "rows"))) == 2
    for name, body in {
        "document.json": '{"schema_name": "DoclingDocument", "texts": []}',
        "list.json": '[{"text": "x"}]',
        "text": "A text, with commas; and so on.\nuri\n",
        "binary": "\0\1\2" * 1000,
        "empty": "",
    }.items():
        (folder / name).write_text(body)
        assert fetched(open_table(folder / name), tmp_path / "x") == {name: body.encode()}


def test_include_applies_to_ids(table: Path) -> None:
    """The listing rules hold for the keys of rows."""
    assert keys(open_table(table, "source.include=['[ab]']")) == ["a", "b"]


@pytest.mark.s3
def test_table_in_s3(put: Put, s3_config: Config, folder: Path, tmp_path: Path) -> None:
    """Tables are read from S3 by ranges."""
    rows = [{"id": f"{i:03d}", "text": f"text {i} " * 50} for i in range(300)]
    for name in ("t.parquet", "t.jsonl"):
        body = write(folder / name, rows).read_bytes()
        source = open_source(f"{put({name: body})}/{name}", s3_config, None)
        found = list(source.list())
        assert [item.source_key for item in found] == [row["id"] for row in rows]
        for i in (299, 0, 150):
            source.fetch(found[i].location, found[i].table_row, tmp_path / "x")
            assert (tmp_path / "x").read_text() == rows[i]["text"]


def test_row_groups_are_bounded(folder: Path) -> None:
    """Decoded row groups above the limit are dropped and decoded again; no file is left."""
    texts = [f"row {i} " * 100 for i in range(12)]
    pq.write_table(pa.table({"text": texts}), folder / "t", row_group_size=3)
    (folder / "tmp").mkdir()
    groups = RowGroups(
        pq.ParquetFile(folder / "t"), "text", tmp_dir=str(folder / "tmp"), max_bytes=1
    )
    for i in (11, 0, 5, 11, 1):
        assert groups.text(i) == texts[i]
        assert len(groups._groups) == 1
    assert not list((folder / "tmp").iterdir())
    for row in (-1, 12):
        with pytest.raises(DocumentError, match="no row"):
            groups.text(row)


def one_line(data: bytes) -> bytes:
    """Return the data without line breaks and without the start of a byte order mark."""
    return data.replace(b"\n", b"\r").replace(b"\xef", b"x")


lines = st.lists(st.binary(max_size=12).map(one_line), max_size=8)


@settings(deadline=None, max_examples=100)
@given(lines, st.integers(1, 7))
def test_json_lines_tile_the_file(given_lines: list[bytes], step: int) -> None:
    """Wherever the chunks are cut, each line's range holds exactly its bytes."""
    body = b"\n".join(given_lines)
    chunks = (body[i : i + step] for i in range(0, len(body), step))
    found = list(json_lines(chunks, 100))
    assert [line.data for line in found] == [line for line in given_lines if line.strip()]
    for line in found:
        assert body[line.start : line.start + line.length] == line.data


@settings(deadline=None, max_examples=100)
@given(lines, st.integers(1, 7))
def test_json_lines_are_bounded(given_lines: list[bytes], step: int) -> None:
    """A line above the limit comes without its data, the others are untouched."""
    body = b"\n".join(given_lines)
    chunks = (body[i : i + step] for i in range(0, len(body), step))
    found = list(json_lines(chunks, 5))
    wanted = [line for line in given_lines if len(line) > 5 or line.strip()]
    assert [line.length for line in found] == [len(line) for line in wanted]
    assert [line.data for line in found] == [b"" if len(line) > 5 else line for line in wanted]
