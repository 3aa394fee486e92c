"""docling's standard pipeline with tiny random weights: slow to import, so few tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chunking.errors import ConfigError
from jobs.config import Config, LimitsConfig, ParserConfig
from jobs.parsing.available import fix_parser
from jobs.parsing.pool import ChildParser
from tests.jobs.parsing.made import check_laws
from tests.jobs.parsing.pdf.weights import LAYOUT, make_weights
from tests.jobs.parsing.pdfs import REGULAR, Text, paragraph, pdf

CHECKOUT = Path(__file__).parents[4]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the weights once."""
    return make_weights(tmp_path_factory.mktemp("weights"))


def tabular(word: str) -> list[Text]:
    """Return a page of rows without rules."""
    return [
        (60 + 130 * column, 700 - 20 * row, REGULAR, 10, f"{word} {row} of {column}")
        for row in range(8)
        for column in range(4)
    ]


def prose(number: int) -> list[Text]:
    """Return a page of plain paragraphs."""
    return paragraph([f"Line {i} of page {number} is plain prose about the quay." for i in "abcd"])


def test_complex_pages_alone_go_to_the_network(weights: Path, tmp_path: Path) -> None:
    """In a child as in a job: in their order, with their numbers, and told."""
    path = tmp_path / "document"
    path.write_bytes(pdf([prose(1), tabular("cell"), prose(3)]))
    settings = ParserConfig.model_validate({"artifacts_path": str(weights), "ocr": "none"})
    parser = ChildParser(settings, LimitsConfig(document_seconds=300.0))
    outcome = parser.parse(path, name="a")
    parser.close()
    assert outcome.document is not None, outcome
    check_laws(outcome.document)
    assert (outcome.status, outcome.parser) == ("ok", "pdf-fast+docling-standard")
    assert outcome.warnings == ("page 2: columns without rules, read by docling-standard",)
    pages = [block.page_start for block in outcome.document.blocks]
    assert pages == sorted(pages, key=lambda page: page or 0)
    assert set(pages) == {1, 2, 3}
    text = outcome.document.text
    assert all(f"cell {row} of {column}" in text for row in range(8) for column in range(4))


def test_weights_that_are_there_are_accepted(weights: Path) -> None:
    """They are loaded once before a job begins."""
    config = Config.model_validate({"parser": {"artifacts_path": str(weights), "ocr": "none"}})
    assert fix_parser(config) == config


def test_damaged_weights_are_refused(weights: Path, tmp_path: Path) -> None:
    """The error names the setting and the reason."""
    folder = tmp_path / LAYOUT
    folder.mkdir()
    for file in (weights / LAYOUT).iterdir():
        data = file.read_bytes()
        cut = len(data) // 2 if file.suffix == ".safetensors" else len(data)
        (folder / file.name).write_bytes(data[:cut])
    config = Config.model_validate({"parser": {"artifacts_path": str(tmp_path), "ocr": "none"}})
    with pytest.raises(ConfigError, match=r"parser.artifacts_path = .* cannot be used"):
        fix_parser(config)


def test_what_is_no_layout_model_is_refused(weights: Path, tmp_path: Path) -> None:
    """Other files, and settings without weights."""
    folder = tmp_path / LAYOUT
    folder.mkdir()
    os.link(weights / LAYOUT / "config.json", folder / "config.json")
    config = Config.model_validate({"parser": {"artifacts_path": str(tmp_path), "ocr": "none"}})
    with pytest.raises(ConfigError, match="cannot be used"):
        fix_parser(config)


def test_nothing_is_asked_of_the_network(weights: Path, tmp_path: Path) -> None:
    """Not by docling's pipeline, and not by its models; other settings would fetch weights."""
    path = tmp_path / "document"
    path.write_bytes(pdf([tabular("cell")]))
    script = (
        "import sys\n"
        "asked = []\n"
        "names = ('socket.connect', 'socket.getaddrinfo', 'socket.gethostby', 'socket.sendto')\n"
        "sys.addaudithook(lambda e, _: asked.append(e) if e.startswith(names) else None)\n"
        "from pathlib import Path\n"
        "from jobs.config import ParserConfig\n"
        "from jobs.parsing.convert import convert\n"
        "for engine in ('auto', 'standard'):\n"
        "    settings = ParserConfig(pdf=engine, artifacts_path=sys.argv[2], ocr='none')\n"
        "    made = convert(Path(sys.argv[1]), format='pdf', name='a', settings=settings)\n"
        "    assert 'docling-standard' in made.parser, made.parser\n"
        "    assert 'cell 1 of 1' in made.document.text\n"
        "print(asked)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, str(path), str(weights)],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), "HF_HUB_OFFLINE": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout.splitlines()[-1:] == ["[]"], ended.stderr
