#!/usr/bin/env bash
# The site of docs/ is made without a warning, links included, and holds every page.
# Exit 77 (skipped) where the generator can't be had.
set -euo pipefail
cd "$(dirname "$0")/../.."
status=0
scripts/docs.sh || status=$?
if ((status == 69)); then exit 77; fi
((status == 0))
for page in docs/*.md; do
  name=$(basename "$page" .md)
  grep -q "href=\"$name.html" build/site/index.html || { echo "FAILED: the site has no link to $name"; exit 1; }
done
