#!/usr/bin/env bash
# How long a checkpoint takes beside dd, which writes and flushes as many bytes on the same disk:
# bench_checkpoint.sh [SCALE of mlperf] [FOLDER]. The first round does not count: blocks of a disk that
# were never written may take longer.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(realpath build/lazydp)
place=$(mktemp -d -p "${2:-.}")
trap 'rm -rf "$place"' EXIT
cd "$place"
for round in 0 1 2 3 4 5; do
  "$program" train --model mlperf --scale "${1:-0.02}" --batch 64 --steps 3 --checkpoint-every 2 --no-release \
    --out run --quiet --json run.json >/dev/null
  bytes=$(stat -c %s run/checkpoint/step-0000000002.unsettled)
  rm -rf run
  begin=$(date +%s%N)
  dd if=/dev/zero of=zeros bs=4M count="$bytes" iflag=count_bytes conv=fsync status=none
  end=$(date +%s%N)
  rm -f zeros
  python3 - "$bytes" "$((end - begin))" "$round" <<'PY'
import json, sys
bytes_, dd, round_ = int(sys.argv[1]), int(sys.argv[2]) / 1e6, sys.argv[3]
ours = json.load(open("run.json"))["checkpoint_ms"]
print(f"round {round_}: {bytes_ / 1e9:.2f} GB, checkpoint {ours:.0f} ms, dd {dd:.0f} ms, ratio {ours / dd:.2f}")
open("ratios", "a").write(f"{ours / dd}\n" if round_ != "0" else "")
PY
done
python3 -c 'import statistics; print("median ratio", round(statistics.median(map(float, open("ratios"))), 2))'
