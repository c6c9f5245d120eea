#!/usr/bin/env bash
# Runs every `$ build/lazydp …` line of the documents; each must end well. A program that was built
# without Arrow reads the same log as CSV where a document has Parquet.
# Usage: documented_commands.sh PROGRAM
set -euo pipefail
program=$1
cd "$(dirname "$0")/../.."
ran=0
failed=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
ln -s "$PWD/examples" "$scratch/examples" # documents name files as seen from the root
parquet=yes
if grep -q 'built without Arrow' <("$program" convert parquet --schema examples/ratings.toml \
  examples/ratings.parquet "$scratch/tried.ldp" 2>&1); then
  parquet=no
fi
while IFS= read -r line; do
  command=${line#*'$ build/lazydp'}
  command=${command%%  #*} # a comment after two spaces
  if [[ $parquet == no && $command == *' convert parquet '* ]]; then
    command=${command/convert parquet/convert csv}
    command=${command/.parquet/.csv}
  fi
  echo "lazydp$command"
  read -r -a arguments <<<"$command"
  if ! (cd "$scratch" && "$program" "${arguments[@]}" >log 2>&1); then
    tail -n 5 "$scratch/log"
    echo "FAILED: $line"
    failed=$((failed + 1))
  fi
  ran=$((ran + 1))
done < <(grep -h '^\$ build/lazydp' README.md docs/*.md)
echo "$ran commands ran, $failed failed"
((ran > 0 && failed == 0))
