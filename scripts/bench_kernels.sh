#!/usr/bin/env bash
# Runs the benchmark of the kernels, which has been built: bench_kernels.sh [ARGUMENTS…]
# With torch in build/venv (make python), its normal_ is measured just before and just after.
set -euo pipefail
cd "$(dirname "$0")/.."

torch_normals() {
  build/venv/bin/python - <<'PYTHON'
import time

import torch

torch.set_num_threads(1)
out = torch.empty(1 << 22)
rates = []
for _ in range(15):
    start = time.perf_counter()
    out.normal_()
    rates.append(out.numel() / (time.perf_counter() - start))
print(f"{sorted(rates)[len(rates) // 2]:.4g}")
PYTHON
}
if [[ -x build/venv/bin/python ]] && build/venv/bin/python -c 'import torch' 2>/dev/null; then
  LAZYDP_TORCH_NORMALS_PER_SECOND=$(torch_normals)
  export LAZYDP_TORCH_NORMALS_PER_SECOND
fi
# Our loops and OpenBLAS's threads take turns: waiting threads must not burn the other's core.
export GOMP_SPINCOUNT=1000
build/bench/bench_kernels --benchmark_repetitions=9 --benchmark_enable_random_interleaving=true \
  --benchmark_min_time=0.1 "$@"
if [[ -n ${LAZYDP_TORCH_NORMALS_PER_SECOND:-} ]]; then
  echo "torch normal_, one core: $LAZYDP_TORCH_NORMALS_PER_SECOND a second before, $(torch_normals) after"
fi
