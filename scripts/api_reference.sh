#!/usr/bin/env bash
# Makes the API reference of liblazydp in FOLDER/html; any warning is an error.
# Usage: api_reference.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
LAZYDP_API=$1
LAZYDP_VERSION=$(sed -nE 's/^project\(LazyDP VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
LAZYDP_PUBLIC_HEADERS=$(sed -n '/^set(public_headers/,/)/p' src/lazydp/engine/CMakeLists.txt |
  grep -oE '[a-z_]+/[a-z_]+\.h' | sed 's|^|src/lazydp/|' | paste -sd ' ')
export LAZYDP_API LAZYDP_VERSION LAZYDP_PUBLIC_HEADERS
mkdir -p "$LAZYDP_API"
doxygen docs/Doxyfile
