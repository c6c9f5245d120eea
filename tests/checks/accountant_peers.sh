#!/usr/bin/env bash
# Runs Opacus and Google's dp-accounting beside `lazydp privacy epsilon`, over random settings.
# Usage: accountant_peers.sh PROGRAM [SETTINGS]
set -euo pipefail
program=$(realpath "$1")
cd "$(dirname "$0")/../.."
scripts/venv.sh tests/privacy/requirements.txt
build/venv/bin/python tests/privacy/peers.py "$program" "${2:-220}"
