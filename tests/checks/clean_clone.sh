#!/usr/bin/env bash
# Builds the program from a clone of HEAD in a folder with a space in its name, twice in a row.
# Exit 77 (skipped) where there is no repository to clone.
set -euo pipefail
cd "$(dirname "$0")/../.."
if [[ ! -e .git ]] || ! git rev-parse --verify --quiet HEAD >/dev/null; then
  echo "not a repository with a commit: nothing to clone"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
git clone --quiet . "$folder/a clone"
cd "$folder/a clone"
make build
make build
build/lazydp --help >/dev/null
