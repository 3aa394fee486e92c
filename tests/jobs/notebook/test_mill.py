from __future__ import annotations

import gc
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from numpy.typing import NDArray

from chunking import ids, schemas
from chunking.errors import ConfigError, DocumentError, ModelError, SourceError
from chunking.pooling import TokenRange
from jobs.adapters import embedders
from jobs.adapters.hash_embedder import HashEmbedder
from jobs.config import ChunkingConfig, Config, ModelConfig
from jobs.notebook import Chunkmill
from jobs.parsing import pool
from jobs.stages.embed import EmbedStage
from tests.inspected import MODEL, parsed_text, prose, tables
from tests.job_runs import CHECKOUT
from tests.sample_files import SAMPLES


@pytest.fixture(scope="module")
def mill() -> Iterator[Chunkmill]:
    """Return a mill with the hashing test double."""
    with Chunkmill(MODEL, boundaries="semantic") as made:
        yield made


@dataclass
class Counting:
    """An embedder that notes what the model is asked for."""

    real: HashEmbedder
    windows: list[int] = field(default_factory=list)
    texts: list[int] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        """Pass everything else on."""
        return getattr(self.real, name)

    def window_means(
        self, windows: Sequence[NDArray[np.uint32]], ranges: Sequence[Sequence[TokenRange]]
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Note the number of windows."""
        self.windows.append(len(windows))
        return self.real.window_means(windows, ranges)

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Note the number of texts."""
        self.texts.append(len(texts))
        return self.real.embed_texts(texts)


def _counting(mill: Chunkmill) -> Counting:
    counting = Counting(HashEmbedder(mill.config.model))
    mill._embedder = counting
    return counting


def _run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).wait(10) is not psutil.STATUS_RUNNING
    except psutil.NoSuchProcess:
        return True


def test_importing_it_loads_nothing_heavy() -> None:
    """No model, parser, engine, store client or data frame comes with the import."""
    program = "import sys, jobs.notebook; print(*{name.partition('.')[0] for name in sys.modules})"
    heavy = {"boto3", "docling", "pandas", "ray", "sentence_transformers", "torch", "transformers"}
    assert set(_run(program).split()) & heavy == set()


def test_a_file_becomes_chunks(mill: Chunkmill) -> None:
    """Each chunk is a slice of the text, below the cap, with a reason and a vector."""
    document = mill.parse(SAMPLES / "handbook" / "pilotage.docx")
    assert (document.format, document.key) == ("docx", "pilotage.docx")
    chunks = mill.chunk(document)
    assert len(chunks) > 1
    assert chunks.vectors is not None
    assert chunks.vectors.dtype == np.float32
    assert chunks.vectors.shape == (len(chunks), 16)
    for i, chunk in enumerate(chunks):
        assert chunk.index == i
        assert document.text[chunk.span.start : chunk.span.end] == chunk.text
        assert chunk.n_tokens <= chunks.settings.max_tokens
        assert chunk.reason == chunk.chunk.boundary.reason
        assert chunk.vector is not None
        assert np.array_equal(chunk.vector, chunks.vectors[i])
    assert chunks[1].heading_path == ("Pilotage", "Boarding")
    assert chunks[-1].reason == "document_end"
    assert chunks[0].distance is not None
    assert chunks.threshold == chunks[0].threshold


def test_chunks_equal_those_of_the_job(mill: Chunkmill) -> None:
    """Rows are in the published schema and equal, ids included, to what the stage gives."""
    document = mill.parse(SAMPLES / "tariffs" / "harbour-dues.xlsx")
    stage = EmbedStage(HashEmbedder(mill.config.model), mill.config, fingerprint="f", run_id="r")
    rows = mill.chunk(document).to_arrow()
    assert rows.schema.equals(schemas.chunks_schema(16))
    assert rows.equals(stage([document.parsed]).chunks)
    assert set(rows["doc_id"].to_pylist()) == {ids.doc_id("harbour-dues.xlsx")}


def test_chunking_again_runs_no_model() -> None:
    """Other strategies, sizes and buffers use the vectors of the first pass, with equal result."""
    mill = Chunkmill(MODEL)
    counting = _counting(mill)
    document = parsed_text(prose())
    mill.chunk(document)
    first = sum(counting.windows)
    assert first
    for more in (
        {"boundaries": "fixed", "max_tokens": 100},
        {"boundaries": "semantic", "buffer": 2, "threshold_type": "stddev", "threshold": 1},
        {"boundaries": "optimal"},
        {"vectors": "none", "boundaries": "structural"},
        {},
    ):
        again = mill.chunk(document, **more)
        fresh = Chunkmill(MODEL).chunk(document, **more)
        assert again.to_arrow().equals(fresh.to_arrow())
        assert [chunk.distance for chunk in again] == [chunk.distance for chunk in fresh]
        assert np.array_equal(
            np.zeros(0) if again.distances is None else again.distances,
            np.zeros(0) if fresh.distances is None else fresh.distances,
        )
    assert (sum(counting.windows), sum(counting.texts)) == (first, 0)


def test_chunk_vectors_are_made_when_asked_for() -> None:
    """`chunk` vectors need the model once per chunk, and no window a second time."""
    mill = Chunkmill(MODEL)
    counting = _counting(mill)
    document = parsed_text(prose())
    mill.chunk(document, vectors="none")
    windows = sum(counting.windows)
    chunks = mill.chunk(document, vectors="chunk")
    assert (sum(counting.windows), sum(counting.texts)) == (windows, len(chunks))
    assert {chunk.vector_method for chunk in chunks} == {"chunk"}


def test_a_kernel_without_widgets_is_not_told_to_update(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading the model passes on no warning of tqdm about a bar that is not shown."""

    def warning(config: Config) -> HashEmbedder:
        warnings.warn_explicit("no widgets", UserWarning, "auto.py", 1, module="tqdm.auto")
        return HashEmbedder(config.model)

    monkeypatch.setattr(embedders, "make_embedder", warning)
    assert len(Chunkmill(MODEL).chunk(parsed_text(prose()))) > 0


def test_no_vectors_means_none() -> None:
    """Without vectors there is no array, and the column is null."""
    chunks = Chunkmill(MODEL, vectors="none").chunk(parsed_text(prose()))
    assert chunks.vectors is None
    assert chunks[0].vector is None
    assert chunks.to_arrow()["embedding"].null_count == len(chunks)


def test_a_data_frame_has_the_columns(mill: Chunkmill) -> None:
    """`to_pandas` has one row per chunk and the published columns."""
    chunks = mill.chunk(parsed_text(prose()))
    frame = chunks.to_pandas()
    assert list(frame.columns) == schemas.chunks_schema(16).names
    assert frame["text"].tolist() == [chunk.text for chunk in chunks]


def test_a_text_at_hand_is_read_by_its_content(mill: Chunkmill) -> None:
    """Markdown in a string has headings; the name is the key; blank text has no chunks."""
    document = mill.read("# Head\n\nOne. Two.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", name="x.txt")
    assert (document.key, document.format) == ("x.txt", "md")
    assert [block.kind for block in document.blocks] == ["title", "paragraph", "table"] or [
        block.kind for block in document.blocks
    ] == ["heading", "paragraph", "table"]
    assert len(mill.chunk(mill.read(" \n "))) == 0


@pytest.mark.parametrize("text", ["lone \ud83d surrogate", "nul \x00 text", "\ufeffbom"])
def test_odd_text_is_read(mill: Chunkmill, text: str) -> None:
    """Whatever a string holds, its chunks are slices of a well-formed text."""
    document = mill.read(text)
    document.text.encode("utf-8")
    assert "".join(chunk.text for chunk in mill.chunk(document)).strip()


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("no-such-file.pdf", SourceError, "does not exist"),
        (".", SourceError, "is a folder"),
        ("damaged/empty.md", DocumentError, "empty.md: empty: "),
        ("damaged/crane-manual.docx", DocumentError, "crane-manual.docx: corrupt: "),
    ],
)
def test_a_bad_file_is_one_clear_line(
    mill: Chunkmill, name: str, error: type[Exception], words: str
) -> None:
    """What cannot be read raises its own error, in one line with the file's name."""
    with pytest.raises(error, match=words) as raised:
        mill.parse(SAMPLES / name)
    assert len(str(raised.value).splitlines()) == 1


def test_an_empty_string_is_said_to_be_empty(mill: Chunkmill) -> None:
    """As a file without bytes."""
    with pytest.raises(DocumentError) as raised:
        mill.read("")
    assert raised.value.kind == "empty"


def test_wrong_settings_are_refused(mill: Chunkmill) -> None:
    """A key that is none, or a value that is not allowed, names itself."""
    document = parsed_text(prose())
    with pytest.raises(ConfigError, match=r"chunking\.max_tokens"):
        Chunkmill(max_token=100)
    with pytest.raises(ConfigError, match=r"chunking\.max_tokens"):
        mill.chunk(document, max_token=100)
    with pytest.raises(ConfigError, match="at least 16"):
        mill.chunk(document, max_tokens=3)
    with pytest.raises(ConfigError, match="--set"):
        Chunkmill("chunking")


def test_settings_come_in_all_forms(tmp_path: Path) -> None:
    """Keywords, assignments, a file and a value give the same tree; the call wins over them."""
    file = tmp_path / "job.yaml"
    file.write_text("model: {name: 'hash:16'}\nchunking: {max_tokens: 90}\n", encoding="utf-8")
    value = Config(model=ModelConfig(name="hash:16"), chunking=ChunkingConfig(max_tokens=90))
    mills = [
        Chunkmill(MODEL, max_tokens=90),
        Chunkmill(MODEL, "chunking.max_tokens=90"),
        Chunkmill(config=file),
        Chunkmill(config=str(file)),
        Chunkmill(config=value),
    ]
    assert {mill.config.model_dump_json() for mill in mills} == {value.model_dump_json()}
    for mill in mills:
        assert mill.chunk(parsed_text(prose()), max_tokens=60).settings.max_tokens == 60


def test_overrides_are_those_of_the_document() -> None:
    """Settings by format or glob are found, as in a job."""
    overrides = 'chunking.overrides=[{"glob": "*.csv", "max_tokens": 50}]'
    mill = Chunkmill(MODEL, overrides)
    assert mill.chunk(parsed_text(prose(), key="a.csv")).settings.max_tokens == 50
    assert mill.chunk(parsed_text(prose(), key="a.md")).settings.max_tokens == 200


def test_a_model_without_late_vectors_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """Asked for them, it gives its own and one line says why; or it refuses, if told to."""

    class Unlate(HashEmbedder):
        """A model whose token vectors mean nothing."""

        @property
        def supports_late(self) -> bool:
            """Never."""
            return False

        @property
        def no_late(self) -> str:
            """Why."""
            return "it is made so"

    mill = Chunkmill(MODEL, vectors="chunk")
    mill._embedder = Unlate(mill.config.model)
    document = parsed_text(prose())
    own = mill.chunk(document)
    assert capsys.readouterr().err == ""
    for _ in range(2):
        asked = mill.chunk(document, vectors="late")
    assert asked.settings.vectors == "chunk"
    np.testing.assert_array_equal(asked.vectors, own.vectors)
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "it is made so" in told
    strict = Chunkmill(MODEL, "model.without_late=refuse")
    strict._embedder = Unlate(strict.config.model)
    with pytest.raises(ModelError, match=r"it is made so; set chunking\.vectors=chunk"):
        strict.chunk(document)


def test_processes_end_with_the_mill(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing, leaving a `with` block and forgetting the mill each end the parsing process."""
    monkeypatch.setattr(pool, "ChildParser", partial(pool.ChildParser, preload=None))

    def started(mill: Chunkmill) -> int:
        mill.read("A text.")
        assert mill._parser is not None
        pid = mill._parser._zygote.pid
        assert pid is not None
        return pid

    mill = Chunkmill(MODEL)
    pids = [started(mill)]
    mill.close()
    assert mill.read("Another text, after closing.").text
    mill.close()
    with Chunkmill(MODEL) as other:
        pids.append(started(other))
    pids.append(started(forgotten := Chunkmill(MODEL)))
    del forgotten
    gc.collect()
    assert [pid for pid in pids if not _ended(pid)] == []


def test_no_process_outlives_python() -> None:
    """A session that closes nothing leaves nothing behind."""
    program = (
        "from jobs.notebook import Chunkmill\n"
        f"mill = Chunkmill({MODEL!r})\nmill.read('A text.')\n"
        "import os, psutil\n"
        "print(*(p.pid for p in psutil.Process(os.getpid()).children(recursive=True)))"
    )
    pids = [int(pid) for pid in _run(program).split()]
    assert len(pids) >= 2
    assert [pid for pid in pids if not _ended(pid)] == []
    assert os.getpid() not in pids


def test_chunks_show_themselves() -> None:
    """A table in a notebook and lines in a terminal name size, reason and text."""
    chunks = Chunkmill(MODEL, max_tokens=60).chunk(parsed_text(tables()))
    html = chunks._repr_html_()
    assert html.count("<tr>") == len(chunks) + 1
    assert "35 kr." in html
    lines = repr(chunks).splitlines()
    assert len(lines) == len(chunks) + 1
    assert "max_tokens" in repr(chunks)
    assert repr(chunks.document) in str(chunks.document)
    assert "blocks" in chunks.document._repr_html_()
