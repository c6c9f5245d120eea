#!/usr/bin/env bash
# The algorithm and the verb of docs/adding-an-algorithm.md: their patches apply to this tree; with
# --build they are also built in a copy, and their tests and the trainer's are run there.
# Usage: new_algorithm.sh [--build]
set -euo pipefail
cd "$(dirname "$0")/../.."
patches=("$PWD/examples/new_algorithm/lazydp-bounded.patch" "$PWD/examples/new_verb/lazydp-machine.patch")
copy=build/new-algorithm
if [[ ${1:-} != --build ]]; then
  copy=$(mktemp -d)
  trap 'rm -rf "$copy"' EXIT
fi
mkdir -p "$copy"
rm -rf "$copy"/{src,tests,benchmarks,docs}
cp -r CMakeLists.txt README.md cmake src tests benchmarks docs "$copy"
for patch in "${patches[@]}"; do
  (cd "$copy" && GIT_DIR=/nonexistent git apply "$patch") || {
    echo "FAILED: $(basename "$patch") no longer applies; make the same change again and save git diff -U2"
    exit 1
  }
done
grep -q '"lazydp-bounded"' "$copy/src/lazydp/train/recipe.h"
if [[ ${1:-} != --build ]]; then exit 0; fi

. scripts/tools.sh
cd "$copy"
configure_tree build -S . -B build -G Ninja -D CMAKE_BUILD_TYPE=RelWithDebInfo -D LAZYDP_TESTS=ON
"$(find_cmake)" --build build --target lazydp noise_tests train_tests cli_tests
export OMP_WAIT_POLICY=passive
build/tests/noise_tests --gtest_brief=1 --gtest_filter='LazyBounded.*'
build/tests/train_tests --gtest_brief=1 --gtest_filter='-Slow*:Audit*'
build/tests/cli/cli_tests --gtest_brief=1 --gtest_filter='Machine.*'
build/src/lazydp/cli/lazydp train --algorithm lazydp-bounded --rows 500,700 --dim 4 --bottom 13-8-4 --top 8-1 --batch 32 --steps 200 |
  grep -q '^lazydp-bounded on'
