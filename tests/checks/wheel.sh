#!/usr/bin/env bash
# Builds a wheel, installs it where there is no compiler, and runs the README's snippet with it.
# Exit 77 (skipped) where build/venv is not there.
set -euo pipefail
cd "$(dirname "$0")/../.."
if [[ ! -x build/venv/bin/pip ]]; then
  echo "build/venv is not there: make python first"
  exit 77
fi
. scripts/tools.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
PATH=$(dirname "$(find_cmake)"):$(dirname "$(find_ninja)"):$PATH build/venv/bin/pip wheel --quiet \
  --no-build-isolation --no-deps --no-index --wheel-dir "$folder" .
# A fresh environment; torch and Opacus come from build/venv, lazydp must not.
build/venv/bin/python -m venv "$folder/fresh"
packages=$(echo "$folder"/fresh/lib/python3*/site-packages)
"$folder/fresh/bin/pip" install --quiet --no-deps --no-index "$folder"/lazydp-*.whl
echo "$PWD"/build/venv/lib/python3*/site-packages >"$packages/torch.pth"
cp -r tests/python README.md "$folder"
cd "$folder"
env -i PATH=/nowhere HOME="$folder" OMP_WAIT_POLICY=passive fresh/bin/python - <<'PYTHON'
import pathlib, re, sys

sys.path.insert(0, "python/support")
import lazydp
import torch
from models import build, loader

assert "fresh" in lazydp.__file__, lazydp.__file__
model = build("bag_sum")
names = {"torch": torch, "model": model, "loader": loader(), "criterion": torch.nn.MSELoss(),
         "optimizer": torch.optim.SGD(model.parameters(), lr=0.1)}
for block in re.findall(r"```python\n(.*?)```", pathlib.Path("README.md").read_text(), re.S):
    exec(block, names)
print("a wheel of lazydp", lazydp.__version__, "works without a compiler")
PYTHON
