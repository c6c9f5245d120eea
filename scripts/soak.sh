#!/usr/bin/env bash
# Trains for so many minutes at full load, killed at random moments, and checks that nothing grows and
# that the model is that of a run that was never disturbed: soak.sh MINUTES [PROGRAM]
set -euo pipefail
cd "$(dirname "$0")/.."
minutes=$1
program=$(realpath "${2:-build/lazydp}")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

flags=(--model small --batch 1024 --noise-multiplier 1 --seed 7 --checkpoint-every 5s --quiet
  --table-storage file:tables)

# How many steps fit into a third of the time: the rest is for what kills cost, and for the twin.
"$program" train "${flags[@]}" --steps 300 --out trial --no-release --json trial.json >/dev/null
steps=$(python3 -c "
import json
print(max(300, int($minutes * 20 * json.load(open('trial.json'))['steps_per_second'])))")
rm -rf trial tables
echo "soak: $steps steps, killed about every $((minutes > 10 ? 60 : 6)) seconds"

"$program" train "${flags[@]}" --steps "$steps" --out undisturbed --no-release --json whole.json >whole.txt &
watched=$!
first= last= files=
while kill -0 "$watched" 2>/dev/null; do
  now=$(awk '/^VmRSS/ { print $2 }' "/proc/$watched/status" 2>/dev/null || true)
  count=$(find "/proc/$watched/fd" -mindepth 1 2>/dev/null | wc -l)
  if [[ -n $now ]]; then
    # The first fifth of a minute is for memory that a run takes once.
    if ((SECONDS > 12)); then first=${first:-$now} files=${files:-$count}; fi
    last=$now last_count=$count
  fi
  sleep 1
done
wait "$watched"
"$program" release undisturbed --quiet >/dev/null
rm -rf tables

kills=0
words=(train "${flags[@]}" --steps "$steps" --out killed --no-release)
while true; do
  "$program" "${words[@]}" >killed.txt 2>&1 &
  running=$!
  (sleep "$((1 + RANDOM % (minutes > 10 ? 120 : 12)))"; kill -KILL "$running" 2>/dev/null) &
  killer=$!
  code=0
  wait "$running" 2>/dev/null || code=$?
  kill "$killer" 2>/dev/null || true
  wait "$killer" 2>/dev/null || true
  if ((code == 0)); then break; fi
  if ((code != 137)); then
    cat killed.txt >&2
    echo "soak: the run ended with $code" >&2
    exit 1
  fi
  kills=$((kills + 1))
  words=(resume killed --quiet)
done
"$program" release killed --quiet >/dev/null

failed=0
complain() {
  echo "soak: $*" >&2
  failed=1
}
digest() { python3 -c "
import json, sys
print(json.load(open(sys.argv[1]))['weights']['blake2b_256'])" "$1/model/card.json"; }
[[ $(digest undisturbed) == $(digest killed) ]] || complain "the killed run's model differs"
if [[ -n $first ]] && ((last > first + first / 100)); then complain "memory grew from $first to $last kB"; fi
if [[ -n $files ]] && ((last_count > files)); then complain "open files grew from $files to $last_count"; fi
python3 - undisturbed/metrics.jsonl <<'PY' || complain "steps became slower"
import json, statistics, sys
times = [line["step_ms"] for line in map(json.loads, open(sys.argv[1])) if "step_ms" in line]
if len(times) >= 100:
    fifth = len(times) // 5
    early, late = statistics.median(times[fifth:2 * fifth]), statistics.median(times[-fifth:])
    print(f"soak: a step took {early:.3g} ms early, {late:.3g} ms late")
    sys.exit(late > 1.25 * early)
PY
echo "soak: $kills kills, memory ${first:-?} -> ${last:-?} kB, open files ${files:-?} -> ${last_count:-?}"
exit "$failed"
