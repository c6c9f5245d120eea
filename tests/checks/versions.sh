#!/usr/bin/env bash
# One version everywhere: CMakeLists.txt, pyproject.toml, CITATION.cff and, if there is a release, the changelog.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/tools.sh
version=$(project_version)
python=$(sed -nE 's/^version = "(.*)"$/\1/p' pyproject.toml)
citation=$(sed -nE 's/^version: (.*)$/\1/p' CITATION.cff)
[[ -n $version && $python == "$version" && $citation == "$version" ]] || {
  echo "FAILED: CMakeLists.txt says $version, pyproject.toml $python, CITATION.cff $citation"
  exit 1
}
newest=$(sed -nE 's/^## \[?([0-9]+\.[0-9]+\.[0-9]+).*/\1/p' CHANGELOG.md | head -n 1)
[[ -z $newest || $newest == "$version" ]] || { echo "FAILED: the changelog's newest release is $newest, not $version"; exit 1; }
grep -q '^## Unreleased' CHANGELOG.md
echo "version $version"
