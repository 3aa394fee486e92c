"""The lines that the README gives to a notebook user, as they stand there."""

from __future__ import annotations

import re
import subprocess
import sys

from jobs.notebook import ChunkView
from tests.job_runs import CHECKOUT

README = (CHECKOUT / "README.md").read_text(encoding="utf-8")


def test_the_lines_of_the_readme_run() -> None:
    """Six lines and no more; they run in a fresh Python and give a table and vectors."""
    section = README.partition("\n## In a notebook\n")[2].partition("\n## ")[0]
    (lines,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert len([line for line in lines.splitlines() if line.strip()]) <= 6
    told = "\nassert chunks._repr_html_().count('<tr>') == len(chunks) + 1\nprint(vectors.shape)"
    done = subprocess.run(
        [sys.executable, "-c", lines + told],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    n_chunks, dimension = map(int, re.findall(r"\d+", done.stdout))
    assert n_chunks > 1
    assert dimension == 384


def test_the_readme_names_the_fields_of_a_chunk() -> None:
    """Every field that it promises is there."""
    (named,) = re.findall(r"each has `([a-z_ ]+)`", README)
    assert set(named.split()) <= set(ChunkView.__dataclass_fields__)
