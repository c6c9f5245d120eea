#!/usr/bin/env bash
# Shows that include_direction.sh, source_rules.sh and pages.py catch what they should: plants one
# violation at a time in a tiny tree that is clean without it.
set -euo pipefail
checks=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0

for folder in base kernels random embedding data model clip noise privacy shard train export checkpoint release audit engine python report bench cli; do
  mkdir -p "$tree/src/lazydp/$folder"
  echo '#include <vector>' >"$tree/src/lazydp/$folder/clean.h"
done
mkdir -p "$tree/tests/noise"

# plant FILE LINE…: the clean tree with a FILE of these lines in it, in place of the one before.
planted=
plant() {
  if [[ -n $planted ]]; then rm "$tree/$planted"; fi
  planted=$1
  printf '%s\n' "${@:2}" >"$tree/$1"
}
fail() {
  echo "FAILED: $*"
  failed=1
}
# clean FILE LINE…: every check accepts it.
clean() {
  plant "$@"
  for check in include_direction.sh source_rules.sh pages.py; do
    "$checks/$check" "$tree" || fail "$check refuses a clean $1"
  done
}
# caught CHECK RULE FILE LINE: the check names line 2 of the file and the rule.
caught() {
  plant "$3" '// A purpose.' "$4"
  local said check=("$checks/$1".*)
  if said=$("${check[0]}" "$tree"); then
    fail "$1 misses in $3: $4"
  elif [[ $said != *"$3:2: "*"$2"* ]]; then
    fail "$1 says of $3: $said"
  fi
}

clean src/lazydp/noise/clock.cc '#include "lazydp/noise/clock.h"' '#include <cmath>' \
  '#include "lazydp/base/types.h"' '#include "lazydp/embedding/table.h"'
clean src/lazydp/privacy/rdp.cc '#include "lazydp/base/error.h"' '// std::cout << prints nothing'
clean src/lazydp/cli/train.cc '#include "lazydp/train/trainer.h"' '#include <iostream>' \
  'std::cout << loss;' 'printf("%d", 1);'
clean src/lazydp/train/name.cc 'std::snprintf(text, size, "%d", 1);' 'romp_around();'
clean src/lazydp/base/parallel.cc '#include <omp.h>' '#include <immintrin.h>' '#pragma omp parallel'
clean src/lazydp/kernels/noise.cc '#include <immintrin.h>'
clean src/lazydp/model/sgemm.cc '#include <cblas.h>'
clean src/lazydp/shard/mpi_ranks.cc '#include <mpi.h>'
mapfile -t lines < <(yes '// a line' | head -n 300)
clean src/lazydp/base/long.cc "${lines[@]}"

leftward() { caught include_direction "$1 may not include $2" "src/lazydp/$1/x.cc" "#include \"lazydp/$2/x.h\""; }
folders=(base kernels random embedding data model clip noise privacy shard train export checkpoint release audit engine)
for ((i = 1; i < ${#folders[@]}; ++i)); do leftward "${folders[i - 1]}" "${folders[i]}"; done
leftward base train
leftward audit report
leftward report bench
leftward bench cli
leftward engine python
leftward python cli
leftward cli python
leftward cli engine
leftward report engine
leftward train engine
leftward engine cli
leftward clip noise
caught include_direction 'never include each other' src/lazydp/noise/x.cc '#include "lazydp/clip/x.h"'
caught include_direction 'neither model nor data' src/lazydp/noise/x.cc '#include "lazydp/model/x.h"'
caught include_direction 'neither model nor data' src/lazydp/noise/x.h '# include "lazydp/data/x.h"'
caught include_direction 'privacy includes only base' src/lazydp/privacy/x.cc '#include "lazydp/random/x.h"'
caught include_direction 'no such folder' src/lazydp/train/x.cc '#include "lazydp/utils/x.h"'
caught include_direction 'included as' src/lazydp/train/x.cc '#include "../noise/x.h"'
caught include_direction 'in quotes' src/lazydp/train/x.cc '#include <lazydp/noise/x.h>'
caught include_direction 'omp.h is included only' src/lazydp/model/x.cc '#include <omp.h>'
caught include_direction 'mpi.h is included only' src/lazydp/train/x.cc '#include <mpi.h>'
caught include_direction 'cblas.h is included only' src/lazydp/clip/x.cc '#include <cblas.h>'
caught include_direction 'immintrin.h is included only' src/lazydp/noise/x.cc '#include <immintrin.h>'
caught include_direction 'may not include model' src/lazydp/kernels/x.cc \
  '#define HWY_TARGET_INCLUDE "lazydp/model/x.cc"'

prints=('std::cout << x;' 'std::cerr<<x;' 'printf("x");' 'std::fprintf(stderr, "x");' '#include <iostream>')
for line in "${prints[@]}"; do
  caught source_rules 'only cli, report and python print' src/lazydp/train/x.cc "$line"
done
caught source_rules 'knows OpenMP' src/lazydp/clip/x.cc '#pragma omp parallel for'
caught source_rules 'knows OpenMP' src/lazydp/clip/x.cc 'const int n = omp_get_max_threads();'
caught source_rules 'left to do' src/lazydp/clip/x.cc '// TODO: faster'
caught source_rules 'left to do' tests/noise/x_test.cc '// FIXME'
plant src/lazydp/base/long.cc "${lines[@]}" '// one more'
"$checks/source_rules.sh" "$tree" >/dev/null && fail "source_rules misses a file of 301 lines"
mkdir "$tree/src/lazydp/utils"
plant src/lazydp/utils/x.cc '// A purpose.'
"$checks/include_direction.sh" "$tree" >/dev/null && fail "include_direction misses an unknown folder"

printf -v long '%0119dä' 0 # 120 characters in 121 bytes
mkdir "$tree/docs"
clean docs/page.md "$long" '`noise/clean.h` `base/clean.{h,h}` `cli/verbs/NAME.cc` `clip/`' \
  "| $long |" '```' "$long$long" '`gone.cc`' '```'
caught pages 'this line has 121' docs/page.md "$long."
caught pages 'no file noise/gone.h' docs/page.md 'See `noise/gone.h`.'
caught pages 'no file clip/clean.cc' docs/page.md 'See `clip/clean.{h,cc}`.'

exit $failed
