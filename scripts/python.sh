#!/usr/bin/env bash
# Builds the Python package and installs it in build/venv. Exit 69: its packages can't be had.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install.sh python
scripts/venv.sh python/requirements.txt
. scripts/tools.sh
echo "building the Python package (log: build/python.log)"
if ! PATH=$(dirname "$(find_cmake)"):$(dirname "$(find_ninja)"):$PATH build/venv/bin/pip install \
  --no-build-isolation --no-deps --force-reinstall --no-index . >build/python.log 2>&1; then
  tail -n 30 build/python.log >&2
  exit 1
fi
