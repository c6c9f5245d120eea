#!/usr/bin/env bash
# The completion scripts as zsh and fish read them, and the manual as groff does: no complaint.
# A reader that is not on this machine is left out. Usage: words_for_shells.sh PROGRAM
set -euo pipefail
program=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
fail() {
  echo "FAILED: $*"
  exit 1
}
asked=0
# asks TOOL: whether it is here.
asks() {
  command -v "$1" >/dev/null || { echo "$1 is not there"; return 1; }
  asked=$((asked + 1))
}

for shell in bash zsh fish; do "$program" completion $shell >lazydp.$shell; done
bash -n lazydp.bash
if asks zsh; then
  zsh -n lazydp.zsh || fail "zsh does not understand its script"
  # Stand-ins for _arguments and _describe print what they are given.
  said=$(zsh -fc '_arguments() { print -rl -- "$@" }; _describe() { print -rl -- "${(P@)2}" }
    words=(lazydp privacy epsilon "") CURRENT=4; source ./lazydp.zsh' 2>&1)
  [[ $said == *'--noise-multiplier[standard deviation of the noise, in clip norms]:SIGMA:'* ]] ||
    fail "zsh is offered: $said"
fi
if asks fish; then
  fish --no-execute lazydp.fish || fail "fish does not understand its script"
  offers() { fish --no-config -c "source lazydp.fish; complete -C '$1'" | cut -f1 | sort | paste -sd ' '; }
  [[ $(offers 'lazydp trai') == train ]] || fail "fish offers after trai: $(offers 'lazydp trai')"
  [[ $(offers 'lazydp privacy ep') == epsilon ]] || fail "fish offers: $(offers 'lazydp privacy ep')"
  [[ $(offers 'lazydp train --pooling-mode ') == 'mean sum' ]] ||
    fail "fish offers: $(offers 'lazydp train --pooling-mode ')"
fi
"$program" manual man
if asks groff; then
  for page in man/*.1; do
    said=$(groff -man -Tutf8 -ww -z "$page" 2>&1)
    [[ -z $said ]] || fail "groff says of $page: $said"
  done
fi
echo "$asked readers asked"
