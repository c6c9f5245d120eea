#!/usr/bin/env bash
# Rewrites the C++ sources in the project's format; with --check only says which lines differ.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tools.sh

mode=(-i)
if [[ ${1:-} == --check ]]; then mode=(--dry-run -Werror); fi
folders=()
for folder in src tests benchmarks examples python; do
  if [[ -d $folder ]]; then folders+=("$folder"); fi
done
find "${folders[@]}" -type f \( -name '*.cc' -o -name '*.h' \) -print0 |
  xargs -0 -P "$cores" -n 20 "$clang_format" "${mode[@]}"
