#!/usr/bin/env bash
# The plug-in beside plain PyTorch, on the shapes that its targets are stated for. Numbers go to
# build/bench-plugin.jsonl, a line for each table below.
set -euo pipefail
cd "$(dirname "$0")/.."
numbers=build/bench-plugin.jsonl
rm -f "$numbers"
bench() {
  OMP_WAIT_POLICY=passive build/venv/bin/python benchmarks/plugin.py --json "$numbers" "$@"
}
echo "ten tables of 1M x 32, 20 look-ups, batch 2048, one thread and two in fresh processes"
echo "(speed-up at least 1.6 in each, at most 0.40 x sgd)"
build/venv/bin/python benchmarks/plugin_threads.py --shape bags
echo "200 tables of 1,000 x 16, batch 2048 (at most 1.2 x sgd)"
bench --shape small --gigabytes 0 --rounds 31
echo "mlperf, 4 GB, batch 2048 (at most 1.05 x sgd)"
bench --shape mlperf --gigabytes 4 --kinds sgd,lazydp,lazydp-ghost --rounds 15
echo "rmc1, 4 GB, batch 2048 (at most 0.45 x sgd)"
bench --shape rmc1 --gigabytes 4 --kinds sgd,lazydp,lazydp-ghost --rounds 15
echo "mlperf, 4 GB, batch 2048: beside eager DP-SGD(F) in PyTorch (at least 20 x lazydp)"
bench --shape mlperf --gigabytes 4 --kinds lazydp,eager --rounds 4
bench --shape mlperf --gigabytes 4 --kinds lazydp,eager-blocks,eager-threads --rounds 4
echo "tables of 100 rows, batch 64: beside Opacus"
bench --shape opacus --gigabytes 0 --batch 64 --kinds lazydp,opacus --rounds 3
