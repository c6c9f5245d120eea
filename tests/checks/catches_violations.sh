#!/usr/bin/env bash
# Shows that include_direction.sh, import_direction.py, source_rules.sh and pages.py catch what they
# should: plants one violation at a time in a tiny tree that is clean without it.
set -euo pipefail
checks=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0

for folder in base kernels random embedding data model clip noise privacy shard train export checkpoint release audit engine python report bench cli; do
  mkdir -p "$tree/src/lazydp/$folder"
  echo '#include <vector>' >"$tree/src/lazydp/$folder/clean.h"
done
packages=(serving noise accounting loading layers tables training)
for package in "${packages[@]}"; do
  mkdir -p "$tree/python/lazydp/$package"
  echo 'from lazydp import _native' >"$tree/python/lazydp/$package/clean.py"
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
  for check in include_direction.sh import_direction.py source_rules.sh pages.py; do
    "$checks/$check" "$tree" || fail "$check refuses a clean $1"
  done
}
# caught CHECK RULE FILE LINE: the check names line 2 of the file and the rule.
caught() {
  local said check=("$checks/$1".*) purpose='// A purpose.'
  if [[ $3 == *.py ]]; then purpose='# A purpose.'; fi
  plant "$3" "$purpose" "$4"
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

clean python/lazydp/tables/x.py 'import torch' 'from lazydp._native import UserError' \
  'from lazydp.tables.clean import x' 'from lazydp.layers import clean' '# from lazydp.training import x'
clean python/lazydp/__init__.py 'from lazydp.training.clean import x'
clean python/lazydp/auditing.py 'import torch' 'from lazydp.privacy import Event'
for ((i = 1; i < ${#packages[@]}; ++i)); do
  caught import_direction "${packages[i - 1]} may not import ${packages[i]}" "python/lazydp/${packages[i - 1]}/x.py" \
    "from lazydp.${packages[i]}.clean import x"
done
caught import_direction 'noise may not import training' python/lazydp/noise/x.py 'from lazydp import training'
caught import_direction 'noise may not import training' python/lazydp/noise/x.py 'def f(): import lazydp.training.clean'
caught import_direction 'noise may not import privacy' python/lazydp/noise/x.py 'from lazydp import privacy'
caught import_direction 'privacy may not import auditing' python/lazydp/privacy.py 'from lazydp.auditing import x'
caught import_direction 'serving may not import torch' python/lazydp/serving/x.py 'from torch import nn'
caught import_direction 'full names' python/lazydp/layers/x.py 'from . import clean'
caught import_direction 'in no folder' python/lazydp/layers/x.py 'from lazydp import UserError'

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
mkdir "$tree/python/lazydp/utils"
for path in utils/x.py helpers.py; do
  plant "python/lazydp/$path" '# A purpose.'
  "$checks/import_direction.py" "$tree" >/dev/null && fail "import_direction misses $path, which is in no folder"
done

printf -v long '%0119dä' 0 # 120 characters in 121 bytes
mkdir "$tree/docs"
clean docs/page.md "$long" '`noise/clean.h` `base/clean.{h,h}` `cli/verbs/NAME.cc` `clip/`' \
  "| $long |" '```' "$long$long" '`gone.cc`' '```'
caught pages 'this line has 121' docs/page.md "$long."
caught pages 'no file noise/gone.h' docs/page.md 'See `noise/gone.h`.'
caught pages 'no file clip/clean.cc' docs/page.md 'See `clip/clean.{h,cc}`.'

exit $failed
