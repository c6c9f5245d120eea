#!/usr/bin/env bash
# The site of docs/ is made without a warning, links included; every page is in its navigation, and
# no page loads anything from elsewhere. Exit 77 (skipped) where the generator can't be had.
set -euo pipefail
cd "$(dirname "$0")/../.."
docs/pictures/step.py --check
status=0
scripts/docs.sh || status=$?
if ((status == 69)); then exit 77; fi
((status == 0))
fail() {
  echo "FAILED: $*"
  exit 1
}
while IFS= read -r page; do
  page=${page#docs/}
  grep -q "href=\"${page%.md}.html\|href=\"${page%README.md}index.html" build/site/index.html ||
    fail "the site has no link to $page"
done < <(find docs -name '*.md')
outside=$(grep -rnoE --include='*.html' --exclude-dir=reference \
  '<(script|img|source|iframe)[^>]* src(set)?="?https?:[^ >]*|<link[^>]* href="?https?:[^ >]*' build/site || true)
[[ -z $outside ]] || fail "a page loads from elsewhere: $outside"
