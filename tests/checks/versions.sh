#!/usr/bin/env bash
# One version everywhere: CMakeLists.txt has it, pyproject.toml reads it there, CITATION.cff and, if there
# is a release, the changelog repeat it.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/tools.sh
version=$(project_version)
citation=$(sed -nE 's/^version: (.*)$/\1/p' CITATION.cff)
[[ -n $version && $citation == "$version" ]] || {
  echo "FAILED: CMakeLists.txt says $version, CITATION.cff $citation"
  exit 1
}
newest=$(sed -nE 's/^## \[?([0-9]+\.[0-9]+\.[0-9]+).*/\1/p' CHANGELOG.md | head -n 1)
[[ -z $newest || $newest == "$version" ]] || { echo "FAILED: the changelog's newest release is $newest, not $version"; exit 1; }
grep -q '^## Unreleased' CHANGELOG.md
echo "version $version"
