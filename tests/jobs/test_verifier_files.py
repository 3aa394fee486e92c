"""The verifier on files, sources and the command line."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.verifier import LAWS, NotADatasetError, Options, Report, main, verify
from tests import datasets
from tests.servers import S3Server

QUICK = Options(readers=False)
CHECKOUT = Path(__file__).resolve().parents[2]
BUCKET = "bucket-00000.parquet"
VERSIONS = "_chunkmill/buckets/00001"  # the only bucket with two versions


@pytest.fixture
def dst(tmp_path: Path) -> Path:
    """Write a right dataset beside its source."""
    return datasets.write(datasets.harbour(), tmp_path / "work")


def check(dst: Path, options: Options = QUICK, **changes: Any) -> Report:
    """Verify a dataset with its source."""
    values = {name: getattr(options, name) for name in options.__slots__}
    return verify(str(dst), str(dst.parent / "src"), options=Options(**{**values, **changes}))


def shown(report: Report) -> str:
    """Return the findings, for a failing test."""
    return "\n".join(finding.line() for finding in report.findings)


def recast(dst: Path, table: str, change: Callable[[pa.Table], pa.Table]) -> None:
    """Rewrite the plain files of a table, and the hashes that their versions name."""
    for path in sorted((dst / table).rglob("*.parquet")):
        before = hashlib.sha256(path.read_bytes()).hexdigest()
        pq.write_table(change(pq.ParquetFile(path).read()), path)
        after = hashlib.sha256(path.read_bytes()).hexdigest()
        for version in (dst / "_chunkmill/buckets").rglob("*.json"):
            version.write_text(version.read_text().replace(before, after))


def edit_version(dst: Path, number: int, **values: object) -> None:
    """Change keys of a version."""
    path = dst / VERSIONS / f"{number:08d}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


# ------------------------------------------------------------------ layout


def skip_version(dst: Path) -> None:
    """Give the second version the number three."""
    edit_version(dst, 2, version=3, previous=2)
    (dst / VERSIONS / "00000002.json").rename(dst / VERSIONS / "00000003.json")


def reverse(table: pa.Table) -> pa.Table:
    """Return the rows from last to first."""
    return table.take(pa.array(range(len(table) - 1, -1, -1), pa.int64()))


def nullable(table: pa.Table) -> pa.Table:
    """Let a key column be null."""
    return table.cast(table.schema.set(0, table.schema.field(0).with_nullable(nullable=True)))


def widened(table: pa.Table) -> pa.Table:
    """Give a column another type."""
    index = table.schema.get_field_index("n_tokens")
    return table.cast(table.schema.set(index, pa.field("n_tokens", pa.int64(), nullable=False)))


def untyped(table: pa.Table) -> pa.Table:
    """Let an all-null column lose its type."""
    index = table.schema.get_field_index("language")
    return table.set_column(index, "language", pa.nulls(len(table)))


LAYOUT: list[tuple[str, Callable[[Path], object], set[str], str]] = [
    (
        "no table directory",
        lambda dst: shutil.rmtree(dst / "boundaries"),
        {"layout.tables", "layout.plain", "boundaries.rows"},
        "boundaries/",
    ),
    (
        "stray file",
        lambda dst: shutil.copy(dst / "chunks" / BUCKET, dst / "chunks" / "part-0.parquet"),
        {"layout.file_name"},
        "chunks/part-0.parquet",
    ),
    (
        "bucket out of range",
        lambda dst: shutil.copy(dst / "chunks" / BUCKET, dst / "chunks" / "bucket-00007.parquet"),
        {"layout.file_name"},
        "chunks/bucket-00007.parquet",
    ),
    (
        "partition where there is none",
        lambda dst: shutil.copytree(dst / "documents", dst / "documents" / "by_format=md"),
        {"layout.file_name", "layout.plain", "layout.partition", "documents.unique"},
        f"documents/by_format=md/{BUCKET}",
    ),
    (
        "unsorted",
        lambda dst: recast(dst, "chunks", reverse),
        {"layout.sorted", "chunks.order", "chunks.id", "boundaries.rows"},
        f"chunks/{BUCKET}",
    ),
    (
        "nullable key",
        lambda dst: recast(dst, "boundaries", nullable),
        {"layout.schema"},
        f"boundaries/{BUCKET}",
    ),
    (
        "another type",
        lambda dst: recast(dst, "chunks", widened),
        {"layout.schema"},
        f"chunks/{BUCKET}",
    ),
    (
        "type of nulls",
        lambda dst: recast(dst, "chunks", untyped),
        {"layout.schema"},
        f"chunks/{BUCKET}",
    ),
    (
        "column order",
        lambda dst: recast(dst, "changes", lambda table: table.select(table.column_names[::-1])),
        {"layout.schema"},
        f"changes/run={datasets.FIRST_RUN}/{BUCKET}",
    ),
    (
        "no facts",
        lambda dst: recast(dst, "chunks", lambda table: table.replace_schema_metadata(None)),
        {"layout.facts"},
        f"chunks/{BUCKET}",
    ),
    (
        "other facts",
        lambda dst: recast(
            dst,
            "chunks",
            lambda table: table.replace_schema_metadata(
                {**table.schema.metadata, b"chunkmill.n_buckets": b"3"}
            ),
        ),
        {"layout.facts"},
        f"chunks/{BUCKET}",
    ),
    (
        "damaged file",
        lambda dst: (dst / "chunks" / BUCKET).write_bytes(b"PAR1 no"),
        {"layout.schema", "layout.plain"},
        f"chunks/{BUCKET}",
    ),
    (
        "wrong bucket",
        lambda dst: swap(dst / "documents"),
        {
            "layout.bucket",
            "layout.plain",
            "chunks.coverage",
            "chunks.document",
            "boundaries.rows",
            "documents.counts",
            "documents.stale",
            "documents.version",
        },
        f"documents/{BUCKET}",
    ),
    (
        "no versions",
        lambda dst: shutil.rmtree(dst / VERSIONS),
        {"layout.chain"},
        f"{VERSIONS}/",
    ),
    (
        "gap in the chain",
        skip_version,
        {"layout.chain"},
        f"{VERSIONS}/",
    ),
    (
        "runs out of order",
        lambda dst: edit_version(dst, 1, run_id="00000009-20260101T000000Z"),
        {"layout.chain", "layout.plain"},
        f"{VERSIONS}/",
    ),
    (
        "old plain file",
        lambda dst: pq.write_table(
            pq.ParquetFile(dst / "chunks" / BUCKET).read(),
            dst / "chunks" / BUCKET,
            compression="zstd",
        ),
        {"layout.plain"},
        f"chunks/{BUCKET}",
    ),
    (
        "plain changes missing",
        lambda dst: shutil.rmtree(dst / "changes" / f"run={datasets.SECOND_RUN}"),
        {"layout.plain", "changes.replay"},
        "_chunkmill/bucket-00001.parquet",
    ),
]


def swap(folder: Path) -> None:
    """Exchange the files of the two buckets."""
    one, two, aside = folder / BUCKET, folder / "bucket-00001.parquet", folder / "aside"
    one.rename(aside)
    two.rename(one)
    aside.rename(two)


@pytest.mark.parametrize(
    ("edit", "laws", "file"), [case[1:] for case in LAYOUT], ids=[case[0] for case in LAYOUT]
)
def test_broken_layout(
    dst: Path, edit: Callable[[Path], object], laws: set[str], file: str
) -> None:
    """What is wrong with the files is reported, with the file."""
    edit(dst)
    report = check(dst)
    assert set(report.violated) == laws, shown(report)
    assert file in {finding.file for finding in report.findings}, shown(report)


def test_wrong_partition(tmp_path: Path) -> None:
    """A file under another partition value is reported."""
    dst = datasets.write(datasets.harbour(partition_by="format"), tmp_path / "work")
    for table in ("documents", "chunks", "boundaries"):
        (dst / table / "by_format=md").rename(dst / table / "by_format=adoc")
    report = check(dst)
    assert set(report.violated) == {"layout.partition", "layout.plain"}, shown(report)


def test_placeholder_of_an_empty_table(tmp_path: Path) -> None:
    """A dataset without one chunk is right when every table has a file without rows."""
    data = datasets.harbour()
    for key in list(data.docs):
        if key not in ("broken.pdf", "empty.txt"):
            del data.docs[key]
    data.changes = {datasets.FIRST_RUN: []}
    dst = datasets.write(data, tmp_path / "work")
    facts = {"schema_version": "1", "n_buckets": "2"}
    datasets.write_placeholder(dst / "changes" / f"run={datasets.FIRST_RUN}" / BUCKET, facts)
    report = check(dst)
    assert report.clean, shown(report)


# ------------------------------------------------------------------ sources


def test_source_documents_without_a_row(dst: Path) -> None:
    """A source document without a row is a violation, but for a limited run."""
    (dst.parent / "src" / ".hidden").write_text("hidden ones count too")
    report = check(dst)
    assert report.violated == {"source.missing": 1}
    assert report.findings[0].source_key == ".hidden"
    limited = check(dst, limited=True)
    assert limited.clean
    assert any("1 source documents" in notice for notice in limited.notices)


def test_rows_without_a_source(dst: Path) -> None:
    """A row without a source document is a violation, but where deletions are kept."""
    (dst.parent / "src" / "twins.txt").unlink()
    report = check(dst)
    assert report.violated == {"source.unknown": 1}
    assert report.findings[0].source_key == "twins.txt"
    assert check(dst, deleted_kept=True).clean


def test_listing_rules(dst: Path) -> None:
    """What is no document, what is excluded and the dataset itself are not listed."""
    src = dst.parent / "src"
    for name in (".DS_Store", "Thumbs.db", "deep/~$lock.docx", "deep/skip.log"):
        (src / name).write_bytes(b"x")
    inside = src / "out"
    shutil.move(dst, inside)
    report = verify(str(inside), str(src), options=Options(readers=False, exclude=("*.log",)))
    assert report.clean, shown(report)


def test_glob_source(dst: Path) -> None:
    """A glob lists what matches; the other rows are then of no source."""
    src = dst.parent / "src"
    report = verify(str(dst), f"{src}/**/*.txt", options=QUICK)
    unknown = {f.source_key for f in report.findings if f.law == "source.unknown"}
    assert unknown == {"guide.md", "broken.pdf"}


def test_include(dst: Path) -> None:
    """Included globs narrow the listing as the run's do."""
    report = check(dst, include=("*.md", "deep/**"))
    unknown = {f.source_key for f in report.findings}
    assert unknown == {"twins.txt", "stale.txt", "broken.pdf", "empty.txt"}


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    """Bytes of a name that are not UTF-8 stand percent-encoded in its key."""
    data = datasets.harbour()
    data.docs["gr%FCn.txt"] = datasets.document(
        "gr%FCn.txt", b"", status="skipped", error_kind="empty"
    )
    dst = datasets.write(data, tmp_path / "work")
    src = dst.parent / "src"
    (src / "gr%FCn.txt").rename(Path(f"{src}/gr\udcfcn.txt"))
    report = check(dst)
    assert report.clean, shown(report)


def test_table_source(tmp_path: Path) -> None:
    """A table of texts: keys are ids, versions the hashes of the texts."""
    data = datasets.harbour()
    for key in list(data.docs):
        if key not in ("guide.md", "twins.txt"):
            del data.docs[key]
    dst = datasets.write(data, tmp_path / "work")
    table = dst.parent / "table.jsonl"
    rows = [{"id": doc.key, "text": doc.source.decode()} for doc in data.docs.values()]
    table.write_text("\n".join(json.dumps(row) for row in rows))
    assert verify(str(dst), str(table), options=QUICK).clean
    rows[0]["text"] += "!"
    table.write_text("\n".join(json.dumps(row) for row in rows))
    report = verify(str(dst), str(table), options=QUICK)
    assert set(report.violated) == {"source.size", "source.version"}


def test_named_source(tmp_path: Path) -> None:
    """Of several sources, the named one is compared and the others' rows are left alone."""
    data = datasets.harbour()
    data.facts["sources"] = {"extra": "/elsewhere"}
    other = datasets.document("extra/a.txt", b"", status="skipped", error_kind="empty")
    data.docs["extra/a.txt"] = other
    dst = datasets.write(data, tmp_path / "work")
    extra = dst.parent / "src" / "extra"
    shutil.move(extra, dst.parent / "elsewhere")
    assert check(dst).clean
    named = verify(
        str(dst), str(dst.parent / "elsewhere"), options=Options(readers=False, source_name="extra")
    )
    assert named.clean, shown(named)


@pytest.mark.s3
def test_s3(dst: Path, moto: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dataset and source in S3 are read like those on disk."""
    for name, value in moto.environment.items():
        monkeypatch.setenv(name, value)
    bucket, client = moto.make_bucket(), moto.client()
    for path in (p for p in dst.parent.rglob("*") if p.is_file()):
        key = f"at work/{path.relative_to(dst.parent)}"
        client.put_object(Bucket=bucket, Key=key, Body=path.read_bytes())
    options = Options(endpoint_url=moto.endpoint)
    urls = f"s3://{bucket}/at work/dst", f"s3://{bucket}/at work/src"
    report = verify(*urls, options=options)
    assert report.clean, shown(report)
    assert report.checked == {**check(dst, options).checked}
    client.put_object(Bucket=bucket, Key="at work/src/new.txt", Body=b"new")
    assert verify(*urls, options=options).violated == {"source.missing": 1}


# ------------------------------------------------------------------ command line


def test_command_line(dst: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """0 and a summary where nothing is wrong; 1 and one line per violation where it is."""
    arguments = [str(dst), str(dst.parent / "src")]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "checked chunks.slice: 22" in out
    assert out.splitlines()[-1].endswith("no violation, 0 warnings")
    (dst.parent / "src" / "new.txt").write_text("new")
    assert main(arguments) == 1
    lines = capsys.readouterr().out.splitlines()
    doc_id = datasets.h("new.txt")
    told = "the source document has no row"
    violation = f'VIOLATION source.missing document="new.txt" doc_id={doc_id}: {told}'
    assert [line for line in lines if line.startswith("VIOLATION")] == [violation]


def test_json(dst: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report as JSON says the same."""
    (dst.parent / "src" / "new.txt").write_text("new")
    assert main([str(dst), str(dst.parent / "src"), "--no-readers", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["clean"] is False
    assert report["violated"] == {"source.missing": 1}
    assert report["findings"][0]["source_key"] == "new.txt"
    assert report["words"]["md"]["median"] == 1.0


def test_findings_are_bounded(dst: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of many violations of one law, so many are shown as asked for; all are counted."""
    for n in range(9):
        (dst.parent / "src" / f"new{n}.txt").write_text("new")
    arguments = [str(dst), str(dst.parent / "src"), "--no-readers", "--max-violations", "3"]
    assert main(arguments) == 1
    out = capsys.readouterr().out
    assert out.count("VIOLATION source.missing document=") == 3
    assert "VIOLATION source.missing: 6 more not shown" in out
    assert "9 violations" in out


def test_sample(dst: Path) -> None:
    """A sample leaves costly laws out, never the others."""
    report = check(dst, sample=1e-9)
    assert "chunks.n_tokens" not in report.checked
    assert report.checked["chunks.slice"] == check(dst).checked["chunks.slice"]


@pytest.mark.parametrize("what", ["missing", "empty", "not json", "no source"])
def test_no_dataset(tmp_path: Path, what: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is no dataset, and a source that is not there, are one line and exit code 2."""
    dst = tmp_path / "dst"
    arguments = [str(dst)]
    if what == "no source":
        datasets.write(datasets.harbour(), tmp_path)
        arguments.append(str(tmp_path / "nowhere"))
    elif what != "missing":
        (dst / "_chunkmill").mkdir(parents=True)
    if what == "not json":
        (dst / "_chunkmill" / "dataset.json").write_text("[")
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("chunkmill verify: ")
    assert len(error.splitlines()) == 1
    with pytest.raises(NotADatasetError):
        verify(*arguments)


def test_script_needs_no_package(dst: Path, tmp_path: Path) -> None:
    """The script runs the module by its path, in another folder, and imports nothing of ours."""
    script = CHECKOUT / "scripts" / "check_dataset.py"
    code = (
        "import runpy, sys\n"
        "for name in ('chunking', 'jobs'):\n"
        "    sys.modules[name] = None\n"
        f"sys.argv = ['check', {str(dst)!r}, {str(dst.parent / 'src')!r}]\n"
        f"runpy.run_path({str(script)!r}, run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].endswith("no violation, 0 warnings")


def test_every_law_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """The laws can be listed."""
    with pytest.raises(SystemExit) as ended:
        main(["--laws"])
    assert ended.value.code == 0
    assert len(capsys.readouterr().out.splitlines()) == len(LAWS)
