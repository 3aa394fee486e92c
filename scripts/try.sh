#!/usr/bin/env bash
# Install chunkmill into .venv and turn the sample documents into chunks.
#
#   scripts/try.sh [DST]      (default: sample-output)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/venv.sh

dst=${1:-sample-output}
ensure_venv
# One sample is damaged on purpose and is reported as failed: that is within this budget.
.venv/bin/chunkmill run tests/samples "$dst" --max-failed 1

say
say "One chunk of each document, as DuckDB reads it:"
.venv/bin/python - "$dst" <<'PYTHON'
import sys
import duckdb

print(duckdb.sql(f"""
    select source_key, n_tokens, boundaries, vectors, left(replace(text, chr(10), ' '), 48) as text
    from '{sys.argv[1]}/chunks/*.parquet' where chunk_index = 0 order by source_key
"""))
PYTHON
