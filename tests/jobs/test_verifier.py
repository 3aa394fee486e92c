"""The verifier finds each law broken, where it is broken, and nothing else."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from jobs.verifier import LAWS, Options, Report, verify
from tests import datasets

QUICK = Options(readers=False)
ROOT = Path(__file__).resolve().parents[2]
Edit = Callable[[datasets.Data], object]


def check(data: datasets.Data, tmp_path: Path, options: Options = QUICK) -> Report:
    """Write a dataset and verify it with its source."""
    dst = datasets.write(data, tmp_path / "work")
    return verify(str(dst), str(dst.parent / "src"), options=options)


def shown(report: Report) -> str:
    """Return the findings, for a failing test."""
    return "\n".join(finding.line() for finding in report.findings)


# ------------------------------------------------------------------ a right dataset


@pytest.mark.parametrize("partition_by", [None, "format"])
def test_clean(tmp_path: Path, partition_by: str | None) -> None:
    """A dataset that follows the contract has no violation and no warning."""
    report = check(datasets.harbour(partition_by=partition_by), tmp_path)
    assert report.clean, shown(report)
    assert report.exit_code == 0
    assert not report.warned, shown(report)
    assert not report.notices
    unmet = [law for law in LAWS if not report.checked.get(law)]
    assert unmet == [f"readers.{name}" for name in ("pyarrow", "duckdb", "polars", "pandas", "ray")]


@pytest.mark.parametrize("partition_by", [None, "format"])
def test_readers(tmp_path: Path, partition_by: str | None) -> None:
    """Four readers open the plain directories, partitioned or not."""
    options = Options(words=False)
    report = check(datasets.harbour(partition_by=partition_by), tmp_path, options)
    assert report.clean, shown(report)
    for name in ("pyarrow", "duckdb", "polars", "pandas"):
        assert report.checked[f"readers.{name}"] == 4


@pytest.mark.ray
@pytest.mark.usefixtures("local_ray")
@pytest.mark.slow
def test_ray_reads(tmp_path: Path) -> None:
    """Ray, where it runs already, opens the plain directories and is left running."""
    import ray  # noqa: PLC0415 - slow to import

    report = check(datasets.harbour(), tmp_path, Options(ray=True, words=False))
    assert report.clean, shown(report)
    assert report.checked["readers.ray"] == 4
    assert ray.is_initialized()


@pytest.mark.parametrize(
    ("matching", "counts"),
    [
        ({"format": "md", "glob": None}, True),
        ({"format": None, "glob": "*.md"}, True),
        ({"format": "md", "glob": "guide.*"}, True),
        ({"format": "pdf", "glob": "*.md"}, False),
        ({"format": None, "glob": "deep/*"}, False),
    ],
)
def test_a_document_is_held_to_the_cap_of_its_override(
    tmp_path: Path, *, matching: dict[str, str | None], counts: bool
) -> None:
    """The first override that matches a document gives the cap that its chunks must hold."""
    data = datasets.harbour()
    chunking = data.facts["chunking"]
    tight = {**chunking, **matching, "max_tokens": 16, "min_tokens": 0}
    chunking["overrides"] = [tight, {**tight, "max_tokens": 10_000}]
    report = check(data, tmp_path, Options(readers=False, words=False))
    broken = {finding.source_key for finding in report.findings if finding.law == "chunks.cap"}
    assert ("guide.md" in broken) == counts


# ------------------------------------------------------------------ each law broken in rows


def guide(data: datasets.Data) -> datasets.Doc:
    """Return the document with all kinds of blocks."""
    return data.docs["guide.md"]


def prose(data: datasets.Data) -> datasets.Doc:
    """Return the document with one paragraph in two chunks."""
    return data.docs["deep/prose.txt"]


def row(key: str, /, **values: object) -> Edit:
    """Return an edit of a document's row."""
    return lambda data: data.docs[key].row.update(values)


def chunk(number: int, /, **values: object) -> Edit:
    """Return an edit of a chunk row of the guide."""
    return lambda data: guide(data).chunks[number].update(values)


def boundary(number: int, /, **values: object) -> Edit:
    """Return an edit of a boundary row of the guide."""
    return lambda data: guide(data).boundaries[number].update(values)


def block(kind: str, /, **values: object) -> Edit:
    """Return an edit of a block of the guide."""
    return lambda data: guide(data).block(kind).update(values)


def unit(number: int, /, **values: object) -> Edit:
    """Return an edit of a stored unit of the guide."""
    return lambda data: guide(data).units[number].update(values)


def prefix(number: int, text: str) -> Edit:
    """Return an edit of a chunk's prefix, with its count."""

    def edit(data: datasets.Data) -> None:
        guide(data).chunks[number]["prefix"] = text
        guide(data).settle()

    return edit


def wrong_letter(data: datasets.Data) -> None:
    """Change one letter of a chunk's text, with a new id and count."""
    first = guide(data).chunks[0]
    first["text"] = first["text"].replace("six", "ten")
    guide(data).settle()


def wrong_key(data: datasets.Data) -> None:
    """Name a document otherwise, without a new id."""
    doc = data.docs["twins.txt"]
    doc.row["source_key"] = "other.txt"
    for one in doc.chunks:
        one["source_key"] = "other.txt"


def lose_words(data: datasets.Data) -> None:
    """Narrow a chunk so that its last word lies in none."""
    doc = guide(data)
    end = doc.chunks[1]["end_char"]
    doc.move(1, doc.chunks[1]["start_char"], end - len(" accepted."))
    doc.boundaries[1]["reason"] = doc.chunks[1]["split_reason"] = "separator"


def overlap(data: datasets.Data) -> None:
    """Let a chunk begin inside the one before."""
    doc = prose(data)
    doc.move(1, doc.chunks[1]["start_char"] - 5, doc.chunks[1]["end_char"])
    doc.units.clear()
    doc.row["sentences_ref"] = None


def same_ordinal(data: datasets.Data) -> None:
    """Give two equal texts one id."""
    doc = data.docs["twins.txt"]
    doc.chunks[1]["chunk_id"] = doc.boundaries[1]["chunk_id"] = doc.chunks[0]["chunk_id"]
    data.feed()
    rows = data.changes[datasets.FIRST_RUN]
    rows[:] = {r["chunk_id"]: r for r in rows}.values()


def cut_row(data: datasets.Data) -> None:
    """Move the edge between two chunks of the table into a row."""
    doc = guide(data)
    edge = doc.chunks[3]["end_char"] - len(" 3 | 411 |")
    doc.move(3, doc.chunks[3]["start_char"], edge)
    doc.move(4, edge, doc.chunks[4]["end_char"])
    doc.row["sentences_ref"] = None


def cut_code(data: datasets.Data) -> None:
    """Divide a code block, inside a line, though it fits."""
    split_chunk(data, 5, '("ahoy")')


def split_chunk(data: datasets.Data, number: int, at: str) -> None:
    """Divide a chunk of the guide before a text."""
    doc = guide(data)
    first = doc.chunks[number]
    edge = first["start_char"] + first["text"].index(at)
    second = {**first, "start_char": edge}
    first["end_char"] = edge
    doc.chunks.insert(number + 1, second)
    doc.boundaries.insert(number + 1, dict(doc.boundaries[number]))
    doc.boundaries[number]["reason"] = first["split_reason"] = "separator"
    for one in (first, second):
        start, end = one["start_char"], one["end_char"]
        one["text"] = doc.text[start:end]
        blocks = [b for b in doc.row["blocks"] if b["start"] < end and b["end"] > start]
        kinds = {b["kind"] for b in blocks}
        bodies = kinds - {"title", "heading"} or kinds
        one["kind"] = "mixed" if len(bodies) > 1 else bodies.pop()
        one["heading_path"] = blocks[0]["heading_path"]
    second["prefix"] = "".join(f"{name}\n" for name in second["heading_path"])
    doc.row["sentences_ref"] = None
    doc.settle()


def split_code_lines(data: datasets.Data) -> None:
    """Divide a code block between its lines, though it fits."""
    split_chunk(data, 5, "print")


def heading_last(data: datasets.Data) -> None:
    """Let a chunk end in a heading."""
    split_chunk(data, 1, "Fees are due")


def no_table_header(data: datasets.Data) -> None:
    """Leave the header out of the prefix of a table continuation."""
    doc = guide(data)
    doc.chunks[3]["prefix"] = ""
    doc.settle()
    doc.row["sentences_ref"] = None


def outer_heading_kept(data: datasets.Data) -> None:
    """Leave out the inner heading, but keep the outer one."""
    prefix(2, "Harbour guide\n")(data)


def other_vector(data: datasets.Data) -> None:
    """Give a chunk the vector of another."""
    doc = guide(data)
    doc.chunks[0]["embedding"] = doc.chunks[1]["embedding"]


def no_window_hash(data: datasets.Data) -> None:
    """Give all units of a document one thing that is no hash."""
    for one in guide(data).units:
        one["window_hash"] = "1"


def no_unit_file(data: datasets.Data) -> None:
    """Name a sentence file that is not there."""
    data.docs["twins.txt"].units.clear()


def two_rows(data: datasets.Data) -> None:
    """Give a document a second row."""
    doc = data.docs["twins.txt"]
    data.docs["again"] = dataclasses.replace(doc, chunks=[], boundaries=[], units=[])
    data.feed()


def no_row(data: datasets.Data) -> None:
    """Write the source of a document that has no row."""
    data.docs["broken.pdf"].row = {}


def lost_text(data: datasets.Data) -> None:
    """Let the source say much that the text does not."""
    doc = prose(data)
    extra = " ".join(f"lostword{n}" for n in range(40)).encode()
    doc.source += b"\n" + extra
    version = hashlib.sha256(doc.source).hexdigest()
    doc.row |= {"doc_version": version, "size_bytes": len(doc.source)}
    for other in (*doc.chunks, *doc.boundaries, *doc.units):
        other["doc_version"] = version


def feed(run: str, number: int, **values: object) -> Edit:
    """Return an edit of a change row."""
    return lambda data: data.feed()[run][number].update(values)


def forget_change(data: datasets.Data) -> None:
    """Leave a published chunk out of the feed."""
    del data.feed()[datasets.FIRST_RUN][0]


def extra_change(data: datasets.Data) -> None:
    """Leave the deletion of a chunk out of the feed."""
    data.feed()[datasets.SECOND_RUN].pop()


def change_twice(data: datasets.Data) -> None:
    """Change a chunk twice in a run."""
    rows = data.feed()[datasets.FIRST_RUN]
    rows.append(dict(rows[0]))


def start_of(number: int) -> Callable[[datasets.Data], int]:
    """Return where a chunk of the guide starts."""
    return lambda data: int(guide(data).chunks[number]["start_char"])


def end_of(number: int) -> Callable[[datasets.Data], int]:
    """Return where a chunk of the guide ends."""
    return lambda data: int(guide(data).chunks[number]["end_char"])


def at_block(kind: str) -> Callable[[datasets.Data], int]:
    """Return where a block of the guide starts."""
    return lambda data: int(guide(data).block(kind)["start"])


def at_text(text: str) -> Callable[[datasets.Data], int]:
    """Return where a text stands in the guide."""
    return lambda data: guide(data).text.index(text)


def nowhere(data: datasets.Data) -> None:
    """Say that the law has no offset."""
    del data


G, P, T, S = "guide.md", "deep/prose.txt", "twins.txt", "stale.txt"
CASES: list[tuple[str, Edit, set[str], str | None, Callable[[datasets.Data], int | None]]] = [
    ("another key", wrong_key, {"documents.id", "source.unknown"}, None, nowhere),
    ("two rows", two_rows, {"documents.unique"}, T, nowhere),
    ("unknown status", row(T, status="fine"), {"documents.status"}, T, nowhere),
    (
        "unknown kind",
        row("broken.pdf", error_kind="odd"),
        {"documents.status"},
        "broken.pdf",
        nowhere,
    ),
    (
        "failed without kind",
        row("broken.pdf", error_kind=None),
        {"documents.status"},
        "broken.pdf",
        nowhere,
    ),
    ("ok with kind", row(T, error_kind="corrupt"), {"documents.status"}, T, nowhere),
    ("ok to be retried", row(T, retryable=True), {"documents.status"}, T, nowhere),
    ("failed with chunks", row(S, stale=False), {"documents.stale", "source.version"}, S, nowhere),
    ("stale but ok", row(T, stale=True), {"documents.stale"}, T, nowhere),
    (
        "stale without chunks",
        row("broken.pdf", stale=True),
        {"documents.stale"},
        "broken.pdf",
        nowhere,
    ),
    (
        "version of nothing",
        row("broken.pdf", doc_version="0" * 64),
        {"documents.version", "source.version"},
        "broken.pdf",
        nowhere,
    ),
    (
        "version no hash",
        row("broken.pdf", doc_version="1"),
        {"documents.version", "source.version"},
        "broken.pdf",
        nowhere,
    ),
    ("n_chars", row(G, n_chars=3), {"documents.counts"}, G, nowhere),
    ("n_chunks", row(G, n_chunks=3), {"documents.counts"}, G, nowhere),
    (
        "n_tokens of a document",
        row(T, n_tokens=7, sentences_ref=None),
        {"documents.n_tokens", "sentences.file"},
        T,
        nowhere,
    ),
    (
        "bad uri",
        row("empty.txt", source_uri="file:///a b"),
        {"documents.values"},
        "empty.txt",
        nowhere,
    ),
    (
        "bad language",
        row("empty.txt", language="English"),
        {"documents.values"},
        "empty.txt",
        nowhere,
    ),
    ("no attempt", row("broken.pdf", attempts=0), {"documents.values"}, "broken.pdf", nowhere),
    (
        "seconds",
        row("empty.txt", parse_seconds=float("nan")),
        {"documents.values"},
        "empty.txt",
        nowhere,
    ),
    ("size", row("empty.txt", size_bytes=5), {"source.size"}, "empty.txt", nowhere),
    (
        "block index",
        block("code", index=5),
        {"blocks.tiling"},
        G,
        lambda d: at_block("code")(d) - 2,
    ),
    (
        "block gap",
        lambda d: guide(d).block("paragraph").update(end=guide(d).block("paragraph")["end"] - 1),
        {"blocks.tiling"},
        G,
        lambda d: guide(d).block("paragraph")["end"],
    ),
    ("block kind", block("caption", kind="legend"), {"blocks.kind"}, G, at_block("legend")),
    ("block level", block("caption", level=2), {"blocks.kind"}, G, at_block("caption")),
    ("heading level", block("heading", level=None), {"blocks.kind"}, G, at_block("heading")),
    (
        "heading path",
        block("code", heading_path=["Fees"]),
        {"blocks.heading_path"},
        G,
        at_block("code"),
    ),
    (
        "row starts",
        lambda d: guide(d).block("table")["row_starts"].pop(),
        {"blocks.table"},
        G,
        at_block("table"),
    ),
    ("rows of prose", block("caption", row_starts=[1]), {"blocks.table"}, G, at_block("caption")),
    (
        "language of prose",
        block("caption", code_language="c"),
        {"blocks.code"},
        G,
        at_block("caption"),
    ),
    (
        "pages backwards",
        block("caption", page_start=2, page_end=1),
        {"blocks.pages", "chunks.pages"},
        G,
        at_block("caption"),
    ),
    ("wrong letter", wrong_letter, {"chunks.slice"}, G, start_of(0)),
    (
        "blank span",
        lambda d: guide(d).chunks[0].update(end_char=0),
        {"chunks.slice", "chunks.coverage", "boundaries.position"},
        G,
        start_of(0),
    ),
    ("lost words", lose_words, {"chunks.coverage"}, G, at_text("accepted.\n\nBerths")),
    ("lost chunk", lambda d: guide(d).drop(0), {"chunks.coverage"}, G, lambda _: 0),
    (
        "overlap",
        overlap,
        {"chunks.order", "sentences.file"},
        P,
        lambda d: prose(d).chunks[1]["start_char"],
    ),
    ("chunk index", chunk(2, chunk_index=7), {"chunks.order"}, G, start_of(2)),
    (
        "chunk id",
        lambda d: (
            guide(d).chunks[1].update(chunk_id="0" * 32),
            guide(d).boundaries[1].update(chunk_id="0" * 32),
        ),
        {"chunks.id"},
        G,
        start_of(1),
    ),
    ("one id twice", same_ordinal, {"chunks.id"}, T, lambda d: d.docs[T].chunks[1]["start_char"]),
    ("key of a chunk", chunk(0, source_key="x"), {"chunks.document"}, G, start_of(0)),
    (
        "version of a chunk",
        chunk(0, doc_version="0" * 64),
        {"chunks.document", "changes.version"},
        G,
        start_of(0),
    ),
    ("n_tokens", chunk(1, n_tokens=29), {"chunks.n_tokens"}, G, start_of(1)),
    ("cap", lambda d: d.facts["chunking"].update(max_tokens=42), {"chunks.cap"}, G, start_of(4)),
    ("prefix end", prefix(3, "| Berth | Vessel | Tonnage |"), {"chunks.prefix"}, G, start_of(3)),
    ("prefix words", prefix(5, "Harbour guide\nSecrets\n"), {"chunks.prefix"}, G, start_of(5)),
    ("outer heading kept", outer_heading_kept, {"chunks.prefix"}, G, start_of(2)),
    ("kind", chunk(1, kind="paragraph"), {"chunks.kind"}, G, start_of(1)),
    ("code language", chunk(5, code_language="perl"), {"chunks.kind"}, G, start_of(5)),
    (
        "heading path of a chunk",
        chunk(5, heading_path=["Scripts"]),
        {"chunks.heading_path"},
        G,
        start_of(5),
    ),
    (
        "pages of a chunk",
        lambda d: prose(d).chunks[0].update(page_start=2),
        {"chunks.pages"},
        P,
        lambda _: 0,
    ),
    (
        "box",
        lambda d: prose(d).chunks[0]["boxes"][0].update(page=4),
        {"chunks.pages"},
        P,
        lambda _: 0,
    ),
    ("strategy", chunk(0, boundaries="auto"), {"chunks.values"}, G, start_of(0)),
    ("vector mode", chunk(0, vectors="chunk"), {"chunks.values"}, G, start_of(0)),
    (
        "cut row",
        cut_row,
        {"chunks.row_cut", "sentences.file"},
        G,
        lambda d: guide(d).chunks[3]["end_char"],
    ),
    (
        "cut code line",
        cut_code,
        {"chunks.row_cut", "chunks.block_split", "sentences.file"},
        G,
        at_text('("ahoy")'),
    ),
    ("split code", split_code_lines, {"chunks.block_split", "sentences.file"}, G, at_block("code")),
    (
        "heading last",
        heading_last,
        {"chunks.heading_last", "sentences.file"},
        G,
        at_block("heading"),
    ),
    ("no table header", no_table_header, {"chunks.table_header", "sentences.file"}, G, start_of(3)),
    ("no vector", chunk(0, embedding=None), {"chunks.embedding"}, G, start_of(0)),
    (
        "not finite",
        chunk(0, embedding=[float("nan")] * 8),
        {"chunks.embedding", "sentences.pooling"},
        G,
        start_of(0),
    ),
    (
        "not of unit length",
        chunk(0, embedding=[1.0] * 8),
        {"chunks.embedding", "sentences.pooling"},
        G,
        start_of(0),
    ),
    ("another vector", other_vector, {"sentences.pooling"}, G, start_of(0)),
    ("no boundary", lambda d: guide(d).boundaries.pop(), {"boundaries.rows"}, G, start_of(5)),
    ("version of a boundary", boundary(0, doc_version="0" * 64), {"boundaries.rows"}, G, end_of(0)),
    (
        "position",
        lambda d: guide(d).boundaries[0].update(position=5),
        {"boundaries.position"},
        G,
        lambda _: 5,
    ),
    ("reason", boundary(2, reason="separator"), {"boundaries.reason"}, G, end_of(2)),
    (
        "early end",
        lambda d: (boundary(0, reason="document_end")(d), chunk(0, split_reason="document_end")(d)),
        {"boundaries.reason"},
        G,
        end_of(0),
    ),
    (
        "no heading follows",
        lambda d: (boundary(1, reason="heading")(d), chunk(1, split_reason="heading")(d)),
        {"boundaries.reason"},
        G,
        end_of(1),
    ),
    (
        "block goes on",
        lambda d: (boundary(2, reason="block")(d), chunk(2, split_reason="block")(d)),
        {"boundaries.reason"},
        G,
        end_of(2),
    ),
    (
        "below the threshold",
        lambda d: prose(d).boundaries[0].update(distance=0.25),
        {"boundaries.distance"},
        P,
        lambda d: prose(d).chunks[0]["end_char"],
    ),
    ("distance", boundary(0, distance=3.5), {"boundaries.distance"}, G, end_of(0)),
    ("no sentence file", no_unit_file, {"sentences.file"}, T, nowhere),
    ("units disorder", unit(1, start_char=0), {"sentences.spans"}, G, lambda _: 0),
    ("units of another version", unit(0, doc_version="0" * 64), {"sentences.spans"}, G, nowhere),
    (
        "unit too large",
        lambda d: (unit(0, n_tokens=65)(d), row(G, n_tokens=guide(d).row["n_tokens"] + 63)(d)),
        {"sentences.n_tokens", "documents.n_tokens", "sentences.pooling"},
        G,
        nowhere,
    ),
    (
        "units do not add up",
        unit(0, n_tokens=3),
        {"sentences.n_tokens", "sentences.pooling"},
        G,
        nowhere,
    ),
    (
        "tokens of a neighbour",
        lambda d: (unit(0, n_tokens=1)(d), unit(1, n_tokens=guide(d).units[1]["n_tokens"] + 1)(d)),
        {"sentences.n_tokens", "sentences.pooling"},
        G,
        lambda _: 0,
    ),
    (
        "unit vector",
        unit(0, vector=np.full(8, np.nan, np.float16)),
        {"sentences.values", "sentences.pooling"},
        G,
        lambda _: 0,
    ),
    ("window hash", no_window_hash, {"sentences.values"}, G, lambda _: 0),
    ("several windows", unit(0, window_hash="0" * 32), {"chunks.values"}, G, start_of(0)),
    ("unknown op", feed(datasets.SECOND_RUN, 1, op="remove"), {"changes.rows"}, None, nowhere),
    ("changed twice", change_twice, {"changes.once"}, None, nowhere),
    ("not in the feed", forget_change, {"changes.replay"}, None, nowhere),
    ("too much in the feed", extra_change, {"changes.replay"}, None, nowhere),
    (
        "version in the feed",
        feed(datasets.SECOND_RUN, 0, doc_version="0" * 64),
        {"changes.version"},
        None,
        nowhere,
    ),
    (
        "new without vector",
        feed(datasets.FIRST_RUN, 1, vector_changed=False),
        {"changes.vector"},
        None,
        nowhere,
    ),
    (
        "source changed",
        lambda d: setattr(prose(d), "source", b"Other words, other bytes."),
        {"source.size", "source.version"},
        P,
        nowhere,
    ),
    ("lost text", lost_text, {"words.recall"}, P, nowhere),
    ("facts", lambda d: d.facts["model"].pop("pooling"), {"layout.dataset_json"}, None, nowhere),
    ("no preset", lambda d: d.facts.pop("fingerprint"), {"layout.dataset_json"}, None, nowhere),
]


@pytest.mark.parametrize(
    ("edit", "laws", "key", "offset"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_broken_row(
    tmp_path: Path,
    edit: Edit,
    laws: set[str],
    key: str | None,
    offset: Callable[[datasets.Data], int | None],
) -> None:
    """Exactly the broken law is reported, with the document and the offset."""
    data = datasets.harbour()
    edit(data)
    report = check(data, tmp_path)
    assert set(report.violated) == laws, shown(report)
    assert report.exit_code == 1
    if key is not None:
        doc_id = data.docs[key].row["doc_id"]
        wanted = (key, doc_id, offset(data))
        places = [(f.source_key, f.doc_id, f.offset) for f in report.findings]
        assert wanted in places, shown(report)
        assert {place[1] for place in places} == {doc_id}


# ------------------------------------------------------------------ documents in documents


def with_members(**values: object) -> tuple[datasets.Data, str, str]:
    """Return a dataset with an archive and two members; the keys of these, one of them strayed.

    The first lies in the archive's bucket, as it should; the second in the bucket of its own
    id. ``values`` override columns of the first.
    """
    data = datasets.harbour()
    skipped = {"status": "skipped", "error_kind": "no_text", "format": "zip"}

    def bucket(key: str) -> int:
        return int(datasets.h(key)[:8], 16) % 2

    keys = [f"box.zip!/{i}" for i in range(50)]
    near = next(key for key in keys if bucket(key) == bucket("box.zip"))
    far = next(key for key in keys if bucket(key) != bucket("box.zip"))
    member = {
        **skipped,
        "parent_doc_id": datasets.h("box.zip"),
        "source_uri": f"file:///source/{near}",
    }
    docs = [
        datasets.document("box.zip", b"zip", **skipped),
        datasets.document(near, b"one", **{**member, **values}),
    ]
    for doc in docs:
        doc.settle()
        data.docs[doc.key] = doc
    return data, near, far


def test_members_lie_beside_what_they_came_in(tmp_path: Path) -> None:
    """A member in the bucket of its archive is right; one in that of its own id is not."""
    data, _, far = with_members()
    report = check(data, tmp_path)
    assert report.clean, shown(report)
    parent = {"parent_doc_id": datasets.h("box.zip")}
    data.docs[far] = datasets.document(
        far, b"two", status="skipped", error_kind="no_text", **parent
    )
    report = check(data, tmp_path)
    assert set(report.violated) == {"documents.members", "layout.bucket"}, shown(report)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"parent_doc_id": "0" * 32}, "its parent has no row here"),
        ({"source_uri": "file:///source/box.zip!/"}, "source_uri 'file:///source/box.zip!/'"),
        ({"source_uri": "file:///source/elsewhere"}, "source_uri 'file:///source/elsewhere'"),
    ],
)
def test_members_that_came_in_nothing(tmp_path: Path, values: dict[str, object], text: str) -> None:
    """A parent without a row, and a key or URI that is not below the parent's, are told."""
    data, near, _ = with_members(**values)
    report = check(data, tmp_path)
    assert "documents.members" in report.violated, shown(report)
    found = [f for f in report.findings if f.law == "documents.members"]
    assert {finding.source_key for finding in found} == {near}
    assert text in found[0].message
