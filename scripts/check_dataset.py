"""Check a dataset with the verifier alone; chunkmill need not be installed.

Usage: python scripts/check_dataset.py DST [SRC] [options]; see --help.
"""

import runpy
from pathlib import Path

if __name__ == "__main__":
    verifier = Path(__file__).resolve().parent.parent / "jobs" / "verifier.py"
    runpy.run_path(str(verifier), run_name="__main__")
