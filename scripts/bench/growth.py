"""Memory over thousands of documents through one parser: ``growth.py FOLDER [--documents 3000]``.

Parses the files of a folder again and again, in a seeded order, and prints what the parent,
the zygote and the child hold as it goes on. The parent must not grow, and the children be
bounded by their replacement. Exits 1 where either is not so.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path

from jobs.config import LimitsConfig, ParserConfig
from jobs.parsing.limits import rss_bytes
from jobs.parsing.orphans import descendants
from jobs.parsing.pool import ChildParser

MIB = 1 << 20
WARM = 200
"""Documents after which all that is loaded when first needed has been."""


def main() -> int:
    """Parse, sample and print."""
    options = _options()
    files = sorted(path for path in options.folder.rglob("*") if path.is_file())
    files = [path for path in files if path.stat().st_size <= options.max_bytes]
    random.Random(options.seed).shuffle(files)  # noqa: S311 - an order, not a secret
    parser = ChildParser(ParserConfig.model_validate({"ocr": "none"}), LimitsConfig())
    warm, most_children, peak_own = 0, 0, 0
    statuses: Counter[str] = Counter()
    pids: set[int] = set()
    began = time.monotonic()
    print("documents  seconds  parent MiB  zygote and child MiB  children so far")
    for number, path in enumerate(itertools.islice(itertools.cycle(files), options.documents), 1):
        statuses[parser.parse(path, name="a").status] += 1
        below = list(descendants(os.getpid()))
        pids.update(below)
        children = sum(map(rss_bytes, below))
        own = rss_bytes(os.getpid())
        most_children = max(most_children, children)
        warm = own if number <= WARM else warm
        peak_own = max(peak_own, own) if number > WARM else 0
        if number % options.every == 0 or number == options.documents:
            seconds = time.monotonic() - began
            print(
                f"{number:9} {seconds:8.0f} {own / MIB:11.0f} {children / MIB:21.0f} {len(pids):15}"
                f"  {dict(statuses)}",
                flush=True,
            )
    parser.close()
    grown = (peak_own - warm) / MIB
    print(f"parent grew by {grown:.0f} MiB after {WARM} documents; most below it at once:", end=" ")
    print(f"{most_children / MIB:.0f} MiB; {len(pids) - 1} children")
    return int(grown > options.max_parent_mb or most_children > options.max_children_mb * MIB)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=3000)
    parser.add_argument("--max-bytes", type=int, default=300_000, help="larger files are left out")
    parser.add_argument("--every", type=int, default=250, help="documents between two lines")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-parent-mb", type=float, default=100.0)
    parser.add_argument("--max-children-mb", type=float, default=3000.0)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
