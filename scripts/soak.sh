#!/usr/bin/env bash
# Trains for about so many minutes at full load, with tables in memory and with tables in files, in
# peace and killed at random moments; checks that nothing grows and that a killed run's model is that
# of a run that was never disturbed: soak.sh MINUTES [PROGRAM]
set -euo pipefail
cd "$(dirname "$0")/.."
minutes=$1
program=$(realpath "${2:-build/lazydp}")
place=$(mktemp -d -p "${TMPDIR:-.}")
trap 'rm -rf "$place"' EXIT
cd "$place"

flags=(--model mlperf --scale 0.001 --batch 256 --noise-multiplier 1 --seed 7 --quiet)
each=$((minutes > 10 ? 60 : 10)) # seconds between two kills, on average
failed=0
complain() {
  echo "soak: $*" >&2
  failed=1
}
# number FILE KEY [KEY]…: a number of a JSON file.
number() {
  python3 -c "
import functools, json, sys
print(functools.reduce(lambda value, key: value[key], sys.argv[2:], json.load(open(sys.argv[1]))))" "$@"
}

# Memory that is the program's own (rows in files are the page cache's) and open files, every second.
watch_over() { # PID FILE
  local memory files
  while memory=$(awk '/^RssAnon/ { print $2 }' "/proc/$1/status" 2>/dev/null) && [[ -n $memory ]]; do
    files=$(find "/proc/$1/fd" -mindepth 1 2>/dev/null | wc -l)
    echo "$memory $files" >>"$2"
    sleep 1
  done
}

# Fails if memory or open files grow after a run's first third.
check_growth() { # NAME FILE
  python3 - "$@" <<'PY' || failed=1
import sys
name, path = sys.argv[1:]
seen = [tuple(map(int, line.split())) for line in open(path)]
later = seen[len(seen) // 3: -1]  # the last look may catch the end
if len(later) < 10:
    sys.exit(f"soak: {name}: too short to tell whether anything grows")
# A checkpoint that is written has a file open, and accounting takes memory for a moment: what counts
# is the least of a while.
fifth = len(later) // 5
memory, files = (min(values) for values in zip(*later[:fifth]))
grown, more = (min(values) for values in zip(*later[-fifth:]))
print(f"soak: {name}: memory {memory} -> {grown} kB ({grown / memory - 1:+.2%}, "
      f"at most {max(m for m, _ in later)}), open files {files} -> {more}")
if grown > 1.01 * memory or more > files:
    sys.exit(f"soak: {name}: something grows")
PY
}

check_drift() { # NAME FILE
  python3 - "$@" <<'PY' || failed=1
import json, statistics, sys
name, path = sys.argv[1:]
times = [line["step_ms"] for line in map(json.loads, open(path)) if "step_ms" in line]
fifth = len(times) // 5
early, late = statistics.median(times[fifth:2 * fifth]), statistics.median(times[-fifth:])
print(f"soak: {name}: a step took {early:.3g} ms early, {late:.3g} ms late ({late / early - 1:+.1%})")
if late > 1.25 * early:
    sys.exit(f"soak: {name}: steps became slower")
PY
}

soak() { # NAME FLAG…
  local name=$1 steps watched running killer code kills=0 words
  shift
  "$program" train "${flags[@]}" "$@" --steps 100 --out trial --no-release --json trial.json >/dev/null
  steps=$(python3 -c "print(max(300, int($minutes * 10 * $(number trial.json steps_per_second))))")
  rm -rf trial tables
  echo "soak: $name: $steps steps"

  "$program" train "${flags[@]}" "$@" --steps "$steps" --checkpoint-every 5s --out whole --json whole.json >whole.txt &
  watched=$!
  rm -f seen
  watch_over "$watched" seen
  wait "$watched"
  check_growth "$name" seen
  check_drift "$name" whole/metrics.jsonl
  rm -rf tables

  words=(train "${flags[@]}" "$@" --steps "$steps" --checkpoint-every 5s --out killed)
  while true; do
    "$program" "${words[@]}" >killed.txt 2>&1 &
    running=$!
    (
      sleep "$((1 + RANDOM % (2 * each)))"
      kill -KILL "$running" 2>/dev/null
    ) &
    killer=$!
    code=0
    wait "$running" 2>/dev/null || code=$?
    kill "$killer" 2>/dev/null || true
    wait "$killer" 2>/dev/null || true
    if ((code == 0)) || [[ -e killed/model/card.json ]]; then break; fi
    if ((code != 137)); then
      cat killed.txt >&2
      complain "$name: a run ended with $code"
      break
    fi
    kills=$((kills + 1))
    words=(resume killed --quiet)
  done
  if [[ $(number whole/model/card.json weights blake2b_256) == $(number killed/model/card.json weights blake2b_256) ]]; then
    echo "soak: $name: $kills kills, the same model"
  else
    complain "$name: after $kills kills the model differs"
  fi
  rm -rf whole killed tables
}

soak "tables in memory"
soak "tables in files" --table-storage file:tables
exit "$failed"
