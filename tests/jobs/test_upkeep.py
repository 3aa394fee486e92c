"""``gc`` and ``purge`` as commands: what they say, their exit codes, and what is on disk."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from chunking import ids
from jobs import cli, layout
from jobs.adapters.stores.local import LocalStore
from jobs.protocol.lease import SystemClock, acquire_lease
from jobs.verifier import Options, verify
from tests.local_jobs import config_of, make_dataset, read_rows, report_text
from tests.servers import S3Server

SECRET = 987654
"""Stands in every heading of the purged document, and nowhere else."""
KEY = "Mustermann-1.pdf"

Program = Callable[..., tuple[int, str, str]]


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    """Provide the program: arguments in, exit code and what it said out."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["chunkmill", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return run


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Provide a dataset whose documents share files, after two runs of which one changed some."""
    folder = tmp_path / "out"
    documents = {
        "one.pdf": report_text(1, 3),
        KEY: report_text(SECRET, 4),
        "three.pdf": report_text(3, 2),
    }
    make_dataset(folder, config_of(), documents)
    make_dataset(folder, config_of(), {**documents, "one.pdf": report_text(1, 3, {1: "New."})})
    return folder


def tree(folder: Path) -> dict[str, bytes]:
    """Return all files."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def traces(folder: Path, *needles: str) -> list[str]:
    """Return the files in whose name, bytes, rows or metadata one of the words is found."""
    return [
        key
        for key, data in tree(folder).items()
        if any(needle in text for needle in needles for text in _texts(folder / key, data))
    ]


def _texts(path: Path, data: bytes) -> Iterator[str]:
    yield str(path)
    yield data.decode("latin-1")
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        yield str(table.schema.metadata)
        for column in table.drop_columns(
            [n for n in ("vector", "embedding") if n in table.column_names]
        ):
            yield str(column.to_pylist())


def check_clean(folder: Path) -> None:
    """Check the laws of a written dataset, but those that the made-up documents break."""
    report = verify(str(folder), options=Options(readers=False))
    broken = report.violated.keys() - {"blocks.code", "chunks.pages"}
    assert not broken, "\n".join(report.lines())
    assert report.checked["sentences.file"] > 0


def test_dry_run_says_what_would_go_and_writes_nothing(dataset: Path, program: Program) -> None:
    """The default shows kinds, counts and sizes, and how to do it."""
    (dataset / "README").write_text("ours")
    before = tree(dataset)
    code, said, _ = program("gc", dataset)
    assert code == 0
    assert "would remove" in said
    assert "superseded bucket versions" in said
    assert "did not name are left alone" in said
    assert said.strip().endswith("do it with --delete")
    code, said, _ = program("gc", dataset, "--json")
    facts = json.loads(said)
    assert (code, facts["deleted"], facts["foreign"]) == (0, False, 1)
    assert facts["objects"] == sum(kind["objects"] for kind in facts["kinds"].values()) > 0
    assert tree(dataset) == before


def test_cleaning_removes_that_and_leaves_a_sound_dataset(dataset: Path, program: Program) -> None:
    """What was shown is removed, temporary files too; all laws hold, and rechunk still works."""
    (dataset / "chunks" / ".0123456789abcdef.chunkmill-tmp").write_bytes(b"half")
    _, said, _ = program("gc", dataset, "--json")
    shown = json.loads(said)
    before = {table: read_rows(dataset, table) for table in ("chunks", "documents", "boundaries")}
    code, said, _ = program("gc", dataset, "--delete", "--json")
    facts = json.loads(said)
    assert code == 0
    assert facts["kinds"] == shown["kinds"]
    assert facts["kinds"]["temporary"] == {"objects": 1, "bytes": 4}
    assert not list(dataset.rglob(".*.chunkmill-tmp"))
    check_clean(dataset)
    for table, rows in before.items():
        assert read_rows(dataset, table).equals(rows)
    code, said, _ = program("gc", dataset, "--delete")
    assert (code, "nothing to remove" in said) == (0, True)
    code, said, _ = program("status", dataset)
    assert "completed" in said
    assert program("rechunk", dataset, f"{dataset}-new", "--set", "chunking.preset=large")[0] == 0
    check_clean(Path(f"{dataset}-new"))


def test_purged_text_is_nowhere(dataset: Path, program: Program) -> None:
    """No file holds a word of the document, its tokens or its name; the others stay as they are."""
    doc_id, name = ids.doc_id(KEY), Path(KEY).stem
    assert len(traces(dataset, str(SECRET), name)) > 5
    chunks = read_rows(dataset, "chunks")
    code, said, _ = program("purge", dataset, KEY)
    assert code == 0
    assert "what remains" in said
    assert "not reached" in said
    assert traces(dataset, str(SECRET), name) == []
    for path in dataset.glob("_chunkmill/sentences/**/*.parquet"):
        assert doc_id not in pq.read_table(path)["doc_id"].to_pylist()
    left = [row for row in chunks.to_pylist() if row["doc_id"] != doc_id]
    assert read_rows(dataset, "chunks").to_pylist() == left
    check_clean(dataset)
    code, said, _ = program("purge", dataset, doc_id, "--json")
    facts = json.loads(said)
    assert (code, facts["unpublished"], facts["documents"]) == (0, 0, [doc_id])
    new = Path(f"{dataset}-new")
    assert program("rechunk", dataset, new, "--set", "chunking.preset=large")[0] == 0
    check_clean(new)
    assert doc_id in next(new.glob("_chunkmill/purged/*.json")).read_text()


def test_names_from_a_file_and_unknown_ones(
    dataset: Path, program: Program, tmp_path: Path
) -> None:
    """A file has one name on each line; one that is not known is refused before any write."""
    names = tmp_path / "names"
    names.write_text(f"{KEY}\n\nno such.pdf\n")
    before = tree(dataset)
    code, _, said = program("purge", dataset, "--from", names)
    assert (code, len(said.splitlines())) == (2, 1)
    assert "'no such.pdf'" in said
    assert program("purge", dataset, "--from", tmp_path / "nothing")[0] == 2
    assert program("purge", dataset)[0] == 2
    names.write_text(f"{KEY}\n")
    code, said, _ = program("purge", dataset, "--from", names, "--dry-run", "--json")
    assert (code, json.loads(said)["documents"]) == (0, [ids.doc_id(KEY)])
    assert tree(dataset) == before


def test_readmitting(dataset: Path, program: Program) -> None:
    """A purged document stays out, as a dry run says, until it is let in again."""
    program("purge", dataset, KEY)
    code, said, _ = program("purge", dataset, KEY, "--readmit")
    assert (code, said.startswith("1 documents are let in again")) == (0, True)
    assert not list(dataset.glob("_chunkmill/purged/*"))


@pytest.mark.parametrize("command", [("gc", "--delete"), ("purge", KEY)])
def test_refused_while_a_run_is_alive(
    dataset: Path, program: Program, command: tuple[str, str]
) -> None:
    """A run that beats is named, exit code 2; taking over does not ask."""
    lease = acquire_lease(LocalStore(dataset), clock=SystemClock(), seconds=1)
    lease.start_heartbeat(0.6)
    brief = ("--set", "limits.lease_seconds=1")
    code, _, said = program(command[0], dataset, command[1], *brief)
    assert code == 2
    assert lease.run_id in said.splitlines()[-1]
    code, said, _ = program("gc", dataset)
    assert "may be going on" in said
    assert program(command[0], dataset, command[1], *brief, "--take-over")[0] == 0
    lease.release(completed=False)
    check_clean(dataset)


def test_no_dataset(tmp_path: Path, program: Program) -> None:
    """An empty folder is no dataset."""
    for command in (("gc", tmp_path), ("purge", tmp_path, "a")):
        code, _, said = program(*command)
        assert (code, "holds no dataset" in said) == (2, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "SRC", "DST", "--set", "model.name=hash:16"),
        ("run", "SRC", "DST", "--dry-run", "--set", "model.name=hash:16"),
        ("rechunk", "DST", "NEW"),
        ("rechunk", "OLD", "DST"),
        ("status", "DST"),
        ("verify", "DST"),
        ("gc", "DST"),
        ("gc", "DST", "--delete"),
        ("purge", "DST", KEY),
    ],
    ids=" ".join,
)
def test_a_newer_format_is_refused(
    tmp_path: Path, program: Program, arguments: tuple[str, ...]
) -> None:
    """Every command says in one line that this program is too old, and changes nothing."""
    folders = {name: tmp_path / name for name in ("SRC", "DST", "OLD", "NEW")}
    folders["SRC"].mkdir()
    (folders["SRC"] / "a.md").write_text("# A\n\nText.\n")
    for name in ("DST", "OLD"):
        make_dataset(folders[name], config_of(), {"a.md": report_text(1, 1)})
    file = folders["DST"] / layout.DATASET
    file.write_text(json.dumps({**json.loads(file.read_text()), "schema_version": 99}))
    before = tree(folders["DST"])
    code, _, said = program(*(folders.get(word, word) for word in arguments))
    assert code == 2
    assert len(said.strip().splitlines()) == 1
    assert "format 99" in said
    assert "update chunkmill" in said
    assert tree(folders["DST"]) == before


@pytest.mark.parametrize("command", ["gc", "purge"])
def test_help(command: str) -> None:
    """The help says what is removed, what remains, and what is not reached."""
    done = CliRunner().invoke(cli.app, [command, "--help"], env={"COLUMNS": "200"})
    said = " ".join(done.output.split())
    assert done.exit_code == 0
    assert "--take-over" in said
    wanted = {"gc": ["--delete", "change feed"], "purge": ["--readmit", "backups", "versioned"]}
    for word in wanted[command]:
        assert word in said


@pytest.mark.s3
def test_on_a_real_server(
    swift: S3Server, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cleaning and purging do on S3 what they do in a folder."""
    for name, value in {**swift.environment, "AWS_ENDPOINT_URL_S3": swift.endpoint}.items():
        monkeypatch.setenv(name, value)
    bucket = swift.make_bucket()
    dst = f"s3://{bucket}/out"
    documents = {"one.pdf": report_text(1, 2), KEY: report_text(SECRET, 2)}
    make_dataset(dst, config_of(), documents)
    make_dataset(dst, config_of(), {**documents, "one.pdf": report_text(1, 2, {1: "New."})})

    def keys() -> list[str]:
        listed = swift.client().list_objects_v2(Bucket=bucket)["Contents"]
        return [entry["Key"] for entry in listed]

    before = keys()
    _, said, _ = program("gc", dst, "--json")
    shown = json.loads(said)
    assert keys() == before
    code, said, _ = program("gc", dst, "--delete", "--json")
    assert (code, json.loads(said)["kinds"]) == (0, shown["kinds"])
    gone = set(before) - set(keys())
    assert len(gone) == shown["objects"] > 0
    assert program("purge", dst, KEY)[0] == 0
    client = swift.client()
    for key in keys():
        data = client.get_object(Bucket=bucket, Key=key)["Body"].read()
        assert str(SECRET).encode() not in data
        if key.endswith(".parquet"):
            table = pq.read_table(io.BytesIO(data))
            assert str(SECRET) not in str(table.to_pylist()), key
    report = verify(dst, options=Options(readers=False, endpoint_url=swift.endpoint))
    assert not report.violated.keys() - {"blocks.code", "chunks.pages"}
    left = json.loads(program("gc", dst, "--json")[1])["kinds"]
    # The purge had a plan of its own, for which the one before it is an earlier one now.
    assert {kind for kind, found in left.items() if found["objects"]} <= {"plans"}
