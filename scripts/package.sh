#!/usr/bin/env bash
# Builds the Debian packages and, where there is a repository, the source archive of HEAD; all of
# them end in build/packages, with their checksums.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tools.sh
scripts/build.sh package
out=build/packages
mkdir -p "$out"
rm -rf "$out"/*.deb "$out"/*.tar.gz "$out"/SHA256SUMS "$out"/_CPack_Packages # wheels may be there too
"$(dirname "$(find_cmake)")/cpack" --config build/package/CPackConfig.cmake -B "$out" >"$out/log" 2>&1 ||
  { tail -n 20 "$out/log"; exit 1; }
rm -rf "$out/_CPack_Packages"
version=$(project_version)
if git rev-parse --verify --quiet HEAD >/dev/null; then
  git archive --format=tar.gz --prefix="lazydp-$version/" -o "$out/lazydp-$version.tar.gz" HEAD
else
  echo "not a repository with a commit: no source archive"
fi
rm "$out/log"
(cd "$out" && sha256sum -- * >SHA256SUMS)
ls -l "$out"
