#!/usr/bin/env bash
# Everything that reads the sources without running them: lint.sh [FILES FOR CLANG-TIDY…]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tools.sh

tests/checks/include_direction.sh
tests/checks/import_direction.py
tests/checks/source_rules.sh
tests/checks/pages.py
scripts/format.sh --check

# clang-tidy reads the compiler's flags of each file, by itself, from a build that is only configured.
configure_tree build/lint --preset dev -B build/lint -D LAZYDP_BENCHMARKS=ON
# The extension and the fuzzers are built elsewhere, and linted where they have been.
tidy() {
  xargs -0 -P "$cores" -n 1 "$clang_tidy" --quiet -p "${1:-build/lint}" 2> >(grep -v 'warnings generated' >&2)
}
if (($# > 0)); then
  printf '%s\0' "$@" | tidy
else
  find src tests benchmarks -name '*.cc' -not -path 'src/lazydp/python/*' -not -path 'tests/fuzz/*' -print0 | sort -z | tidy
  if [[ -e build/fuzz/compile_commands.json ]]; then
    find tests/fuzz -name '*.cc' -print0 | sort -z | tidy build/fuzz
  fi
  if [[ -e build/wheel/compile_commands.json ]]; then
    find src/lazydp/python -name '*.cc' -print0 | sort -z | tidy build/wheel
  fi
fi
echo "lint: clean"
