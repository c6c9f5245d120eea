#!/usr/bin/env bash
# Doxygen reads the public headers without a warning, and would warn of one that says nothing.
# Exit 77 (skipped) where there is no Doxygen.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v doxygen >/dev/null || { echo "doxygen is not there"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
scripts/api_reference.sh "$scratch/api"
grep -q 'settle_all' "$scratch/api/html/classlazydp_1_1NoiseEngine.html"
grep -q 'engine.settle(0, users)' <(sed 's/<[^>]*>//g' "$scratch/api/html/index.html")

# The same headers, one of them with a function that has no description.
mkdir -p "$scratch/copy"
cp -r CMakeLists.txt docs scripts examples src "$scratch/copy"
echo 'namespace lazydp { void mute(); }' >>"$scratch/copy/src/lazydp/engine/noise_engine.h"
if "$scratch/copy/scripts/api_reference.sh" "$scratch/mute" >"$scratch/log" 2>&1; then
  echo "FAILED: a function without a comment gave no warning"
  exit 1
fi
grep -q 'mute' "$scratch/log"
