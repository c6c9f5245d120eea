#!/usr/bin/env bash
# Makes the virtual environment build/venv (or FOLDER), if there is none, and installs what a
# requirements file lists and what is missing. Usage: venv.sh REQUIREMENTS_FILE [FOLDER [ARGUMENTS OF
# PIP]]. Exit 69: it can't be had here.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tools.sh
requirements=${1:?usage: scripts/venv.sh REQUIREMENTS_FILE [FOLDER [ARGUMENTS]]}
venv=${2:-build/venv}
python=$(works python3 3.10) || { echo "python3 3.10 or newer is needed" >&2; exit 69; }

# A stamp keeps what was installed for this file, so that the index is not asked twice.
stamp=$venv/installed-${requirements//\//-}
wanted=$("$python" --version && cat python/constraints.txt "$requirements")
if [[ -f $stamp && $(cat "$stamp") == "$wanted" ]]; then exit 0; fi

mkdir -p build
echo "installing $requirements in $venv (log: build/venv.log)"
if ! {
  { [[ -x $venv/bin/pip ]] || "$python" -m venv "$venv"; } &&
    "$venv/bin/pip" install --constraint python/constraints.txt --requirement "$requirements" "${@:3}"
} >build/venv.log 2>&1; then
  tail -n 3 build/venv.log >&2
  echo "the packages of $requirements can't be had here" >&2
  exit 69
fi
printf '%s\n' "$wanted" >"$stamp"
