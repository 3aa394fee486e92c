# Sourced by the other scripts: one virtual environment in .venv, made once.
# shellcheck shell=bash

say() { printf '%s\n' "$*"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

# Print a Python of version 3.11 or later; PYTHON names another one.
find_python() {
  local candidate
  for candidate in ${PYTHON:-python3.11 python3.12 python3 python3.13}; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  fail "Python 3.11 or later is needed (python3 --version); set PYTHON to its path"
}

# ensure_venv [EXTRA]: install the project, in place, with an extra, into .venv.
# Does nothing when that was done before and pyproject.toml is unchanged.
ensure_venv() {
  local extra=${1:+[$1]} python stamp
  python=$(find_python)
  stamp=$(sha256sum pyproject.toml | cut -d' ' -f1)
  if [ ! -x .venv/bin/python ]; then
    "$python" -m venv .venv ||
      fail "cannot make .venv; on Debian: apt-get install python3-venv"
  fi
  # An install with an extra holds the plain one too.
  if ! grep -qxs "$stamp" ".venv/installed$extra" && {
    [ -n "$extra" ] || ! cat .venv/installed* 2>/dev/null | grep -qx "$stamp"
  }; then
    say "Installing chunkmill$extra into .venv (torch included: several GB, some minutes) ..."
    .venv/bin/python -m pip install -qq --disable-pip-version-check -e ".$extra" ||
      fail "pip could not install the project; its message stands above"
    printf '%s\n' "$stamp" >".venv/installed$extra"
  fi
}
