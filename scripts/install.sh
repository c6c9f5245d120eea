#!/usr/bin/env bash
# Installs the Debian packages that a group of targets needs and that are missing: build, package,
# test, python, bench, fuzz or lint. Touches neither network nor package manager when nothing is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tools.sh

missing=()

# need PACKAGE [TEST…]: the package is missing if the test fails; without a test, if dpkg says so.
need() {
  local package=$1
  shift
  if (($# == 0)); then set -- installed "$package"; fi
  "$@" >/dev/null 2>&1 || missing+=("$package")
}
installed() { [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$1") == installed ]]; }

need_build() {
  need g++ command -v "${CXX:-g++}"
  need cmake find_cmake
  need ninja-build find_ninja
  need pkg-config command -v pkg-config
  for package in libhwy-dev libopenblas-dev libopenblas-pthread-dev libkissfft-dev libcli11-dev \
    libtomlplusplus-dev nlohmann-json3-dev libsodium-dev libxxhash-dev zlib1g-dev libzstd-dev; do
    need "$package"
  done
  need libdnnl-dev # oneDNN; without it the program builds too, and is slower where there is AVX-512
}
need_package() {
  need_build
  need dpkg-dev command -v dpkg-shlibdeps
}
need_test() {
  need_build
  need zsh command -v zsh
  need fish command -v fish
  need groff-base command -v groff
  need libgtest-dev
  need doxygen command -v doxygen
  need libopenmpi-dev # without it the program builds too, for one machine
  need openmpi-bin command -v mpirun
  need clang-format-14 command -v "$clang_format"
}
need_python() {
  need_build
  need python3-dev
  need python3-venv
}
need_bench() {
  need_build
  need libbenchmark-dev
}
need_fuzz() {
  need_build
  need clang-14 command -v clang++-14
  need libclang-rt-14-dev # libFuzzer and the sanitizers
  need libomp-14-dev      # clang's own omp.h
}
need_lint() {
  need_test
  need_bench # the benchmarks are linted too
  need clang-tidy-14 command -v "$clang_tidy"
  need libomp-14-dev # clang's own omp.h
}

case ${1:-} in
  build | package | test | python | bench | fuzz | lint) ;;
  *)
    echo "usage: scripts/install.sh build|package|test|python|bench|fuzz|lint" >&2
    exit 2
    ;;
esac
if ! command -v dpkg-query >/dev/null; then
  echo "not a Debian system: installing nothing; CMake will say what it can't find" >&2
  exit 0
fi
"need_$1"
if ((${#missing[@]} == 0)); then exit 0; fi

by_hand="apt-get install --no-install-recommends ${missing[*]}"
as_root=(env)
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "packages are missing and there is no sudo here; run as root: $by_hand" >&2
    exit 1
  fi
  as_root=(sudo env)
fi
apt_get() {
  "${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get -q -y \
    -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" >>build/install.log 2>&1
}

echo "installing ${missing[*]} (log: build/install.log)"
mkdir -p build
: >build/install.log
# A mirror that is half down may still have our packages, so only the install decides.
apt_get update || true
if ! apt_get install --no-install-recommends "${missing[@]}"; then
  tail -n 20 build/install.log >&2
  echo "could not install (end of build/install.log above); by hand, as root: $by_hand" >&2
  exit 1
fi
