#!/usr/bin/env bash
# Builds the packages, installs them in a fresh Debian, runs the program and compiles against the
# library there, and removes them: nothing may be left.
# Exit 77 (skipped) unless root, on Debian, with debootstrap and a mirror.
set -euo pipefail
cd "$(dirname "$0")/../.."
skip() {
  echo "$*"
  exit 77
}
((EUID == 0)) || skip "only root can make a root"
command -v debootstrap >/dev/null || skip "debootstrap is not there"
mirror=$(apt-get indextargets --format '$(SITE) $(CODENAME)' 'Created-By: Packages' 2>/dev/null | sort -u | head -n 1)
[[ -n $mirror ]] || skip "apt knows no mirror"
read -r site suite <<<"$mirror"

scripts/install.sh package
scripts/package.sh
root=$(mktemp -d)
trap 'rm -rf --one-file-system "$root"' EXIT
echo "a fresh $suite"
debootstrap --variant=minbase "$suite" "$root" "$site" >"$root.log" 2>&1 || { tail -n 5 "$root.log"; skip "no fresh Debian can be had"; }
cp /etc/apt/apt.conf.d/*proxy* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
cp -r examples/embed build/packages "$root/"
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"; }
files() { (cd "$root" && find usr/bin usr/lib usr/share usr/include -xdev \( -type f -o -type l \) | grep -i lazydp || true); }

inside apt-get -q -y --no-install-recommends install g++ cmake make pkg-config >"$root.log" 2>&1
[[ -z $(files) ]]
inside sh -c 'apt-get -q -y --no-install-recommends install /packages/*.deb' >"$root.log" 2>&1 || { tail "$root.log"; exit 1; }
inside lazydp --version
inside lazydp train --rows 50,70 --dim 4 --bottom 13-8-4 --top 8-1 --batch 32 --steps 5 --quiet --threads 2 | grep -q 'epsilon'
inside sh -c 'test -s /usr/share/man/man1/lazydp-train.1* && test -s /usr/share/bash-completion/completions/lazydp'
inside sh -c 'cmake -S /embed -B /tmp/embed >/dev/null && cmake --build /tmp/embed >/dev/null && /tmp/embed/embed'
inside sh -c 'g++ -std=c++20 /embed/embed.cc $(pkg-config --cflags --libs lazydp) -o /tmp/by-hand && /tmp/by-hand'
inside apt-get -q -y purge lazydp 'liblazydp*' >"$root.log" 2>&1
left=$(files)
rm -f "$root.log"
[[ -z $left ]] || { echo "FAILED: left behind: $left"; exit 1; }
echo "installed, ran, compiled against, and removed"
