#!/usr/bin/env bash
# Builds the Python package, checks and tests it: test_python.sh [PYTEST ARGUMENTS…]
# Where its packages can't be had it says so at the end; with CI=true that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
status=0
scripts/python.sh || status=$?
if ((status == 69)); then
  echo "the plug-in's tests were NOT run: no package index can be reached"
  [[ ${CI:-} != true ]]
  exit
fi
if ((status != 0)); then exit "$status"; fi
scripts/venv.sh tests/python/torchrec.txt build/venv --no-deps --retries 1 ||
  echo "the plug-in's tests with TorchRec are skipped"
export OMP_WAIT_POLICY=passive
build/venv/bin/ruff check --no-cache --quiet python tests/python examples benchmarks
build/venv/bin/ruff format --no-cache --quiet --check python tests/python examples benchmarks
build/venv/bin/mypy --cache-dir build/mypy
build/venv/bin/python -m pytest "$@"
