"""The examples and the README's snippet run, and learn."""

import re
import runpy
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest
import torch
from torch import nn

from models import build, loader

ROOT = Path(__file__).parents[3]


def run(name, *arguments):
    return runpy.run_path(str(ROOT / "examples" / f"{name}.py"))["main"](list(arguments))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)


def test_dlrm_on_criteo_format():
    auc = run("dlrm_criteo", "--made-up-examples=6000", "--rows=1000", "--epochs=4", "--batch=512")
    assert auc > 0.7
    assert Path("dlrm.pt").exists()


def test_two_tower():
    assert run("two_tower", "--examples=10000", "--items=200", "--epochs=3") > 0.3


def test_matrix_factorisation():
    assert run("matrix_factorisation", "--made-up-examples=10000", "--epochs=6") < 0.8


def test_torchrec_dlrm():
    pytest.importorskip("torchrec")
    assert run("torchrec_dlrm", "--examples=20000", "--epochs=6") > 0.7
    assert Path("torchrec_dlrm.pt").exists()


def test_by_user():
    overall, within = run("by_user", "--made-up-users=3000")
    assert overall > 0.7 and within > 0.65


PAGES = [
    "README.md",
    "docs/auditing.md",
    "docs/data.md",
    "docs/migrating-from-opacus.md",
    "docs/streaming.md",
    "docs/tutorial-pytorch.md",
]


def write_ratings(folder):
    """Write the log that pages convert: the example's ratings, as Parquet, with their schema."""
    ratings = pyarrow.csv.read_csv(ROOT / "examples/ratings.csv")
    pyarrow.parquet.write_table(ratings, folder / "log.parquet")
    (folder / "schema.toml").write_text((ROOT / "examples/ratings.toml").read_text())


@pytest.mark.parametrize("page", PAGES)
def test_snippets_run(page, tmp_path):
    """Blocks of a page run one after the other, as its reader would type them."""
    write_ratings(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)
    assert blocks
    model = build("bag_sum")
    names = {
        "torch": torch,
        "nn": nn,
        "model": model,
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
        "loader": loader(),
        "criterion": nn.MSELoss(),
    }
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    if page in ("README.md", "docs/migrating-from-opacus.md"):
        build("bag_sum").load_state_dict(torch.load("model.pt"))  # by those who have no LazyDP
