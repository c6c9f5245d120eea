#!/usr/bin/env bash
# The native program beside PyTorch, interleaved; needs build/venv and 16 GB of memory. Numbers go to
# build/bench-torch.json. Arguments are those of benchmarks/native.py.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tools.sh
configure_preset release
"$(find_cmake)" --build --preset release --target native_steps
configure_preset dev
"$(find_cmake)" --build --preset dev --target native_run
build/venv/bin/python benchmarks/native.py --json build/bench-torch.json "$@"
