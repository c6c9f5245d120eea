#!/usr/bin/env bash
# Makes the virtual environment build/venv, if there is none, and installs what a requirements file
# lists and what is missing. Usage: venv.sh REQUIREMENTS_FILE
set -euo pipefail
cd "$(dirname "$0")/.."
requirements=${1:?usage: scripts/venv.sh REQUIREMENTS_FILE}
venv=build/venv
if [[ ! -x $venv/bin/pip ]]; then python3 -m venv "$venv"; fi
"$venv/bin/pip" install --quiet --constraint python/constraints.txt --requirement "$requirements"
