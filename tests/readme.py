"""The README's sections and the Python lines in them, for the tests that run them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")


def run_lines(section: str, *, most: int, told: str) -> str:
    """Run the only Python block of a section in a fresh Python, then ``told``; return its output.

    ``most``: how many lines the block may have, blank ones left out.
    """
    body = README.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    (lines,) = re.findall(r"```python\n(.*?)```", body, re.DOTALL)
    assert len([line for line in lines.splitlines() if line.strip()]) <= most
    done = subprocess.run(
        [sys.executable, "-c", f"{lines}\n{told}"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
