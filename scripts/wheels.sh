#!/usr/bin/env bash
# Builds a wheel for every supported Python that is on this machine, into build/packages.
# Usage: wheels.sh [PYTHON…]. Exit 69: the packages that a build needs can't be had.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tools.sh
scripts/install.sh python
pythons=("$@")
if ((${#pythons[@]} == 0)); then
  for version in 3.10 3.11 3.12 3.13; do
    if python=$(works "python$version" "$version"); then pythons+=("$python"); fi
  done
fi
((${#pythons[@]} > 0)) || { echo "no Python from 3.10 to 3.13 is here" >&2; exit 69; }
mkdir -p build/packages
for python in "${pythons[@]}"; do
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  venv=build/wheels/$version
  log=$venv.log
  mkdir -p build/wheels
  echo "a wheel for Python $version (log: $log)"
  if ! { [[ -x $venv/bin/pip ]] || "$python" -m venv "$venv"; } >"$log" 2>&1 ||
    ! "$venv/bin/pip" install --constraint python/constraints.txt scikit-build-core nanobind >>"$log" 2>&1; then
    tail -n 3 "$log" >&2
    exit 69
  fi
  # One build folder for each Python; the wheel's own settings say the rest.
  PATH=$(dirname "$(find_cmake)"):$(dirname "$(find_ninja)"):$PATH "$venv/bin/pip" wheel \
    --no-build-isolation --no-deps --no-index --wheel-dir build/packages \
    --config-settings=build-dir="build/wheels/$version-build" . >>"$log" 2>&1 ||
    { tail -n 20 "$log" >&2; exit 1; }
  "$venv/bin/pip" install --quiet --force-reinstall --no-deps --no-index \
    build/packages/lazydp-*-cp"${version//./}"-*.whl
  (cd / && "$OLDPWD/$venv/bin/python" -c "import importlib.util as u
spec = u.find_spec('lazydp')
native = u.spec_from_file_location('_native', next(p for p in __import__('pathlib').Path(spec.origin).parent.glob('_native*.so')))
module = u.module_from_spec(native)
native.loader.exec_module(module)
print('loads:', native.origin.rsplit('/', 1)[1])")
done
