#!/usr/bin/env bash
# The plug-in beside plain PyTorch, on the shapes that its targets are stated for.
set -euo pipefail
cd "$(dirname "$0")/.."
bench() { OMP_WAIT_POLICY=passive build/venv/bin/python benchmarks/plugin.py "$@"; }
echo "mlperf, 4 GB, batch 2048"
bench --shape mlperf --gigabytes 4 --kinds sgd,lazydp,lazydp-ghost --rounds 15
echo "rmc1, 4 GB, batch 2048"
bench --shape rmc1 --gigabytes 4 --kinds sgd,lazydp,lazydp-ghost --rounds 15
echo "mlperf, 4 GB, batch 2048: beside eager noise"
bench --shape mlperf --gigabytes 4 --kinds lazydp,eager,eager-scratch --rounds 3
echo "tables of 100 rows, batch 64: beside Opacus"
bench --shape opacus --gigabytes 0 --batch 64 --kinds lazydp,opacus --rounds 3
