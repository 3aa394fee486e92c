from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.corpus import CORPUS, requires_corpus

CHECKOUT = Path(__file__).resolve().parents[2]
SCRIPT = CHECKOUT / "scripts" / "bench" / "pdf_structure.py"
sys.path.insert(0, str(SCRIPT.parent))

from pdf_matching import KINDS, details, match  # noqa: E402
from pdf_structure import (  # noqa: E402
    LABELS,
    Page,
    Score,
    add,
    check_files,
    grids_of,
    read_labels,
    table,
)


def test_the_labels_are_well_formed() -> None:
    """Enough pages of many documents; every item has its kind, its place and its text."""
    pages = read_labels(LABELS)
    assert len(pages) >= 40
    assert len({page.file for page in pages}) >= 30
    assert len({(page.file, page.page) for page in pages}) == len(pages)
    kinds: Counter[str] = Counter()
    for page in pages:
        assert not Path(page.file).is_absolute()
        assert len(page.sha256) == 64
        for item in page.items:
            kinds[item["kind"]] += 1
            left, top, right, bottom = item["box"]
            assert left < right
            assert top < bottom
            if item["kind"] == "ignore":
                assert set(item["kinds"]) <= set(KINDS)
            elif item["kind"] != "table":
                assert item["text"].strip()
                assert 0 < item["length"] <= item.get("longest", item["length"])
    assert set(kinds) == {*KINDS, "ignore"}


def test_labelled_grids_fit_their_tables() -> None:
    """Edges ascend inside the box, one less than rows and columns, and spans lie in them."""
    for page in read_labels(LABELS):
        for item in page.items:
            if "row_edges" not in item:
                continue
            left, top, right, bottom = item["box"]
            rows, columns = item["row_edges"], item["column_edges"]
            assert [top, *rows, bottom] == sorted({top, *rows, bottom})
            assert [left, *columns, right] == sorted({left, *columns, right})
            assert (len(rows) + 1, len(columns) + 1) == (item["rows"], item["columns"])
            for first_row, last_row, first, last in item.get("spans", ()):
                assert 0 <= first_row <= last_row < item["rows"]
                assert 0 <= first <= last < item["columns"]


def test_an_engine_that_says_what_is_labelled_is_always_right() -> None:
    """The labels, given as what an engine found, score 1 in every kind."""
    score = Score()
    for page in read_labels(LABELS):
        items = [
            {**item, "cells": ["a"], "text": item.get("text", "")}
            for item in page.items
            if item["kind"] != "ignore"
        ]
        # Labels quote the first words of a long text, an engine gives all of it.
        for item in items:
            item["text"] += "x" * (item.get("length", 0) - len(item["text"]))
        grids = [["a"] for item in items if item["kind"] == "table"]
        add(score, page, items, grids)
    assert {kind: (c.precision, c.recall) for kind, c in score.kinds.items()} == dict.fromkeys(
        KINDS, (1.0, 1.0)
    )
    more = score.details
    assert more.rows == more.body_rows == more.columns == more.header_rows == more.tables > 0
    assert more.ordered == more.pairs > 0
    assert more.cells.f1 == 1.0
    assert score.disagreements == []
    assert "| heading | an engine | 1.000 | 1.000 | 1.000 |" in table({"an engine": score})


def test_another_file_than_the_labelled_one_is_refused(tmp_path: Path) -> None:
    """It is named, and so is one that is missing."""
    page = Page(file="a.pdf", sha256="0" * 64, page=1, items=())
    with pytest.raises(SystemExit, match=r"a\.pdf is missing"):
        check_files([page], tmp_path)
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4")
    with pytest.raises(SystemExit, match="SHA-256 differs"):
        check_files([page], tmp_path)


@requires_corpus
@pytest.mark.corpus
def test_the_labelled_files_and_their_grids_are_in_the_corpus() -> None:
    """Nearly every cell of a labelled grid that is no blank one has its text in the file."""
    pages = read_labels(LABELS)
    check_files(pages, CORPUS)
    page = next(page for page in pages if "us-040" in page.file)
    (grid,) = grids_of(page, CORPUS)
    assert {"Species", "GLWQI", "Mink", "2880", "Not done"} <= {cell.strip() for cell in grid}
    assert match("table", page.items, []).labels == len(grids_of(page, CORPUS))
    assert details(page.items, [], [grid]).cells.labels == 19


@requires_corpus
@pytest.mark.corpus
@pytest.mark.slow
def test_the_script_measures_the_fast_engine() -> None:
    """It prints a row for each kind, and reads every file."""
    command = [sys.executable, SCRIPT, CORPUS, "--engines", "chunkmill"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "could not read" not in result.stdout
    for kind in KINDS:
        assert f"| {kind} | chunkmill | " in result.stdout
