"""Chunks made anew are those of a fresh run, whatever is asked for; and what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from chunking.errors import ConfigError, DestinationError, JobError, ModelError
from chunking.model import Document
from jobs.adapters.hash_embedder import HashEmbedder
from jobs.config import Config
from jobs.ports import ParseOutcome
from jobs.rechunk import RechunkRequest, rechunk
from tests.local_jobs import compare, config_of, failed, make_dataset, read_rows, report_text

DOCUMENTS: dict[str, Document | ParseOutcome] = {
    "long.pdf": report_text(1, 8),
    "short.pdf": report_text(2, 1),
    "secret.pdf": report_text(3, 4),
    "blank.pdf": Document(text="", blocks=(), title="Blank"),
    "broken.pdf": failed(),
}


def again(dst: Path, new: Path, **changes: object) -> int:
    """Make a dataset anew with some settings, saying nothing."""
    assignments = tuple(f"{name.replace('__', '.')}={value}" for name, value in changes.items())
    return rechunk(
        RechunkRequest(
            dst=str(dst),
            new_dst=str(new),
            assignments=(*assignments, "limits.max_failed=100%"),
            verbosity=-1,
        )
    )


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a dataset of documents of all kinds, units in float32."""
    folder = tmp_path_factory.mktemp("base") / "out"
    make_dataset(folder, config_of(), DOCUMENTS)
    return folder


CHOICES: list[dict[str, Any]] = [
    {"preset": "large"},
    {"boundaries": "semantic", "threshold": 80, "max_tokens": 150},
    {"boundaries": "fixed", "max_tokens": 60, "overlap": 10},
    {"boundaries": "fixed", "target_chars": 150, "max_tokens": 100},
    {"boundaries": "recursive", "max_tokens": 40, "target_tokens": 30, "min_tokens": 0},
    {"boundaries": "structural", "vectors": "none"},
    {"boundaries": "semantic", "vectors": "chunk", "buffer": 1},
    {"vectors": "blend", "max_tokens": 120},
    {"overrides": [{"glob": "long*", "boundaries": "fixed", "max_tokens": 80}]},
]


@pytest.mark.parametrize("chunking", CHOICES, ids=str)
def test_rows_are_those_of_a_fresh_run(
    dataset: Path, tmp_path: Path, chunking: Mapping[str, Any]
) -> None:
    """Every row of every table, and the vectors, for strategies, sizes and kinds of vectors."""
    make_dataset(tmp_path / "fresh", config_of(**chunking), DOCUMENTS)
    asked = {f"chunking.{name}": value for name, value in chunking.items()}
    assert again(dataset, tmp_path / "new", **asked) == 0
    compare(tmp_path / "new", tmp_path / "fresh", 1 - 1e-6)


def test_half_precision_gives_the_cuts_of_half_precision(dataset: Path, tmp_path: Path) -> None:
    """From units in float16 the same rows come as from a fresh run with such units."""
    config = config_of("float16", boundaries="semantic")
    make_dataset(tmp_path / "half", config_of("float16"), DOCUMENTS)
    make_dataset(tmp_path / "fresh", config, DOCUMENTS)
    for name, source in (("one", tmp_path / "half"), ("two", dataset)):
        changes = {"chunking.boundaries": "semantic", "output.sentence_dtype": "float16"}
        assert again(source, tmp_path / name, **changes) == 0
        compare(tmp_path / name, tmp_path / "fresh", 1 - 1e-4)


def test_the_model_is_not_run(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Late vectors of chunks that end between units come from the store alone."""

    def refuse(self: HashEmbedder, inputs: Sequence[object], *_: object) -> NDArray[np.float32]:
        assert not len(inputs), "the model was run"
        return np.empty((0, self.dimension), np.float32)

    monkeypatch.setattr(HashEmbedder, "embed_windows", refuse)
    monkeypatch.setattr(HashEmbedder, "embed_texts", refuse)
    assert again(dataset, tmp_path / "new", chunking__preset="large") == 0
    assert read_rows(tmp_path / "new", "chunks").num_rows > 10


def test_a_later_run_goes_on(dataset: Path, tmp_path: Path) -> None:
    """A run over the source with the same settings finds only what has changed to do."""
    config = config_of(preset="large", vectors="late")
    assert again(dataset, tmp_path / "new", **{"chunking.preset": "large"}) == 0
    assert make_dataset(tmp_path / "new", config, DOCUMENTS)["documents"] == 0
    changed = {**DOCUMENTS, "short.pdf": report_text(2, 2)}
    counts = make_dataset(tmp_path / "new", config, changed)
    assert counts["documents"] == 1
    assert counts["reused_tokens"] >= 0
    make_dataset(tmp_path / "fresh", config, changed)
    compare(tmp_path / "new", tmp_path / "fresh", 1 - 1e-6)


def test_stale_documents_stay_stale(tmp_path: Path) -> None:
    """What failed lately keeps its chunks, cut anew, and its row says both."""
    make_dataset(tmp_path / "old", config_of(), DOCUMENTS)
    make_dataset(tmp_path / "old", config_of(), {**DOCUMENTS, "long.pdf": failed()})
    assert again(tmp_path / "old", tmp_path / "new", **{"chunking.preset": "large"}) == 0
    make_dataset(tmp_path / "fresh", config_of(preset="large"), DOCUMENTS)
    make_dataset(tmp_path / "fresh", config_of(preset="large"), {**DOCUMENTS, "long.pdf": failed()})
    compare(tmp_path / "new", tmp_path / "fresh", 1 - 1e-6)
    rows = read_rows(tmp_path / "new", "documents").to_pylist()
    stale = {row["source_key"]: row["n_chunks"] for row in rows if row["stale"]}
    assert stale.keys() == {"long.pdf"}
    assert stale["long.pdf"] > 0


def test_an_older_configuration_is_looked_at_again(tmp_path: Path) -> None:
    """Documents that a run had not reached yet keep their fingerprint, so the next run does."""
    make_dataset(tmp_path / "old", config_of(), DOCUMENTS)
    some = {name: DOCUMENTS[name] for name in ("long.pdf", "short.pdf", "secret.pdf")}
    make_dataset(tmp_path / "old", config_of(max_tokens=150), some, delete_missing=False, limit=1)
    assert again(tmp_path / "old", tmp_path / "new", **{"chunking.max_tokens": 120}) == 0
    config = config_of(max_tokens=120)
    assert make_dataset(tmp_path / "new", config, DOCUMENTS)["documents"] == len(DOCUMENTS) - 1
    make_dataset(tmp_path / "fresh", config, DOCUMENTS)
    compare(tmp_path / "new", tmp_path / "fresh", 1 - 1e-6)


def test_named_sources_come_along(tmp_path: Path) -> None:
    """The new dataset knows all sources of the old one, and whose each document is."""
    make_dataset(tmp_path / "old", config_of(), {"a.pdf": report_text(1, 2)})
    more: dict[str, Document | ParseOutcome] = {"b.pdf": report_text(2, 2)}
    make_dataset(tmp_path / "old", config_of(), more, source_name="more")
    assert again(tmp_path / "old", tmp_path / "new", **{"chunking.preset": "large"}) == 0
    config = config_of(preset="large")
    assert make_dataset(tmp_path / "new", config, more, source_name="more")["documents"] == 0
    keys = read_rows(tmp_path / "new", "documents")["source_key"].to_pylist()
    assert sorted(keys) == ["a.pdf", "b.pdf"]


def test_interrupted_it_goes_on(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that ends between commit and publication is finished by the same command."""
    monkeypatch.setenv("CHUNKMILL_FAIL_POINT", "publish.version=raise")
    with pytest.raises(JobError):
        again(dataset, tmp_path / "new", chunking__preset="large")
    monkeypatch.delenv("CHUNKMILL_FAIL_POINT")
    assert again(dataset, tmp_path / "new", chunking__preset="large") == 0
    make_dataset(tmp_path / "fresh", config_of(preset="large"), DOCUMENTS)
    compare(tmp_path / "new", tmp_path / "fresh", 1 - 1e-6)


def test_a_dataset_without_unit_vectors_is_embedded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where no model pass was made, one is, and it is said before."""
    config = config_of(boundaries="fixed", vectors="none")
    make_dataset(tmp_path / "old", config, DOCUMENTS)
    request = RechunkRequest(
        dst=str(tmp_path / "old"),
        new_dst=str(tmp_path / "new"),
        assignments=(
            "chunking.boundaries=optimal",
            "chunking.vectors=late",
            "limits.max_failed=100%",
        ),
    )
    assert rechunk(request) == 0
    said = capsys.readouterr().err
    assert "DST keeps no unit vectors: up to" in said
    make_dataset(tmp_path / "fresh", config_of(), DOCUMENTS)
    compare(tmp_path / "new", tmp_path / "fresh", 1 - 1e-6)


def damage(folder: Path, pattern: str) -> None:
    """Turn over some bytes in the middle of the files that match."""
    found = list(folder.rglob(pattern))
    assert found
    for path in found:
        data = bytearray(path.read_bytes())
        middle = len(data) // 3
        data[middle : middle + 8] = bytes(255 - byte for byte in data[middle : middle + 8])
        path.write_bytes(bytes(data))


def test_damaged_vectors_are_made_again(tmp_path: Path) -> None:
    """A sentence file that is damaged or lost costs a model pass; the rows are right."""
    make_dataset(tmp_path / "old", config_of(), DOCUMENTS)
    make_dataset(tmp_path / "fresh", config_of(preset="large"), DOCUMENTS)
    damage(tmp_path / "old", "sentences/*/??????-????????????????.parquet")
    assert again(tmp_path / "old", tmp_path / "one", **{"chunking.preset": "large"}) == 0
    compare(tmp_path / "one", tmp_path / "fresh", 1 - 1e-6)
    for path in (tmp_path / "old").rglob("sentences/*/??????-????????????????.parquet"):
        path.unlink()
    assert again(tmp_path / "old", tmp_path / "two", **{"chunking.preset": "large"}) == 0
    compare(tmp_path / "two", tmp_path / "fresh", 1 - 1e-6)


def test_damaged_structure_ends_the_job(tmp_path: Path) -> None:
    """Blocks that are lost cannot be made up: one line says which file."""
    make_dataset(tmp_path / "old", config_of(), DOCUMENTS)
    damage(tmp_path / "old", "*.structure.parquet")
    with pytest.raises(JobError, match=r"structure\.parquet cannot be used"):
        again(tmp_path / "old", tmp_path / "new", chunking__preset="large")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model.passage_prompt": "Passage"}, r"model\.passage_prompt is None in DST"),
        ({"parser.ocr": "rapidocr"}, r"parser\.ocr is 'auto' in DST"),
        ({"parser.hook": "json:dumps"}, r"parser\.hook is None in DST"),
        ({"limits.document_pages": 5}, r"limits\.document_pages is 20000 in DST"),
    ],
    ids=str,
)
def test_what_would_need_a_run_is_refused(
    dataset: Path, tmp_path: Path, changes: Mapping[str, object], message: str
) -> None:
    """Another model, parser or limit changes what DST keeps; nothing is written."""
    with pytest.raises(ConfigError, match=message):
        again(dataset, tmp_path / "new", **changes)
    assert not (tmp_path / "new").exists()


def test_what_is_no_dataset_is_refused(dataset: Path, tmp_path: Path) -> None:
    """No dataset, one that kept nothing, and one place for both are each a clear error."""
    with pytest.raises(DestinationError, match="holds no dataset"):
        again(tmp_path / "nothing", tmp_path / "new")
    with pytest.raises(ConfigError, match="must lie beside"):
        again(dataset, dataset)
    with pytest.raises(ConfigError, match="must lie beside"):
        again(dataset, dataset / "inside")
    bare = config_of()
    bare = Config.model_validate(
        {**bare.model_dump(), "output": {**bare.output.model_dump(), "keep_sentences": False}}
    )
    make_dataset(tmp_path / "bare", bare, DOCUMENTS)
    with pytest.raises(DestinationError, match="does not keep the structure"):
        again(tmp_path / "bare", tmp_path / "new")


def test_another_model_under_the_same_name_is_refused(dataset: Path, tmp_path: Path) -> None:
    """The revision on record must be the one that is at hand."""
    facts = dataset / "_chunkmill" / "dataset.json"
    before = facts.read_text()
    facts.write_text(before.replace('"revision": "1"', '"revision": "2"'))
    try:
        with pytest.raises(ModelError, match="is not the one that made the dataset"):
            again(dataset, tmp_path / "new")
    finally:
        facts.write_text(before)


def test_a_preset_brings_its_own_sizes(tmp_path: Path) -> None:
    """Sizes and vectors that DST was given do not stand against a preset asked for now."""
    given = config_of(preset="small", max_tokens=90, vectors="none")
    make_dataset(tmp_path / "old", given, DOCUMENTS)
    file = tmp_path / "job.yaml"
    file.write_text("chunking: {preset: large}\nmodel: {name: 'hash:16', dtype: auto}\n")
    request = RechunkRequest(
        dst=str(tmp_path / "old"),
        new_dst=str(tmp_path / "new"),
        config_file=file,
        assignments=("limits.max_failed=100%",),
        verbosity=-1,
    )
    assert rechunk(request) == 0
    make_dataset(tmp_path / "fresh", config_of(preset="large"), DOCUMENTS)
    compare(tmp_path / "new", tmp_path / "fresh", 1 - 1e-6)
    facts = json.loads((tmp_path / "new" / "_chunkmill" / "dataset.json").read_text())
    fresh = json.loads((tmp_path / "fresh" / "_chunkmill" / "dataset.json").read_text())
    assert facts["fingerprint"] == fresh["fingerprint"]
    assert facts["chunking"] == fresh["chunking"]
