"""``python -m jobs``: the same program as ``chunkmill``, for ``ray job submit``."""

from jobs.cli import main

main()
