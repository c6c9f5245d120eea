#!/usr/bin/env bash
# Runs Google's jax_privacy beside `lazydp privacy epsilon --correlation`, over random settings.
# Usage: correlated_peers.sh PROGRAM [SETTINGS]
set -euo pipefail
program=$(realpath "$1")
cd "$(dirname "$0")/../.."
scripts/venv.sh tests/privacy/correlated_requirements.txt build/jax
build/jax/bin/python tests/privacy/correlated_peers.py "$program" "${2:-120}"
