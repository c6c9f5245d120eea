#!/usr/bin/env bash
# The quick half of make test-planted: every patch still applies and has its row, and every row names
# a test that exists in the programs under FOLDER, or under tests/python. Usage: check.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/planted/slips.sh
failed=0
fail() {
  echo "FAILED: $*"
  failed=1
}

read_slips
for slip in "${slips[@]}"; do
  if [[ ! -f $(patch_of "$slip") ]]; then
    fail "$slip: there is no $(patch_of "$slip")"
  elif ! git_apply "$slip" --check; then
    fail "$slip: the patch no longer applies; make the same slip again and save git diff"
  elif ! git_apply "$slip" --numstat | grep -qE 'src/|python/lazydp/'; then
    fail "$slip: the patch changes nothing under src/ or python/lazydp/"
  fi
  if (($# > 0)) && [[ -z $(tests_of "$1" "$slip") ]]; then
    fail "$slip: no test ${filter[$slip]} in ${program[$slip]}"
  fi
done
for patch in "$slips_dir"/*.patch; do
  slip=$(basename "$patch" .patch)
  if [[ -e $patch && -z ${program[$slip@1]:-} ]]; then fail "$slip: the patch has no row in slips.txt"; fi
done
echo "${#slips[@]} slips"
exit $failed
