#!/usr/bin/env bash
# Everything that reads the sources without running them: lint.sh [FILES FOR CLANG-TIDY…]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tools.sh

tests/checks/include_direction.sh
tests/checks/source_rules.sh
scripts/format.sh --check

# clang-tidy reads the compiler's flags from the dev build, which need only be configured.
configure_preset dev
tidy() {
  xargs -0 -P "$cores" -n 1 "$clang_tidy" --quiet -p build/dev 2> >(grep -v 'warnings generated' >&2)
}
if (($# > 0)); then
  printf '%s\0' "$@" | tidy
else
  find src tests -name '*.cc' -print0 | sort -z | tidy
fi
echo "lint: clean"
