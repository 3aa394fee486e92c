"""The lines that the README gives to a notebook user, as they stand there."""

from __future__ import annotations

import re

from jobs.notebook import ChunkView
from tests.readme import README, run_lines


def test_the_lines_of_the_readme_run() -> None:
    """Six lines and no more; they run in a fresh Python and give a table and vectors."""
    told = "assert chunks._repr_html_().count('<tr>') == len(chunks) + 1\nprint(vectors.shape)"
    output = run_lines("In a notebook", most=6, told=told)
    n_chunks, dimension = map(int, re.findall(r"\d+", output))
    assert n_chunks > 1
    assert dimension == 384


def test_the_readme_names_the_fields_of_a_chunk() -> None:
    """Every field that it promises is there."""
    (named,) = re.findall(r"each has `([a-z_ ]+)`", README)
    assert set(named.split()) <= set(ChunkView.__dataclass_fields__)
