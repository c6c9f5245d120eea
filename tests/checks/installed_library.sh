#!/usr/bin/env bash
# Installs liblazydp, moves the folder, and uses it as another project would: each public header
# alone, examples/embed with find_package, the tests of engine/ with pkg-config.
# Usage: installed_library.sh BUILD_FOLDER CMAKE CXX
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
    libhwy.so.* | libgomp.so.* | libstdc++.so.* | libm.so.* | libgcc_s.so.* | libc.so.* | ld-linux-*) ;;
    *) fail "liblazydp loads $name" ;;
  esac
done
[[ $(readelf -d "$library") =~ SONAME.*liblazydp\.so\.[0-9]+\.[0-9]+\] ]] || fail "no versioned SONAME"
# Our names alone, and none of std:: that another copy could be mistaken for.
strangers=$(nm -DC --defined-only "$library" | sed 's/^[0-9a-f]* . //' |
  grep -vE '^(typeinfo (name )?for )?lazydp::' || true)
[[ -z $strangers ]] || fail "liblazydp exports $strangers"

"$cmake" -S examples/embed -B "$scratch/embed" -D "CMAKE_PREFIX_PATH=$prefix" \
  -D "CMAKE_CXX_COMPILER=$cxx" -D CMAKE_BUILD_TYPE=Debug >"$scratch/log" || { cat "$scratch/log"; exit 1; }
"$cmake" --build "$scratch/embed" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
said=$("$scratch/embed/embed")
echo "$said"
[[ $said == *"200 steps, epsilon"*"all rows settled" ]] || fail "the example says: $said"

export PKG_CONFIG_PATH=$folder/pkgconfig
read -r -a flags <<<"$(pkg-config --cflags --libs lazydp)"
"$cxx" "${strict[@]}" tests/engine/*.cc -o "$scratch/tests" "${flags[@]}" -lgtest -lgtest_main -pthread
LD_LIBRARY_PATH=$folder "$scratch/tests" --gtest_brief=1
