#!/usr/bin/env bash
# Installs liblazydp, moves the folder, and uses it as another project would: each public header
# alone, examples/embed with find_package (in C++, and in C on a model that was just released), the tests of engine/ with pkg-config.
# Usage: installed_library.sh BUILD_FOLDER CMAKE CXX [PROGRAM]
set -euo pipefail
build=$1 cmake=$2 cxx=$3
cd "$(dirname "$0")/../.."
. scripts/tools.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $*"
  exit 1
}

for part in library development; do
  "$cmake" --install "$build" --prefix "$scratch/first" --component $part >/dev/null
done
prefix=$scratch/moved
mv "$scratch/first" "$prefix"
library=$(find "$prefix" -name 'liblazydp.so')
folder=$(dirname "$library")

wanted=$(public_headers)
installed=$(cd "$prefix/include/lazydp" && find . -type f | sed 's|^\./||' | sort)
[[ $installed == "$wanted" ]] || fail "these headers are installed: $installed"
strict=(-std=c++20 -Wall -Wextra -Wpedantic -Wshadow -Werror)
for header in $installed; do
  echo "#include <lazydp/$header>" >"$scratch/alone.cc"
  "$cxx" "${strict[@]}" -fsyntax-only -I "$prefix/include" "$scratch/alone.cc" ||
    fail "$header does not compile alone"
done

needed=$(readelf -d "$library" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p')
for name in $needed; do
  case $name in
    libhwy.so.* | libsodium.so.* | libgomp.so.* | libstdc++.so.* | libm.so.* | libgcc_s.so.* | libc.so.* | ld-linux-*) ;;
    *) fail "liblazydp loads $name" ;;
  esac
done
[[ $(readelf -d "$library") =~ SONAME.*liblazydp\.so\.[0-9]+\.[0-9]+\] ]] || fail "no versioned SONAME"
# Our names alone, and none of std:: that another copy could be mistaken for.
strangers=$(nm -DC --defined-only "$library" | sed 's/^[0-9a-f]* . //' |
  grep -vE '^((typeinfo (name )?for )?lazydp::|lazydp_(load|score|free)$)' || true)
[[ -z $strangers ]] || fail "liblazydp exports $strangers"

"$cmake" -S examples/embed -B "$scratch/embed" -D "CMAKE_PREFIX_PATH=$prefix" \
  -D "CMAKE_CXX_COMPILER=$cxx" -D CMAKE_BUILD_TYPE=Debug >"$scratch/log" || { cat "$scratch/log"; exit 1; }
"$cmake" --build "$scratch/embed" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
said=$("$scratch/embed/embed")
echo "$said"
[[ $said == *"200 steps, epsilon"*"all rows settled" ]] || fail "the example says: $said"

# A model's scores in C are those of the program.
if (($# > 3)); then
  program=$4
  "$program" convert csv --quiet --schema examples/ratings.toml examples/ratings.csv "$scratch/r.ldp" >/dev/null
  "$program" train --quiet --data "$scratch/r.ldp" --epochs 2 --out "$scratch/run" >/dev/null
  head -n 4 examples/ratings.csv | "$program" predict "$scratch/run" - >"$scratch/expected"
  sed -n 2,4p examples/ratings.csv | while IFS=, read -r user movie year genres _ time; do
    "$scratch/embed/score" "$scratch/run/model" "time=$time" "user=$user" "genres=$genres" \
      "movie=$movie" "year=$year"
  done >"$scratch/scores"
  paste "$scratch/expected" "$scratch/scores"
  awk '{ if (($1 - $2) ^ 2 > 1e-12) exit 1 } END { if (NR != 3) exit 1 }' \
    <(paste "$scratch/expected" "$scratch/scores") || fail "scores in C differ from those of predict"
  for wrong in "year=old movie=m user=u genres=g time=1" "year=1"; do
    read -r -a words <<<"$wrong"
    if said=$("$scratch/embed/score" "$scratch/run/model" "${words[@]}" 2>&1); then fail "$wrong was scored"; fi
    [[ $said == *"year is 'old'"* || $said == *"no column 'user'"* ]] || fail "$wrong: $said"
  done
  if said=$("$scratch/embed/score" "$scratch" 2>&1); then fail "a folder without a model was opened"; fi
fi

export PKG_CONFIG_PATH=$folder/pkgconfig
read -r -a flags <<<"$(pkg-config --cflags --libs lazydp)"
mapfile -t tests < <(grep -L '"lazydp/engine/table_group.h"' tests/engine/*.cc) # the plug-in alone has groups of tables
"$cxx" "${strict[@]}" "${tests[@]}" -o "$scratch/tests" "${flags[@]}" -lgtest -lgtest_main -pthread
LD_LIBRARY_PATH=$folder "$scratch/tests" --gtest_brief=1
