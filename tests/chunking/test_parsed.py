"""What parsers give, through to the chunks: structure that must survive both."""

from __future__ import annotations

from pathlib import Path

import pytest

from chunking.model import Document
from chunking.settings import ChunkingSettings, Strategy
from tests.chunking.laws import violations
from tests.chunking.making import STRATEGIES, chunked, texts
from tests.chunking.strategies import ADDITIVE
from tests.jobs.parsing.made import read_text


def checked(document: Document, boundaries: Strategy) -> list[str]:
    """Return the model inputs of a document's chunks, which keep every law."""
    chosen = ChunkingSettings(boundaries=boundaries, max_tokens=64, min_tokens=10, target_tokens=40)
    units, chunks = chunked(document, chosen)
    assert not violations(document, units, chunks, chosen, ADDITIVE.count)
    found = texts(document, chunks)
    return [chunk.prefix + text for chunk, text in zip(chunks, found, strict=True)]


@pytest.mark.parametrize("boundaries", STRATEGIES)
def test_merged_cells_stand_in_each_of_their_rows(tmp_path: Path, boundaries: Strategy) -> None:
    """A cell that spans rows is read with each; one that spans columns moves none."""
    rows = "".join(
        f"<tr><td rowspan=3>Berth {i}</td><td>ship a{i}</td><td>1</td></tr>"
        f"<tr><td>ship b{i}</td><td>2</td></tr><tr><td colspan=2>ship c{i}</td></tr>"
        for i in range(20)
    )
    head = "<tr><th>Berth</th><th>Vessel</th><th>Tons</th></tr>"
    document = read_text(tmp_path, f"<table>{head}{rows}</table>", "html").document
    found = checked(document, boundaries)
    assert len(found) > 5
    assert all("| Berth | Vessel | Tons |" in text for text in found)
    lines = "\n".join(found).split("\n")
    assert "| Berth 7 | ship b7 | 2 |" in lines
    assert "| Berth 7 | ship c7 |  |" in lines


@pytest.mark.parametrize("boundaries", STRATEGIES)
def test_a_heading_keeps_links_and_code(tmp_path: Path, boundaries: Strategy) -> None:
    """The text of a link and of code in a heading stands in the path and in front of the text."""
    markdown = "## The [harbour](x.md) and `dredge()`\n\n" + "It rained all day. " * 40
    document = read_text(tmp_path, markdown, "md").document
    found = checked(document, boundaries)
    assert len(found) > 2
    assert all("The harbour and dredge()" in text for text in found)


@pytest.mark.parametrize("boundaries", STRATEGIES)
def test_definition_lists_lose_nothing(tmp_path: Path, boundaries: Strategy) -> None:
    """Each definition is with its term."""
    pairs = "".join(f"<dt>Term {i}</dt><dd>It is about {i}, more or less.</dd>" for i in range(30))
    document = read_text(tmp_path, f"<dl>{pairs}</dl>", "html").document
    found = checked(document, boundaries)
    assert len(found) > 5
    for i in range(30):
        assert any(f"Term {i}\n  - It is about {i}, more or less." in text for text in found)


@pytest.mark.parametrize("boundaries", STRATEGIES)
def test_numbers_of_lists_survive(tmp_path: Path, boundaries: Strategy) -> None:
    """A list that begins at five goes on counting through all of its chunks."""
    markdown = "Do this:\n\n" + "".join(f"{i}. Walk to the quay, part {i}\n" for i in range(5, 60))
    document = read_text(tmp_path, markdown, "md").document
    found = checked(document, boundaries)
    lines = "\n".join(found).split("\n")
    assert [line for line in lines if "quay" in line] == [
        f"{i}. Walk to the quay, part {i}" for i in range(5, 60)
    ]
    assert "Do this:\n\n5. Walk" in found[0]


def test_a_file_named_in_markdown_is_known_to_its_chunks(tmp_path: Path) -> None:
    """From the info string of a fence to the metadata of each chunk of the code."""
    body = "\n\n".join(f"def f{i}(x):\n    return {i}" for i in range(40))
    markdown = f'```python title="src/a.py"\n{body}\n```\n'
    document = read_text(tmp_path, markdown, "md").document
    chunks = chunked(document, ChunkingSettings())[1]
    assert len(chunks) > 2
    assert {chunk.metadata["file_name"] for chunk in chunks} == {"src/a.py"}
    assert {chunk.code_language for chunk in chunks} == {"python"}


@pytest.mark.parametrize("text", ["", " ", "\n\n\t \n", "\u00a0\n\u3000"])
def test_a_blank_document_has_no_chunks(tmp_path: Path, text: str) -> None:
    """Blanks make no block and no chunk."""
    document = read_text(tmp_path, text, "txt").document
    assert chunked(document, ChunkingSettings())[1] == []
