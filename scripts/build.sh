#!/usr/bin/env bash
# Configures and builds one preset: build.sh release|dev|asan|tsan
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tools.sh

echo "building preset $1 on $cores core(s)"
configure_preset "$1"
"$(find_cmake)" --build --preset "$1"
