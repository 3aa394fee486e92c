from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.corpus import BULK, requires_corpus
from tests.jobs.parsing.pdfs import paragraph, pdf

CHECKOUT = Path(__file__).resolve().parents[2]
SCRIPT = CHECKOUT / "scripts" / "bench" / "parsing.py"
sys.path.insert(0, str(SCRIPT.parent))

from parsing import Cost, File, files_of, goals, measure, network, table  # noqa: E402

A, B = Path("a.pdf"), Path("b.pdf")


class Scripted:
    """A worker that answers from a table, and notes in which order it was asked."""

    def __init__(self, name: str, seconds: Mapping[str, list[float]], asked: list[str]) -> None:
        self._name = name
        self._seconds = {path: iter(each) for path, each in seconds.items()}
        self._asked = asked

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer with the next number of seconds of the file, or with an error."""
        self._asked.append(self._name)
        seconds = next(self._seconds[request["path"]], None)
        if seconds is None:
            return {"error": "out of answers"}
        return {"cpu": seconds, "wall": 2 * seconds, "peak": int(1000 * seconds)}


def workers(seconds: Mapping[str, Mapping[str, list[float]]], asked: list[str]) -> Any:
    """Return a scripted worker for each engine."""
    return {name: Scripted(name, each, asked) for name, each in seconds.items()}


def test_engines_take_turns_and_the_fastest_round_counts() -> None:
    """Each file is read by all engines before the next; every round begins with another."""
    asked: list[str] = []
    # The first answer of each file is the warm-up's, which is not timed.
    one, two = [9.0, 3.0, 1.0], [9.0, 2.0, 4.0]
    seconds = {"x": {"a.pdf": one, "b.pdf": one}, "y": {"a.pdf": two, "b.pdf": two}}
    files = [File(path=A, pages=1), File(path=B, pages=2)]
    costs, failed = measure(files, workers(seconds, asked), rounds=2)
    assert asked == [*"xxyy", *"xyxy", *"yxyx"]
    assert failed == []
    assert (costs["x"].cpu, costs["x"].wall) == ({A: 1.0, B: 1.0}, {A: 2.0, B: 2.0})
    assert costs["y"].cpu == {A: 2.0, B: 2.0}
    assert costs["x"].peak == 3000


def test_a_file_that_one_engine_cannot_read_counts_for_none() -> None:
    """It is named, with the engine and what it said."""
    seconds = {
        "x": {"a.pdf": [1.0] * 2, "b.pdf": [1.0] * 2},
        "y": {"a.pdf": [1.0] * 2, "b.pdf": []},
    }
    files = [File(path=A, pages=1), File(path=B, pages=1)]
    costs, failed = measure(files, workers(seconds, []), rounds=1)
    assert failed == ["b.pdf: y: out of answers"]
    assert set(costs["x"].cpu) == set(costs["y"].cpu) == {A}


def test_the_network_reads_the_first_pages_only() -> None:
    """Up to the limit, counted over files."""
    seconds = {"n": {"a.pdf": [9.0, 2.0], "b.pdf": [4.0]}}
    files = [File(path=A, pages=2), File(path=B, pages=9), File(path=Path("c.pdf"), pages=1)]
    cost, pages, failed = network(files, workers(seconds, [])["n"], limit=5)
    assert (cost.cpu, pages, failed) == ({A: 2.0, B: 4.0}, 5, [])


def test_goals_are_met_or_missed_by_what_was_measured() -> None:
    """Slower than docling native, fast enough, too much memory."""
    ours = Cost(cpu={A: 1.0}, wall={A: 1.0}, peak=2_000_000_000)
    native = Cost(cpu={A: 0.5}, wall={A: 0.5})
    assert [line.split(":")[0] for line in goals(ours, native, 10)] == ["MISSED", "met", "MISSED"]
    text = table({"ours": (ours, 10), "docling native": (native, 10)})
    assert "| ours | 10 | 1.0 | 10.0 | 10.0 | 2.00 | 2000 |" in text


def test_files_have_text_and_stay_within_the_limit(tmp_path: Path) -> None:
    """What PDFium cannot open, what has no text and what is long is left out."""
    for name, n_pages in (("a", 1), ("b", 2), ("long", 9), ("c", 2)):
        (tmp_path / f"{name}.pdf").write_bytes(pdf([paragraph(["Some words."])] * n_pages))
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 and no more")
    (tmp_path / "blank.pdf").write_bytes(pdf([[]]))
    assert {f.path.stem: f.pages for f in files_of(tmp_path, 20, None)} == {"a": 1, "b": 2, "c": 2}
    assert sum(f.pages for f in files_of(tmp_path, 15, None)) <= 15
    assert len(files_of(tmp_path, 20, 1)) == 1


@requires_corpus
@pytest.mark.corpus
@pytest.mark.slow
def test_the_script_measures_engines_side_by_side() -> None:
    """It prints a row for each engine and a line for each goal."""
    command = [sys.executable, SCRIPT, BULK, "--limit", "10", "--rounds", "1"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    for name in ("chunkmill to blocks", "docling native", "pypdfium2"):
        assert f"\n| {name} | " in result.stdout
    assert "docling native: " in result.stdout.splitlines()[-3]
