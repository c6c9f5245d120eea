#!/usr/bin/env bash
# AUC by algorithm and epsilon, over seeds: bench_utility.sh [ARGUMENTS of benchmarks/utility/report.py…]
# Real data is read where LAZYDP_DATA_DIR says. Runs that were done are kept in build/utility, so that it can be stopped and gone on with.
set -euo pipefail
cd "$(dirname "$0")/.."
python=python3
if [[ -x build/venv/bin/python ]]; then python=build/venv/bin/python; fi # it has torch
OMP_WAIT_POLICY=passive "$python" benchmarks/utility/report.py "$@"
