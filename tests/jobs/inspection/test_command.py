"""`chunkmill inspect` as a user runs it: what it prints, writes and returns."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from chunking.errors import DestinationError
from jobs import cli
from jobs.config_load import load_config
from jobs.inspection.command import inspect_file
from jobs.parsing import pool
from tests.inspected import MODEL
from tests.job_runs import CHECKOUT, FAST, chunkmill
from tests.sample_files import SAMPLES

PILOTAGE = SAMPLES / "handbook" / "pilotage.docx"


def test_a_page_is_written(tmp_path: Path) -> None:
    """`-o` writes one page and prints one line; `--set` draws with other parameters."""
    page = tmp_path / "page.html"
    done = chunkmill("inspect", PILOTAGE, "-o", page, *FAST, "--set", "chunking.max_tokens=60")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"{page}: ")
    assert done.stderr == ""
    text = page.read_text(encoding="utf-8")
    assert "of 60 tokens" in text
    assert "The pilot boards at the station" in text


@pytest.fixture(scope="module")
def piped() -> str:
    """Return what a pipe in ASCII gets."""
    done = subprocess.run(
        [sys.executable, "-m", "jobs", "inspect", str(SAMPLES / "da" / "vagtbog.txt"), *FAST],
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.decode("utf-8")


def test_the_terminal_view_is_plain_in_a_pipe(piped: str) -> None:
    """Without a terminal there is no escape sequence, whatever the file."""
    assert "\x1b" not in piped
    assert "#0  " in piped
    assert "ends: document_end" in piped


def test_an_output_that_cannot_show_all_signs(piped: str) -> None:
    """An ASCII terminal gets question marks, not a traceback."""
    assert piped.isascii()
    assert "?" in piped


def test_a_machine_gets_one_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--json` prints one JSON object in ASCII, also beside a page."""
    page = tmp_path / "page.html"
    document = SAMPLES / "da" / "havnereglement.md"
    arguments = ["chunkmill", "inspect", str(document), "--json", "-o", str(page), *FAST]
    monkeypatch.setattr(sys, "argv", arguments)
    monkeypatch.setattr(pool, "ChildParser", partial(pool.ChildParser, preload=None))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code
    printed = capsys.readouterr().out
    found = json.loads(printed)
    assert printed.isascii()
    assert found["document"]["language"] == "da"
    assert found["chunks"][0]["split_reason"]
    assert page.exists()


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("no-such-file.md", 2, "does not exist"),
        ("handbook", 2, "is a folder"),
        ("damaged/empty.md", 1, "empty"),
        ("damaged/crane-manual.docx", 1, "corrupt"),
    ],
)
def test_a_bad_file_is_one_line_and_an_exit_code(
    tmp_path: Path, name: str, code: int, words: str
) -> None:
    """2 for what is no file, 1 for a file that cannot be read; no page is written."""
    page = tmp_path / "page.html"
    done = chunkmill("inspect", SAMPLES / name, "-o", page, *FAST)
    assert done.returncode == code, done.stdout + done.stderr
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""
    assert not page.exists()


def test_a_page_that_cannot_be_written_is_refused_first(tmp_path: Path) -> None:
    """A folder, a missing folder, or the document itself as the page's name."""
    document = tmp_path / "own.md"
    shutil.copy(SAMPLES / "handbook" / "welcome.md", document)
    before = document.read_bytes()
    config = load_config(None, [MODEL])
    for output, words in (
        (tmp_path, "is a folder"),
        (tmp_path / "no" / "page.html", "folder does not exist"),
        (document, "overwrite the document"),
    ):
        with pytest.raises(DestinationError, match=words):
            inspect_file(str(document), config, output=output, as_json=False)
    assert document.read_bytes() == before
