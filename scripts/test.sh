#!/usr/bin/env bash
# Runs the tests of one test preset, which has been built: test.sh dev|all|asan|tsan [CTEST ARGUMENTS…]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tools.sh
# Tests run in folders of their own: a relative path must not depend on that.
if [[ -n ${LAZYDP_DATA_DIR:-} ]]; then
  LAZYDP_DATA_DIR=$(cd "$LAZYDP_DATA_DIR" && pwd)
  export LAZYDP_DATA_DIR
fi
ctest=$(dirname "$(find_cmake)")/ctest

# The sanitizers of g++ 12 can't lay out their shadow memory when the kernel randomises addresses
# by more than 28 bits ("unexpected memory mapping"). Children inherit the setting.
run=()
if [[ $1 == *san ]] && (($(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0) > 28)); then
  run=(setarch --addr-no-randomize)
fi
"${run[@]}" "$ctest" --preset "$1" --parallel "$cores" "${@:2}"
