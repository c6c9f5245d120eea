#!/usr/bin/env bash
# Builds the fuzzers and runs each of them: fuzz.sh SECONDS | fuzz.sh --runs N  [NAME…]
# With --runs it tries the same inputs whenever it starts from the seeds alone: a test that passes here
# passes elsewhere.
# Seeds are tests/fuzz/corpus; what a run finds on top stays in build/fuzz/found, crashes in
# build/fuzz/crashes.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tools.sh

limit=(-max_total_time="${1:-10}")
if [[ ${1:-} == --runs ]]; then
  limit=(-runs="$2" -seed=1)
  shift
fi
shift || true
names=("$@")
if ((${#names[@]} == 0)); then
  for corpus in tests/fuzz/corpus/*/; do names+=("$(basename "$corpus")"); done
fi

scripts/build.sh fuzz
mkdir -p build/fuzz/crashes
fuzz() {
  mkdir -p "build/fuzz/found/$1"
  if ! "build/fuzz/tests/fuzz/fuzz_$1" "${@:2}" -timeout=25 -rss_limit_mb=2048 -max_len=20000 \
    -artifact_prefix="build/fuzz/crashes/$1-" -print_final_stats=1 \
    "build/fuzz/found/$1" "tests/fuzz/corpus/$1" >"build/fuzz/$1.log" 2>&1; then
    tail -n 40 "build/fuzz/$1.log" >&2
    echo "fuzz_$1 found something: build/fuzz/crashes, build/fuzz/$1.log" >&2
    return 1
  fi
  echo "$1: $(awk '/number_of_executed_units/ { print $2 }' "build/fuzz/$1.log") inputs, nothing found"
}
export -f fuzz
printf '%s\0' "${names[@]}" | xargs -0 -P "$cores" -I{} bash -euo pipefail -c 'fuzz "$@"' fuzz {} "${limit[@]}"
