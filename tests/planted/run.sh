#!/usr/bin/env bash
# Shows that the tests catch errors: plants each slip in a copy of src/ and python/, alone, and expects
# its test to turn red; without a slip all those tests must be green. Usage: run.sh [SLIP]
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/tools.sh
. tests/planted/slips.sh
work=build/planted
log=$work/log
limit=900 # seconds a test may take; one that hangs is not red

# sync: makes the copies equal to src/ and python/. Only files that differ are written, and they become
# new, so that the build compiles them and nothing else.
sync() {
  sync_folder src
  sync_folder python
}
sync_folder() {
  local file
  mkdir -p "$work/$1"
  while IFS= read -r -d '' file; do
    if ! cmp -s "$1/$file" "$work/$1/$file"; then
      mkdir -p "$(dirname "$work/$1/$file")"
      cat "$1/$file" >"$work/$1/$file"
    fi
  done < <(cd "$1" && find . -type f -not -name '*.pyc' -print0)
  while IFS= read -r -d '' file; do
    if [[ ! -e $1/$file ]]; then rm "$work/$1/$file"; fi
  done < <(cd "$work/$1" && find . -type f -not -name '*.pyc' -not -name '*.so*' -print0)
}

# The test programs with the sources of the copy. A slip may leave a variable unused.
configure_planted() {
  configure_tree "$work/build" -S . -B "$work/build" -G Ninja -D CMAKE_BUILD_TYPE=Release \
    -D LAZYDP_TESTS=ON -D LAZYDP_WERROR=OFF -D "LAZYDP_SOURCE_ROOT=$PWD/$work/src" "$@"
}
# build PROGRAM…: what rows name; of Python, the extension, which lands in the copy of the package.
build() {
  "$(find_cmake)" --build "$work/build" --target "${@/#pytest/_native}" >"$log" 2>&1 || return
  if [[ " $* " == *" pytest "* ]]; then
    find "$work/build" -name '_native*.so' -exec cp {} "$work/python/lazydp/" \;
    cp "$(find build/venv -name 'libhwy.so.1' -print -quit)" "$work/python/lazydp/"
  fi
}

# run_tests SLIP: its tests; their exit code.
run_tests() {
  if in_python "$1"; then
    local arguments=()
    read -ra arguments <<<"${filter[$1]}"
    PYTHONPATH=$PWD/$work/python OMP_WAIT_POLICY=passive timeout "$limit" build/venv/bin/python \
      -W ignore -m pytest -x --color=no "tests/python/${arguments[0]}" "${arguments[@]:1}" >"$log" 2>&1
    return
  fi
  timeout "$limit" "$(find_program "$work/build" "$1")" --gtest_brief=1 --gtest_color=no \
    --gtest_filter="${filter[$1]}" >"$log" 2>&1
}

# red SLIP: plants it, builds, runs; prints the tests that turned red, or why none did (and fails).
red() {
  local code=0
  if ! git_apply "$1" --directory="$work" 2>"$log"; then
    echo "the patch no longer applies"
    return 1
  fi
  if diff -rq src "$work/src" >/dev/null && diff -rq -x '*.so*' -x __pycache__ python "$work/python" >/dev/null; then
    echo "the patch changes nothing under src/ or python/"
    return 1
  fi
  if ! build "${program[$1]}"; then
    echo "does not build"
    return 1
  fi
  run_tests "$1" || code=$?
  case $code in
    0) echo "NOT CAUGHT by ${filter[$1]}" && return 1 ;;
    1) sed -nE 's/^FAILED [^:]*::([^ ]+).*/\1/p; s/^\[  FAILED  \] ([^ ,]+)( \(.*|,.*)?$/\1/p' "$log" | awk '!seen[$0]++' | paste -sd ' ' ;;
    124) echo "${filter[$1]} took over $limit s" && return 1 ;;
    *) echo "${filter[$1]} (died with exit code $code)" ;;
  esac
}

read_slips
if (($# > 0)); then
  if [[ -z ${program[$1@1]:-} ]]; then
    echo "no slip $1; there are: $(printf '%s\n' "${slips[@]%@*}" | sort -u | paste -sd ' ')" >&2
    exit 2
  fi
  mapfile -t slips < <(printf '%s\n' "${slips[@]}" | grep -x "$1@.*")
fi
if ((${#slips[@]} == 0)); then
  echo "no slips in $slips_dir/slips.txt"
  exit 0
fi

mkdir -p "$work"
sync
mapfile -t programs < <(for slip in "${slips[@]}"; do echo "${program[$slip]}"; done | sort -u)
echo "building ${programs[*]} with no slip (log: $log)"
if [[ " ${programs[*]} " == *" pytest "* ]]; then
  scripts/python.sh
  configure_planted -D LAZYDP_PYTHON=ON -D "Python_EXECUTABLE=$PWD/build/venv/bin/python"
else
  configure_planted
fi
if ! build "${programs[@]}"; then
  tail -n 30 "$log"
  exit 1
fi
for slip in "${slips[@]}"; do
  if [[ -z $(tests_of "$work/build" "$slip") ]]; then
    echo "FAILED: $slip: no test ${filter[$slip]} in ${program[$slip]}"
    exit 1
  fi
  if ! run_tests "$slip"; then
    tail -n 30 "$log"
    echo "FAILED: ${filter[$slip]} is red with no slip planted"
    exit 1
  fi
done
echo "with no slip all named tests are green; planting ${#slips[@]}"

missed=0
printf '%-36s %8s  %s\n' slip seconds 'turned red'
for slip in "${slips[@]}"; do
  begin=$SECONDS
  if ! said=$(red "$slip"); then
    said="FAILED: $said"
    cp "$log" "$work/$slip.log"
    missed=$((missed + 1))
  fi
  printf '%-36s %8d  %s\n' "$slip" $((SECONDS - begin)) "$said"
  sync
done
if ((missed > 0)); then
  echo "$missed of ${#slips[@]} slips not caught (logs: $work/<slip>.log)"
  exit 1
fi
echo "all ${#slips[@]} slips caught"
