#!/usr/bin/env bash
# Makes the API reference of liblazydp in FOLDER/html; any warning is an error.
# Usage: api_reference.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tools.sh
LAZYDP_API=$1
LAZYDP_VERSION=$(project_version)
LAZYDP_PUBLIC_HEADERS=$(public_headers | sed 's|^|src/lazydp/|' | paste -sd ' ')
export LAZYDP_API LAZYDP_VERSION LAZYDP_PUBLIC_HEADERS
mkdir -p "$LAZYDP_API"
doxygen docs/Doxyfile
