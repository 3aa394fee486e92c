#!/usr/bin/env bash
# Install chunkmill and its tests into .venv and run them all: ruff, mypy, pytest.
#
#   scripts/test.sh [PYTEST ARGUMENTS]
#
# Debian's memcached (for the S3 server of the tests), poppler-utils (an independent PDF
# reader), tesseract-ocr (the data of an OCR engine) and chromium (which draws the pages of
# inspect) are installed where they are missing and the user may do so. Tests run side by side, on four processors at most;
# "-n 0" among the arguments runs them one by one.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/venv.sh

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

ensure_debian() {
  local missing=() pair
  for pair in "$@"; do
    command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
  done
  [ ${#missing[@]} = 0 ] && return
  say "Installing ${missing[*]} ..."
  as_root apt-get update -qq && as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
    fail "the tests need ${missing[*]}; install them and run this again"
}

ensure_debian memcached:memcached pdftotext:poppler-utils chromium:chromium tesseract:tesseract-ocr
ensure_venv test
export PATH=$PWD/.venv/bin:$PATH
ruff check --output-format concise .
ruff format --check --quiet . || fail "some files are not formatted: run ruff format"
mypy
exec python -m pytest -q -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder "$@"
